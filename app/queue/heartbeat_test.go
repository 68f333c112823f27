package queue_test

import (
	"strings"
	"testing"
	"time"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/queue"
)

func TestHeartbeat_RenewsWhatTheAttemptAskedForAndNeverMovesBack(t *testing.T) {
	b := setup(t)
	id := b.push(t)
	c := b.claim(t, id, queue.ClaimParams{LeaseTTLSeconds: ptr(3600)})
	b.Advance(t, 10*time.Minute)
	beat := func(ttl *int) time.Time {
		t.Helper()
		row, err := b.queue.Heartbeat(t.Context(), b.endpoint, id, queue.HeartbeatParams{LeaseTTLSeconds: ttl})
		if err != nil {
			t.Fatal(err)
		}
		return *row.LeaseExpiresAt
	}
	renewed := beat(nil)
	if moved := renewed.Sub(*c.LeaseExpiresAt); moved < 10*time.Minute || moved > 11*time.Minute {
		t.Errorf("a heartbeat without a ttl moved the lease by %v", moved)
	}
	shorter := beat(ptr(60))
	if !shorter.Before(renewed) {
		t.Error("an explicit shorter ttl did not shorten the lease")
	}
	if again := beat(nil); again.Sub(shorter) > 30*time.Second {
		t.Error("the ttl asked for last was not the one renewed")
	}
}

func TestHeartbeat_WorksAfterTheLapseUntilSomebodyActs(t *testing.T) {
	b := setup(t)
	id := b.push(t)
	b.claim(t, id, queue.ClaimParams{})
	b.lapse(t)
	if _, err := b.queue.Heartbeat(t.Context(), b.endpoint, id, queue.HeartbeatParams{}); err != nil {
		t.Fatal(err)
	}
	if n, _ := b.queue.Reap(t.Context()); n != 0 {
		t.Fatal("the reaper took a lease that a heartbeat had renewed")
	}
	b.lapse(t)
	if n, _ := b.queue.Reap(t.Context()); n != 1 {
		t.Fatal("nothing was reaped")
	}
	_, err := b.queue.Heartbeat(t.Context(), b.endpoint, id, queue.HeartbeatParams{})
	wantCode(t, err, fault.Conflict)
}

// REQ-9, "A progress note".
func TestREQ9_AProgressNote(t *testing.T) {
	b := setup(t)
	id := b.push(t)
	b.claim(t, id, queue.ClaimParams{})
	long := "tests pass, token ghp_" + strings.Repeat("a1", 18) + " " + strings.Repeat("é", 400)
	for _, note := range []string{"tests passing, opening PR", "", "  \t ", long} {
		if _, err := b.queue.Heartbeat(t.Context(), b.endpoint, id, queue.HeartbeatParams{Note: &note}); err != nil {
			t.Fatal(err)
		}
	}
	d, err := b.queue.HumanTodo(t.Context(), b.human.ID, id)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Activity) != 2 {
		t.Fatalf("%d entries: %+v", len(d.Activity), d.Activity)
	}
	first, second := d.Activity[0], d.Activity[1]
	if *first.Message != "tests passing, opening PR" || first.Kind != "note" || first.ActorKind != "endpoint" || *first.AttemptSeq != 1 || first.Seq != 1 || first.Detail != nil {
		t.Errorf("%+v", first)
	}
	if strings.Contains(*second.Message, "ghp_") || !strings.Contains(*second.Message, "[REDACTED]") || len(*second.Message) > 512 || string(second.Detail) != `{"truncated": true}` {
		t.Errorf("%d bytes %q, %s", len(*second.Message), *second.Message, second.Detail)
	}
}

func TestREQ9_NotesBeyondTheCapAreCountedAndTheHeartbeatSucceeds(t *testing.T) {
	b := setup(t)
	if _, err := b.Pool.Exec(t.Context(), `INSERT INTO settings VALUES ('notes_max_per_attempt', '2')`); err != nil {
		t.Fatal(err)
	}
	id := b.push(t)
	b.claim(t, id, queue.ClaimParams{})
	for i := range 5 {
		row, err := b.queue.Heartbeat(t.Context(), b.endpoint, id, queue.HeartbeatParams{Note: ptr("again")})
		if err != nil {
			t.Fatal(err)
		}
		if dropped := i - 1; dropped < 1 && row.NotesDropped != nil || dropped >= 1 && (row.NotesDropped == nil || *row.NotesDropped != dropped) {
			t.Errorf("note %d: the answer's notes_dropped is %v", i+1, row.NotesDropped)
		}
	}
	if row, err := b.queue.Heartbeat(t.Context(), b.endpoint, id, queue.HeartbeatParams{}); err != nil || row.NotesDropped != nil {
		t.Errorf("a heartbeat without a note: %+v, %v", row, err)
	}
	if d := b.get(t, id); d.Attempts[0].NotesDropped != 3 {
		t.Errorf("%d notes dropped", d.Attempts[0].NotesDropped)
	}
	if n := b.count(t, `SELECT count(*) FROM todo_activity`); n != 2 {
		t.Errorf("%d notes kept", n)
	}
}
