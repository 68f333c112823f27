package queue

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/identity"
)

// maxWait is the longest a claim_next may wait for work, in seconds.
const maxWait = 30

// pollEvery is how often one query asks, for all waiting endpoints of this process at once, whether another
// replica or the clock has made something ready.
const pollEvery = 400 * time.Millisecond

// waiters are the claim_next calls that wait in this process. A waiter holds no connection and no
// transaction: it is woken by a hint and claims anew, and a hint for which nothing is left costs one claim.
type waiters struct {
	mu      sync.Mutex
	waiting map[uuid.UUID]map[chan struct{}]bool
	polling bool
}

func newWaiters() *waiters { return &waiters{waiting: map[uuid.UUID]map[chan struct{}]bool{}} }

func (w *waiters) join(endpoint uuid.UUID) (woken chan struct{}, first bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	woken = make(chan struct{}, 1)
	if w.waiting[endpoint] == nil {
		w.waiting[endpoint] = map[chan struct{}]bool{}
	}
	w.waiting[endpoint][woken] = true
	first = !w.polling
	w.polling = true
	return woken, first
}

func (w *waiters) leave(endpoint uuid.UUID, woken chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.waiting[endpoint], woken)
	if len(w.waiting[endpoint]) == 0 {
		delete(w.waiting, endpoint)
	}
}

// wake lets up to n calls that wait for this endpoint look again. One todo wakes one of them.
func (w *waiters) wake(endpoint uuid.UUID, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for woken := range w.waiting[endpoint] {
		if n <= 0 {
			return
		}
		select {
		case woken <- struct{}{}:
			n--
		default: // it was woken already and will look
		}
	}
}

// endpoints lists who is waited for. With nobody left the poll ends.
func (w *waiters) endpoints() []uuid.UUID {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]uuid.UUID, 0, len(w.waiting))
	for id := range w.waiting {
		all = append(all, id)
	}
	w.polling = len(all) > 0
	return all
}

// WaitNext is ClaimNext that waits up to seconds, 0 to 30, until there is something to claim.
func (s *Store) WaitNext(ctx context.Context, ep *identity.Endpoint, queue string, p ClaimParams, seconds *int) (*Claimed, error) {
	if seconds != nil && (*seconds < 0 || *seconds > maxWait) {
		return nil, fault.InvalidArgument("wait_seconds", "must be 0 to 30")
	}
	if seconds == nil || *seconds == 0 {
		return s.ClaimNext(ctx, ep, queue, p)
	}
	end := time.NewTimer(time.Duration(*seconds) * time.Second)
	defer end.Stop()
	// Join before the first look: what becomes ready in between is not missed.
	woken, first := s.ready.join(ep.ID)
	defer s.ready.leave(ep.ID, woken)
	if first {
		go s.poll()
	}
	for {
		c, err := s.ClaimNext(ctx, ep, queue, p)
		if c != nil || err != nil {
			return c, err
		}
		select {
		case <-woken:
		case <-end.C:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// poll runs while somebody waits.
func (s *Store) poll() {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for range tick.C {
		endpoints := s.ready.endpoints()
		if len(endpoints) == 0 {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		_ = s.wakeReady(ctx, endpoints) // the next tick asks again; a waiter that runs out says the store's error itself
		cancel()
	}
}

// wakeReady wakes as many calls of each endpoint as it has todos to claim: pending, due, or lapsed with
// attempts left.
func (s *Store) wakeReady(ctx context.Context, endpoints []uuid.UUID) error {
	rows, err := s.pool.Query(ctx, `
		WITH clock AS MATERIALIZED (SELECT sb_now() AS now)
		SELECT w.endpoint, (SELECT count(*) FROM (
			SELECT FROM todos t WHERE t.endpoint_id = w.endpoint AND t.state = 'pending' LIMIT 100) pending)
			+ (SELECT count(*) FROM (
			SELECT FROM todos t WHERE t.endpoint_id = w.endpoint AND t.state = 'claimed' AND t.lease_expires_at < clock.now
				AND t.attempt < t.max_attempts LIMIT 100) lapsed)
			+ (SELECT count(*) FROM (
			SELECT FROM todos t WHERE t.endpoint_id = w.endpoint AND t.state = 'failed' AND t.next_retry_at <= clock.now LIMIT 100) due)
		FROM clock, unnest($1::uuid[]) AS w (endpoint)`, endpoints)
	if err != nil {
		return err
	}
	var endpoint uuid.UUID
	var ready int
	_, err = pgx.ForEachRow(rows, []any{&endpoint, &ready}, func() error {
		s.ready.wake(endpoint, ready)
		return nil
	})
	return err
}
