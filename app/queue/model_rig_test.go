package queue_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/secret"
	"github.com/switchboard-otel/switchboard/app/settings"
	"github.com/switchboard-otel/switchboard/app/telemetry"
)

// rig plays scripts on a store and on the model, and compares them after every step.
type rig struct {
	*bundle
	t         *testing.T
	clock     *frozen
	settings  *settings.Reader
	endpoints []*identity.Endpoint
	humans    []uuid.UUID // of the endpoints
	slow      string      // what a slow reaper checks when it strikes

	// Of one script.
	store   *queue.Store
	metrics *telemetry.Metrics
	model   *world
	own     map[workerTodo]string // the last token that a worker was given of a todo
	current map[uuid.UUID]string  // the last one that anybody was given
	seen    []uuid.UUID
	log     []string
}

type workerTodo struct {
	worker int
	todo   uuid.UUID
}

func newRig(t *testing.T) *rig {
	b := setup(t)
	_, err := b.Pool.Exec(t.Context(), `INSERT INTO settings (key, value) VALUES ('attempt_history_max_per_todo', $1),
		('notes_max_per_attempt', $2), ('activity_max_per_todo', $3), ('interrupt_timeout_seconds', $4), ('retention_max_age_days', $5)`,
		fmt.Sprint(modelAttempts), fmt.Sprint(modelNotes), fmt.Sprint(modelActivity), fmt.Sprint(int(modelInterrupt.Seconds())),
		fmt.Sprint(int(modelAge.Hours()/24)))
	if err != nil {
		t.Fatal(err)
	}
	sibling := b.vend(t, b.human.ID, identity.VendParams{Name: "sibling", Queues: b.endpoint.Queues})
	other, foreign := b.secondHuman(t)
	return &rig{bundle: b, t: t, clock: b.freeze(t), settings: settings.NewReader(b.Pool, zap.NewNop()),
		endpoints: []*identity.Endpoint{b.endpoint, sibling, foreign}, humans: []uuid.UUID{b.human.ID, b.human.ID, other.ID}}
}

// play runs a script from an empty database, and says how it failed.
func (r *rig) play(s script) (failed bool) {
	if _, err := r.Pool.Exec(r.t.Context(), `DELETE FROM todos`); err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.Pool.Exec(r.t.Context(), `UPDATE endpoints SET revoked_at = NULL`); err != nil {
		r.t.Fatal(err)
	}
	r.metrics = telemetry.New()
	r.store = queue.NewStore(r.Pool, r.settings, queue.WithMetrics(r.metrics.Queue))
	r.identity = identity.NewStore(r.Pool, r.store)
	r.model = newWorld(r.clock.now)
	r.own, r.current, r.seen, r.log = map[workerTodo]string{}, map[uuid.UUID]string{}, nil, nil
	for i, st := range s {
		if r.step(i, st) {
			return true
		}
	}
	want, got := r.model.counts, scraped(r.t, r.metrics)
	for name := range maps.Keys(want) {
		if queueName, outcome, died := strings.Cut(strings.TrimPrefix(name, "closed "), " "); died && (outcome == "reaped" || outcome == "lease_expired") {
			want["expired "+queueName] += want[name]
		}
	}
	maps.DeleteFunc(want, func(_ string, n int) bool { return n == 0 })
	if diff := cmp.Diff(want, got); diff != "" {
		r.note("      the metrics differ (-model +registry):\n%s", diff)
		return true
	}
	return false
}

func (r *rig) note(format string, args ...any) { r.log = append(r.log, fmt.Sprintf(format, args...)) }

func (r *rig) step(i int, st step) (failed bool) {
	if st[0].Do == doPass {
		r.pass(st[0])
		r.note("%4d  %s (%s)", i+1, st, r.model.now.Format("2 15:04:05.000000"))
		return false
	}
	calls, got := make([]call, len(st)), make([]answer, len(st))
	for j, o := range st {
		calls[j] = r.resolve(o)
	}
	var all sync.WaitGroup
	for j := range calls[1:] {
		all.Go(func() { got[j+1] = r.do(calls[j+1]) })
	}
	got[0] = r.do(calls[0])
	all.Wait()
	made, codes := make(step, len(got)), make([]string, len(got))
	for j, a := range got {
		made[j], codes[j] = calls[j].op, a.Code
		r.remember(calls[j], a)
	}
	r.note("%4d  %s: %s", i+1, made, strings.Join(codes, ", "))
	return r.explain(calls, got)
}

func (r *rig) pass(o op) {
	to := r.model.nextDeadline()
	switch times[o.Time] {
	case "until the next deadline":
	case "past the next deadline":
		to = to.Add(instant)
	default:
		d, err := time.ParseDuration(times[o.Time])
		if err != nil {
			r.t.Fatal(err)
		}
		to = r.model.now.Add(d)
	}
	r.clock.pass(r.t, to.Sub(r.clock.now))
	r.model.now = r.clock.now
}

