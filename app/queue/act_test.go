package queue_test

import (
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

func (b *bundle) act(t *testing.T, id uuid.UUID, a queue.Action) *queue.Todo {
	t.Helper()
	todo, err := b.queue.Act(t.Context(), b.human.ID, id, queue.Act{Action: a, Via: queue.ViaBoard})
	if err != nil {
		t.Fatalf("%s: %v", a, err)
	}
	return todo
}

// REQ-10, "A human retries a dead letter", and decisions.md 31.
func TestREQ10_AHumanRetriesADeadLetter(t *testing.T) {
	b := setup(t)
	id := b.push(t, maxAttempts(1))
	b.claim(t, id, queue.ClaimParams{})
	if _, err := b.queue.Fail(t.Context(), b.endpoint, id, queue.Report{Summary: ptr("no luck")}, queue.FailParams{Result: raw(`{"exit":3}`)}); err != nil {
		t.Fatal(err)
	}
	todo := b.act(t, id, queue.ActionRetry)
	if todo.State != queue.StatePending || todo.Attempt != 0 || todo.DeadLetter {
		t.Errorf("%+v", todo.Row)
	}
	d, err := b.queue.HumanTodo(t.Context(), b.human.ID, id)
	if err != nil {
		t.Fatal(err)
	}
	if d.Result != nil || len(d.Activity) != 2 {
		t.Fatalf("result %s, %d entries", d.Result, len(d.Activity))
	}
	action, retried := d.Activity[0], d.Activity[1]
	var did struct{ Action, Via string }
	var was struct {
		Prior struct {
			State      string
			Attempt    int
			Result     string
			DeadLetter bool `json:"dead_letter"`
		}
	}
	if err := json.Unmarshal(action.Detail, &did); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(retried.Detail, &was); err != nil {
		t.Fatal(err)
	}
	if action.Kind != "human_action" || action.ActorKind != "human" || action.ActorRef != typeid.Human.Format(b.human.ID) || did.Action != "retry" || did.Via != "board" {
		t.Errorf("%+v %+v", action, did)
	}
	if retried.Kind != "retried" || was.Prior.State != "failed" || was.Prior.Attempt != 1 || !was.Prior.DeadLetter || was.Prior.Result != `{"exit":3}` {
		t.Errorf("%+v %+v", retried, was)
	}
	c := b.claim(t, id, queue.ClaimParams{})
	if c.Attempt != 1 || c.AttemptSeq != 2 || *c.PriorAttempts[0].Summary != "no luck" {
		t.Errorf("the next claim is attempt %d with seq %d", c.Attempt, c.AttemptSeq)
	}
}

func TestRetry_OfALargeResultKeepsItsSize(t *testing.T) {
	b := setup(t)
	id := b.push(t, maxAttempts(1))
	b.claim(t, id, queue.ClaimParams{})
	big := `{"log":"` + strings.Repeat("x", 100_000) + `"}`
	if _, err := b.queue.Fail(t.Context(), b.endpoint, id, queue.Report{}, queue.FailParams{Result: raw(big)}); err != nil {
		t.Fatal(err)
	}
	b.act(t, id, queue.ActionRetry)
	d, err := b.queue.HumanTodo(t.Context(), b.human.ID, id)
	if err != nil || !strings.Contains(string(d.Activity[1].Detail), `"result_size": 100010`) || len(d.Activity[1].Detail) > 4096 {
		t.Errorf("%.200s, %v", d.Activity[1].Detail, err)
	}
}

// A result is any JSON, and a retry records each: escapes and numbers that the log's own JSON cannot hold.
func TestRetry_OfAnyResult(t *testing.T) {
	b := setup(t)
	for _, result := range []string{`{"x":"\ud800"}`, `[` + strings.Repeat(`1e300,`, 500) + `1e300]`, `"` + strings.Repeat("<", 3000) + `"`, `null`} {
		id := b.push(t)
		b.claim(t, id, queue.ClaimParams{})
		if _, err := b.queue.Fail(t.Context(), b.endpoint, id, queue.Report{}, queue.FailParams{Retry: ptr(false), Result: raw(result)}); err != nil {
			t.Fatal(err)
		}
		b.act(t, id, queue.ActionRetry)
	}
}

// A revocation and a retry at once: the todo of a revoked endpoint never comes back to life.
func TestRetry_DoesNotSlipInBehindARevocation(t *testing.T) {
	b := setup(t)
	id := b.push(t, maxAttempts(1))
	b.claim(t, id, queue.ClaimParams{})
	if _, err := b.queue.Fail(t.Context(), b.endpoint, id, queue.Report{}, queue.FailParams{}); err != nil {
		t.Fatal(err)
	}
	tx, err := b.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `UPDATE endpoints SET revoked_at = sb_now() WHERE id = $1`, b.endpoint.ID); err != nil {
		t.Fatal(err)
	}
	retried := make(chan error)
	go func() {
		_, err := b.queue.Act(context.Background(), b.human.ID, id, queue.Act{Action: queue.ActionRetry, Via: queue.ViaAPI})
		retried <- err
	}()
	b.awaitLock(t)
	if _, err := b.queue.DeadLetterEndpoint(t.Context(), tx, b.endpoint.ID); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantCode(t, <-retried, fault.Conflict)
	b.wantShape(t, id, shape{State: queue.StateFailed, Attempt: 1, DeadLetter: true, Outcome: "failed", Disposition: "dead_lettered"})
}

