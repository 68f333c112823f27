package spans_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"pgregory.net/rapid"

	"github.com/switchboard-otel/switchboard/app/spans"
)

// What is standardised may gain these and no others.
var standardKeys = []string{
	"gen_ai.operation.name", "gen_ai.tool.name", "gen_ai.tool.call.id", "gen_ai.request.model", "gen_ai.system",
	"gen_ai.provider.name", "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "gen_ai.usage.cache_read.input_tokens",
	"gen_ai.usage.cache_write.input_tokens", "switchboard.category", "http.request.method", "http.response.status_code",
	"db.system", "rpc.system",
}

// Whatever agents write: what is there stays, twice is once, no content is copied, and a model's counts are of one kind.
func TestStandardize_FillsAndChangesNothing(t *testing.T) {
	t.Parallel()
	content := []string{
		"gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.tool.call.arguments", "ai.prompt", "ai.toolCall.args",
		"ai.toolCall.result", "genkit:input", "genkit:output", "traceloop.entity.input", "input.value", "user_prompt",
	}
	ways := []string{
		"tool_name", "tool_use_id", "call_id", "model", "span.type", "input_tokens", "output_tokens", "cache_read_tokens",
		"codex.tool.phase", "codex.usage.total_tokens", "tool.name", "tool.call_id", "openinference.span.kind",
		"llm.model_name", "llm.token_count.prompt", "traceloop.span.kind", "traceloop.entity.name", "ai.operationId",
		"ai.toolCall.name", "ai.toolCall.id", "ai.model.id", "ai.usage.inputTokens", "ai.usage.promptTokens",
		"spring.ai.kind", "spring.ai.tool.definition.name", "genkit:metadata:subtype", "genkit:name", "http.method",
		"http.status_code", "db.system.name", "rpc.system.name", "gen_ai.tool.call_id", "gen_ai.usage.total_tokens",
	}
	values := []any{
		"", "TOOL", "LLM", "tool", "model", "tool_call", "llm_call", "llm_request", "ai.toolCall", "ai.streamText.doStream",
		"chat", "execute_tool", "invoke_agent", "framework", "x", int64(7), 1.5, true, nil, []any{"x"}, attrs{"a": "b"},
	}
	names := []string{"claude_code.tool", "Tool.execute", "call_llm", "execute_tool x", "handle_responses", "step", ""}
	key := rapid.SampledFrom(slices.Concat(standardKeys, ways))
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.MapOfN(key, rapid.SampledFrom(values), 0, 12).Draw(t, "attributes")
		for _, key := range rapid.SliceOfN(rapid.SampledFrom(content), 0, 3).Draw(t, "content") {
			raw[key] = "CONTENT"
		}
		td := ptrace.NewTraces()
		span := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		span.SetName(rapid.SampledFrom(names).Draw(t, "name"))
		if err := span.Attributes().FromRaw(raw); err != nil {
			t.Fatal(err)
		}
		before := span.Attributes().AsRaw()
		spans.Standardize(td)
		after := span.Attributes().AsRaw()
		counted := false
		for key, was := range before {
			counted = counted || strings.HasPrefix(key, "gen_ai.usage.") && was != "" && was != nil
			if was != "" && was != nil && !cmp.Equal(was, after[key]) {
				t.Fatalf("%s was %v and is %v", key, was, after[key])
			}
		}
		for key, is := range after {
			if was, there := before[key]; there && cmp.Equal(was, is) {
				continue
			}
			if !slices.Contains(standardKeys, key) || strings.Contains(fmt.Sprint(is), "CONTENT") {
				t.Fatalf("gained %s = %v", key, is)
			}
			if counted && strings.HasPrefix(key, "gen_ai.usage.") {
				t.Fatalf("gained %s beside other counts", key)
			}
		}
		spans.Standardize(td)
		if diff := cmp.Diff(after, span.Attributes().AsRaw()); diff != "" {
			t.Fatalf("a second time changes:\n%s", diff)
		}
	})
}

func TestStandardize_CopiesNoContentOfARealAgent(t *testing.T) {
	t.Parallel()
	for _, file := range recordingFiles(t) {
		for _, td := range recording(t, file) {
			var before []attrs
			for _, span := range allSpans(td) {
				before = append(before, span.Attributes().AsRaw())
			}
			spans.Standardize(td)
			for i, span := range allSpans(td) {
				for key, v := range span.Attributes().All() {
					if _, there := before[i][key]; there {
						continue
					}
					if !slices.Contains(standardKeys, key) || looksLikeContent(v) {
						t.Errorf("%s: %s gained %s = %.80s", file, span.Name(), key, v.AsString())
					}
				}
			}
		}
	}
}

// looksLikeContent knows the samples of the recordings.
func looksLikeContent(v pcommon.Value) bool {
	for _, sample := range []string{"CANARY", "Paris", "sunny", "Be brief", "{"} {
		if strings.Contains(v.AsString(), sample) {
			return true
		}
	}
	return false
}

func BenchmarkStandardize(b *testing.B) {
	for _, file := range []string{"otel-go.otlp.json", "claude-code-2.1.197.otlp.json", "opencode.otlp.json.gz", "codex.otlp.json.gz"} {
		b.Run(file, func(b *testing.B) {
			requests := recording(b, file)
			n := 0
			for b.Loop() {
				for _, td := range requests {
					spans.Standardize(td) // after the first time it has nothing to fill, as with most of what is sent
					n += td.SpanCount()
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/span")
		})
	}
}