// resolve finds the rows and the token of a call.
func (r *rig) resolve(o op) call {
	c := call{op: o, endpoint: r.endpoints[workers[o.Who]], human: r.humans[workers[o.Who]],
		seen: append([]uuid.UUID{}, r.seen...)}
	targets := r.model.targets(c)
	for i := 1; c.Do == doAct && c.Aim && len(targets) == 0 && i < len(queue.Actions)-1; i++ {
		c.Action = (o.Action + i) % (len(queue.Actions) - 1) // cancel, the last one, is rare
		targets = r.model.targets(c)
	}
	switch {
	case len(targets) > 0:
	case c.Do == doBeat, c.Do == doFail, c.Do == doRelease, c.Do == doInterrupt, c.Do == doResume:
		if c.Aim {
			c.Do = doNext // there is nothing in hands to do this to
		}
		fallthrough
	default:
		c.Aim = false
		targets = r.model.targets(c)
	}
	if n := len(targets); n > 0 {
		c.Todo = targets[o.Todo%n] // and so it is printed
		c.id = r.model.trails[c.Todo].Todo.ID
	}
	token := ""
	switch tokens[o.Token] {
	case "own":
		token = r.own[workerTodo{o.Who, c.id}]
	case "current":
		token = r.current[c.id]
	case "wrong":
		token = secret.New(secret.Lease)
	}
	if token != "" {
		c.token = &token
	}
	if o.Do == doLook {
		r.seen = []uuid.UUID{}
		for _, tr := range r.model.trails {
			if r.model.lapsed(tr) {
				r.seen = append(r.seen, tr.Todo.ID)
			}
		}
	}
	return c
}

// remember keeps what a worker was given.
func (r *rig) remember(c call, a answer) {
	if c.Do != doClaim && c.Do != doNext || a.Code != "ok" {
		return
	}
	r.own[workerTodo{c.Who, a.id}], r.current[a.id] = a.token, a.token
}

// do makes a call.
func (r *rig) do(c call) answer {
	ctx, s := context.Background(), r.store
	report := queue.Report{LeaseToken: c.token, Summary: ptr(saidSummary), Artifact: ptr(saidArtifact)}
	params := queue.ClaimParams{RequireFence: &c.Fence, RequestID: c.request()}
	if c.TTL != 0 {
		params.LeaseTTLSeconds = &c.TTL
	}
	switch c.Do {
	case doPush:
		p := queue.PushParams{Endpoint: c.endpoint, Title: "todo", Queue: c.lane(), MaxAttempts: &c.Max}
		if c.Key {
			p.IdempotencyKey = ptr("k-1")
		}
		todo, created, err := s.Push(ctx, c.human, p)
		if err != nil {
			return refused(codeOf(err))
		}
		return answer{Code: "ok", Row: &todo.Row, Created: created, id: todo.ID.UUID()}
	case doClaim:
		return claimAnswer(s.Claim(ctx, c.endpoint, c.id, params))
	case doNext:
		return claimAnswer(s.ClaimNext(ctx, c.endpoint, c.lane(), params))
	case doBeat:
		p := queue.HeartbeatParams{LeaseTTLSeconds: params.LeaseTTLSeconds, LeaseToken: c.token}
		if c.Note {
			p.Note = ptr("note")
		}
		return rowAnswer(s.Heartbeat(ctx, c.endpoint, c.id, p))
	case doComplete:
		return rowAnswer(s.Complete(ctx, c.endpoint, c.id, report, raw(saidResult)))
	case doFail:
		return rowAnswer(s.Fail(ctx, c.endpoint, c.id, report,
			queue.FailParams{Result: raw(saidResult), Retry: ptr(!c.Never), RetryAfterSeconds: c.after()}))
	case doRelease:
		return rowAnswer(s.Release(ctx, c.endpoint, c.id, report))
	case doInterrupt:
		return rowAnswer(s.Interrupt(ctx, c.endpoint, c.id, c.token, c.ask(), nil))
	case doResume:
		return rowAnswer(s.Resume(ctx, c.endpoint, c.id, nil, nil))
	case doCancel:
		return rowAnswer(s.Cancel(ctx, c.endpoint, c.id))
	case doReject:
		return rowAnswer(s.Reject(ctx, c.endpoint, c.id))
	case doAct:
		todo, err := s.Act(ctx, c.human, c.id, queue.Act{Action: c.action(), Via: queue.ViaAPI, Result: raw(saidResult), Summary: ptr(saidSummary),
			Artifact: ptr(saidArtifact), Retry: ptr(!c.Never), RetryAfterSeconds: c.after()})
		if err != nil {
			return refused(codeOf(err))
		}
		return answer{Code: "ok", Row: &todo.Row}
	case doRevoke:
		_, err := r.identity.Revoke(ctx, c.human, c.endpoint.Slug)
		return answer{Code: codeOf(err)}
	case doReap:
		n, err := s.Reap(ctx)
		return answer{Code: codeOf(err), N: n}
	case doDue:
		n, err := s.RequeueDue(ctx)
		return answer{Code: codeOf(err), N: n}
	case doPrune:
		n, err := s.Prune(ctx)
		return answer{Code: codeOf(err), N: n}
	case doStrike:
		return r.strike(ctx, c.seen)
	default:
		return answer{Code: "ok"}
	}
}

func rowAnswer(row *queue.Row, err error) answer {
	if err != nil {
		return refused(codeOf(err))
	}
	return answer{Code: "ok", Row: row}
}

func claimAnswer(c *queue.Claimed, err error) answer {
	switch {
	case err != nil:
		return refused(codeOf(err))
	case c == nil:
		return refused("empty")
	}
	trace, err := hex.DecodeString(traceOf(c))
	if err != nil {
		return refused(err.Error())
	}
	return answer{Code: "ok", Row: &c.Row, Seq: c.AttemptSeq, Total: c.AttemptsTotal, Prior: c.PriorAttempts, Fenced: c.LeaseToken != "",
		id: c.ID.UUID(), token: c.LeaseToken, trace: trace}
}
