package allowlistprocessor

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/switchboard-otel/switchboard/app/spans"
	"github.com/switchboard-otel/switchboard/internal/toggle"
)

// through sends a batch through the processor and returns what comes out of it.
func through(t *testing.T, cfg *Config, td ptrace.Traces) ptrace.Traces {
	t.Helper()
	sink := new(consumertest.TracesSink)
	factory := NewFactory()
	p, err := factory.CreateTraces(t.Context(), processortest.NewNopSettings(factory.Type()), cfg, sink)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.ConsumeTraces(context.Background(), td); err != nil {
		t.Fatal(err)
	}
	if len(sink.AllTraces()) != 1 {
		t.Fatalf("%d batches came out, want one", len(sink.AllTraces()))
	}
	return sink.AllTraces()[0]
}

// oneSpan makes a batch of one span with the given attributes of span and resource.
func oneSpan(t *testing.T, attrs, resource map[string]any) (ptrace.Traces, ptrace.Span) {
	t.Helper()
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	span := rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	span.SetName("step")
	span.SetKind(ptrace.SpanKindInternal)
	if err := rs.Resource().Attributes().FromRaw(resource); err != nil {
		t.Fatal(err)
	}
	if err := span.Attributes().FromRaw(attrs); err != nil {
		t.Fatal(err)
	}
	return td, span
}

func spanOf(td ptrace.Traces) ptrace.Span {
	return td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
}

func attributesOf(td ptrace.Traces) map[string]any { return spanOf(td).Attributes().AsRaw() }

func TestProcessor_REQ5_AToolSpan(t *testing.T) {
	td, _ := oneSpan(t, map[string]any{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "bash"}, nil)
	want := map[string]any{
		"gen_ai.operation.name": "execute_tool", spans.ReservedCategory: "tool", spans.ReservedTool: "bash",
	}
	if diff := cmp.Diff(want, attributesOf(through(t, &Config{}, td))); diff != "" {
		t.Error(diff)
	}
}

func TestProcessor_REQ6_DefaultDropsToolArguments(t *testing.T) {
	attrs := map[string]any{
		"gen_ai.tool.call.arguments": "{}", "gen_ai.tool.call.result": "ok", "gen_ai.input.messages": "[]",
		"gen_ai.output.messages": "[]", "process.command_args": []any{"ls"},
	}
	td, _ := oneSpan(t, attrs, nil)
	if diff := cmp.Diff(map[string]any{spans.ReservedCategory: "internal"}, attributesOf(through(t, &Config{}, td))); diff != "" {
		t.Errorf("by default: %s", diff)
	}
	td, _ = oneSpan(t, attrs, nil)
	attrs[spans.ReservedCategory] = "internal"
	if diff := cmp.Diff(attrs, attributesOf(through(t, &Config{KeepToolIO: toggle.On}, td))); diff != "" {
		t.Errorf("with keep_tool_io: %s", diff)
	}
}

