package bindingprocessor

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processortest"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/ingest"
	"github.com/switchboard-otel/switchboard/app/ledger"
	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
	"github.com/switchboard-otel/switchboard/app/settings"
	"github.com/switchboard-otel/switchboard/app/spans"
	"github.com/switchboard-otel/switchboard/app/spans/spanstest"
	"github.com/switchboard-otel/switchboard/app/telemetry"
	"github.com/switchboard-otel/switchboard/app/typeid"
	"github.com/switchboard-otel/switchboard/processor/bindingprocessor/internal/metadata"
)

var noon = time.Date(2026, 9, 27, 12, 0, 0, 0, time.UTC)

// extension is what the processor sees of the switchboard extension, over a real database.
type extension struct {
	component.StartFunc
	component.ShutdownFunc
	settings *settings.Reader
	spans    *spans.Store
	metrics  *telemetry.Metrics
}

func (e *extension) Settings() *settings.Reader    { return e.settings }
func (e *extension) Spans() *spans.Store           { return e.spans }
func (e *extension) Telemetry() *telemetry.Metrics { return e.metrics }

func newExtension(pool *pgxpool.Pool) *extension {
	reader := settings.NewReader(pool, zap.NewNop())
	return &extension{settings: reader, spans: spans.NewStore(pool, reader), metrics: telemetry.New()}
}

// host has these extensions.
type host map[component.ID]component.Component

func (h host) GetExtensions() map[component.ID]component.Component { return h }

type bundle struct {
	*spanstest.Tenant
	pool      *pgxpool.Pool
	extension *extension
	processor processor.Traces
	next      *consumertest.TracesSink
}

func setup(t *testing.T) *bundle {
	t.Helper()
	db := postgrestest.New(t)
	b := &bundle{Tenant: spanstest.NewTenant(t, db.Pool), pool: db.Pool, extension: newExtension(db.Pool), next: &consumertest.TracesSink{}}
	b.processor = newProcessor(t, b.next)
	if err := b.processor.Start(t.Context(), host{component.MustNewID("switchboard"): b.extension}); err != nil {
		t.Fatal(err)
	}
	return b
}

func newProcessor(t *testing.T, next *consumertest.TracesSink) processor.Traces {
	t.Helper()
	p, err := NewFactory().CreateTraces(t.Context(), processortest.NewNopSettings(metadata.Type), &Config{}, next)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// as returns a context that carries an endpoint's identity, as a receiver makes it.
func as(ctx context.Context, tenant *spanstest.Tenant) context.Context {
	return client.NewContext(ctx, client.Info{Auth: ingest.NewAuthData(tenant.Endpoint)})
}

// send passes a batch through the processor and returns what it passed on and what it accounted for.
func (b *bundle) send(t *testing.T, td ptrace.Traces) (ptrace.Traces, map[ledger.Reason]int) {
	t.Helper()
	ctx, account := ledger.NewContext(as(t.Context(), b.Tenant))
	b.next.Reset()
	if err := b.processor.ConsumeTraces(ctx, td); err != nil {
		t.Fatalf("process: %v", err)
	}
	if n := len(b.next.AllTraces()); n != 1 {
		t.Fatalf("%d batches were passed on, want one, empty or not", n)
	}
	return b.next.AllTraces()[0], account.Account().Rejected
}

// batch is a request of one resource whose spans differ by id; each change makes one span.
func batch(resource map[string]any, changes ...func(ptrace.Span)) ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	if err := rs.Resource().Attributes().FromRaw(resource); err != nil {
		panic(err)
	}
	list := rs.ScopeSpans().AppendEmpty().Spans()
	for i, change := range changes {
		s := list.AppendEmpty()
		s.SetTraceID([16]byte{0xaa})
		s.SetSpanID([8]byte{byte(i + 1)})
		s.SetStartTimestamp(pcommon.NewTimestampFromTime(noon))
		s.SetEndTimestamp(pcommon.NewTimestampFromTime(noon.Add(time.Second)))
		change(s)
	}
	return td
}

func traced(trace [16]byte) func(ptrace.Span) { return func(s ptrace.Span) { s.SetTraceID(trace) } }

func attribute(key string, value any) func(ptrace.Span) {
	return func(s ptrace.Span) {
		if err := s.Attributes().PutEmpty(key).FromRaw(value); err != nil {
			panic(err)
		}
	}
}

