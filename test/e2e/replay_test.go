package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/switchboard-otel/switchboard/app/queue"
)

// long is set where a test may take minutes: make test-long.
var long = os.Getenv("SWITCHBOARD_LONG") != ""

const (
	replayTodos    = 10
	replayPerTodo  = 20
	replayWriters  = 8
	replayLease    = time.Minute
	replayRejected = `switchboard_otlp_spans_total{result="rejected_%s"}`
)

// replay is one set of spans, of several todos, that several exporters send at once.
type replay struct {
	*external
	c     *collector
	v     vended
	todos []string
	spans []replayed
}

type replayed struct {
	trace pcommon.TraceID
	id    pcommon.SpanID
}

func startReplay(t *testing.T, perAttempt int) *replay {
	t.Helper()
	r := &replay{external: newExternal(t)}
	if _, err := r.db.Pool.Exec(t.Context(), `INSERT INTO settings (key, value) VALUES ('spans_max_per_attempt', $1)`, fmt.Sprint(perAttempt)); err != nil {
		t.Fatal(err)
	}
	r.c = start(t, unhurried(t), measured, withEnv("SWITCHBOARD_DATABASE_URL="+r.url))
	r.v = r.vend(r.c, r.c)
	endpoint, err := r.identity.Endpoint(t.Context(), r.owner.ID, r.v.Slug)
	if err != nil {
		t.Fatal(err)
	}
	s, forever := agent(t, r.v), 1000
	for i := range replayTodos {
		if _, _, err := r.queue.Push(t.Context(), r.owner.ID, queue.PushParams{Endpoint: endpoint, Title: "replay", MaxAttempts: &forever}); err != nil {
			t.Fatal(err)
		}
		claim := must[claimed](t, s, "claim_next", map[string]any{"lease_ttl_seconds": replayLease.Seconds()})
		r.todos = append(r.todos, claim.Todo.ID)
		for j := range replayPerTodo {
			r.spans = append(r.spans, replayed{traceOf(t, claim.Traceparent), pcommon.SpanID{byte(i + 1), byte(j + 1)}})
		}
	}
	return r
}

// write sends every span, in an order and in batches of its own, some of them twice, and returns how many it sent.
func (r *replay) write(t *testing.T, random *rand.Rand) (sent, requests int) {
	order := random.Perm(len(r.spans))
	begin := pcommon.Timestamp(time.Now().UnixNano())
	for len(order) > 0 {
		n := min(len(order), 1+random.IntN(60))
		traces := ptrace.NewTraces()
		spans := traces.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
		for _, i := range order[:n] {
			span := spans.AppendEmpty()
			span.SetTraceID(r.spans[i].trace)
			span.SetSpanID(r.spans[i].id)
			span.SetName("step")
			span.SetStartTimestamp(begin)
			span.SetEndTimestamp(begin + pcommon.Timestamp(random.IntN(3))) // a later end replaces what is stored
		}
		order = order[n:]
		encoding := []string{"protobuf", "json+gzip"}[random.IntN(2)]
		for range 1 + random.IntN(2) {
			if res := export(t, r.v, encoding, traces); res.status != http.StatusOK {
				t.Errorf("a writer was answered %d %s", res.status, res.body)
			}
			sent, requests = sent+n, requests+1
		}
	}
	return sent, requests
}

