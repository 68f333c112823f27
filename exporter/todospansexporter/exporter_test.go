package todospansexporter

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
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
	"github.com/switchboard-otel/switchboard/exporter/todospansexporter/internal/metadata"
	"github.com/switchboard-otel/switchboard/processor/bindingprocessor"
)

var noon = time.Date(2026, 9, 27, 12, 0, 0, 0, time.UTC)

// extension is what both components see of the switchboard extension, over a real database.
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

func hostOf(e *extension) host { return host{component.MustNewID("switchboard"): e} }

// bundle is a pipeline of the real binding processor and the exporter over a database of the test's own.
type bundle struct {
	*spanstest.Tenant
	pool      *pgxpool.Pool
	extension *extension
	pipeline  consumer.Traces
}

func setup(t *testing.T) *bundle {
	t.Helper()
	db := postgrestest.New(t)
	b := &bundle{Tenant: spanstest.NewTenant(t, db.Pool), pool: db.Pool, extension: newExtension(db.Pool)}
	b.pipeline = bound(t, b.extension, started(t, b.extension, createDefaultConfig().(*Config)))
	return b
}

// started is an exporter that runs until the test ends.
func started(t *testing.T, e *extension, cfg *Config) exporter.Traces {
	t.Helper()
	x, err := NewFactory().CreateTraces(t.Context(), exportertest.NewNopSettings(metadata.Type), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Start(t.Context(), hostOf(e)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return x
}

// bound puts the binding processor in front of next.
func bound(t *testing.T, e *extension, next consumer.Traces) consumer.Traces {
	t.Helper()
	factory := bindingprocessor.NewFactory()
	p, err := factory.CreateTraces(t.Context(), processortest.NewNopSettings(factory.Type()), factory.CreateDefaultConfig(), next)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(t.Context(), hostOf(e)); err != nil {
		t.Fatal(err)
	}
	return p
}

// as returns a context that carries an endpoint's identity, as a receiver makes it.
func as(ctx context.Context, tenant *spanstest.Tenant) context.Context {
	return client.NewContext(ctx, client.Info{Auth: ingest.NewAuthData(tenant.Endpoint)})
}

// export sends a request as the switchboard receiver does and checks its account, which must be committed.
func (b *bundle) export(t *testing.T, td ptrace.Traces, stored int, rejected map[ledger.Reason]int) {
	t.Helper()
	ctx, account := ledger.NewContext(as(t.Context(), b.Tenant))
	if err := b.pipeline.ConsumeTraces(ctx, clone(td)); err != nil {
		t.Fatalf("export: %v", err)
	}
	if rejected == nil {
		rejected = map[ledger.Reason]int{}
	}
	got := account.Account()
	want := ledger.Account{Committed: true, Stored: stored, Rejected: rejected, Twins: td.SpanCount() - stored - got.RejectedTotal()}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("account (-want +got):\n%s", diff)
	}
}

// clone is the request as its sender still has it.
func clone(td ptrace.Traces) ptrace.Traces {
	copied := ptrace.NewTraces()
	td.CopyTo(copied)
	return copied
}

func (b *bundle) rows(t *testing.T, todo uuid.UUID) []spans.Span {
	t.Helper()
	rows, err := b.extension.spans.ForTodo(t.Context(), b.Human, todo, nil, 100_000)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// request makes count spans of one trace on a resource that names the todo, unless it is the nil one.
func request(todo uuid.UUID, trace [16]byte, count int) ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "worker")
	if todo != uuid.Nil {
		rs.Resource().Attributes().PutStr("switchboard.todo.id", typeid.Todo.Format(todo))
	}
	list := rs.ScopeSpans().AppendEmpty().Spans()
	for i := range count {
		s := list.AppendEmpty()
		s.SetTraceID(trace)
		s.SetSpanID([8]byte{byte(i >> 8), byte(i), 1})
		s.SetName(fmt.Sprintf("step %d", i))
		s.SetStartTimestamp(pcommon.NewTimestampFromTime(noon.Add(time.Duration(i) * time.Second)))
		s.SetEndTimestamp(pcommon.NewTimestampFromTime(noon.Add(time.Duration(i+1) * time.Second)))
		s.Attributes().PutInt("gen_ai.usage.input_tokens", int64(i))
	}
	return td
}

func firstSpan(td ptrace.Traces) ptrace.Span {
	return td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
}

