package queue_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/queue"
)

func titles(rows []queue.LaneRow) (all []string) {
	for _, r := range rows {
		all = append(all, r.Title)
	}
	return all
}

func (b *bundle) lanes(t *testing.T, human uuid.UUID, f queue.LaneFilter) *queue.Lanes {
	t.Helper()
	l, err := b.queue.Lanes(t.Context(), human, f)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// board.md section 1: what is ready, what is held, what ended today, and what waits for a human.
func TestLanes_ShowEachTodoWhereItStands(t *testing.T) {
	b := setup(t)
	ctx := t.Context()
	named := func(title string) func(*queue.PushParams) {
		return func(p *queue.PushParams) { p.Title, p.MaxAttempts = title, ptr(2) }
	}
	b.push(t, named("ready"))
	held := b.push(t, named("held"))
	b.claim(t, held, queue.ClaimParams{Claimant: ptr("run-1")})
	if _, err := b.queue.Heartbeat(ctx, b.endpoint, held, queue.HeartbeatParams{Note: ptr("half way")}); err != nil {
		t.Fatal(err)
	}
	retry := b.push(t, named("retry"))
	b.claim(t, retry, queue.ClaimParams{})
	dead := b.push(t, named("dead"))
	b.claim(t, dead, queue.ClaimParams{})
	for id, again := range map[uuid.UUID]bool{retry: true, dead: false} {
		if _, err := b.queue.Fail(ctx, b.endpoint, id, queue.Report{Summary: ptr("why")}, queue.FailParams{Retry: &again}); err != nil {
			t.Fatal(err)
		}
	}
	done := b.push(t, named("done"))
	b.claim(t, done, queue.ClaimParams{})
	if _, err := b.queue.Complete(ctx, b.endpoint, done, queue.Report{}, nil); err != nil {
		t.Fatal(err)
	}
	asks := b.push(t, named("asks"))
	b.claim(t, asks, queue.ClaimParams{})
	if _, err := b.queue.Interrupt(ctx, b.endpoint, asks, nil, queue.StateInputRequired, nil); err != nil {
		t.Fatal(err)
	}

	l := b.lanes(t, b.human.ID, queue.LaneFilter{})
	for lane, c := range map[string]struct {
		got  queue.Lane
		want []string
	}{
		"ready": {l.Ready, []string{"retry", "ready"}}, "held": {l.Held, []string{"asks", "held"}}, "finished": {l.Finished, []string{"done", "dead"}},
	} {
		if got := titles(c.got.Rows); !slices.Equal(got, c.want) || c.got.Total != len(c.want) {
			t.Errorf("%s: %v, %d in all, want %v", lane, got, c.got.Total, c.want)
		}
	}
	if l.DeadLetters != 1 || l.Questions != 1 {
		t.Errorf("%d dead letters and %d questions wait", l.DeadLetters, l.Questions)
	}
	if row := l.Held.Rows[1]; row.Note == nil || *row.Note != "half way" || row.Claimant == nil || *row.Claimant != "run-1" {
		t.Errorf("the held card is %+v", row)
	}
	b.Advance(t, 24*time.Hour)
	if l := b.lanes(t, b.human.ID, queue.LaneFilter{}); len(l.Finished.Rows) != 0 || l.DeadLetters != 1 {
		t.Errorf("the day after: %v finished, %d dead letters", titles(l.Finished.Rows), l.DeadLetters)
	}
	if l := b.lanes(t, b.human.ID, queue.LaneFilter{Queue: "lane-m"}); len(l.Ready.Rows)+len(l.Held.Rows) != 0 {
		t.Error("the filter by queue lets another queue through")
	}
}

// REQ-18: nothing of another human is in one's lanes, pulses or endpoints.
func TestLanes_HoldOnlyOnesOwn(t *testing.T) {
	b := setup(t)
	other, theirs := b.secondHuman(t)
	id := b.push(t)
	b.claim(t, id, queue.ClaimParams{})
	b.push(t)
	if l := b.lanes(t, other.ID, queue.LaneFilter{}); l.Ready.Total+l.Held.Total+l.Finished.Total != 0 {
		t.Errorf("a second human sees %+v", l)
	}
	if l := b.lanes(t, other.ID, queue.LaneFilter{Endpoint: b.endpoint.ID}); l.Ready.Total+l.Held.Total != 0 {
		t.Errorf("by naming the endpoint, a second human sees %+v", l)
	}
	if _, err := b.queue.Pulse(t.Context(), other.ID, id); !errors.Is(err, fault.ErrTodoNotFound) {
		t.Errorf("a second human feels its pulse: %v", err)
	}
	work, err := b.queue.EndpointsWork(t.Context(), other.ID)
	if err != nil || len(work) != 1 || work[theirs.ID].Live != 0 {
		t.Errorf("%+v, %v", work, err)
	}
}

func TestPulse_MovesWithEverythingThatHappens(t *testing.T) {
	b := setup(t)
	id := b.push(t)
	pulse := func() queue.Pulse {
		p, err := b.queue.Pulse(t.Context(), b.human.ID, id)
		if err != nil {
			t.Fatal(err)
		}
		return *p
	}
	before := pulse()
	b.claim(t, id, queue.ClaimParams{})
	claimed := pulse()
	if claimed.Moved.Equal(before.Moved) || claimed.Attempts != 1 || claimed.State != queue.StateClaimed {
		t.Errorf("a claim: %+v after %+v", claimed, before)
	}
	if _, err := b.queue.Heartbeat(t.Context(), b.endpoint, id, queue.HeartbeatParams{Note: ptr("on it")}); err != nil {
		t.Fatal(err)
	}
	if noted := pulse(); noted.Moved.Equal(claimed.Moved) || noted.Entries != claimed.Entries+1 {
		t.Errorf("a note: %+v after %+v", noted, claimed)
	}
}

func TestEndpointsWork_TellsWhenAnAgentWasLastHeardOf(t *testing.T) {
	b := setup(t)
	id := b.push(t)
	b.push(t)
	work := func() queue.EndpointWork {
		all, err := b.queue.EndpointsWork(t.Context(), b.human.ID)
		if err != nil {
			t.Fatal(err)
		}
		return all[b.endpoint.ID]
	}
	if w := work(); w.LastSeen != nil || w.Live != 2 || w.Held != 0 {
		t.Errorf("before the first claim: %+v", w)
	}
	b.claim(t, id, queue.ClaimParams{})
	if w := work(); w.LastSeen == nil || w.LastHeartbeat != nil || w.Held != 1 {
		t.Errorf("after a claim: %+v", w)
	}
	if _, err := b.queue.Heartbeat(t.Context(), b.endpoint, id, queue.HeartbeatParams{}); err != nil {
		t.Fatal(err)
	}
	if w := work(); w.LastHeartbeat == nil || w.LastSeen.Before(*w.LastHeartbeat) {
		t.Errorf("after a heartbeat: %+v", w)
	}
}
