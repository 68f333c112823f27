package queue_test

import (
	"encoding/hex"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/settings"
	"github.com/switchboard-otel/switchboard/app/typeid"

	"go.uber.org/zap"
)

// set writes a settings row before anything has read the table.
func (b *bundle) set(t *testing.T, key settings.Key, value string) {
	t.Helper()
	if _, err := b.Pool.Exec(t.Context(), `INSERT INTO settings VALUES ($1, $2)`, key, value); err != nil {
		t.Fatal(err)
	}
	b.queue = queue.NewStore(b.Pool, settings.NewReader(b.Pool, zap.NewNop()))
}

// cycle claims a todo and fails it so that it can be claimed again at once.
func (b *bundle) cycle(t *testing.T, id uuid.UUID, n int) {
	t.Helper()
	for range n {
		b.claim(t, id, queue.ClaimParams{})
		if _, err := b.queue.Fail(t.Context(), b.endpoint, id, queue.Report{}, queue.FailParams{RetryAfterSeconds: ptr(0)}); err != nil {
			t.Fatal(err)
		}
	}
}

// attempt-history, "Per-todo cap": pruned in the claim's transaction, counted, and never the open one.
func TestRetention_APerTodoCapPrunesTheOldestClosedAttempts(t *testing.T) {
	for value, kept := range map[string]int{"7": 7, "5": 5, "0": 5, "3": 5, "-1": 50, "many": 50, "1000000": 50} {
		t.Run(value, func(t *testing.T) {
			b := setup(t)
			b.set(t, settings.AttemptHistoryMax, value)
			id := b.push(t, maxAttempts(100))
			const attempts = 9
			b.cycle(t, id, attempts)
			c := b.claim(t, id, queue.ClaimParams{})
			pruned := max(0, attempts+1-kept)
			d := b.get(t, id)
			if d.AttemptsTotal != attempts+1 || d.AttemptsPruned != pruned || len(d.Attempts) != attempts+1-pruned || d.Attempts[0].Seq != attempts+1 {
				t.Errorf("total %d, pruned %d, kept %d from seq %d", d.AttemptsTotal, d.AttemptsPruned, len(d.Attempts), d.Attempts[len(d.Attempts)-1].Seq)
			}
			if c.AttemptsTotal != attempts+1 || len(c.PriorAttempts) != min(5, kept-1) || c.PriorAttempts[0].Seq != attempts {
				t.Errorf("the claim says %d, and %d prior attempts", c.AttemptsTotal, len(c.PriorAttempts))
			}
		})
	}
}

// decisions.md 18: a pruned attempt's trace and number go to the bindings.
func TestRetention_APrunedAttemptLeavesItsTraceAndNumber(t *testing.T) {
	b := setup(t)
	b.set(t, settings.AttemptHistoryMax, "5")
	id := b.push(t, maxAttempts(100))
	b.cycle(t, id, 1)
	first := b.get(t, id).Attempts[0].TraceID
	b.cycle(t, id, 5)
	trace, err := hex.DecodeString(first)
	if err != nil {
		t.Fatal(err)
	}
	var todo uuid.UUID
	var seq int
	err = b.Pool.QueryRow(t.Context(), `SELECT todo_id, attempt_seq FROM todo_trace_bindings WHERE endpoint_id = $1 AND trace_id = $2`,
		b.endpoint.ID, trace).Scan(&todo, &seq)
	if err != nil || todo != id || seq != 1 {
		t.Errorf("%v, %d, %v", todo, seq, err)
	}
}

