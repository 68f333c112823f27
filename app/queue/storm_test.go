package queue_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/settings"
	"github.com/switchboard-otel/switchboard/app/telemetry"
)

// storm is many workers of one endpoint on two replicas, under leases so short that many lapse. Some workers
// die, some stall and report too late, some lose the answer of their claim and ask again.
type storm struct {
	*bundle
	t        *testing.T
	todos    int
	stores   []*queue.Store
	counters []*telemetry.Metrics

	pushed  atomic.Int32
	ticks   chan struct{} // to the clock: move on
	reapers chan struct{} // from the clock: it has moved
	over    context.CancelFunc

	mu      sync.Mutex
	newest  map[uuid.UUID]int // the highest attempt of a todo that anybody was told of
	grants  map[grant]string  // which claim was given an attempt
	reports map[grant]string  // how its holder ended it
	stalled []hold
}

type grant struct {
	todo uuid.UUID
	seq  int
}

// hold is what a worker has in hands.
type hold struct {
	grant
	token string
}

const (
	claimers      = 16
	reaperCount   = 4
	pushers       = 4
	stormLease    = 2 // seconds
	stormTick     = 400 * time.Millisecond
	claimsPerTick = 60
)

// No todo is held twice at one instant, no attempt is closed twice, no work is lost, and the counters of all
// replicas together are what the rows say.
func TestStorm_SixteenClaimersFourReapersAndStaleWorkers(t *testing.T) {
	s := &storm{bundle: setup(t), t: t, todos: 2000, ticks: make(chan struct{}), reapers: make(chan struct{}, reaperCount),
		newest: map[uuid.UUID]int{}, grants: map[grant]string{}, reports: map[grant]string{}}
	if long {
		s.todos = 20_000
	}
	for range 2 {
		_, pool := s.replica(t, 12)
		m := telemetry.New()
		s.counters = append(s.counters, m)
		s.stores = append(s.stores, queue.NewStore(pool, settings.NewReader(pool, zap.NewNop()), queue.WithMetrics(m.Queue)))
	}
	s.rage()
	if t.Failed() {
		return
	}
	s.checkAttempts()
	s.checkTodos()
	s.checkCounters()
}

func (s *storm) store(i int) *queue.Store { return s.stores[i%len(s.stores)] }

// rage lets everybody work until nothing is live any more.
func (s *storm) rage() {
	ctx, over := context.WithCancel(s.t.Context())
	s.over = over
	defer over()
	var workers, helpers sync.WaitGroup
	for i := range pushers {
		workers.Go(func() { s.push(i) })
	}
	for i := range claimers {
		workers.Go(func() { s.work(ctx, i) })
	}
	helpers.Go(func() { s.clock(ctx) })
	for i := range reaperCount {
		helpers.Go(func() { s.reap(ctx, i) })
	}
	workers.Wait()
	over()
	helpers.Wait()
}

// failed reports what must not happen, once, and ends the storm.
func (s *storm) failed(format string, args ...any) {
	s.t.Errorf(format, args...)
	s.over()
}

func (s *storm) push(i int) {
	for n := i; n < s.todos; n += pushers {
		lane := s.endpoint.Queues[n%2]
		_, created, err := s.store(i).Push(s.t.Context(), s.bundle.human.ID,
			queue.PushParams{Endpoint: s.endpoint, Title: "todo", Queue: lane, MaxAttempts: ptr(1 + n%4)})
		if err != nil || !created {
			s.failed("push: %v, %v", created, err)
			return
		}
		s.pushed.Add(1)
	}
}

// clock moves time when workers ask for it, so that nothing depends on how fast they are.
func (s *storm) clock(ctx context.Context) {
	for n := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-s.ticks:
		}
		if _, err := s.Pool.Exec(context.WithoutCancel(ctx), "UPDATE sb_test.clock SET ahead = ahead + $1", stormTick); err != nil {
			s.failed("clock: %v", err)
			return
		}
		if n++; n%3 > 0 {
			continue // time for a takeover
		}
		for range reaperCount {
			select {
			case s.reapers <- struct{}{}:
			default:
			}
		}
	}
}

func (s *storm) reap(ctx context.Context, i int) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.reapers:
		}
		if _, err := s.store(i).Reap(context.WithoutCancel(ctx)); err != nil {
			s.failed("reap: %v", err)
		}
		if _, err := s.store(i).RequeueDue(context.WithoutCancel(ctx)); err != nil {
			s.failed("requeue: %v", err)
		}
	}
}

func (s *storm) tick(ctx context.Context) {
	select {
	case s.ticks <- struct{}{}:
	case <-ctx.Done():
	}
}

// work claims and reports until nothing is live any more.
func (s *storm) work(ctx context.Context, i int) {
	random := rand.New(rand.NewPCG(uint64(i), 7))
	for n := 1; ctx.Err() == nil; n++ {
		h, err := s.claim(i, n, random)
		switch {
		case err != nil:
			s.failed("claim: %v", err)
			return
		case h == nil && int(s.pushed.Load()) == s.todos && s.settled():
			return
		case h == nil || n%claimsPerTick == 0:
			s.tick(ctx)
		}
		if h != nil {
			s.use(i, *h, random)
		}
		late := s.takeStalled(random)
		switch {
		case late == nil:
		case random.IntN(3) > 0:
			s.report(i, *late, random)
		default:
			s.steal(i, n, *late, random)
		}
	}
}

