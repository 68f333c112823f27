package queue_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/settings"
)

// crowd is many claim_next calls that wait at once, on a store whose pool has far fewer connections.
type crowd struct {
	store   *queue.Store
	pool    *pgxpool.Pool
	claimed chan *queue.Claimed
	stop    func() // ends those that still wait, and returns when they have
}

const crowdConnections = 3

// gather starts the calls and returns when each of them has looked once, in vain, and waits.
func (b *bundle) gather(t *testing.T, lanes map[string]int) *crowd {
	t.Helper()
	c := &crowd{}
	c.store, c.pool = b.replica(t, crowdConnections)
	total := 0
	for _, n := range lanes {
		total += n
	}
	c.claimed = make(chan *queue.Claimed, total)
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	for lane, n := range lanes {
		for range n {
			waiting.Go(func() {
				got, err := c.store.WaitNext(ctx, b.endpoint, lane, queue.ClaimParams{}, ptr(30))
				if err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				if got != nil {
					c.claimed <- got
				}
			})
		}
	}
	c.stop = func() { cancel(); waiting.Wait() }
	t.Cleanup(c.stop)
	// A look at an empty queue takes a connection three times: pending, due, lapsed.
	eventually(t, "everybody waits", func() bool {
		s := c.pool.Stat()
		return s.AcquireCount() >= int64(3*total) && s.AcquiredConns() == 0
	})
	return c
}

// next returns what one of the crowd has claimed.
func (c *crowd) next(t *testing.T) *queue.Claimed {
	t.Helper()
	select {
	case got := <-c.claimed:
		return got
	case <-time.After(time.Minute):
		t.Fatal("nobody was woken")
		return nil
	}
}

// replica is another process's store on the same database, with a pool of its own.
func (b *bundle) replica(t *testing.T, connections int32) (*queue.Store, *pgxpool.Pool) {
	t.Helper()
	config := b.Pool.Config()
	config.MaxConns, config.MinConns = connections, 0
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return queue.NewStore(pool, settings.NewReader(pool, zap.NewNop())), pool
}

// eventually waits for a condition; its limit is only for tests that fail.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	end := time.After(time.Minute)
	for !holds() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