func TestProcessor_KeepsWhatTheOperatorAdds(t *testing.T) {
	td, _ := oneSpan(t, map[string]any{"mcp.method.name": "tools/call", "mcp.session.id": "x"}, nil)
	got := attributesOf(through(t, &Config{AdditionalKeys: []string{"mcp.method.name"}}, td))
	if diff := cmp.Diff(map[string]any{"mcp.method.name": "tools/call", spans.ReservedCategory: "internal"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestProcessor_REQ5_DropsEventsLinksTraceStateAndResource(t *testing.T) {
	td, span := oneSpan(t, nil, map[string]any{"service.name": "worker", "host.name": "h", "process.command_args": []any{"secret"}})
	span.Events().AppendEmpty().SetName("exception")
	span.Links().AppendEmpty().SetSpanID([8]byte{1})
	span.TraceState().FromRaw("a=b")
	scope := td.ResourceSpans().At(0).ScopeSpans().At(0).Scope()
	scope.SetName("tracer")
	scope.Attributes().PutStr("k", "v")

	got := spanOf(through(t, &Config{}, td))
	if got.Events().Len() != 0 || got.Links().Len() != 0 || got.TraceState().AsRaw() != "" {
		t.Error("an event, a link or the trace state is left")
	}
	resource := td.ResourceSpans().At(0).Resource().Attributes().AsRaw()
	if diff := cmp.Diff(map[string]any{"service.name": "worker"}, resource); diff != "" {
		t.Error(diff)
	}
	if scope.Name() != "tracer" || scope.Attributes().Len() != 0 {
		t.Errorf("scope %q with %d attributes, want its name alone", scope.Name(), scope.Attributes().Len())
	}
}

func TestProcessor_CopiesTheBindingAttributesOfTheResource(t *testing.T) {
	resource := map[string]any{"switchboard.todo.id": "td_resource", "switchboard.attempt.seq": int64(3), "switchboard.other": "x"}
	for name, c := range map[string]struct{ attrs, want map[string]any }{
		"absent": {nil, map[string]any{"switchboard.todo.id": "td_resource", "switchboard.attempt.seq": int64(3)}},
		"empty": {
			map[string]any{"switchboard.todo.id": "", "switchboard.attempt.seq": nil},
			map[string]any{"switchboard.todo.id": "td_resource", "switchboard.attempt.seq": int64(3)},
		},
		"its own": {
			map[string]any{"switchboard.todo.id": "td_span"},
			map[string]any{"switchboard.todo.id": "td_span", "switchboard.attempt.seq": int64(3)},
		},
	} {
		td, _ := oneSpan(t, c.attrs, resource)
		c.want[spans.ReservedCategory] = "internal"
		if diff := cmp.Diff(c.want, attributesOf(through(t, &Config{}, td))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestProcessor_LeavesTheBindingAloneAndNobodyForgesTheRest(t *testing.T) {
	td, _ := oneSpan(t, map[string]any{
		spans.ReservedTodo: "td_x", spans.ReservedAttempt: int64(2), spans.ReservedLearn: true,
		spans.ReservedCategory: "forged", spans.ReservedTool: "forged", spans.TruncatedKey: "forged",
	}, nil)
	want := map[string]any{
		spans.ReservedTodo: "td_x", spans.ReservedAttempt: int64(2), spans.ReservedLearn: true, spans.ReservedCategory: "internal",
	}
	if diff := cmp.Diff(want, attributesOf(through(t, &Config{}, td))); diff != "" {
		t.Error(diff)
	}
}

// A value is cut to its cap and 512 bytes, so that the masking still sees a credential at the cap whole, and
// whatever is cut leaves the mark (decisions.md 22 and 24).
func TestProcessor_CutsToALittleMoreThanTheCap(t *testing.T) {
	long := strings.Repeat("é", 5000)
	for name, c := range map[string]struct {
		change func(td ptrace.Traces, span ptrace.Span)
		length func(td ptrace.Traces, span ptrace.Span) int
		want   int
	}{
		"value": {
			func(_ ptrace.Traces, s ptrace.Span) { s.Attributes().PutStr("switchboard.x", long) },
			func(_ ptrace.Traces, s ptrace.Span) int { return stringLength(s, "switchboard.x") }, 1024 + 512,
		},
		"tool input": {
			func(_ ptrace.Traces, s ptrace.Span) { s.Attributes().PutStr("gen_ai.input.messages", long) },
			func(_ ptrace.Traces, s ptrace.Span) int { return stringLength(s, "gen_ai.input.messages") }, 4096 + 512,
		},
		"name": {
			func(_ ptrace.Traces, s ptrace.Span) {
				s.SetName(long)
				s.Attributes().PutStr("switchboard.x", long) // one cut must not hide the next
			},
			func(_ ptrace.Traces, s ptrace.Span) int { return len(s.Name()) }, 256 + 512,
		},
		"status message": {
			func(_ ptrace.Traces, s ptrace.Span) { s.Status().SetMessage(long) },
			func(_ ptrace.Traces, s ptrace.Span) int { return len(s.Status().Message()) }, 512 + 512,
		},
		"tool": {
			func(_ ptrace.Traces, s ptrace.Span) { s.Attributes().PutStr("gen_ai.tool.name", long) },
			func(_ ptrace.Traces, s ptrace.Span) int { return stringLength(s, spans.ReservedTool) }, 128 + 512,
		},
		"category": {
			func(_ ptrace.Traces, s ptrace.Span) { s.Attributes().PutStr("switchboard.category", long) },
			func(_ ptrace.Traces, s ptrace.Span) int { return stringLength(s, spans.ReservedCategory) }, 64 + 512,
		},
		"service name": {
			func(td ptrace.Traces, _ ptrace.Span) { resourceOf(td).PutStr("service.name", long) },
			func(td ptrace.Traces, _ ptrace.Span) int {
				v, _ := resourceOf(td).Get("service.name")
				return len(v.Str())
			}, 128 + 512,
		},
		"todo id of the resource": {
			func(td ptrace.Traces, _ ptrace.Span) { resourceOf(td).PutStr("switchboard.todo.id", long) },
			func(_ ptrace.Traces, s ptrace.Span) int { return stringLength(s, "switchboard.todo.id") }, 1024 + 512,
		},
		"key": {
			func(_ ptrace.Traces, s ptrace.Span) { s.Attributes().PutStr("switchboard."+long+long, "v") },
			func(_ ptrace.Traces, s ptrace.Span) int { return s.Attributes().Len() }, 2,
		},
	} {
		td, span := oneSpan(t, nil, nil)
		c.change(td, span)
		out := through(t, &Config{KeepToolIO: toggle.On}, td)
		if got := c.length(out, spanOf(out)); got != c.want {
			t.Errorf("%s: %d left, want %d", name, got, c.want)
		}
		if marker, ok := spanOf(out).Attributes().Get(spans.TruncatedKey); !ok || !marker.Bool() {
			t.Errorf("%s: the span is not marked", name)
		}
	}
}

func TestProcessor_MarksNothingThatIsWhole(t *testing.T) {
	td, span := oneSpan(t, map[string]any{"switchboard.x": strings.Repeat("x", 1536), "not.kept": strings.Repeat("x", 9999)}, nil)
	span.SetName(strings.Repeat("n", 768))
	if _, marked := attributesOf(through(t, &Config{}, td))[spans.TruncatedKey]; marked {
		t.Error("marked, but nothing was cut")
	}
}

// One coding agent sends an attribute twice in a span. Both encodings keep the order, and the first counts, as it
// does for the rules that read it.
func TestProcessor_OfAKeyThatComesTwiceTheFirstCounts(t *testing.T) {
	const body = `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203331",
		"attributes":[
			{"key":"switchboard.category","value":{"stringValue":"plan"}},
			{"key":"switchboard.thread","value":{"intValue":"2"}},
			{"key":"switchboard.thread","value":{"stringValue":"01a22b77"}},
			{"key":"switchboard.category","value":{"stringValue":"other"}}]}]}]}]}`
	fromJSON, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	wire, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(fromJSON)
	if err != nil {
		t.Fatal(err)
	}
	fromProtobuf, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(wire)
	if err != nil {
		t.Fatal(err)
	}
	for name, td := range map[string]ptrace.Traces{"JSON": fromJSON, "protobuf": fromProtobuf} {
		got := spanOf(through(t, &Config{}, td)).Attributes()
		if category, _ := got.Get(spans.ReservedCategory); category.Str() != "plan" {
			t.Errorf("%s: category %q, want the first", name, category.Str())
		}
		if doc := string(spans.EncodeAttributes(got)); doc != `{"switchboard.category":"plan","switchboard.thread":2}` {
			t.Errorf("%s: stored as %s", name, doc)
		}
	}
}

func TestProcessor_PassesAnEmptyBatchOn(t *testing.T) {
	if got := through(t, &Config{}, ptrace.NewTraces()).SpanCount(); got != 0 {
		t.Errorf("%d spans", got)
	}
}

func TestKeySet_FindsEveryKeyOnce(t *testing.T) {
	var s keySet
	for round := range 2 {
		for i := range 100 {
			if isNew := s.add(fmt.Sprint(i)); isNew != (round == 0) {
				t.Fatalf("round %d: key %d is new: %v", round, i, isNew)
			}
		}
	}
}

func stringLength(span ptrace.Span, key string) int {
	v, _ := span.Attributes().Get(key)
	return len(v.Str())
}

func resourceOf(td ptrace.Traces) pcommon.Map {
	return td.ResourceSpans().At(0).Resource().Attributes()
}