func (s *storm) settled() bool {
	var n int
	err := s.Pool.QueryRow(s.t.Context(), `SELECT count(*) FROM todos WHERE state IN ('pending', 'claimed') OR next_retry_at IS NOT NULL`).Scan(&n)
	if err != nil {
		s.failed("%v", err)
	}
	return n == 0
}

// claim claims, now and then twice with one request id, as if the first answer had been lost.
func (s *storm) claim(i, n int, random *rand.Rand) (*hold, error) {
	request := fmt.Sprintf("worker-%d-%d", i, n)
	p := queue.ClaimParams{LeaseTTLSeconds: ptr(stormLease), RequireFence: ptr(true), RequestID: &request, Claimant: &request}
	c, err := s.store(i).ClaimNext(s.t.Context(), s.endpoint, "", p)
	if c == nil || err != nil {
		return nil, err
	}
	h := s.granted(c, request)
	if random.IntN(20) == 0 {
		again, err := s.store(i+1).ClaimNext(s.t.Context(), s.endpoint, "", p)
		if err != nil {
			return nil, err
		}
		if again != nil { // nil: the first one has lapsed meanwhile, and there is nothing else
			h = s.granted(again, request)
		}
	}
	return &h, nil
}

// steal asks by its id for a todo whose holder has stalled. It is given it if the lease has lapsed.
func (s *storm) steal(i, n int, from hold, random *rand.Rand) {
	request := fmt.Sprintf("thief-%d-%d", i, n)
	p := queue.ClaimParams{LeaseTTLSeconds: ptr(stormLease), RequireFence: ptr(true), RequestID: &request, Claimant: &request}
	c, err := s.store(i).Claim(s.t.Context(), s.endpoint, from.todo, p)
	switch {
	case err == nil:
		s.use(i, s.granted(c, request), random)
	case codeOf(err) != string(fault.Conflict):
		s.failed("claim: %v", err)
	}
}

// granted notes who was given an attempt. Nobody else may be.
func (s *storm) granted(c *queue.Claimed, request string) hold {
	g := grant{c.ID.UUID(), c.AttemptSeq}
	s.mu.Lock()
	defer s.mu.Unlock()
	if to, taken := s.grants[g]; taken && to != request {
		s.failed("attempt %d of %v was given to %s and to %s", g.seq, c.ID, to, request)
	}
	s.grants[g] = request
	s.newest[g.todo] = max(s.newest[g.todo], g.seq)
	return hold{g, c.LeaseToken}
}

// use is what a worker does with what it holds.
func (s *storm) use(i int, h hold, random *rand.Rand) {
	switch random.IntN(12) {
	case 0: // it dies
	case 1, 2: // it stalls
		s.mu.Lock()
		s.stalled = append(s.stalled, h)
		s.mu.Unlock()
	case 3, 4:
		_, err := s.store(i).Heartbeat(s.t.Context(), s.endpoint, h.todo, queue.HeartbeatParams{LeaseToken: &h.token, Note: ptr("still here")})
		if err != nil && !errors.Is(err, fault.ErrNotHeld) {
			s.failed("heartbeat: %v", err)
		}
		s.report(i, h, random)
	default:
		s.report(i, h, random)
	}
}

// takeStalled takes one of many that have stalled, so that it is late by then.
func (s *storm) takeStalled(random *rand.Rand) *hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.stalled) < 50 {
		return nil
	}
	i := random.IntN(len(s.stalled))
	h := s.stalled[i]
	s.stalled[i] = s.stalled[len(s.stalled)-1]
	s.stalled = s.stalled[:len(s.stalled)-1]
	return &h
}

// report ends an attempt, if its worker still holds it.
func (s *storm) report(i int, h hold, random *rand.Rand) {
	s.mu.Lock()
	overtaken := s.newest[h.todo] > h.seq
	s.mu.Unlock()
	r := queue.Report{LeaseToken: &h.token}
	var err error
	how := "completed"
	switch random.IntN(8) {
	case 0:
		how = "failed"
		_, err = s.store(i).Fail(s.t.Context(), s.endpoint, h.todo, r, queue.FailParams{RetryAfterSeconds: ptr(random.IntN(2))})
	case 1:
		how = "released"
		_, err = s.store(i).Release(s.t.Context(), s.endpoint, h.todo, r)
	default:
		_, err = s.store(i).Complete(s.t.Context(), s.endpoint, h.todo, r, nil)
	}
	if errors.Is(err, fault.ErrNotHeld) {
		return
	}
	if err != nil {
		s.failed("%s: %v", how, err)
		return
	}
	if overtaken {
		s.failed("attempt %d of %v was %s after a later one had been given", h.seq, h.todo, how)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if before, twice := s.reports[h.grant]; twice {
		s.failed("attempt %d of %v was %s, then %s", h.seq, h.todo, before, how)
	}
	s.reports[h.grant] = how
}