// REQ-8, scenario "Retry is harmless".
func TestExporter_RetryIsHarmless(t *testing.T) {
	t.Parallel()
	b := setup(t)
	todo := b.Todo(t)
	td := request(todo, [16]byte{1}, 10)
	b.export(t, td, 10, nil)
	first := b.rows(t, todo)
	b.export(t, td, 10, nil)
	if diff := cmp.Diff(first, b.rows(t, todo)); diff != "" || len(first) != 10 {
		t.Errorf("%d rows, then (-first +retry):\n%s", len(first), diff)
	}
}

// REQ-3, scenario "Supervisor passes the traceparent".
func TestExporter_SpansOfAClaimsTraceAreItsAttempts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	todo := b.Todo(t)
	b.Attempt(t, todo, spanstest.Attempt{Seq: 1, ClaimedAt: noon, EndedAt: noon.Add(time.Hour)})
	trace := b.Attempt(t, todo, spanstest.Attempt{Seq: 2, ClaimedAt: noon.Add(time.Hour)})
	b.export(t, request(uuid.Nil, trace, 3), 3, nil)
	for _, s := range b.rows(t, todo) {
		if s.AttemptSeq != 2 || s.ServiceName != "worker" || s.Category != "unspecified" {
			t.Errorf("row %+v", s)
		}
		if got := string(s.Attributes); strings.Contains(got, spans.ReservedPrefix) || !strings.Contains(got, "input_tokens") {
			t.Errorf("attributes %s", got)
		}
	}
}

