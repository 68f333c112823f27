package queue_test

import (
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/queue"
)

func TestReaper_DoesNotOverwriteACompletion(t *testing.T) {
	b := setup(t)
	id := b.push(t)
	b.claim(t, id, queue.ClaimParams{})
	b.lapse(t)
	if _, err := b.queue.Complete(t.Context(), b.endpoint, id, queue.Report{}, nil); err != nil {
		t.Fatal(err)
	}
	if n, err := b.queue.Reap(t.Context()); n != 0 || err != nil {
		t.Fatalf("reaped %d, %v", n, err)
	}
	b.wantShape(t, id, shape{State: queue.StateDone, Attempt: 1, Outcome: "completed", Disposition: "done"})
}

// A lapsed lease that a reaper, a takeover, a heartbeat and a completion race for ends each attempt once.
func TestReaper_RacesEndEachAttemptOnce(t *testing.T) {
	b := setup(t)
	const todos = 30
	ids := make([]uuid.UUID, todos)
	for i := range ids {
		ids[i] = b.push(t, maxAttempts(3))
		b.claim(t, ids[i], queue.ClaimParams{})
	}
	b.lapse(t)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if _, err := b.queue.Reap(t.Context()); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			for _, id := range ids {
				_, _ = b.queue.Claim(t.Context(), b.endpoint, id, queue.ClaimParams{})
			}
		})
		wg.Go(func() {
			for _, id := range ids {
				_, _ = b.queue.Complete(t.Context(), b.endpoint, id, queue.Report{}, nil)
				_, _ = b.queue.Heartbeat(t.Context(), b.endpoint, id, queue.HeartbeatParams{})
			}
		})
	}
	wg.Wait()
	for _, id := range ids {
		d := b.get(t, id)
		open := 0
		for i, a := range d.Attempts {
			if a.EndedAt == nil {
				open++
			}
			if a.Seq != d.AttemptsTotal-i {
				t.Errorf("attempt %d of %d has seq %d", i, d.AttemptsTotal, a.Seq)
			}
		}
		if want := d.State == queue.StateClaimed; want != (open == 1) || open > 1 || len(d.Attempts) != d.AttemptsTotal {
			t.Errorf("%s with %d open of %d attempts", d.State, open, len(d.Attempts))
		}
	}
}

func TestRevoke_EndsPendingScheduledAndClaimedTodosAtOnce(t *testing.T) {
	b := setup(t)
	pending, claimed, scheduled, done := b.push(t), b.push(t), b.push(t), b.push(t)
	for _, id := range []uuid.UUID{claimed, scheduled, done} {
		b.claim(t, id, queue.ClaimParams{})
	}
	if _, err := b.queue.Fail(t.Context(), b.endpoint, scheduled, queue.Report{}, queue.FailParams{}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.queue.Complete(t.Context(), b.endpoint, done, queue.Report{}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := b.identity.Revoke(t.Context(), b.human.ID, b.endpoint.Slug); err != nil {
		t.Fatal(err)
	}
	b.wantShape(t, pending, shape{State: queue.StateFailed, DeadLetter: true})
	b.wantShape(t, claimed, shape{State: queue.StateFailed, Attempt: 1, DeadLetter: true, Outcome: "revoked", Disposition: "dead_lettered"})
	b.wantShape(t, scheduled, shape{State: queue.StateFailed, Attempt: 1, DeadLetter: true, Outcome: "failed", Disposition: "retry_scheduled"})
	b.wantShape(t, done, shape{State: queue.StateDone, Attempt: 1, Outcome: "completed", Disposition: "done"})
	if _, _, err := b.queue.Push(t.Context(), b.human.ID, queue.PushParams{Endpoint: b.endpoint, Title: "too late"}); err == nil {
		t.Error("a todo was pushed to a revoked endpoint")
	}
}
