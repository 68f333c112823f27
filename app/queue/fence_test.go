package queue_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/queue"
)

// reports calls every verb that reports on a held todo with one token and returns their errors by name.
func (b *bundle) reports(t *testing.T, id uuid.UUID, token *string) map[string]error {
	t.Helper()
	r := queue.Report{LeaseToken: token}
	errs := map[string]error{}
	_, errs["heartbeat"] = b.queue.Heartbeat(t.Context(), b.endpoint, id, queue.HeartbeatParams{LeaseToken: token, Note: ptr("x")})
	_, errs["release"] = b.queue.Release(t.Context(), b.endpoint, id, r)
	_, errs["fail"] = b.queue.Fail(t.Context(), b.endpoint, id, r, queue.FailParams{})
	_, errs["complete"] = b.queue.Complete(t.Context(), b.endpoint, id, r, nil)
	return errs
}

// attempt-history, "The fence": each way in which a fenced call answers conflict, and the todo stays claimed.
func TestFence_RefusesEveryVerbWithoutTheMatchingToken(t *testing.T) {
	for name, c := range map[string]struct {
		fenced bool
		token  *string
	}{
		"no token for a fenced attempt":     {true, nil},
		"a token that does not match":       {true, ptr("sbl_wrong")},
		"an empty token":                    {true, ptr("")},
		"a token for an attempt not fenced": {false, ptr("sbl_wrong")},
		"an empty one for one not fenced":   {false, ptr("")},
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t)
			id := b.push(t)
			b.claim(t, id, queue.ClaimParams{RequireFence: &c.fenced})
			for verb, err := range b.reports(t, id, c.token) {
				if err == nil || err.Error() != fault.ErrNotHeld.Error() {
					t.Errorf("%s answered %v", verb, err)
				}
			}
			b.wantShape(t, id, shape{State: queue.StateClaimed, Attempt: 1})
			if n := b.count(t, `SELECT count(*) FROM todo_activity`); n != 0 {
				t.Errorf("%d notes were stored", n)
			}
		})
	}
}

func TestFence_AStaleWorkersTokenStopsMatchingAfterARetake(t *testing.T) {
	b := setup(t)
	id := b.push(t)
	stale := b.claim(t, id, queue.ClaimParams{RequireFence: ptr(true)})
	b.lapse(t)
	fresh := b.claim(t, id, queue.ClaimParams{RequireFence: ptr(true)})
	for verb, err := range b.reports(t, id, &stale.LeaseToken) {
		if err == nil {
			t.Errorf("a stale worker's %s went through", verb)
		}
	}
	if _, err := b.queue.Complete(t.Context(), b.endpoint, id, queue.Report{LeaseToken: &fresh.LeaseToken}, raw(`{"ok":true}`)); err != nil {
		t.Fatal(err)
	}
	b.wantShape(t, id, shape{State: queue.StateDone, Attempt: 2, Outcome: "completed", Disposition: "done"})
}

func TestFence_OnlyAHashIsKept(t *testing.T) {
	b := setup(t)
	c := b.claim(t, b.push(t), queue.ClaimParams{RequireFence: ptr(true)})
	if n := b.count(t, `SELECT count(*) FROM todos t, todo_attempts a WHERE t::text || a::text LIKE '%' || $1 || '%' OR fence_hash IS NULL`, c.LeaseToken[4:]); n != 0 {
		t.Error("the lease token can be read from the database")
	}
}

func TestFence_TheEndpointsDefaultAppliesUnlessTheCallSaysOtherwise(t *testing.T) {
	b := setup(t)
	b.endpoint = b.vend(t, b.human.ID, identity.VendParams{Name: "fenced", RequireFence: true})
	if c := b.claim(t, b.push(t), queue.ClaimParams{}); c.LeaseToken == "" {
		t.Error("the endpoint's default was not applied")
	}
	if c := b.claim(t, b.push(t), queue.ClaimParams{RequireFence: ptr(false)}); c.LeaseToken != "" {
		t.Error("an explicit false did not win")
	}
}
