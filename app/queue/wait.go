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
	waiting map[claimKey]map[chan struct{}]bool
	polling bool

	stop    sync.Once
	stopped chan struct{}
}

func newWaiters() *waiters {
	return &waiters{waiting: map[claimKey]map[chan struct{}]bool{}, stopped: make(chan struct{})}
}

// StopWaiting lets every call that waits answer that there is nothing, and none wait from now on: the
// process ends. Other calls go on.
func (s *Store) StopWaiting() { s.ready.stop.Do(func() { close(s.ready.stopped) }) }

func (w *waiters) join(key claimKey) (woken chan struct{}, first bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	woken = make(chan struct{}, 1)
	if w.waiting[key] == nil {
		w.waiting[key] = map[chan struct{}]bool{}
	}
	w.waiting[key][woken] = true
	first = !w.polling
	w.polling = true
	return woken, first
}

func (w *waiters) leave(key claimKey, woken chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.waiting[key], woken)
	if len(w.waiting[key]) == 0 {
		delete(w.waiting, key)
	}
}

// wake lets up to n calls look again that wait for this queue of the endpoint or for any. One todo wakes one
// of them.
func (w *waiters) wake(endpoint uuid.UUID, queue string, n int) {
	if left := w.wakeKey(claimKey{endpoint, queue}, n); left > 0 {
		w.wakeKey(claimKey{endpoint, ""}, left)
	}
}

// wakeKey lets up to n calls look again that wait for exactly this, and returns how many were too few.
func (w *waiters) wakeKey(key claimKey, n int) (left int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for woken := range w.waiting[key] {
		if n <= 0 {
			return 0
		}
		select {
		case woken <- struct{}{}:
			n--
		default: // it was woken already and will look
		}
	}
	return n
}

// keys lists what is waited for. With nobody left the poll ends.
func (w *waiters) keys() []claimKey {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]claimKey, 0, len(w.waiting))
	for key := range w.waiting {
		all = append(all, key)
	}
	w.polling = len(all) > 0
	return all
}

// WaitNext is ClaimNext that waits up to seconds, 0 to 30, until there is something to claim. Much can change in that
// time: a caller whose credential has ended meanwhile gets nothing (ClaimParams.Still).
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
	key := claimKey{ep.ID, queue}
	woken, first := s.ready.join(key)
	defer s.ready.leave(key, woken)
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
			if p.Still == nil {
				continue
			}
			if err := p.Still(ctx); err != nil {
				return nil, err
			}
		case <-end.C:
			return nil, nil
		case <-s.ready.stopped:
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
		keys := s.ready.keys()
		if len(keys) == 0 {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		_ = s.wakeReady(ctx, keys) // the next tick asks again; a waiter that runs out says the store's error itself
		cancel()
	}
}

// wakeReady wakes as many calls of each kind as there are todos for them to claim: pending, due, or lapsed
// with attempts left.
func (s *Store) wakeReady(ctx context.Context, keys []claimKey) error {
	endpoints, queues := make([]uuid.UUID, len(keys)), make([]string, len(keys))
	for i, key := range keys {
		endpoints[i], queues[i] = key.endpoint, key.queue
	}
	rows, err := s.pool.Query(ctx, `
		WITH clock AS MATERIALIZED (SELECT sb_now() AS now)
		SELECT w.endpoint, w.queue, (SELECT count(*) FROM (
			SELECT FROM todos t WHERE t.endpoint_id = e.id AND t.queue = ANY(e.queues) AND w.queue IN ('', t.queue)
				AND `+pending+` LIMIT 100) pending)
			+ (SELECT count(*) FROM (
			SELECT FROM todos t WHERE t.endpoint_id = e.id AND t.queue = ANY(e.queues) AND w.queue IN ('', t.queue)
				AND `+claimed+` AND t.lease_expires_at < clock.now AND t.attempt < t.max_attempts LIMIT 100) lapsed)
			+ (SELECT count(*) FROM (
			SELECT FROM todos t WHERE t.endpoint_id = e.id AND t.queue = ANY(e.queues) AND w.queue IN ('', t.queue)
				AND t.state = 'failed' AND t.next_retry_at <= clock.now LIMIT 100) due)
		FROM clock, unnest($1::uuid[], $2::text[]) AS w (endpoint, queue) JOIN endpoints e ON e.id = w.endpoint`, endpoints, queues)
	if err != nil {
		return err
	}
	var key claimKey
	var ready int
	_, err = pgx.ForEachRow(rows, []any{&key.endpoint, &key.queue, &ready}, func() error {
		s.ready.wakeKey(key, ready)
		return nil
	})
	return err
}
