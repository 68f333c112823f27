package queue_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/queue"
)

// lock keeps a todo locked until the function that it returns is called.
func (b *bundle) lock(t *testing.T, id uuid.UUID) (release func()) {
	t.Helper()
	tx, err := b.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `SELECT FROM todos WHERE id = $1 FOR NO KEY UPDATE`, id); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// waiting returns when so many calls wait for a lock of the test's database.
func (b *bundle) waiting(t *testing.T, calls int) {
	t.Helper()
	eventually(t, "calls wait for a lock", func() bool {
		return b.count(t, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) >= calls
	})
}

// Two heartbeats that saw the same full log, one after the other, each make room for their own note.
func TestREQ19_TwoNotesAtOnceOnAFullLogEachMakeRoom(t *testing.T) {
	b := setup(t)
	const most = 4
	if _, err := b.Pool.Exec(t.Context(), `INSERT INTO settings (key, value) VALUES ('activity_max_per_todo', '4')`); err != nil {
		t.Fatal(err)
	}
	id := b.push(t)
	b.claim(t, id, queue.ClaimParams{})
	beat := func() {
		if _, err := b.queue.Heartbeat(t.Context(), b.endpoint, id, queue.HeartbeatParams{Note: ptr("n")}); err != nil {
			t.Error(err)
		}
	}
	for range most {
		beat()
	}
	release := b.lock(t, id)
	var both sync.WaitGroup
	both.Go(beat)
	both.Go(beat)
	b.waiting(t, 2)
	release()
	both.Wait()
	tr := b.trails(t)[0]
	if tr.Todo.ActivitySeq != most+2 || tr.Todo.ActivityPruned != 2 || len(tr.Activity) != most {
		t.Errorf("%d written, %d counted as removed, %d left", tr.Todo.ActivitySeq, tr.Todo.ActivityPruned, len(tr.Activity))
	}
}

// A repeated claim that had to wait answers with the todo as it is, not as it was before the wait.
func TestRequestID_ARepeatThatWaitedAnswersWithWhatIsThere(t *testing.T) {
	b := setup(t)
	id := b.push(t)
	p := queue.ClaimParams{RequestID: ptr("r-1"), LeaseTTLSeconds: ptr(60)}
	b.claim(t, id, p)
	release := b.lock(t, id)
	var both sync.WaitGroup
	both.Go(func() {
		if _, err := b.queue.Heartbeat(t.Context(), b.endpoint, id, queue.HeartbeatParams{LeaseTTLSeconds: ptr(3600)}); err != nil {
			t.Error(err)
		}
	})
	b.waiting(t, 1)
	var again *queue.Claimed
	both.Go(func() {
		var err error
		if again, err = b.queue.Claim(t.Context(), b.endpoint, id, p); err != nil {
			t.Error(err)
		}
	})
	b.waiting(t, 2)
	release()
	both.Wait()
	if t.Failed() {
		return
	}
	if d := b.get(t, id); !again.LeaseExpiresAt.Equal(*d.LeaseExpiresAt) {
		t.Errorf("answered a lease until %v; it is until %v", again.LeaseExpiresAt.Format(time.TimeOnly), d.LeaseExpiresAt.Format(time.TimeOnly))
	}
}

// A heartbeat that waited for somebody who then changed nothing gives the whole lease from when it could be written.
func TestHeartbeat_AWaitForTheLockDoesNotShortenTheLease(t *testing.T) {
	for name, note := range map[string]*string{"plain": nil, "with a note": ptr("still here")} {
		t.Run(name, func(t *testing.T) {
			b := setup(t)
			id := b.push(t)
			b.claim(t, id, queue.ClaimParams{})
			release := b.lock(t, id)
			var beat sync.WaitGroup
			beat.Go(func() {
				if _, err := b.queue.Heartbeat(t.Context(), b.endpoint, id, queue.HeartbeatParams{LeaseTTLSeconds: ptr(60), Note: note}); err != nil {
					t.Error(err)
				}
			})
			b.waiting(t, 1)
			b.Advance(t, time.Hour)
			release()
			beat.Wait()
			if n := b.count(t, `SELECT count(*) FROM todos WHERE lease_expires_at > sb_now() AND last_heartbeat_at > sb_now() - interval '30 minutes'`); n != 1 {
				t.Error("the lease was over before the heartbeat was answered")
			}
			if n := b.count(t, `SELECT count(*) FROM todo_activity WHERE kind = 'note'`); (n == 1) != (note != nil) || n > 1 {
				t.Errorf("%d notes", n)
			}
		})
	}
}