// bindings reads the reserved attributes of each span that was passed on.
func bindings(td ptrace.Traces) (found []map[string]any) {
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				b := map[string]any{}
				for key, v := range s.Attributes().All() {
					if name, ok := strings.CutPrefix(key, spans.ReservedPrefix); ok {
						b[name] = v.AsRaw()
					}
				}
				found = append(found, b)
			}
		}
	}
	return found
}

// REQ-3, scenario "Supervisor passes the traceparent".
func TestProcessor_ATraceOfAClaimBindsWithNoAttribute(t *testing.T) {
	t.Parallel()
	b := setup(t)
	todo := b.Todo(t)
	trace := b.Attempt(t, todo, spanstest.Attempt{Seq: 3, ClaimedAt: noon})

	passed, rejected := b.send(t, batch(nil, traced(trace), traced(trace)))
	want := map[string]any{"todo_id": typeid.Todo.Format(todo), "attempt_seq": int64(3)}
	if diff := cmp.Diff([]map[string]any{want, want}, bindings(passed)); diff != "" || len(rejected) != 0 {
		t.Errorf("rejected %v, bindings (-want +got):\n%s", rejected, diff)
	}
}

// REQ-3 rule 2: the span's attribute wins over the resource's, and numbers may be text.
func TestProcessor_AttributesBind(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, other := b.Todo(t), b.Todo(t)
	b.Attempt(t, one, spanstest.Attempt{Seq: 1, ClaimedAt: noon.Add(-time.Hour), EndedAt: noon.Add(-time.Minute)})
	b.Attempt(t, one, spanstest.Attempt{Seq: 2, ClaimedAt: noon.Add(-time.Minute), EndedAt: noon.Add(time.Minute)})
	b.Attempt(t, one, spanstest.Attempt{Seq: 3, ClaimedAt: noon.Add(time.Minute)})
	id, otherID := typeid.Todo.Format(one), typeid.Todo.Format(other)

	passed, rejected := b.send(t, batch(map[string]any{todoKey: id},
		func(ptrace.Span) {},
		attribute(attemptKey, int64(3)),
		attribute(attemptKey, "1"),
		attribute(attemptKey, 3.0),
		attribute(attemptKey, 2.5),
		attribute(attemptKey, "third"),
		attribute(attemptKey, int64(1)<<40),
		func(s ptrace.Span) { s.SetTraceID([16]byte{0xbb}); s.Attributes().PutStr(todoKey, otherID) },
		attribute(todoKey, ""),
	))
	bound := func(seq int64) map[string]any {
		return map[string]any{"todo_id": id, "attempt_seq": seq, "learn": true}
	}
	want := []map[string]any{bound(2), bound(3), bound(1), bound(3), bound(2), bound(2), bound(2),
		{"todo_id": otherID, "learn": true}, bound(2)}
	if diff := cmp.Diff(want, bindings(passed)); diff != "" || len(rejected) != 0 {
		t.Errorf("rejected %v, bindings (-want +got):\n%s", rejected, diff)
	}
}

// REQ-3, scenario "Foreign todo attribute": nothing tells a foreign todo from a random one, or from no id at all.
func TestProcessor_AForeignTodoIsAsUnboundAsARandomOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	foreign := spanstest.NewTenant(t, b.pool).Todo(t)
	own := b.Todo(t)
	for name, value := range map[string]any{
		"foreign":          typeid.Todo.Format(foreign),
		"random":           typeid.Todo.Format(typeid.New()),
		"another spelling": strings.ToUpper(typeid.Todo.Format(own)),
		"an endpoint's id": typeid.Endpoint.Format(own),
		"a uuid":           own.String(),
		"a number":         int64(1),
		"a list":           []any{typeid.Todo.Format(own)},
	} {
		passed, rejected := b.send(t, batch(nil, attribute(todoKey, value), attribute(todoKey, typeid.Todo.Format(own))))
		if diff := cmp.Diff(map[ledger.Reason]int{ledger.Unbound: 1}, rejected); diff != "" {
			t.Errorf("%s: rejected (-want +got):\n%s", name, diff)
		}
		if n := passed.SpanCount(); n != 1 {
			t.Errorf("%s: %d spans of a mixed batch were passed on", name, n)
		}
	}
}