// REQ-3, scenario "Foreign todo attribute": one account for a foreign and for a random id, and B's trail unchanged.
func TestExporter_AForeignTodoIsUnbound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	foreign := spanstest.NewTenant(t, b.pool).Todo(t)
	for _, todo := range []uuid.UUID{foreign, typeid.New()} {
		b.export(t, request(todo, [16]byte{1}, 2), 0, map[ledger.Reason]int{ledger.Unbound: 2})
	}
	var trail int
	err := b.pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM todo_spans)
		+ (SELECT count(*) FROM todo_span_counts) + (SELECT count(*) FROM todo_trace_bindings)`).Scan(&trail)
	if err != nil || trail != 0 {
		t.Errorf("%d rows left, error %v", trail, err)
	}
}

// REQ-3 rule 3: what an attribute taught binds later requests of the trace, for this endpoint only.
func TestExporter_AnEarlierBindingIsRemembered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	todo, trace := b.Todo(t), [16]byte{1}
	b.export(t, request(uuid.Nil, trace, 1), 0, map[ledger.Reason]int{ledger.Unbound: 1})
	b.export(t, request(todo, trace, 1), 1, nil)
	b.export(t, request(uuid.Nil, trace, 3), 3, nil)
	if n := len(b.rows(t, todo)); n != 3 {
		t.Errorf("%d rows", n)
	}

	other := &bundle{Tenant: spanstest.NewTenant(t, b.pool), pool: b.pool, extension: b.extension, pipeline: b.pipeline}
	other.export(t, request(uuid.Nil, trace, 1), 0, map[ledger.Reason]int{ledger.Unbound: 1})
}

// decisions.md 17: the first binding wins and never moves, also when another span of the trace names another todo.
func TestExporter_TheFirstBindingOfATraceStays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, second, trace := b.Todo(t), b.Todo(t), [16]byte{1}
	both := request(first, trace, 1)
	request(second, trace, 1).ResourceSpans().MoveAndAppendTo(both.ResourceSpans())
	b.export(t, both, 2, nil)
	b.export(t, request(second, trace, 1), 1, nil)
	b.export(t, request(uuid.Nil, trace, 4), 4, nil)
	if n, m := len(b.rows(t, first)), len(b.rows(t, second)); n != 4 || m != 1 {
		t.Errorf("%d spans with the first todo, %d with the second", n, m)
	}
}

// decisions.md 18: of a pruned attempt its trace and number are left among the bindings.
func TestExporter_ATraceOfAPrunedAttemptKeepsItsNumber(t *testing.T) {
	t.Parallel()
	b := setup(t)
	todo, other, trace := b.Todo(t), b.Todo(t), [16]byte{1}
	b.Attempt(t, todo, spanstest.Attempt{Seq: 7, ClaimedAt: noon})
	if _, err := b.pool.Exec(t.Context(), `INSERT INTO todo_trace_bindings (endpoint_id, trace_id, todo_id, attempt_seq)
		VALUES ($1, $2, $3, 2)`, b.Endpoint, trace[:], todo); err != nil {
		t.Fatal(err)
	}
	b.export(t, request(other, trace, 2), 2, nil)
	for _, s := range b.rows(t, todo) {
		if s.AttemptSeq != 2 {
			t.Errorf("attempt %d", s.AttemptSeq)
		}
	}
	if n := len(b.rows(t, todo)); n != 2 {
		t.Errorf("%d rows", n)
	}
}

// decisions.md 8 and 19: a later claim under the caller's trace does not take over what is stored.
func TestExporter_ARetryUnderACallersTraceStaysWithItsTodo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	caller, first, second := [16]byte{0xcc}, b.Todo(t), b.Todo(t)
	b.Attempt(t, first, spanstest.Attempt{Seq: 1, CallerTrace: caller, ClaimedAt: noon.Add(time.Minute)})
	td := request(uuid.Nil, caller, 2) // started before the claim
	b.export(t, td, 2, nil)

	b.Attempt(t, second, spanstest.Attempt{Seq: 1, CallerTrace: caller, ClaimedAt: noon.Add(time.Hour)})
	b.export(t, td, 2, nil)
	if n, m := len(b.rows(t, first)), len(b.rows(t, second)); n != 2 || m != 0 {
		t.Errorf("%d spans with the first todo, %d with the second", n, m)
	}
}

// REQ-19, scenario "Span cap", in small: through the pipeline, with the drop counted on the attempt.
func TestExporter_SpansBeyondTheCapAreAccountedFor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Set(t, "spans_max_per_attempt", "4")
	todo := b.Todo(t)
	trace := b.Attempt(t, todo, spanstest.Attempt{Seq: 1, ClaimedAt: noon})
	b.export(t, request(uuid.Nil, trace, 4), 4, nil)
	b.export(t, request(uuid.Nil, trace, 14), 4, map[ledger.Reason]int{ledger.Cap: 10})
	counts, err := b.extension.spans.Counts(t.Context(), b.Human, todo)
	if diff := cmp.Diff([]spans.Count{{AttemptSeq: 1, Stored: 4, Dropped: 10}}, counts); diff != "" || err != nil {
		t.Errorf("error %v, counts (-want +got):\n%s", err, diff)
	}
}

// decisions.md 7 and 13: a span that comes twice counts once, as stored or as refused, and the later one wins.
func TestExporter_ADuplicateInOneRequestIsAccountedForByItsTwin(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Set(t, "spans_max_per_todo", "2")
	todo, trace := b.Todo(t), [16]byte{1}
	twice := func(todo uuid.UUID, count int) ptrace.Traces {
		td := request(todo, trace, count)
		request(todo, trace, count).ResourceSpans().MoveAndAppendTo(td.ResourceSpans())
		for _, span := range td.ResourceSpans().At(1).ScopeSpans().At(0).Spans().All() {
			span.SetName("the later one")
		}
		return td
	}
	b.export(t, twice(todo, 1), 1, nil)
	if rows := b.rows(t, todo); len(rows) != 1 || rows[0].Name != "the later one" {
		t.Errorf("rows %+v", rows)
	}
	b.export(t, twice(todo, 5), 2, map[ledger.Reason]int{ledger.Cap: 3})
	b.export(t, twice(typeid.New(), 5), 0, map[ledger.Reason]int{ledger.Unbound: 5})
}

// A pipeline without allow-list and masking does not cut: what is over a cap is refused alone.
func TestExporter_AFieldOverItsCapRefusesItsSpanAlone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	todo := b.Todo(t)
	td := request(todo, [16]byte{1}, 4)
	list := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
	list.At(0).SetName(strings.Repeat("n", 257))
	list.At(1).Attributes().PutStr("large", strings.Repeat("v", 17<<10))
	numbers := list.At(2).Attributes().PutEmptySlice("numbers")
	for range 60 {
		numbers.AppendEmpty().SetDouble(1e300) // five characters here, 301 in the database
	}
	b.export(t, td, 1, map[ledger.Reason]int{ledger.Invalid: 3})
	if n := len(b.rows(t, todo)); n != 1 {
		t.Errorf("%d rows", n)
	}
}

// A request that binding emptied is committed, so that the receiver answers from the account.
func TestExporter_AnEmptiedRequestIsCommitted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.export(t, request(uuid.Nil, [16]byte{1}, 3), 0, map[ledger.Reason]int{ledger.Unbound: 3})
}

// Without the binding processor nothing says where a span belongs.
func TestExporter_WithoutBindingEverySpanIsUnbound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.pipeline = started(t, b.extension, createDefaultConfig().(*Config))
	b.export(t, request(b.Todo(t), [16]byte{1}, 3), 0, map[ledger.Reason]int{ledger.Unbound: 3})
}

// decisions.md 14 and 15: whatever a span says, the statement joins the todo to the authenticated endpoint.
func TestExporter_AForgedBindingStoresNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	victim := spanstest.NewTenant(t, b.pool)
	todo := victim.Todo(t)
	td := request(uuid.Nil, [16]byte{1}, 1)
	firstSpan(td).Attributes().PutStr(spans.ReservedTodo, typeid.Todo.Format(todo))
	b.pipeline = started(t, b.extension, createDefaultConfig().(*Config)) // no binding in front strips it
	b.export(t, td, 0, map[ledger.Reason]int{ledger.Unbound: 1})
	if rows, err := b.extension.spans.ForTodo(t.Context(), victim.Human, todo, nil, 10); len(rows) != 0 || err != nil {
		t.Errorf("rows %v, error %v", rows, err)
	}
}

// The pipelines behind `forward` see what binding found: the exporter reads and changes nothing.
func TestExporter_DoesNotChangeWhatItStores(t *testing.T) {
	t.Parallel()
	b := setup(t)
	x := started(t, b.extension, createDefaultConfig().(*Config))
	if x.Capabilities().MutatesData {
		t.Error("the exporter says that it changes its data")
	}
	td := request(uuid.Nil, [16]byte{1}, 1)
	firstSpan(td).Attributes().PutStr(spans.ReservedTodo, typeid.Todo.Format(b.Todo(t)))
	td.MarkReadOnly()
	ctx, _ := ledger.NewContext(as(t.Context(), b.Tenant))
	if err := x.ConsumeTraces(ctx, td); err != nil {
		t.Fatal(err)
	}
}

// refusing makes the database refuse every span of a todo.
func (b *bundle) refusing(t *testing.T, todo uuid.UUID) {
	t.Helper()
	if _, err := b.pool.Exec(t.Context(), `ALTER TABLE todo_spans ADD CONSTRAINT refused CHECK (todo_id <> '`+todo.String()+`')`); err != nil {
		t.Fatal(err)
	}
}

// decisions.md 3 and REQ-23: nothing of the todo that failed, all of the others, a permanent error, no commit.
func TestExporter_ARefusedTodoIsPermanentAndCommitsNoAccount(t *testing.T) {
	t.Parallel()
	b := setup(t)
	todos := []uuid.UUID{b.Todo(t), b.Todo(t), b.Todo(t)}
	b.refusing(t, todos[1])
	td := ptrace.NewTraces()
	for i, todo := range todos {
		request(todo, [16]byte{byte(i + 1)}, 2).ResourceSpans().MoveAndAppendTo(td.ResourceSpans())
	}
	ctx, account := ledger.NewContext(as(t.Context(), b.Tenant))
	err := b.pipeline.ConsumeTraces(ctx, td)
	if err == nil || !consumererror.IsPermanent(err) {
		t.Errorf("error %v: want a permanent one", err)
	}
	if a := account.Account(); a.Committed || a.RejectedTotal() != 0 {
		t.Errorf("account %+v", a)
	}
	var stored []int
	for _, todo := range todos {
		stored = append(stored, len(b.rows(t, todo)))
	}
	if !slices.Equal(stored, []int{2, 0, 2}) {
		t.Errorf("rows per todo %v", stored)
	}
}

// decisions.md 3: what may work later is worth a retry.
func TestExporter_AStoreThatIsGoneIsTransient(t *testing.T) {
	t.Parallel()
	b := setup(t)
	closed, err := pgxpool.New(t.Context(), b.pool.Config().ConnString())
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	pipeline := bound(t, b.extension, started(t, newExtension(closed), createDefaultConfig().(*Config)))
	ctx, account := ledger.NewContext(as(t.Context(), b.Tenant))
	err = pipeline.ConsumeTraces(ctx, request(b.Todo(t), [16]byte{1}, 1))
	if err == nil || consumererror.IsPermanent(err) || account.Account().Committed {
		t.Errorf("error %v: want a transient one", err)
	}
}

// The timeout covers the wait for another request's lock on the todo.
func TestExporter_TheTimeoutEndsAWaitForTheTodosLock(t *testing.T) {
	t.Parallel()
	b := setup(t)
	todo := b.Todo(t)
	b.export(t, request(todo, [16]byte{1}, 1), 1, nil)
	holder, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Rollback(context.WithoutCancel(t.Context()))
	if _, err := holder.Exec(t.Context(), `SELECT FROM todo_span_counts WHERE todo_id = $1 FOR UPDATE`, todo); err != nil {
		t.Fatal(err)
	}
	cfg := createDefaultConfig().(*Config)
	cfg.Timeout = 20 * time.Millisecond
	ctx, _ := ledger.NewContext(as(t.Context(), b.Tenant))
	err = bound(t, b.extension, started(t, b.extension, cfg)).ConsumeTraces(ctx, request(todo, [16]byte{1}, 2))
	if err == nil || consumererror.IsPermanent(err) {
		t.Errorf("error %v: want a transient one", err)
	}
	if n := len(b.rows(t, todo)); n != 1 {
		t.Errorf("%d rows", n)
	}
}

func TestExporter_WithoutALedgerItSaysWhichSettingToWrite(t *testing.T) {
	t.Parallel()
	b := setup(t)
	todo := b.Todo(t)
	err := b.pipeline.ConsumeTraces(as(t.Context(), b.Tenant), request(todo, [16]byte{1}, 1))
	if err == nil || !consumererror.IsPermanent(err) || !strings.Contains(err.Error(), "require_ledger: false") {
		t.Errorf("error %v", err)
	}
	if n := len(b.rows(t, todo)); n != 0 {
		t.Errorf("%d rows", n)
	}
}

// architecture.md: behind a stock otlp receiver the exporter works and counts into the metrics only.
func TestExporter_WithoutALedgerOutcomesAreMetrics(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Set(t, "spans_max_per_todo", "2")
	cfg := createDefaultConfig().(*Config)
	cfg.RequireLedger = false
	pipeline := bound(t, b.extension, started(t, b.extension, cfg))
	if err := pipeline.ConsumeTraces(as(t.Context(), b.Tenant), request(b.Todo(t), [16]byte{1}, 5)); err != nil {
		t.Fatal(err)
	}
	got := spanstest.Scrape(t, b.extension.metrics)
	for _, line := range []string{
		`switchboard_otlp_spans_total{result="accepted"} 2`,
		`switchboard_otlp_spans_total{result="rejected_cap"} 3`,
	} {
		if !strings.Contains(got, line) {
			t.Errorf("missing %s in\n%s", line, got)
		}
	}
}

// decisions.md 15.
func TestExporter_WithoutAnAuthenticatedEndpointNothingIsStored(t *testing.T) {
	t.Parallel()
	b := setup(t)
	x := started(t, b.extension, createDefaultConfig().(*Config))
	ctx, _ := ledger.NewContext(t.Context())
	err := x.ConsumeTraces(ctx, request(b.Todo(t), [16]byte{1}, 1))
	if err == nil || !consumererror.IsPermanent(err) || !strings.Contains(err.Error(), "auth: {authenticator: switchboard}") {
		t.Errorf("error %v", err)
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
		x, err := NewFactory().CreateTraces(t.Context(), exportertest.NewNopSettings(metadata.Type), createDefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		if err := x.Start(t.Context(), c.host); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
		if err := x.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// Binding remembers the traces of claims for a while. A todo that retention has removed since is no error: its spans are
// unbound, as they are on a process that remembers nothing.
func TestExporter_ATodoThatWasRemovedIsUnboundAlsoWhereItsTraceIsRemembered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	todo := b.Todo(t)
	trace := b.Attempt(t, todo, spanstest.Attempt{Seq: 1, ClaimedAt: noon})
	b.export(t, request(uuid.Nil, trace, 2), 2, nil)
	if _, err := b.pool.Exec(t.Context(), `DELETE FROM todos WHERE id = $1`, todo); err != nil {
		t.Fatal(err)
	}
	if _, ok := b.extension.spans.Minted(b.Endpoint, trace); !ok {
		t.Error("the trace is not remembered")
	}
	b.export(t, request(uuid.Nil, trace, 3), 0, map[ledger.Reason]int{ledger.Unbound: 3})
}
