package queue_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/queue"
)

// instant is the least that can pass: a lease is over one instant after its end.
const instant = time.Microsecond

// stage is one todo, brought to where a table wants it.
type stage struct {
	*bundle
	t      *testing.T
	clock  *frozen
	fenced bool        // how the endpoint claims
	ask    queue.State // what an interrupt waits for
	id     uuid.UUID
	token  *string // of the open attempt, when it is fenced
	there  *trail  // as it was brought there

	otherHuman    *identity.Human
	otherEndpoint *identity.Endpoint
}

// situations brings a stage to each standing, through the same calls that anybody makes.
var situations = map[string]func(s *stage){
	"new":           func(s *stage) { s.fresh(2) },
	"new-last":      func(s *stage) { s.fresh(1) },
	"released":      func(s *stage) { s.fresh(2); s.hold(); s.release(); s.pass(time.Second) },
	"released-last": func(s *stage) { s.fresh(1); s.hold(); s.release(); s.pass(time.Second) },
	"retried":       func(s *stage) { s.fresh(1); s.hold(); s.fail(nil); s.human(queue.ActionRetry); s.pass(time.Second) },

	"held":             func(s *stage) { s.fresh(2); s.hold() },
	"held-edge":        func(s *stage) { s.fresh(2); s.hold(); s.leaseEnds() },
	"held-lapsed":      func(s *stage) { s.fresh(2); s.hold(); s.leaseEnds(); s.pass(instant) },
	"held-last":        func(s *stage) { s.fresh(1); s.hold() },
	"held-last-lapsed": func(s *stage) { s.fresh(1); s.hold(); s.leaseEnds(); s.pass(instant) },
	"held-over":        func(s *stage) { s.fresh(1); s.hold(); s.release(); s.hold() },
	"held-over-lapsed": func(s *stage) {
		s.fresh(1)
		s.hold()
		s.release()
		s.hold()
		s.leaseEnds()
		s.pass(instant)
	},

	"human":             func(s *stage) { s.fresh(2); s.human(queue.ActionClaim); s.pass(time.Second) },
	"human-edge":        func(s *stage) { s.fresh(2); s.human(queue.ActionClaim); s.leaseEnds() },
	"human-lapsed":      func(s *stage) { s.fresh(2); s.human(queue.ActionClaim); s.leaseEnds(); s.pass(instant) },
	"human-last":        func(s *stage) { s.fresh(1); s.human(queue.ActionClaim); s.pass(time.Second) },
	"human-last-lapsed": func(s *stage) { s.fresh(1); s.human(queue.ActionClaim); s.leaseEnds(); s.pass(instant) },

	"asks":           func(s *stage) { s.fresh(2); s.hold(); s.interrupt(); s.pass(time.Second) },
	"asks-lapsed":    func(s *stage) { s.fresh(2); s.hold(); s.interrupt(); s.leaseEnds(); s.pass(instant) },
	"asks-edge":      func(s *stage) { s.fresh(2); s.hold(); s.interrupt(); s.pass(24 * time.Hour) },
	"asks-over":      func(s *stage) { s.fresh(2); s.hold(); s.interrupt(); s.pass(24*time.Hour + instant) },
	"asks-last":      func(s *stage) { s.fresh(1); s.hold(); s.interrupt(); s.pass(time.Second) },
	"asks-last-over": func(s *stage) { s.fresh(1); s.hold(); s.interrupt(); s.pass(24*time.Hour + instant) },

	"waits":      func(s *stage) { s.fresh(2); s.hold(); s.fail(ptr(100)); s.pass(time.Second) },
	"waits-edge": func(s *stage) { s.fresh(2); s.hold(); s.fail(ptr(100)); s.pass(100 * time.Second) },
	"waits-over": func(s *stage) { s.fresh(2); s.hold(); s.fail(ptr(100)); s.pass(100*time.Second + instant) },
	"dead":       func(s *stage) { s.fresh(1); s.hold(); s.fail(nil); s.pass(time.Second) },
	"dead-early": func(s *stage) { s.fresh(2); s.hold(); s.bury(); s.pass(time.Second) },
	"dead-reaped": func(s *stage) {
		s.fresh(1)
		s.hold()
		s.leaseEnds()
		s.pass(instant)
		s.reap()
		s.pass(time.Second)
	},

	"revoked":       func(s *stage) { s.fresh(2); s.revoke(); s.pass(time.Second) },
	"revoked-held":  func(s *stage) { s.fresh(2); s.hold(); s.revoke(); s.pass(time.Second) },
	"done":          func(s *stage) { s.fresh(2); s.hold(); s.complete(); s.pass(time.Second) },
	"canceled":      func(s *stage) { s.fresh(2); s.cancel(); s.pass(time.Second) },
	"canceled-held": func(s *stage) { s.fresh(2); s.hold(); s.cancel(); s.pass(time.Second) },
	"rejected":      func(s *stage) { s.fresh(2); s.reject(); s.pass(time.Second) },

	// An endpoint that has expired, before the sweep that ends it as a revocation does. None of its credentials
	// resolves any more, so that its verbs are called here only by this test.
	"expired":        func(s *stage) { s.expiring(2); s.pass(time.Hour) },
	"expired-lapsed": func(s *stage) { s.expiring(2); s.hold(); s.leaseEnds(); s.pass(time.Hour) },
	"expired-waits":  func(s *stage) { s.expiring(2); s.hold(); s.fail(ptr(100)); s.pass(time.Hour) },
	"expired-dead":   func(s *stage) { s.expiring(1); s.hold(); s.fail(nil); s.pass(time.Hour) },
}