// REQ-19: beyond the activity cap the oldest notes go first, and a transition is written in any case.
func TestREQ19_TheActivityCapRemovesTheOldestNotesFirst(t *testing.T) {
	b := setup(t)
	b.set(t, settings.ActivityMaxPerTodo, "4")
	id := b.push(t)
	act := func(a queue.Action) {
		t.Helper()
		if _, err := b.queue.Act(t.Context(), b.human.ID, id, queue.Act{Action: a, Via: queue.ViaAPI}); err != nil {
			t.Fatal(err)
		}
	}
	b.claim(t, id, queue.ClaimParams{})
	for i := range 6 {
		if _, err := b.queue.Heartbeat(t.Context(), b.endpoint, id, queue.HeartbeatParams{Note: ptr(fmt.Sprint("note ", i))}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.queue.Release(t.Context(), b.endpoint, id, queue.Report{}); err != nil {
		t.Fatal(err)
	}
	for _, a := range []queue.Action{queue.ActionClaim, queue.ActionExtend, queue.ActionExtend, queue.ActionExtend, queue.ActionExtend, queue.ActionRelease} {
		act(a)
	}
	d, err := b.queue.HumanTodo(t.Context(), b.human.ID, id)
	if err != nil {
		t.Fatal(err)
	}
	if d.ActivityPruned != 6 || len(d.Activity) != 6 {
		t.Fatalf("%d pruned, %d kept", d.ActivityPruned, len(d.Activity))
	}
	for i, v := range d.Activity {
		if v.Kind != queue.KindHumanAction || v.Seq != 7+i {
			t.Errorf("entry %d is %s with seq %d", i, v.Kind, v.Seq)
		}
	}
}

func TestRetention_DeletesTerminalTodosByAgeAndNeverALiveOne(t *testing.T) {
	b := setup(t)
	live := map[string]uuid.UUID{"pending": b.push(t), "claimed": b.push(t), "scheduled": b.push(t), "interrupted": b.push(t)}
	b.claim(t, live["claimed"], queue.ClaimParams{})
	b.claim(t, live["scheduled"], queue.ClaimParams{})
	if _, err := b.queue.Fail(t.Context(), b.endpoint, live["scheduled"], queue.Report{}, queue.FailParams{RetryAfterSeconds: ptr(86400)}); err != nil {
		t.Fatal(err)
	}
	b.claim(t, live["interrupted"], queue.ClaimParams{})
	if _, err := b.queue.Interrupt(t.Context(), b.endpoint, live["interrupted"], nil, queue.StateInputRequired, nil); err != nil {
		t.Fatal(err)
	}
	var terminal []uuid.UUID
	for _, end := range []string{"done", "dead", "canceled", "rejected"} {
		id := b.push(t)
		terminal = append(terminal, id)
		var err error
		switch end {
		case "done", "dead":
			b.claim(t, id, queue.ClaimParams{})
			if _, err := b.queue.Heartbeat(t.Context(), b.endpoint, id, queue.HeartbeatParams{Note: ptr("note")}); err != nil {
				t.Fatal(err)
			}
			if end == "done" {
				_, err = b.queue.Complete(t.Context(), b.endpoint, id, queue.Report{}, nil)
			} else {
				_, err = b.queue.Fail(t.Context(), b.endpoint, id, queue.Report{}, queue.FailParams{Retry: ptr(false)})
			}
		case "canceled":
			_, err = b.queue.Cancel(t.Context(), b.endpoint, id)
		case "rejected":
			_, err = b.queue.Reject(t.Context(), b.endpoint, id)
		}
		if err != nil {
			t.Fatal(end, err)
		}
	}
	b.Advance(t, 29*24*time.Hour)
	if n, err := b.queue.Prune(t.Context()); n != 0 || err != nil {
		t.Fatalf("%d todos went before their time, %v", n, err)
	}
	b.Advance(t, 2*24*time.Hour)
	if n, err := b.queue.Prune(t.Context()); n != len(terminal) || err != nil {
		t.Fatalf("%d of %d went, %v", n, len(terminal), err)
	}
	for name, id := range live {
		if _, err := b.queue.Get(t.Context(), b.endpoint, id, nil); err != nil {
			t.Errorf("the %s todo: %v", name, err)
		}
	}
	if n := b.count(t, `SELECT count(*) FROM todo_activity WHERE kind = 'note'`) + b.count(t, `SELECT count(*) FROM todo_attempts WHERE todo_id = ANY($1)`, terminal); n != 0 {
		t.Errorf("%d rows outlived their todo", n)
	}
}

func TestRetention_RowsAreCountedPerOwner(t *testing.T) {
	b := setup(t)
	b.set(t, settings.RetentionMaxRows, "3")
	human, theirs := b.secondHuman(t)
	ends := func(human uuid.UUID, ep *identity.Endpoint, n int) (ids []uuid.UUID) {
		for range n {
			todo, _, err := b.queue.Push(t.Context(), human, queue.PushParams{Endpoint: ep, Title: "t"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := b.queue.Cancel(t.Context(), ep, todo.ID.UUID()); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, todo.ID.UUID())
		}
		return ids
	}
	mine := ends(b.human.ID, b.endpoint, 5)
	ends(human.ID, theirs, 3)
	if n, err := b.queue.Prune(t.Context()); n != 2 || err != nil {
		t.Fatalf("%d went, %v", n, err)
	}
	rows, _, err := b.queue.List(t.Context(), b.endpoint, queue.ListParams{})
	if err != nil || len(rows) != 3 || rows[2].ID.UUID() != mine[2] {
		t.Errorf("%d of mine are left, %v: the oldest must go", len(rows), err)
	}
	if rows, _, _ := b.queue.List(t.Context(), theirs, queue.ListParams{}); len(rows) != 3 {
		t.Errorf("%d of theirs are left", len(rows))
	}
}

// attempt-history, "Summary from result".
func TestSummaryFromResult(t *testing.T) {
	b := setup(t)
	for on, want := range map[bool]*string{false: nil, true: ptr(`{"pr":7}`)} {
		s := queue.NewStore(b.Pool, settings.NewReader(b.Pool, zap.NewNop()), queue.WithSummaryFromResult(on))
		id := b.push(t)
		b.claim(t, id, queue.ClaimParams{})
		if _, err := s.Complete(t.Context(), b.endpoint, id, queue.Report{}, raw("{\n \"pr\": 7 }")); err != nil {
			t.Fatal(err)
		}
		got := b.get(t, id).Attempts[0].Summary
		if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("on %v: %v", on, got)
		}
	}
	s := queue.NewStore(b.Pool, settings.NewReader(b.Pool, zap.NewNop()), queue.WithSummaryFromResult(true))
	id := b.push(t)
	b.claim(t, id, queue.ClaimParams{})
	if _, err := s.Complete(t.Context(), b.endpoint, id, queue.Report{Summary: ptr("mine")}, raw(`{}`)); err != nil {
		t.Fatal(err)
	}
	if got := b.get(t, id).Attempts[0].Summary; *got != "mine" {
		t.Errorf("a summary was replaced by %q", *got)
	}
}

// queue.md section 2: an expired endpoint is treated as revoked.
func TestExpiry_EndsAnEndpointsTodosAsARevocationDoes(t *testing.T) {
	b := setup(t)
	b.endpoint = b.vend(t, b.human.ID, identity.VendParams{Name: "brief", ExpiresIn: ptr(time.Hour)})
	id := b.push(t)
	b.claim(t, id, queue.ClaimParams{LeaseTTLSeconds: ptr(86400)})
	if n, err := b.identity.SweepExpired(t.Context()); n != 0 || err != nil {
		t.Fatalf("%d ended before their time, %v", n, err)
	}
	b.Advance(t, 2*time.Hour)
	for _, want := range []int{1, 0} {
		if n, err := b.identity.SweepExpired(t.Context()); n != want || err != nil {
			t.Fatalf("%d ended, want %d, %v", n, want, err)
		}
	}
	b.wantShape(t, id, shape{State: queue.StateFailed, Attempt: 1, DeadLetter: true, Outcome: "revoked", Disposition: "dead_lettered"})
	if _, err := b.queue.Act(t.Context(), b.human.ID, id, queue.Act{Action: queue.ActionRetry, Via: queue.ViaAPI}); err == nil {
		t.Error("a todo of a revoked endpoint was retried")
	}
	if e, err := b.identity.Endpoint(t.Context(), b.human.ID, typeid.Endpoint.Format(b.endpoint.ID)); err != nil || e.RevokedAt == nil {
		t.Errorf("%+v, %v", e, err)
	}
}