// A trace that was minted for another tenant's attempt is any trace.
func TestProcessor_AForeignTraceIsUnbound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := spanstest.NewTenant(t, b.pool)
	caller := [16]byte{0xcc}
	minted := other.Attempt(t, other.Todo(t), spanstest.Attempt{Seq: 1, ClaimedAt: noon, CallerTrace: caller})
	_, rejected := b.send(t, batch(nil, traced(minted), traced(caller)))
	if rejected[ledger.Unbound] != 2 {
		t.Errorf("rejected %v", rejected)
	}
}

// decisions.md 19.
func TestProcessor_ACallersTraceBindsByTheTimeOfTheClaim(t *testing.T) {
	t.Parallel()
	b := setup(t)
	caller := [16]byte{0xcc}
	first, second := b.Todo(t), b.Todo(t)
	b.Attempt(t, first, spanstest.Attempt{Seq: 1, CallerTrace: caller, ClaimedAt: noon.Add(-time.Hour), EndedAt: noon.Add(time.Minute)})
	b.Attempt(t, second, spanstest.Attempt{Seq: 1, CallerTrace: caller, ClaimedAt: noon.Add(time.Minute)})
	passed, _ := b.send(t, batch(nil, traced(caller), func(s ptrace.Span) {
		s.SetTraceID(caller)
		s.SetStartTimestamp(pcommon.NewTimestampFromTime(noon.Add(-2 * time.Hour)))
	}))
	want := []map[string]any{
		{"todo_id": typeid.Todo.Format(first), "attempt_seq": int64(1)},
		{"todo_id": typeid.Todo.Format(second), "attempt_seq": int64(1)},
	}
	if diff := cmp.Diff(want, bindings(passed)); diff != "" {
		t.Errorf("bindings (-want +got):\n%s", diff)
	}
}

// decisions.md 6, and what a span counts as that belongs nowhere besides.
func TestProcessor_InvalidIsDecidedBeforeBinding(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := typeid.Todo.Format(b.Todo(t))
	passed, rejected := b.send(t, batch(map[string]any{todoKey: id},
		func(s ptrace.Span) { s.SetTraceID(pcommon.TraceID{}) },
		func(s ptrace.Span) { s.SetSpanID(pcommon.SpanID{}) },
		func(s ptrace.Span) { s.SetStartTimestamp(0) },
		func(s ptrace.Span) { s.SetEndTimestamp(s.StartTimestamp() - 1) },
		func(s ptrace.Span) { s.SetStartTimestamp(0); s.Attributes().PutStr(todoKey, "td_unknown") },
		func(s ptrace.Span) { s.Attributes().PutStr(todoKey, "td_unknown") },
		func(ptrace.Span) {},
	))
	want := map[ledger.Reason]int{ledger.Invalid: 5, ledger.Unbound: 1}
	if diff := cmp.Diff(want, rejected); diff != "" || passed.SpanCount() != 1 {
		t.Errorf("%d spans passed on, rejected (-want +got):\n%s", passed.SpanCount(), diff)
	}
}

// What an invalid span's attribute says teaches nothing.
func TestProcessor_AnInvalidSpanTeachesNoTrace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := typeid.Todo.Format(b.Todo(t))
	_, rejected := b.send(t, batch(nil,
		func(s ptrace.Span) { s.SetStartTimestamp(0); s.Attributes().PutStr(todoKey, id) },
		func(ptrace.Span) {},
	))
	if diff := cmp.Diff(map[ledger.Reason]int{ledger.Invalid: 1, ledger.Unbound: 1}, rejected); diff != "" {
		t.Errorf("rejected (-want +got):\n%s", diff)
	}
}

// decisions.md 14: nobody can forge what binding found.
func TestProcessor_ForgedBindingsAreStripped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	own, victim := b.Todo(t), spanstest.NewTenant(t, b.pool).Todo(t)
	forged := map[string]any{
		spans.ReservedTodo: typeid.Todo.Format(victim), spans.ReservedAttempt: int64(9), spans.ReservedLearn: true,
		spans.ReservedCategory: "net", spans.ReservedTool: "curl", spans.ReservedPrefix + "more": "x",
	}
	td := batch(forged, func(s ptrace.Span) {
		for key, value := range forged {
			attribute(key, value)(s)
		}
		s.Attributes().PutStr("kept", "yes")
		s.Attributes().PutStr(todoKey, typeid.Todo.Format(own))
	}, func(s ptrace.Span) { attribute(spans.ReservedTodo, typeid.Todo.Format(own))(s) })
	td.ResourceSpans().At(0).ScopeSpans().At(0).Scope().Attributes().PutStr(spans.ReservedTodo, "x")

	passed, rejected := b.send(t, td)
	want := []map[string]any{{"todo_id": typeid.Todo.Format(own), "learn": true}, {"todo_id": typeid.Todo.Format(own)}}
	if diff := cmp.Diff(want, bindings(passed)); diff != "" || len(rejected) != 0 {
		t.Errorf("rejected %v, bindings (-want +got):\n%s", rejected, diff)
	}
	rs := passed.ResourceSpans().At(0)
	if n := rs.Resource().Attributes().Len() + rs.ScopeSpans().At(0).Scope().Attributes().Len(); n != 0 {
		t.Errorf("%d forged attributes are left on resource and scope", n)
	}
	if _, ok := rs.ScopeSpans().At(0).Spans().At(0).Attributes().Get("kept"); !ok {
		t.Error("an attribute of the producer's was stripped")
	}
}