// fresh makes a todo the only one there is, on an endpoint of its own.
func (s *stage) fresh(max int) {
	s.begin(max, identity.VendParams{Name: "fresh", Queues: []string{"lane-s", "lane-m"}})
}

func (s *stage) expiring(max int) {
	s.begin(max, identity.VendParams{Name: "expiring", Queues: []string{"lane-s"}, ExpiresIn: ptr(time.Hour)})
}

func (s *stage) begin(max int, p identity.VendParams) {
	s.t.Helper()
	if _, err := s.Pool.Exec(s.t.Context(), `DELETE FROM todos`); err != nil {
		s.t.Fatal(err)
	}
	s.endpoint = s.vend(s.t, s.bundle.human.ID, p)
	s.id = s.push(s.t, maxAttempts(max))
	s.token = nil
	s.pass(time.Second)
}

func (s *stage) pass(d time.Duration) { s.t.Helper(); s.clock.pass(s.t, d) }

// must ends the test when a step towards a situation is refused.
func (s *stage) must(_ any, err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) hold() {
	s.t.Helper()
	c, err := s.queue.Claim(s.t.Context(), s.endpoint, s.id, queue.ClaimParams{RequireFence: &s.fenced})
	s.must(c, err)
	s.token = nil
	if s.fenced {
		s.token = &c.LeaseToken
	}
	s.pass(time.Second)
}

// leaseEnds moves the clock to the very end of the lease.
func (s *stage) leaseEnds() {
	s.t.Helper()
	s.pass(s.trails(s.t)[0].Todo.LeaseExpiresAt.Sub(s.clock.now))
}

func (s *stage) release() {
	s.t.Helper()
	s.must(s.queue.Release(s.t.Context(), s.endpoint, s.id, queue.Report{LeaseToken: s.token}))
}

func (s *stage) fail(after *int) {
	s.t.Helper()
	s.must(s.queue.Fail(s.t.Context(), s.endpoint, s.id, queue.Report{LeaseToken: s.token},
		queue.FailParams{Result: raw(`{"exit":1}`), RetryAfterSeconds: after}))
}

func (s *stage) bury() {
	s.t.Helper()
	s.must(s.queue.Fail(s.t.Context(), s.endpoint, s.id, queue.Report{LeaseToken: s.token},
		queue.FailParams{Result: raw(`{"exit":1}`), Retry: ptr(false)}))
}

func (s *stage) complete() {
	s.t.Helper()
	s.must(s.queue.Complete(s.t.Context(), s.endpoint, s.id, queue.Report{LeaseToken: s.token}, nil))
}

func (s *stage) interrupt() {
	s.t.Helper()
	s.must(s.queue.Interrupt(s.t.Context(), s.endpoint, s.id, s.token, s.ask, nil))
}

func (s *stage) cancel() { s.t.Helper(); s.must(s.queue.Cancel(s.t.Context(), s.endpoint, s.id)) }
func (s *stage) reject() { s.t.Helper(); s.must(s.queue.Reject(s.t.Context(), s.endpoint, s.id)) }
func (s *stage) reap()   { s.t.Helper(); s.must(s.queue.Reap(s.t.Context())) }

func (s *stage) revoke() {
	s.t.Helper()
	s.must(s.identity.Revoke(s.t.Context(), s.bundle.human.ID, s.endpoint.Slug))
}

func (s *stage) human(a queue.Action) {
	s.t.Helper()
	s.must(s.queue.Act(s.t.Context(), s.bundle.human.ID, s.id, queue.Act{Action: a, Via: queue.ViaBoard}))
}

// actor is who acts in a cell, and under which token.
type actor struct {
	endpoint *identity.Endpoint
	human    uuid.UUID
	token    *string
}

type endpointAction = func(s *stage, by actor) (row *queue.Row, moved int, err error)