func TestWaitNext_TwoHundredWaitersHoldNoConnection(t *testing.T) {
	b := setup(t)
	c := b.gather(t, map[string]int{"": 200})
	// One query for all asks now and then whether another replica or the clock has made something ready.
	for range 200 {
		if n := c.pool.Stat().AcquiredConns(); n > 1 {
			t.Fatalf("%d connections are in use", n)
		}
		busy := b.count(t, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'`)
		if busy > 1 {
			t.Fatalf("%d sessions are busy", busy)
		}
	}
	if n := c.pool.Stat().TotalConns(); n > crowdConnections {
		t.Errorf("%d connections", n)
	}
	if n := len(c.claimed); n != 0 {
		t.Errorf("%d claims of nothing", n)
	}
}

func TestWaitNext_EachPushWakesExactlyOne(t *testing.T) {
	const waiters, pushes = 200, 50
	for _, from := range []string{"this replica", "another replica"} {
		t.Run(from, func(t *testing.T) {
			b := setup(t)
			c := b.gather(t, map[string]int{"": waiters})
			if from == "this replica" {
				b.queue = c.store
			}
			before := c.pool.Stat().AcquireCount()
			pushed := map[uuid.UUID]bool{}
			for range pushes {
				pushed[b.push(t)] = true
			}
			for range pushes {
				got := c.next(t)
				if id := got.ID.UUID(); !pushed[id] || got.AttemptSeq != 1 {
					t.Fatalf("claimed %v as attempt %d", got.ID, got.AttemptSeq)
				} else {
					delete(pushed, id)
				}
			}
			// Were all woken by each, that would be 25,000.
			if looks := c.pool.Stat().AcquireCount() - before; looks > 5000 {
				t.Errorf("%d pushes cost %d looks", pushes, looks)
			}
			c.stop()
			if n := len(c.claimed); n != 0 {
				t.Errorf("%d more claims than pushes", n)
			}
			if n := b.count(t, `SELECT count(*) FROM todo_attempts`); n != pushes {
				t.Errorf("%d attempts", n)
			}
		})
	}
}

// Whatever makes a todo ready wakes a waiter: on the same replica at once, else by the common look.
func TestWaitNext_IsWokenByWhateverMakesATodoReady(t *testing.T) {
	makeReady := map[string]func(b *bundle, t *testing.T, id uuid.UUID) error{
		"release": func(b *bundle, t *testing.T, id uuid.UUID) error {
			_, err := b.queue.Release(t.Context(), b.endpoint, id, queue.Report{})
			return err
		},
		"a due retry": func(b *bundle, t *testing.T, id uuid.UUID) error {
			_, err := b.queue.Fail(t.Context(), b.endpoint, id, queue.Report{}, queue.FailParams{RetryAfterSeconds: ptr(0)})
			return err
		},
		"a lapsed lease": func(b *bundle, t *testing.T, _ uuid.UUID) error {
			b.lapse(t)
			return nil
		},
		"the reaper": func(b *bundle, t *testing.T, _ uuid.UUID) error {
			b.lapse(t)
			_, err := b.queue.Reap(t.Context())
			return err
		},
		"a human's retry": func(b *bundle, t *testing.T, id uuid.UUID) error {
			if _, err := b.queue.Fail(t.Context(), b.endpoint, id, queue.Report{}, queue.FailParams{Retry: ptr(false)}); err != nil {
				return err
			}
			_, err := b.queue.Act(t.Context(), b.human.ID, id, queue.Act{Action: queue.ActionRetry, Via: queue.ViaCLI})
			return err
		},
	}
	for how, ready := range makeReady {
		for _, from := range []string{"this replica", "another replica"} {
			t.Run(how+" on "+from, func(t *testing.T) {
				b := setup(t)
				id := b.push(t)
				b.claim(t, id, queue.ClaimParams{})
				c := b.gather(t, map[string]int{"": 5})
				if from == "this replica" {
					b.queue = c.store
				}
				if err := ready(b, t, id); err != nil {
					t.Fatal(err)
				}
				if got := c.next(t); got.ID.UUID() != id || got.AttemptSeq != 2 {
					t.Errorf("claimed %v as attempt %d", got.ID, got.AttemptSeq)
				}
			})
		}
	}
}

// A call that waits for one queue is woken by a todo of that queue, however many wait for others.
func TestWaitNext_WakesACallThatWaitsForThatQueue(t *testing.T) {
	for _, from := range []string{"this replica", "another replica"} {
		t.Run(from, func(t *testing.T) {
			b := setup(t)
			c := b.gather(t, map[string]int{"lane-s": 150, "lane-m": 8})
			if from == "this replica" {
				b.queue = c.store
			}
			for range 8 {
				id := b.push(t, func(p *queue.PushParams) { p.Queue = "lane-m" })
				if got := c.next(t); got.ID.UUID() != id {
					t.Fatalf("claimed %v, want %v", got.ID, id)
				}
			}
		})
	}
}

func TestWaitNext_AnswersEmptyAtItsEnd(t *testing.T) {
	b := setup(t)
	for _, seconds := range []*int{nil, ptr(0), ptr(1)} {
		if c, err := b.queue.WaitNext(t.Context(), b.endpoint, "", queue.ClaimParams{}, seconds); c != nil || err != nil {
			t.Errorf("got %v, %v", c, err)
		}
	}
	for _, seconds := range []int{-1, 31} {
		_, err := b.queue.WaitNext(t.Context(), b.endpoint, "", queue.ClaimParams{}, &seconds)
		wantCode(t, err, fault.Invalid)
	}
}

// A caller that goes away while it waits claims nothing.
func TestWaitNext_ACallerThatLeftClaimsNothing(t *testing.T) {
	b := setup(t)
	c := b.gather(t, map[string]int{"": 3})
	c.stop()
	b.queue = c.store
	id := b.push(t)
	b.wantShape(t, id, shape{State: queue.StatePending})
	if n := len(c.claimed); n != 0 {
		t.Errorf("%d claims", n)
	}
}

// Todos that an endpoint cannot claim, in a queue that it is not granted, wake nobody.
func TestWaitNext_IsNotWokenByWhatItCannotClaim(t *testing.T) {
	b := setup(t)
	const waiters = 50
	for range waiters {
		b.push(t)
	}
	if _, err := b.Pool.Exec(t.Context(), `UPDATE todos SET queue = 'quarantine'`); err != nil {
		t.Fatal(err)
	}
	store, pool := b.replica(t, crowdConnections)
	var waiting sync.WaitGroup
	for range waiters {
		waiting.Go(func() {
			if c, err := store.WaitNext(t.Context(), b.endpoint, "", queue.ClaimParams{}, ptr(2)); c != nil || err != nil {
				t.Errorf("got %v, %v", c, err)
			}
		})
	}
	waiting.Wait()
	// Each looks once, with three statements; the common look comes a few times.
	if n := pool.Stat().AcquireCount(); n > 4*waiters {
		t.Errorf("%d calls took a connection %d times", waiters, n)
	}
}