// dependencies.md: the exporter must commit the request also when binding left nothing of it.
func TestProcessor_AnEmptiedBatchIsPassedOn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	passed, rejected := b.send(t, batch(nil, func(ptrace.Span) {}, traced([16]byte{})))
	if passed.ResourceSpans().Len() != 0 || rejected[ledger.Unbound] != 1 || rejected[ledger.Invalid] != 1 {
		t.Errorf("%d resources passed on, rejected %v", passed.ResourceSpans().Len(), rejected)
	}
}

// decisions.md 15.
func TestProcessor_WithoutAnAuthenticatedEndpointNothingBinds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, auth := range map[string]client.AuthData{"none": nil, "another authenticator's": stranger{}} {
		err := b.processor.ConsumeTraces(client.NewContext(t.Context(), client.Info{Auth: auth}), batch(nil, func(ptrace.Span) {}))
		if err == nil || !consumererror.IsPermanent(err) || !strings.Contains(err.Error(), "auth: {authenticator: switchboard}") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(b.next.AllTraces()); n != 0 {
		t.Errorf("%d batches were passed on", n)
	}
}

type stranger struct{}

func (stranger) GetAttribute(string) any     { return 7 }
func (stranger) GetAttributeNames() []string { return nil }

// decisions.md 3: a store that cannot be reached is worth a retry, and the failed request leaves nothing in an account.
func TestProcessor_AStoreThatIsGoneIsTransient(t *testing.T) {
	t.Parallel()
	b := setup(t)
	closed, err := pgxpool.New(t.Context(), b.pool.Config().ConnString())
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	p := newProcessor(t, b.next)
	if err := p.Start(t.Context(), host{component.MustNewID("switchboard"): newExtension(closed)}); err != nil {
		t.Fatal(err)
	}
	ctx, account := ledger.NewContext(as(t.Context(), b.Tenant))
	err = p.ConsumeTraces(ctx, batch(nil, func(ptrace.Span) {}, traced([16]byte{})))
	if err == nil || consumererror.IsPermanent(err) {
		t.Errorf("error %v: want a transient one", err)
	}
	if n := account.Account().RejectedTotal(); n != 0 {
		t.Errorf("%d spans accounted for by a failed request", n)
	}
}

// A request of a receiver without a ledger counts in the metrics alone.
func TestProcessor_WithoutALedgerRefusalsAreMetrics(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if err := b.processor.ConsumeTraces(as(t.Context(), b.Tenant), batch(nil, func(ptrace.Span) {}, traced([16]byte{}))); err != nil {
		t.Fatal(err)
	}
	got := spanstest.Scrape(t, b.extension.metrics)
	for _, line := range []string{
		`switchboard_otlp_spans_total{result="rejected_unbound"} 1`,
		`switchboard_otlp_spans_total{result="rejected_invalid"} 1`,
	} {
		if !strings.Contains(got, line) {
			t.Errorf("missing %s in\n%s", line, got)
		}
	}
}

func TestStart_WantsExactlyOneSwitchboardExtension(t *testing.T) {
	t.Parallel()
	one, two := component.MustNewIDWithName("switchboard", "a"), component.MustNewIDWithName("switchboard", "b")
	for _, c := range []struct {
		host component.Host
		want string
	}{
		{componenttest.NewNopHost(), "add switchboard to service::extensions"},
		{host{one: &extension{}, two: &extension{}}, "keep one of them"},
	} {
		err := newProcessor(t, &consumertest.TracesSink{}).Start(t.Context(), c.host)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
}
