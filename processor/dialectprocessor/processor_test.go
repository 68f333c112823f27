package dialectprocessor

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/switchboard-otel/switchboard/app/ledger"
	"github.com/switchboard-otel/switchboard/internal/toggle"
)

// through sends a batch through the processor and returns what comes out of it.
func through(ctx context.Context, t *testing.T, cfg *Config, td ptrace.Traces) ptrace.Traces {
	t.Helper()
	sink := new(consumertest.TracesSink)
	factory := NewFactory()
	p, err := factory.CreateTraces(t.Context(), processortest.NewNopSettings(factory.Type()), cfg, sink)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.ConsumeTraces(ctx, td); err != nil {
		t.Fatal(err)
	}
	if len(sink.AllTraces()) != 1 {
		t.Fatalf("%d batches came out, want one", len(sink.AllTraces()))
	}
	return sink.AllTraces()[0]
}

// openCode makes a batch of one tool's execution and one span of the agent's own machinery.
func openCode(names ...string) ptrace.Traces {
	td := ptrace.NewTraces()
	scope := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty()
	scope.Scope().SetName("opencode")
	for i, name := range names {
		span := scope.Spans().AppendEmpty()
		span.SetSpanID([8]byte{byte(i + 1)})
		span.SetName(name)
		if name == "Tool.execute" {
			span.Attributes().PutStr("tool.name", "bash")
		}
	}
	return td
}

func TestProcessor_StandardizesAndKeepsEverythingByDefault(t *testing.T) {
	ctx, account := ledger.NewContext(t.Context())
	out := through(ctx, t, &Config{}, openCode("Tool.execute", "sql.execute"))
	want := map[string]any{"tool.name": "bash", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "bash"}
	if diff := cmp.Diff(want, out.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes().AsRaw()); diff != "" {
		t.Error(diff)
	}
	if n := account.Account().Filtered; out.SpanCount() != 2 || n != 0 {
		t.Errorf("%d spans came out, %d were filtered", out.SpanCount(), n)
	}
}

// decisions.md 13: what is dropped is filtered, not rejected, and an emptied batch goes on.
func TestProcessor_AccountsForPlumbingThatItDrops(t *testing.T) {
	on := &Config{DropPlumbing: toggle.On}
	for _, c := range []struct {
		names          []string
		left, filtered int
	}{
		{[]string{"Tool.execute", "sql.execute", "State.commit"}, 1, 2},
		{[]string{"sql.execute"}, 0, 1},
		{[]string{"Tool.execute"}, 1, 0},
		{nil, 0, 0},
	} {
		ctx, account := ledger.NewContext(t.Context())
		out := through(ctx, t, on, openCode(c.names...))
		if n := account.Account(); out.SpanCount() != c.left || n.Filtered != c.filtered || n.RejectedTotal() != 0 {
			t.Errorf("%v: %d left, %d filtered, %d rejected", c.names, out.SpanCount(), n.Filtered, n.RejectedTotal())
		}
	}
	// A receiver that keeps no account, such as the stock one.
	if out := through(t.Context(), t, on, openCode("Tool.execute", "sql.execute")); out.SpanCount() != 1 {
		t.Errorf("without a ledger %d spans are left", out.SpanCount())
	}
}
