package queue_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/queue"
)

// claimWays are the two verbs that take a request id.
var claimWays = map[string]func(b *bundle, t *testing.T, id uuid.UUID, p queue.ClaimParams) (*queue.Claimed, error){
	"claim": func(b *bundle, t *testing.T, id uuid.UUID, p queue.ClaimParams) (*queue.Claimed, error) {
		return b.queue.Claim(t.Context(), b.endpoint, id, p)
	},
	"claim_next": func(b *bundle, t *testing.T, _ uuid.UUID, p queue.ClaimParams) (*queue.Claimed, error) {
		return b.queue.ClaimNext(t.Context(), b.endpoint, "", p)
	},
}

// traceOf is the trace of a traceparent, without the parent span id, which each answer draws anew.
func traceOf(c *queue.Claimed) string { return strings.Split(c.Traceparent, "-")[1] }

func TestRequestID_ARepeatedClaimReturnsTheSameAttempt(t *testing.T) {
	for way, claim := range claimWays {
		t.Run(way, func(t *testing.T) {
			b := setup(t)
			id, other := b.push(t), b.push(t)
			p := queue.ClaimParams{RequestID: ptr("r-1"), Claimant: ptr("run-7"), LeaseTTLSeconds: ptr(90)}
			first, err := claim(b, t, id, p)
			if err != nil {
				t.Fatal(err)
			}
			again, err := claim(b, t, id, p)
			if err != nil {
				t.Fatal(err)
			}
			if again.ID != first.ID || again.AttemptSeq != 1 || again.AttemptsTotal != 1 || traceOf(again) != traceOf(first) ||
				again.State != queue.StateClaimed || !again.LeaseExpiresAt.Equal(*first.LeaseExpiresAt) || again.PriorAttempts == nil {
				t.Errorf("first %+v\nagain %+v", first, again)
			}
			b.wantShape(t, id, shape{State: queue.StateClaimed, Attempt: 1})
			b.wantShape(t, other, shape{State: queue.StatePending})
		})
	}
}

func TestRequestID_ATakeoverIsRepeatedToo(t *testing.T) {
	for way, claim := range claimWays {
		t.Run(way, func(t *testing.T) {
			b := setup(t)
			id := b.push(t)
			b.claim(t, id, queue.ClaimParams{})
			b.lapse(t)
			for range 2 {
				c, err := claim(b, t, id, queue.ClaimParams{RequestID: ptr("r-1")})
				if err != nil || c == nil || c.AttemptSeq != 2 || len(c.PriorAttempts) != 1 {
					t.Fatalf("%+v, %v", c, err)
				}
			}
		})
	}
}

