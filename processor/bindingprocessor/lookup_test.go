package bindingprocessor

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/switchboard-otel/switchboard/app/ledger"
	"github.com/switchboard-otel/switchboard/app/spans/spanstest"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// counter counts the statements that go to the server.
type counter struct{ atomic.Int32 }

func (c *counter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.Add(1)
	return ctx
}

func (*counter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// watched is a bundle whose processor's statements are counted.
func watched(t *testing.T) (*bundle, *counter) {
	t.Helper()
	b, statements := setup(t), &counter{}
	cfg := b.pool.Config()
	cfg.ConnConfig.Tracer = statements
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	b.processor = newProcessor(t, b.next)
	if err := b.processor.Start(t.Context(), host{component.MustNewID("switchboard"): newExtension(pool)}); err != nil {
		t.Fatal(err)
	}
	return b, statements
}

// Whatever a request holds, the store is asked once; about the trace of a claim that it named before, not at all.
func TestProcessor_AsksTheStoreOnceAtMost(t *testing.T) {
	t.Parallel()
	b, statements := watched(t)
	todo, other, caller := b.Todo(t), b.Todo(t), [16]byte{0xcc}
	minted := b.Attempt(t, todo, spanstest.Attempt{Seq: 1, ClaimedAt: noon, CallerTrace: caller})
	b.Attempt(t, other, spanstest.Attempt{Seq: 1, ClaimedAt: noon, CallerTrace: caller})
	id, otherID := typeid.Todo.Format(todo), typeid.Todo.Format(other)
	named := func(id string) func(ptrace.Span) { return attribute(todoKey, id) }
	for _, step := range []struct {
		name       string
		statements int32
		spans      []func(ptrace.Span)
	}{
		{"every rule at once", 1, []func(ptrace.Span){traced(minted), named(id), func(ptrace.Span) {}, traced(caller), traced([16]byte{0xdd}), named("td_unknown")}},
		{"the trace of a claim", 0, []func(ptrace.Span){traced(minted), traced(minted)}},
		{"with its own todo beside it", 0, []func(ptrace.Span){func(s ptrace.Span) { s.SetTraceID(minted); named(id)(s) }}},
		{"with another todo beside it", 1, []func(ptrace.Span){func(s ptrace.Span) { s.SetTraceID(minted); named(otherID)(s) }}},
		{"a trace of the caller's, again", 1, []func(ptrace.Span){traced(caller)}},
		{"a trace that nobody knows, again", 1, []func(ptrace.Span){traced([16]byte{0xdd})}},
		{"a todo by its attribute, again", 1, []func(ptrace.Span){named(id)}},
		{"nothing that can be stored", 0, []func(ptrace.Span){traced([16]byte{})}},
	} {
		statements.Store(0)
		b.send(t, batch(nil, step.spans...))
		if n := statements.Load(); n != step.statements {
			t.Errorf("%s: %d statements, want %d", step.name, n, step.statements)
		}
	}
}

// A memory of a todo that retention has removed since: where a span names another todo, it belongs there, and the memory is
// corrected. The rest is the store's to refuse.
func TestProcessor_ATraceOfARemovedTodoIsNotBelievedAgainstAnAttribute(t *testing.T) {
	t.Parallel()
	b := setup(t)
	todo, other := b.Todo(t), b.Todo(t)
	minted := b.Attempt(t, todo, spanstest.Attempt{Seq: 1, ClaimedAt: noon})
	b.send(t, batch(nil, traced(minted)))
	if _, err := b.pool.Exec(t.Context(), `DELETE FROM todos WHERE id = $1`, todo); err != nil {
		t.Fatal(err)
	}
	passed, rejected := b.send(t, batch(nil, traced(minted), func(s ptrace.Span) {
		s.SetTraceID(minted)
		s.Attributes().PutStr(todoKey, typeid.Todo.Format(other))
	}))
	want := map[string]any{"todo_id": typeid.Todo.Format(other)}
	taught := map[string]any{"todo_id": typeid.Todo.Format(other), "learn": true}
	if diff := cmp.Diff([]map[string]any{want, taught}, bindings(passed)); diff != "" || len(rejected) != 0 {
		t.Errorf("rejected %v, bindings (-want +got):\n%s", rejected, diff)
	}
}

// decisions.md 7 and 13: a span that comes twice and is refused counts once. What has no id is nobody's twin.
func TestProcessor_ARefusedSpanThatComesTwiceCountsOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	again := func(s ptrace.Span) { s.SetSpanID([8]byte{1}) }
	endless := func(s ptrace.Span) { again(s); s.SetEndTimestamp(0) }
	ctx, account := ledger.NewContext(as(t.Context(), b.Tenant))
	if err := b.processor.ConsumeTraces(ctx, batch(nil, again, func(ptrace.Span) {}, again, endless, endless, traced([16]byte{}), traced([16]byte{}))); err != nil {
		t.Fatal(err)
	}
	want := ledger.Account{Rejected: map[ledger.Reason]int{ledger.Unbound: 2, ledger.Invalid: 3}, Twins: 2}
	if diff := cmp.Diff(want, account.Account()); diff != "" {
		t.Errorf("account (-want +got):\n%s", diff)
	}
}
