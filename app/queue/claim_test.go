package queue_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/queue"
)

func TestClaimNext_GivesTheOldestFirst(t *testing.T) {
	b := setup(t)
	first, second := b.push(t), b.push(t)
	for _, want := range []uuid.UUID{first, second} {
		c, err := b.queue.ClaimNext(t.Context(), b.endpoint, "", queue.ClaimParams{})
		if err != nil || c.ID.UUID() != want {
			t.Fatalf("claimed %v, %v; want %v", c, err, want)
		}
		if c.PriorAttempts == nil || len(c.PriorAttempts) != 0 || c.AttemptSeq != 1 || c.AttemptsTotal != 1 {
			t.Errorf("a first claim carries %+v", c.ClaimFields)
		}
	}
	if c, err := b.queue.ClaimNext(t.Context(), b.endpoint, "", queue.ClaimParams{}); c != nil || err != nil {
		t.Fatalf("an empty queue gave %v, %v", c, err)
	}
}

func TestClaimNext_KeepsToTheQueueItIsAskedFor(t *testing.T) {
	b := setup(t)
	b.push(t)
	m := b.push(t, func(p *queue.PushParams) { p.Queue = "lane-m" })
	c, err := b.queue.ClaimNext(t.Context(), b.endpoint, "lane-m", queue.ClaimParams{})
	if err != nil || c.ID.UUID() != m {
		t.Fatalf("claimed %v, %v; want %v", c, err, m)
	}
	_, err = b.queue.ClaimNext(t.Context(), b.endpoint, "elsewhere", queue.ClaimParams{})
	wantCode(t, err, fault.Forbidden)
}

// REQ-4, "Each attempt has its own trace".
func TestREQ4_EachAttemptHasItsOwnTrace(t *testing.T) {
	b := setup(t)
	id := b.push(t)
	form := regexp.MustCompile(`^00-([0-9a-f]{32})-[0-9a-f]{16}-01$`)
	var traces []string
	for range 2 {
		c := b.claim(t, id, queue.ClaimParams{})
		m := form.FindStringSubmatch(c.Traceparent)
		if m == nil || m[1] == strings.Repeat("0", 32) {
			t.Fatalf("traceparent %q", c.Traceparent)
		}
		traces = append(traces, m[1])
		if _, err := b.queue.Fail(t.Context(), b.endpoint, id, queue.Report{}, queue.FailParams{RetryAfterSeconds: ptr(0)}); err != nil {
			t.Fatal(err)
		}
	}
	if traces[0] == traces[1] {
		t.Fatal("two claims share a trace")
	}
	d := b.get(t, id)
	if d.Attempts[1].TraceID != traces[0] || d.Attempts[0].TraceID != traces[1] {
		t.Errorf("get_todo gives %s and %s; the claims gave %v", d.Attempts[1].TraceID, d.Attempts[0].TraceID, traces)
	}
}

func TestClaim_HandsOverWhatWasTried(t *testing.T) {
	b := setup(t)
	id := b.push(t, maxAttempts(9))
	for i := range 7 {
		b.claim(t, id, queue.ClaimParams{Claimant: ptr(fmt.Sprintf("run-%d", i+1))})
		_, err := b.queue.Fail(t.Context(), b.endpoint, id,
			queue.Report{Summary: ptr(fmt.Sprintf("try %d", i+1)), Artifact: ptr("https://example.org/pr/1")}, queue.FailParams{RetryAfterSeconds: ptr(0)})
		if err != nil {
			t.Fatal(err)
		}
	}
	c := b.claim(t, id, queue.ClaimParams{})
	if c.AttemptSeq != 8 || c.AttemptsTotal != 8 || len(c.PriorAttempts) != 5 {
		t.Fatalf("seq %d of %d with %d prior attempts", c.AttemptSeq, c.AttemptsTotal, len(c.PriorAttempts))
	}
	for i, a := range c.PriorAttempts {
		if want := 7 - i; a.Seq != want || *a.Summary != fmt.Sprintf("try %d", want) || *a.Claimant != fmt.Sprintf("run-%d", want) ||
			*a.Outcome != "failed" || *a.Disposition != "retry_scheduled" || a.Died || *a.Artifact == "" {
			t.Errorf("prior attempt %d is %+v", i, a)
		}
	}
}

func TestClaim_OfAHeldTodoIsAConflict_AndOfAnUnknownOneNotFound(t *testing.T) {
	b := setup(t)
	id := b.push(t)
	b.claim(t, id, queue.ClaimParams{})
	_, err := b.queue.Claim(t.Context(), b.endpoint, id, queue.ClaimParams{})
	wantCode(t, err, fault.Conflict)
	_, err = b.queue.Claim(t.Context(), b.endpoint, uuid.New(), queue.ClaimParams{})
	wantCode(t, err, fault.NotFound)
}