// awaitLock waits until some session of the test's database waits for a lock.
func (b *bundle) awaitLock(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for b.count(t, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) == 0 {
		if time.Now().After(deadline) {
			t.Fatal("nobody waits for a lock")
		}
		runtime.Gosched()
	}
}

// REQ-23, "Rollback leaves no orphan": when the activity cannot be written the state has not changed.
func TestREQ23_RollbackLeavesNoOrphan(t *testing.T) {
	b := setup(t)
	id := b.push(t, maxAttempts(1))
	b.claim(t, id, queue.ClaimParams{})
	if _, err := b.queue.Fail(t.Context(), b.endpoint, id, queue.Report{}, queue.FailParams{}); err != nil {
		t.Fatal(err)
	}
	_, err := b.Pool.Exec(t.Context(), `
		CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no''; END';
		CREATE TRIGGER refuse AFTER UPDATE OF activity_seq ON todos FOR EACH ROW EXECUTE FUNCTION refuse()`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.queue.Act(t.Context(), b.human.ID, id, queue.Act{Action: queue.ActionRetry, Via: queue.ViaAPI}); err == nil {
		t.Fatal("the retry went through")
	}
	b.wantShape(t, id, shape{State: queue.StateFailed, Attempt: 1, DeadLetter: true, Outcome: "failed", Disposition: "dead_lettered"})
	if n := b.count(t, `SELECT count(*) FROM todo_activity`); n != 0 {
		t.Errorf("%d orphans", n)
	}
}

// The Board's lease: five minutes, held by the human, with no fence, and an agent cannot report on it.
func TestHumanClaim_IsHeldByTheHumanAlone(t *testing.T) {
	b := setup(t)
	id := b.push(t)
	todo := b.act(t, id, queue.ActionClaim)
	if todo.State != queue.StateClaimed || *todo.Owner != "human:"+typeid.Human.Format(b.human.ID) {
		t.Fatalf("%+v", todo.Row)
	}
	a := b.get(t, id).Attempts[0]
	if a.ClaimerKind != "owner" || a.Claimant != nil || todo.LeaseExpiresAt.Sub(a.ClaimedAt) < 5*time.Minute-time.Second {
		t.Errorf("%+v", a)
	}
	for verb, err := range b.reports(t, id, nil) {
		if err == nil || err.Error() != fault.ErrNotHeld.Error() {
			t.Errorf("an agent's %s answered %v", verb, err)
		}
	}
	b.Advance(t, 4*time.Minute)
	before := *todo.LeaseExpiresAt
	if after := b.act(t, id, queue.ActionExtend); !after.LeaseExpiresAt.After(before.Add(3 * time.Minute)) {
		t.Errorf("extended from %v to %v", before, after.LeaseExpiresAt)
	}
	done, err := b.queue.Act(t.Context(), b.human.ID, id, queue.Act{Action: queue.ActionComplete, Via: queue.ViaCLI, Summary: ptr("by hand"), Result: raw(`{"ok":true}`)})
	if err != nil || done.State != queue.StateDone {
		t.Fatal(done, err)
	}
	b.wantShape(t, id, shape{State: queue.StateDone, Attempt: 1, Outcome: "completed", Disposition: "done"})
	if d := b.get(t, id); *d.Attempts[0].Summary != "by hand" || string(d.Result) != `{"ok":true}` {
		t.Errorf("%+v", d)
	}
}

// attempt-history, "The fence": the Board's actions never check it, and act on no lease but the human's own.
func TestHumanActions_OnATodoThatAnAgentHolds(t *testing.T) {
	b := setup(t)
	for _, fenced := range []bool{false, true} {
		id := b.push(t)
		b.claim(t, id, queue.ClaimParams{RequireFence: &fenced})
		for _, a := range []queue.Action{queue.ActionClaim, queue.ActionComplete, queue.ActionFail, queue.ActionExtend, queue.ActionRelease, queue.ActionRetry} {
			_, err := b.queue.Act(t.Context(), b.human.ID, id, queue.Act{Action: a, Via: queue.ViaBoard})
			wantCode(t, err, fault.Conflict)
		}
		b.wantShape(t, id, shape{State: queue.StateClaimed, Attempt: 1})
		b.act(t, id, queue.ActionCancel)
		b.wantShape(t, id, shape{State: queue.StateCanceled, Attempt: 1, Outcome: "canceled", Disposition: "canceled"})
	}
}

func TestHumanClaim_TakesOverALapsedLease(t *testing.T) {
	b := setup(t)
	id := b.push(t)
	b.claim(t, id, queue.ClaimParams{})
	b.lapse(t)
	if todo := b.act(t, id, queue.ActionClaim); todo.Attempt != 2 {
		t.Errorf("%+v", todo.Row)
	}
	if a := b.get(t, id).Attempts[1]; !a.Died || *a.Outcome != "lease_expired" {
		t.Errorf("%+v", a)
	}
}

// decisions.md 35: an interrupted todo keeps its holder, and its lease is not looked at.
func TestInterrupt_KeepsTheHolderUntilItTimesOut(t *testing.T) {
	b := setup(t)
	id := b.push(t)
	c := b.claim(t, id, queue.ClaimParams{RequireFence: ptr(true), LeaseTTLSeconds: ptr(60)})
	if _, err := b.queue.Interrupt(t.Context(), b.endpoint, id, nil, queue.StateInputRequired, nil); err == nil {
		t.Fatal("interrupted without the fence's token")
	}
	row, err := b.queue.Interrupt(t.Context(), b.endpoint, id, &c.LeaseToken, queue.StateAuthRequired, nil)
	if err != nil || row.State != queue.StateAuthRequired || row.Owner == nil {
		t.Fatal(row, err)
	}
	b.Advance(t, time.Hour)
	if n, _ := b.queue.Reap(t.Context()); n != 0 {
		t.Fatal("an interrupted todo was reaped by its lease")
	}
	lease := *row.LeaseExpiresAt
	row, err = b.queue.Heartbeat(t.Context(), b.endpoint, id, queue.HeartbeatParams{LeaseToken: &c.LeaseToken})
	if err != nil || !row.LeaseExpiresAt.Equal(lease) {
		t.Errorf("a heartbeat moved the lease of an interrupted todo: %v, %v", row, err)
	}
	if row, err = b.queue.Resume(t.Context(), b.endpoint, id, nil, nil); err != nil || row.State != queue.StateClaimed || !row.LeaseExpiresAt.After(lease.Add(59*time.Minute)) {
		t.Fatal(row, err)
	}
	if _, err := b.queue.Resume(t.Context(), b.endpoint, id, nil, nil); err == nil {
		t.Error("resumed twice")
	}
	if _, err := b.queue.Interrupt(t.Context(), b.endpoint, id, &c.LeaseToken, queue.StateInputRequired, nil); err != nil {
		t.Fatal(err)
	}
	b.Advance(t, 25*time.Hour)
	if n, err := b.queue.Reap(t.Context()); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	b.wantShape(t, id, shape{State: queue.StatePending, Attempt: 1, Outcome: "reaped", Disposition: "requeued", Died: true})
	d, err := b.queue.HumanTodo(t.Context(), b.human.ID, id)
	if err != nil || len(d.Activity) != 3 || d.Activity[0].Kind != queue.KindA2AState {
		t.Errorf("%+v, %v", d.Activity, err)
	}
}

func TestCancelAndReject(t *testing.T) {
	b := setup(t)
	pending, claimed := b.push(t), b.push(t)
	b.claim(t, claimed, queue.ClaimParams{})
	if _, err := b.queue.Reject(t.Context(), b.endpoint, claimed); err == nil {
		t.Error("a claimed todo was rejected")
	}
	if row, err := b.queue.Reject(t.Context(), b.endpoint, pending); err != nil || row.State != queue.StateRejected {
		t.Error(row, err)
	}
	for range 2 { // canceling again changes nothing
		if row, err := b.queue.Cancel(t.Context(), b.endpoint, claimed); err != nil || row.State != queue.StateCanceled {
			t.Fatal(row, err)
		}
	}
	b.wantShape(t, claimed, shape{State: queue.StateCanceled, Attempt: 1, Outcome: "canceled", Disposition: "canceled"})
	if _, err := b.queue.Cancel(t.Context(), b.endpoint, pending); err == nil {
		t.Error("a rejected todo was canceled")
	}
	if n := b.count(t, `SELECT count(*) FROM todo_activity WHERE kind = 'a2a_state'`); n != 2 {
		t.Errorf("%d entries", n)
	}
}