// endpointActions are the columns of byEndpoint. Each returns the row of its answer, when it has one, and how
// many todos a background pass moved.
var endpointActions = map[string]endpointAction{
	"claim": func(s *stage, by actor) (*queue.Row, int, error) {
		c, err := s.queue.Claim(s.t.Context(), by.endpoint, s.id, queue.ClaimParams{})
		return claimedRow(c), 0, err
	},
	"next": func(s *stage, by actor) (*queue.Row, int, error) {
		c, err := s.queue.ClaimNext(s.t.Context(), by.endpoint, "", queue.ClaimParams{})
		return claimedRow(c), 0, err
	},
	"beat":    beat(nil),
	"beat900": beat(ptr(900)),
	"done": func(s *stage, by actor) (*queue.Row, int, error) {
		row, err := s.queue.Complete(s.t.Context(), by.endpoint, s.id, by.says(), raw(saidResult))
		return row, 0, err
	},
	"fail":    fail(queue.FailParams{Result: raw(saidResult)}),
	"fail!":   fail(queue.FailParams{Result: raw(saidResult), Retry: ptr(false)}),
	"fail900": fail(queue.FailParams{Result: raw(saidResult), Retry: ptr(true), RetryAfterSeconds: ptr(900)}),
	"release": func(s *stage, by actor) (*queue.Row, int, error) {
		row, err := s.queue.Release(s.t.Context(), by.endpoint, s.id, by.says())
		return row, 0, err
	},
	"input": interrupt(queue.StateInputRequired),
	"auth":  interrupt(queue.StateAuthRequired),
	"resume": func(s *stage, by actor) (*queue.Row, int, error) {
		row, err := s.queue.Resume(s.t.Context(), by.endpoint, s.id, nil, nil)
		return row, 0, err
	},
	"cancel": func(s *stage, by actor) (*queue.Row, int, error) {
		row, err := s.queue.Cancel(s.t.Context(), by.endpoint, s.id)
		return row, 0, err
	},
	"reject": func(s *stage, by actor) (*queue.Row, int, error) {
		row, err := s.queue.Reject(s.t.Context(), by.endpoint, s.id)
		return row, 0, err
	},
	"reap": func(s *stage, _ actor) (*queue.Row, int, error) {
		n, err := s.queue.Reap(s.t.Context())
		return nil, n, err
	},
	"due": func(s *stage, _ actor) (*queue.Row, int, error) {
		n, err := s.queue.RequeueDue(s.t.Context())
		return nil, n, err
	},
	"revoke": func(s *stage, by actor) (*queue.Row, int, error) {
		_, err := s.identity.Revoke(s.t.Context(), by.human, s.endpoint.Slug)
		return nil, 0, err
	},
}

func (by actor) says() queue.Report {
	return queue.Report{LeaseToken: by.token, Summary: ptr(saidSummary), Artifact: ptr(saidArtifact)}
}

func beat(ttl *int) endpointAction {
	return func(s *stage, by actor) (*queue.Row, int, error) {
		row, err := s.queue.Heartbeat(s.t.Context(), by.endpoint, s.id,
			queue.HeartbeatParams{LeaseTTLSeconds: ttl, LeaseToken: by.token, Note: ptr("still here")})
		return row, 0, err
	}
}

func fail(p queue.FailParams) endpointAction {
	return func(s *stage, by actor) (*queue.Row, int, error) {
		row, err := s.queue.Fail(s.t.Context(), by.endpoint, s.id, by.says(), p)
		return row, 0, err
	}
}

func interrupt(into queue.State) endpointAction {
	return func(s *stage, by actor) (*queue.Row, int, error) {
		row, err := s.queue.Interrupt(s.t.Context(), by.endpoint, s.id, by.token, into, nil)
		return row, 0, err
	}
}

func claimedRow(c *queue.Claimed) *queue.Row {
	if c == nil {
		return nil
	}
	return &c.Row
}

// humanActions are the columns of byHuman.
var humanActions = map[string]queue.Act{
	"claim":    {Action: queue.ActionClaim},
	"complete": {Action: queue.ActionComplete, Result: raw(saidResult), Summary: ptr(saidSummary), Artifact: ptr(saidArtifact)},
	"fail":     {Action: queue.ActionFail, Result: raw(saidResult), Summary: ptr(saidSummary), Artifact: ptr(saidArtifact)},
	"fail!":    {Action: queue.ActionFail, Result: raw(saidResult), Summary: ptr(saidSummary), Artifact: ptr(saidArtifact), Retry: ptr(false)},
	"fail900": {Action: queue.ActionFail, Result: raw(saidResult), Summary: ptr(saidSummary), Artifact: ptr(saidArtifact), Retry: ptr(true),
		RetryAfterSeconds: ptr(900)},
	"extend":  {Action: queue.ActionExtend},
	"release": {Action: queue.ActionRelease, Summary: ptr(saidSummary), Artifact: ptr(saidArtifact)},
	"retry":   {Action: queue.ActionRetry},
	"cancel":  {Action: queue.ActionCancel},
}

// codeOf is what a call answered, in one word.
func codeOf(err error) string {
	var f *fault.Error
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &f):
		return string(f.Code)
	default:
		return err.Error()
	}
}