// A repeat of a fenced claim brings a new lease token, and the earlier one stops matching.
func TestRequestID_ARepeatedFencedClaimBringsANewToken(t *testing.T) {
	for way, claim := range claimWays {
		t.Run(way, func(t *testing.T) {
			b := setup(t)
			id := b.push(t)
			p := queue.ClaimParams{RequestID: ptr("r-1"), RequireFence: ptr(true)}
			lost, err := claim(b, t, id, p)
			if err != nil {
				t.Fatal(err)
			}
			kept, err := claim(b, t, id, p)
			if err != nil {
				t.Fatal(err)
			}
			if kept.LeaseToken == "" || kept.LeaseToken == lost.LeaseToken {
				t.Fatalf("tokens %q and %q", lost.LeaseToken, kept.LeaseToken)
			}
			for verb, err := range b.reports(t, id, &lost.LeaseToken) {
				if err == nil || err.Error() != fault.ErrNotHeld.Error() {
					t.Errorf("%s under the lost token answered %v", verb, err)
				}
			}
			if _, err := b.queue.Complete(t.Context(), b.endpoint, id, queue.Report{LeaseToken: &kept.LeaseToken}, nil); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRequestID_ConcurrentIdenticalRequestsOpenOneAttempt(t *testing.T) {
	for way, claim := range claimWays {
		t.Run(way, func(t *testing.T) {
			b := setup(t)
			const rounds, callers = 10, 6
			for round := range rounds {
				ids := make([]uuid.UUID, callers) // enough that each could take one of its own
				for i := range ids {
					ids[i] = b.push(t)
				}
				p := queue.ClaimParams{RequestID: ptr("r-" + string(rune('a'+round))), RequireFence: ptr(true)}
				claimed := make([]*queue.Claimed, callers)
				var wg sync.WaitGroup
				for i := range claimed {
					wg.Go(func() {
						var err error
						if claimed[i], err = claim(b, t, ids[0], p); err != nil {
							t.Error(err)
						}
					})
				}
				wg.Wait()
				if t.Failed() {
					return
				}
				valid := 0
				for _, c := range claimed {
					if c.ID != claimed[0].ID || c.AttemptSeq != 1 || traceOf(c) != traceOf(claimed[0]) {
						t.Fatalf("one request opened %+v and %+v", claimed[0].ClaimFields, c.ClaimFields)
					}
					_, err := b.queue.Heartbeat(t.Context(), b.endpoint, c.ID.UUID(), queue.HeartbeatParams{LeaseToken: &c.LeaseToken})
					if err == nil {
						valid++
					}
				}
				if open := b.count(t, `SELECT count(*) FROM todo_attempts`); open != 1 || valid != 1 {
					t.Fatalf("%d attempts, %d of %d tokens match", open, valid, callers)
				}
				if _, err := b.Pool.Exec(t.Context(), `DELETE FROM todos`); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// An id that belongs to another todo's open attempt is a conflict, and does nothing to either: not even the
// fence of the attempt that the id belongs to changes.
func TestRequestID_OfAnotherTodoIsAConflictAndDisturbsNothing(t *testing.T) {
	b := setup(t)
	held, wanted := b.push(t), b.push(t)
	c := b.claim(t, held, queue.ClaimParams{RequestID: ptr("r-1"), RequireFence: ptr(true)})
	_, err := b.queue.Claim(t.Context(), b.endpoint, wanted, queue.ClaimParams{RequestID: ptr("r-1"), RequireFence: ptr(true)})
	wantCode(t, err, fault.Conflict)
	b.wantShape(t, wanted, shape{State: queue.StatePending})
	if _, err := b.queue.Heartbeat(t.Context(), b.endpoint, held, queue.HeartbeatParams{LeaseToken: &c.LeaseToken}); err != nil {
		t.Errorf("the holder lost its fence: %v", err)
	}
}

func TestRequestID_IsFreeWhenItsAttemptHasEnded(t *testing.T) {
	b := setup(t)
	id := b.push(t, maxAttempts(9))
	r := queue.Report{}
	ends := map[string]func() error{
		"release": func() error { _, err := b.queue.Release(t.Context(), b.endpoint, id, r); return err },
		"reap": func() error {
			b.lapse(t)
			_, err := b.queue.Reap(t.Context())
			return err
		},
		"fail": func() error {
			_, err := b.queue.Fail(t.Context(), b.endpoint, id, r, queue.FailParams{RetryAfterSeconds: ptr(0)})
			return err
		},
	}
	seq := 0
	for how, end := range ends {
		seq++
		if c := b.claim(t, id, queue.ClaimParams{RequestID: ptr("r-1")}); c.AttemptSeq != seq {
			t.Fatalf("before %s: attempt %d, want %d", how, c.AttemptSeq, seq)
		}
		if err := end(); err != nil {
			t.Fatalf("%s: %v", how, err)
		}
	}
	other := b.push(t)
	if c := b.claim(t, other, queue.ClaimParams{RequestID: ptr("r-1")}); c.AttemptSeq != 1 {
		t.Errorf("another todo's claim under the free id is %+v", c.ClaimFields)
	}
}

// The id is the endpoint's own: another endpoint's equal id names another request.
func TestRequestID_IsScopedToItsEndpoint(t *testing.T) {
	b := setup(t)
	_, theirs := b.secondHuman(t)
	b.claim(t, b.push(t), queue.ClaimParams{RequestID: ptr("r-1")})
	c, err := b.queue.ClaimNext(t.Context(), theirs, "", queue.ClaimParams{RequestID: ptr("r-1")})
	if c != nil || err != nil {
		t.Fatalf("another human's endpoint got %+v, %v", c, err)
	}
}

func TestRequestID_OutOfRangeIsInvalid(t *testing.T) {
	b := setup(t)
	id := b.push(t)
	for _, request := range []string{"", " ", "nul\x00", "\xff", strings.Repeat("x", 65)} {
		_, err := b.queue.Claim(t.Context(), b.endpoint, id, queue.ClaimParams{RequestID: &request})
		wantCode(t, err, fault.Invalid)
	}
	b.claim(t, id, queue.ClaimParams{RequestID: ptr(strings.Repeat("x", 64))})
}