// attempt-history, "lease_expired": another claim takes over a lapsed lease before the reaper ran.
func TestTakeover_ClosesTheDeadAttemptBeforeItOpensTheNext(t *testing.T) {
	for _, way := range []string{"claim", "claim_next"} {
		t.Run(way, func(t *testing.T) {
			b := setup(t)
			id := b.push(t)
			b.claim(t, id, queue.ClaimParams{Claimant: ptr("dead worker")})
			b.lapse(t)
			var c *queue.Claimed
			var err error
			if way == "claim" {
				c, err = b.queue.Claim(t.Context(), b.endpoint, id, queue.ClaimParams{})
			} else {
				c, err = b.queue.ClaimNext(t.Context(), b.endpoint, "", queue.ClaimParams{})
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.AttemptSeq != 2 || c.Attempt != 2 || len(c.PriorAttempts) != 1 {
				t.Fatalf("took over as %+v", c.ClaimFields)
			}
			a := c.PriorAttempts[0]
			if !a.Died || *a.Outcome != "lease_expired" || *a.Disposition != "requeued" || a.Summary != nil || a.Artifact != nil || *a.Claimant != "dead worker" {
				t.Errorf("the attempt that died is %+v", a)
			}
		})
	}
}

func TestTakeover_LeavesTheLastAttemptToTheReaper(t *testing.T) {
	b := setup(t)
	id := b.push(t, maxAttempts(1))
	b.claim(t, id, queue.ClaimParams{})
	b.lapse(t)
	_, err := b.queue.Claim(t.Context(), b.endpoint, id, queue.ClaimParams{})
	wantCode(t, err, fault.Conflict)
	if c, err := b.queue.ClaimNext(t.Context(), b.endpoint, "", queue.ClaimParams{}); c != nil || err != nil {
		t.Fatalf("claim_next gave %v, %v", c, err)
	}
	if n, err := b.queue.Reap(t.Context()); n != 1 || err != nil {
		t.Fatalf("reaped %d, %v", n, err)
	}
	b.wantShape(t, id, shape{State: queue.StateFailed, Attempt: 1, DeadLetter: true, Outcome: "reaped", Disposition: "dead_lettered", Died: true})
}

func TestClaim_LeaseIsTheCalls_ElseTheEndpoints_ElseFiveMinutes(t *testing.T) {
	b := setup(t)
	hour := b.vend(t, b.human.ID, identity.VendParams{Name: "slow", DefaultLeaseTTLSeconds: ptr(3600)})
	for _, c := range []struct {
		endpoint *identity.Endpoint
		asked    *int
		want     time.Duration
	}{{b.endpoint, nil, 5 * time.Minute}, {b.endpoint, ptr(7), 7 * time.Second}, {hour, nil, time.Hour}, {hour, ptr(1), time.Second}} {
		todo, _, err := b.queue.Push(t.Context(), b.human.ID, queue.PushParams{Endpoint: c.endpoint, Title: "t"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := b.queue.Claim(t.Context(), c.endpoint, todo.ID.UUID(), queue.ClaimParams{LeaseTTLSeconds: c.asked})
		if err != nil {
			t.Fatal(err)
		}
		d, err := b.queue.Get(t.Context(), c.endpoint, todo.ID.UUID(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if lease := got.LeaseExpiresAt.Sub(d.Attempts[0].ClaimedAt); lease != c.want {
			t.Errorf("a lease of %v, want %v", lease, c.want)
		}
	}
	for _, ttl := range []int{0, -1, 86401} {
		_, err := b.queue.ClaimNext(t.Context(), b.endpoint, "", queue.ClaimParams{LeaseTTLSeconds: &ttl})
		wantCode(t, err, fault.Invalid)
	}
}

// A claim that waited for another one's lock hands over the attempt that ended meanwhile, and its own lease
// begins when it holds the todo.
func TestClaim_ThatWaitedSeesWhatEndedMeanwhile(t *testing.T) {
	b := setup(t)
	id := b.push(t)
	tx, err := b.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `SELECT FROM todos WHERE id = $1 FOR NO KEY UPDATE`, id); err != nil {
		t.Fatal(err)
	}
	claims := make(chan *queue.Claimed)
	go func() {
		c, err := b.queue.Claim(context.Background(), b.endpoint, id, queue.ClaimParams{LeaseTTLSeconds: ptr(1)})
		if err != nil {
			t.Error(err)
		}
		claims <- c
	}()
	b.awaitLock(t)
	// Under the lock another worker's attempt begins and ends with a summary.
	if _, err := tx.Exec(t.Context(), `
		INSERT INTO todo_attempts (todo_id, seq, attempt, claimer_kind, endpoint_id, trace_id, lease_ttl_seconds, claimed_at, ended_at, outcome, disposition, summary)
		SELECT $1, 1, 1, 'endpoint', $2, '\x00112233445566778899aabbccddeeff', 60, sb_now(), sb_now(), 'released', 'requeued', 'half way'`, id, b.endpoint.ID); err != nil {
		t.Fatal(err)
	}
	var released time.Time
	if err := tx.QueryRow(t.Context(), `UPDATE todos SET attempt = 1, attempts_total = 1 WHERE id = $1 RETURNING sb_now()`, id).Scan(&released); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := <-claims
	if c == nil || len(c.PriorAttempts) != 1 || *c.PriorAttempts[0].Summary != "half way" || c.AttemptSeq != 2 {
		t.Fatalf("%+v", c)
	}
	if c.LeaseExpiresAt.Before(released.Add(time.Second)) {
		t.Error("the lease ran while the claim waited")
	}
}

// The foreign key of a span that is being stored shares the todo's key: no verb may wait for that.
func TestVerbs_DoNotWaitForAnIngest(t *testing.T) {
	b := setup(t)
	held, pending, lapsed := b.push(t), b.push(t), b.push(t)
	b.claim(t, lapsed, queue.ClaimParams{})
	b.lapse(t)
	b.claim(t, held, queue.ClaimParams{})
	tx, err := b.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(t.Context(), `SELECT FROM todos FOR KEY SHARE`); err != nil {
		t.Fatal(err)
	}
	if _, err := b.queue.Heartbeat(t.Context(), b.endpoint, held, queue.HeartbeatParams{Note: ptr("x")}); err != nil {
		t.Error(err)
	}
	if n, err := b.queue.Reap(t.Context()); n != 1 || err != nil {
		t.Errorf("reaped %d, %v", n, err)
	}
	for range 2 { // the pending one, and the one just reaped
		if c, err := b.queue.ClaimNext(t.Context(), b.endpoint, "", queue.ClaimParams{}); c == nil || err != nil {
			t.Errorf("claim_next while spans are stored: %v, %v", c, err)
		}
	}
	for _, id := range []uuid.UUID{held, pending} {
		if _, err := b.queue.Complete(t.Context(), b.endpoint, id, queue.Report{}, nil); err != nil {
			t.Error(err)
		}
	}
}

func TestClaim_OneTodoGoesToOneOfManyWorkers(t *testing.T) {
	b := setup(t)
	const todos, workers = 40, 8
	for range todos {
		b.push(t)
	}
	var mu sync.Mutex
	seen := map[uuid.UUID]int{}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				c, err := b.queue.ClaimNext(t.Context(), b.endpoint, "", queue.ClaimParams{})
				if err != nil {
					t.Error(err)
					return
				}
				if c == nil {
					return
				}
				mu.Lock()
				seen[c.ID.UUID()]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(seen) != todos {
		t.Errorf("%d of %d todos were claimed", len(seen), todos)
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%v was claimed %d times", id, n)
		}
	}
}

func TestClaim_RemembersTheCallersTraceApartFromItsOwn(t *testing.T) {
	b := setup(t)
	id := b.push(t)
	caller := [16]byte{1, 2, 3}
	c := b.claim(t, id, queue.ClaimParams{CallerTrace: &caller})
	if strings.Contains(c.Traceparent, "010203") {
		t.Fatalf("the caller's trace became the attempt's: %s", c.Traceparent)
	}
	var remembered int
	if err := b.Pool.QueryRow(t.Context(), `SELECT count(*) FROM todo_attempts
		WHERE todo_id = $1 AND seq = 1 AND caller_trace_id = $2 AND trace_id <> $2`, id, caller[:]).Scan(&remembered); err != nil || remembered != 1 {
		t.Errorf("the caller's trace is remembered on %d attempts, %v", remembered, err)
	}
}

func TestClaimed_WireShape(t *testing.T) {
	b := setup(t)
	id := b.push(t, func(p *queue.PushParams) { p.Payload = raw(`{"issue": 12345678901234567890}`) })
	body, err := json.Marshal(b.claim(t, id, queue.ClaimParams{}))
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"id", "queue", "source", "kind", "title", "state", "owner", "attempt", "max_attempts", "lease_expires_at", "created_at",
		"payload_size", "work_order", "next_retry_at", "dead_letter", "payload", "routing", "event_id", "spans_dropped", "activity_pruned",
		"attempt_seq", "attempts_total", "prior_attempts", "traceparent"} {
		if _, ok := fields[name]; !ok {
			t.Errorf("%s is absent", name)
		}
		delete(fields, name)
	}
	if len(fields) > 0 {
		t.Errorf("more than the contract: %v", fields)
	}
	if !strings.Contains(string(body), `"payload":{"issue":12345678901234567890}`) || !strings.Contains(string(body), `"prior_attempts":[]`) {
		t.Errorf("%s", body)
	}
}
