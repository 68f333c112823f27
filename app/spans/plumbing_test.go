package spans_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/switchboard-otel/switchboard/app/spans"
)

// What is left of the agents for which the guide recommends it: a tenth, and in it every call and what it stands in.
func TestDropPlumbing_OfRealAgents(t *testing.T) {
	t.Parallel()
	for file, c := range map[string]struct {
		sent, dropped int
		left          []string // some of what must be
	}{
		"opencode.otlp.json.gz": {968, 934, []string{"Cli.run", "SessionPrompt.run", "LLM.run", "ai.streamText.doStream", "ai.toolCall", "Tool.execute", "ShellTool.run", "Permission.ask"}},
		"codex.otlp.json.gz":    {569, 519, []string{"codex.exec", "run_turn", "try_run_sampling_request", "receiving_stream", "handle_responses", "handle_output_item_done", "exec_command"}},
		"qwen.otlp.json":        {9, 2, []string{"qwen-code.interaction", "qwen-code.tool", "qwen-code.llm_request", "POST"}},
		"mastra.otlp.json":      {14, 0, nil},
	} {
		sent, dropped, calls := 0, 0, 0
		var left []string
		for _, td := range recording(t, file) {
			spans.Standardize(td)
			sent += td.SpanCount()
			calls += countCalls(td)
			dropped += spans.DropPlumbing(td)
			calls -= countCalls(td)
			for _, span := range allSpans(td) {
				left = append(left, span.Name())
			}
			if at := spans.DropPlumbing(td); at != 0 {
				t.Errorf("%s: a second time drops %d", file, at)
			}
		}
		if sent != c.sent || dropped != c.dropped || len(left) != sent-dropped {
			t.Errorf("%s: %d of %d dropped and %d left, want %d of %d", file, dropped, sent, len(left), c.dropped, c.sent)
		}
		if calls != 0 {
			t.Errorf("%s: %d calls of models and tools are gone", file, calls)
		}
		for _, name := range c.left {
			if !slices.Contains(left, name) {
				t.Errorf("%s: no %s is left", file, name)
			}
		}
	}
}

func countCalls(td ptrace.Traces) (n int) {
	for _, span := range allSpans(td) {
		if category, _, _ := spans.Classify(span.Attributes(), span.Kind()); category == "reason" || category == "tool" {
			n++
		}
	}
	return n
}

// Constructed: the table alone does not decide.
func TestDropPlumbing_LeavesWhatACallStandsIn(t *testing.T) {
	t.Parallel()
	type span struct {
		name       string
		id, parent byte
		attrs      attrs
	}
	tool := attrs{"gen_ai.tool.name": "bash"}
	for name, c := range map[string]struct {
		scope string
		spans []span
		left  []string
	}{
		"alone":              {"opencode", []span{{"sql.execute", 1, 0, nil}}, nil},
		"another agent":      {"demo", []span{{"sql.execute", 1, 0, nil}}, []string{"sql.execute"}},
		"above a tool":       {"opencode", []span{{"bash", 1, 2, tool}, {"Plugin.load", 2, 3, nil}, {"State.x", 3, 0, nil}, {"State.y", 4, 3, nil}}, []string{"bash", "Plugin.load", "State.x"}},
		"below a tool":       {"opencode", []span{{"bash", 1, 0, tool}, {"sql.execute", 2, 1, nil}}, []string{"bash"}},
		"a call itself":      {"opencode", []span{{"sql.execute", 1, 0, attrs{"switchboard.category": "reason"}}}, []string{"sql.execute"}},
		"any other category": {"opencode", []span{{"sql.execute", 1, 0, attrs{"switchboard.category": "plan"}}}, nil},
		"a circle":           {"opencode", []span{{"bash", 1, 2, tool}, {"State.x", 2, 3, nil}, {"State.y", 3, 2, nil}}, []string{"bash", "State.x", "State.y"}},
		"its own parent":     {"opencode", []span{{"State.x", 1, 1, nil}}, nil},
		"a tool may follow":  {"codex_exec", []span{{"handle_responses", 1, 0, attrs{"tool_name": "exec"}}, {"handle_responses", 2, 0, nil}}, []string{"handle_responses"}},
	} {
		td := ptrace.NewTraces()
		scope := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty()
		scope.Scope().SetName(c.scope)
		for _, s := range c.spans {
			span := scope.Spans().AppendEmpty()
			span.SetName(s.name)
			span.SetTraceID(pcommon.TraceID{1})
			span.SetSpanID(pcommon.SpanID{s.id})
			span.SetParentSpanID(pcommon.SpanID{s.parent})
			if err := span.Attributes().FromRaw(s.attrs); err != nil {
				t.Fatal(err)
			}
		}
		dropped := spans.DropPlumbing(td)
		var left []string
		for _, span := range allSpans(td) {
			left = append(left, span.Name())
		}
		if diff := cmp.Diff(c.left, left); diff != "" || dropped != len(c.spans)-len(left) {
			t.Errorf("%s: %d dropped, left (-want +got):\n%s", name, dropped, diff)
		}
		if len(left) == 0 && td.ResourceSpans().Len() != 0 {
			t.Errorf("%s: an empty resource is left", name)
		}
	}
}

// A span of the same id in another trace is another span.
func TestDropPlumbing_KnowsTracesApart(t *testing.T) {
	t.Parallel()
	td := ptrace.NewTraces()
	scope := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty()
	scope.Scope().SetName("opencode")
	for trace, name := range map[byte]string{1: "bash", 2: "State.x"} {
		span := scope.Spans().AppendEmpty()
		span.SetTraceID(pcommon.TraceID{trace})
		span.SetSpanID(pcommon.SpanID{trace})
		span.SetParentSpanID(pcommon.SpanID{2})
		span.SetName(name)
		if name == "bash" {
			span.Attributes().PutStr("gen_ai.tool.name", name)
		}
	}
	if dropped := spans.DropPlumbing(td); dropped != 1 || td.SpanCount() != 1 {
		t.Errorf("%d dropped", dropped)
	}
}