// disturb works on the same todos until it is told to stop, and for a while at least: leases are extended or lapse,
// attempts are reaped and opened.
func (r *replay) disturb(t *testing.T, done <-chan struct{}) {
	s := agent(t, r.v)
	random := rand.New(rand.NewPCG(1, 2))
	for i := 0; ; i++ {
		select {
		case <-done:
			if i > 2*len(r.todos) {
				return
			}
		default:
		}
		id := r.todos[random.IntN(len(r.todos))]
		for _, name := range []string{"heartbeat", "claim"} {
			args := map[string]any{"id": id}
			if name == "heartbeat" {
				args["note"] = "still here"
			}
			if _, err := verb[any](t.Context(), s, name, args); err != nil && !strings.Contains(err.Error(), "conflict") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if i%len(r.todos) == 0 {
			r.db.Advance(t, 2*replayLease)
			if _, err := r.queue.Reap(t.Context()); err != nil {
				t.Errorf("the reaper: %v", err)
			}
		}
	}
}

// Exporters that send the same spans at once, in any order, while leases lapse on the same todos: no error, no deadlock
// that anybody sees, and counters that are exact, below the cap and at it.
func TestReplay_EightWritersOfTheSameSpansLeaveExactCounters(t *testing.T) {
	t.Parallel()
	rounds := 1
	if long {
		rounds = 20
	}
	for name, perAttempt := range map[string]int{"below the cap": 2000, "at the cap": 12} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := startReplay(t, perAttempt)
			done := make(chan struct{})
			var disturbing, writing sync.WaitGroup
			for range 2 {
				disturbing.Go(func() { r.disturb(t, done) })
			}
			var sent, requests atomic.Int64
			for i := range replayWriters {
				writing.Go(func() {
					random := rand.New(rand.NewPCG(uint64(i), uint64(perAttempt)))
					for range rounds {
						s, n := r.write(t, random)
						sent.Add(int64(s))
						requests.Add(int64(n))
					}
				})
			}
			writing.Wait()
			close(done)
			disturbing.Wait()
			r.check(t, perAttempt, int(sent.Load()), int(requests.Load()))
		})
	}
}

func (r *replay) check(t *testing.T, perAttempt, sent, requests int) {
	t.Helper()
	stored := min(perAttempt, replayPerTodo)
	rows, err := r.db.Pool.Query(t.Context(), `SELECT (SELECT count(*) FROM todo_spans s WHERE s.todo_id = t.id),
		coalesce(c.stored, 0), coalesce(c.dropped, 0), (SELECT max(seq) FROM todo_attempts a WHERE a.todo_id = t.id)
		FROM todos t LEFT JOIN todo_span_counts c ON c.todo_id = t.id AND c.attempt_seq = 1`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	refused, todos, attempts := 0, 0, 0
	for rows.Next() {
		var have, counted, dropped, seq int
		if err := rows.Scan(&have, &counted, &dropped, &seq); err != nil {
			t.Fatal(err)
		}
		if have != stored || counted != stored {
			t.Errorf("a todo has %d spans and counts %d, want %d", have, counted, stored)
		}
		refused, todos, attempts = refused+dropped, todos+1, attempts+seq
	}
	if err := rows.Err(); err != nil || todos != replayTodos {
		t.Fatalf("%d todos, %v", todos, err)
	}
	if attempts <= replayTodos {
		t.Error("no attempt was reaped meanwhile")
	}
	var elsewhere int
	if err := r.db.Pool.QueryRow(t.Context(), `SELECT coalesce(sum(stored + dropped), 0) FROM todo_span_counts WHERE attempt_seq <> 1`).Scan(&elsewhere); err != nil || elsewhere != 0 {
		t.Errorf("%d spans are counted on other attempts, %v", elsewhere, err)
	}
	for name, want := range map[string]int{
		accepted:                                      sent - refused,
		fmt.Sprintf(replayRejected, "cap"):            refused,
		fmt.Sprintf(replayRejected, "unbound"):        0,
		fmt.Sprintf(replayRejected, "invalid"):        0,
		`switchboard_otlp_requests_total{code="200"}`: requests,
		`switchboard_otlp_requests_total{code="503"}`: 0,
		`switchboard_otlp_requests_total{code="500"}`: 0,
		`switchboard_otlp_spans_filtered_total`:       0,
	} {
		if got := r.c.metric(name); got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
	if capped := perAttempt < replayPerTodo; capped != (refused > 0) {
		t.Errorf("%d spans were refused by the cap", refused)
	}
}
