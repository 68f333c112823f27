package spans_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/switchboard-otel/switchboard/app/spans"
)

// gained standardises a request and returns what its first span of a name has that it had not. It fails the test if
// anything that was there has changed.
func gained(t *testing.T, td ptrace.Traces, name string) map[string]any {
	t.Helper()
	for _, span := range allSpans(td) {
		if span.Name() != name {
			continue
		}
		before := span.Attributes().AsRaw()
		spans.Standardize(td)
		after := span.Attributes().AsRaw()
		for key, was := range before {
			switch {
			case cmp.Equal(was, after[key]):
				delete(after, key)
			case was != "" && was != nil: // empty is absent
				t.Errorf("%s: %s was %v and is %v", name, key, was, after[key])
			}
		}
		return after
	}
	t.Fatalf("no span %s", name)
	return nil
}

type attrs = map[string]any

// What real programs sent.
func TestStandardize_RecordedSpans(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		recording, span string
		gains           attrs
	}{
		// Claude Code before it spoke the conventions, and since
		{"claude-code-2.1.197.otlp.json", "claude_code.tool", attrs{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "Bash"}},
		{"claude-code-2.1.197.otlp.json", "claude_code.llm_request", attrs{
			"gen_ai.operation.name": "chat", "gen_ai.provider.name": "anthropic",
			"gen_ai.usage.input_tokens": int64(120), "gen_ai.usage.output_tokens": int64(17),
			"gen_ai.usage.cache_read.input_tokens": int64(64), "gen_ai.usage.cache_write.input_tokens": int64(8),
		}},
		{"claude-code-2.1.197.otlp.json", "claude_code.interaction", attrs{}},
		{"claude-code.otlp.json", "claude_code.tool", attrs{"gen_ai.system": "anthropic"}},
		{"claude-code.otlp.json", "claude_code.llm_request", attrs{}},
		{"claude-code.otlp.json", "claude_code.tool.execution", attrs{"gen_ai.system": "anthropic"}},
		{"claude-agent-sdk.otlp.json", "claude_code.tool", attrs{"gen_ai.system": "anthropic"}},
		// Gemini CLI
		{"gemini.otlp.json", "tool_call", attrs{"switchboard.category": "tool", "gen_ai.tool.call.id": "run_shell_command__fc1"}},
		{"gemini.otlp.json", "llm_call", attrs{"switchboard.category": "reason"}},
		{"gemini.otlp.json", "schedule_tool_calls", attrs{}},
		{"gemini-mcp.otlp.json", "tool_call", attrs{"switchboard.category": "tool", "gen_ai.tool.call.id": "run_shell_command__fc1"}},
		// Codex
		{"codex.otlp.json.gz", "exec_command", attrs{
			"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "exec_command", "gen_ai.tool.call.id": "call_fake1",
		}},
		{"codex.otlp.json.gz", "guardian_scoring_observation", attrs{}},
		{"codex.otlp.json.gz", "model_client.stream_responses_api", attrs{"http.request.method": "POST"}},
		// OpenCode
		{"opencode.otlp.json.gz", "Tool.execute", attrs{
			"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "bash", "gen_ai.tool.call.id": "call_fake2",
		}},
		{"opencode.otlp.json.gz", "ai.toolCall", attrs{
			"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "bash", "gen_ai.tool.call.id": "call_fake2",
		}},
		{"opencode.otlp.json.gz", "ai.streamText.doStream", attrs{"gen_ai.operation.name": "chat", "gen_ai.provider.name": "fake.chat"}},
		{"opencode.otlp.json.gz", "ai.streamText", attrs{}},
		{"opencode.otlp.json.gz", "sql.execute", attrs{"db.system": "sqlite"}},
		// Qwen Code speaks the conventions, beside names of its own
		{"qwen.otlp.json", "qwen-code.tool", attrs{}},
		{"qwen.otlp.json", "qwen-code.hook", attrs{}},
		{"qwen.otlp.json", "qwen-code.llm_request", attrs{"gen_ai.system": "openai"}},
		// SDKs
		{"openinference-langchain.otlp.json", "get_weather", attrs{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get_weather"}},
		{"openinference-langchain.otlp.json", "ChatOpenAI", attrs{
			"gen_ai.operation.name": "chat", "gen_ai.request.model": "test-model", "gen_ai.usage.input_tokens": int64(100),
			"gen_ai.usage.output_tokens": int64(20), "gen_ai.usage.cache_read.input_tokens": int64(64),
		}},
		{"openinference-langchain.otlp.json", "tools", attrs{}},
		{"openinference-openai.otlp.json", "OpenAI Responses", attrs{
			"gen_ai.operation.name": "chat", "gen_ai.request.model": "test-model", "gen_ai.usage.input_tokens": int64(100),
			"gen_ai.usage.output_tokens": int64(20), "gen_ai.usage.cache_read.input_tokens": int64(64),
		}},
		{"traceloop.otlp.json", "get_weather.tool", attrs{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get_weather"}},
		{"traceloop.otlp.json", "summarise.task", attrs{}},
		{"traceloop.otlp.json", "chat test-model", attrs{"gen_ai.system": "openai"}},
		{"traceloop-langchain.otlp.json", "execute_tool DynamicStructuredTool", attrs{
			"gen_ai.tool.name": "DynamicStructuredTool", "gen_ai.system": "langchain",
		}},
		{"ai-sdk-v7-legacy.otlp.json", "ai.toolCall", attrs{
			"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get_weather", "gen_ai.tool.call.id": "call_1",
		}},
		{"ai-sdk-v7-legacy.otlp.json", "ai.generateText.doGenerate", attrs{"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai.responses"}},
		{"ai-sdk-v7-legacy.otlp.json", "ai.generateText", attrs{}},
		{"genkit.otlp.json", "get_weather", attrs{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get_weather"}},
		{"genkit.otlp.json", "fake/test-model", attrs{"gen_ai.operation.name": "chat", "gen_ai.request.model": "fake/test-model"}},
		{"genkit.otlp.json", "weatherFlow", attrs{}},
		{"google-adk.otlp.json", "call_llm", attrs{"gen_ai.operation.name": "chat", "gen_ai.provider.name": "gcp.vertex.agent"}},
		{"google-adk.otlp.json", "execute_tool get_weather", attrs{}},
		// Those that speak the conventions gain nothing but the other name of a provider.
		{"otel-go.otlp.json", "chat test-model", attrs{"gen_ai.system": "openai"}},
		{"otel-js-json.otlp.json", "execute_tool get_weather", attrs{}},
		{"ai-sdk-v7.otlp.json", "invoke_agent test-model", attrs{"gen_ai.system": "openai"}},
		{"anthropic-sdk-native.otlp.json", "anthropic.messages.create", attrs{"gen_ai.system": "anthropic"}},
		{"copilot.otlp.json", "execute_tool bash bash", attrs{"gen_ai.system": "openai"}},
		{"strands.otlp.json", "chat", attrs{"gen_ai.provider.name": "demo-agent"}},
		{"mastra.otlp.json", "chat test-model", attrs{"gen_ai.system": "openai.responses"}},
		{"langsmith.otlp.json", "get_weather", attrs{"gen_ai.provider.name": "langchain"}},
	} {
		requests := recording(t, c.recording)
		at := 0
		for at < len(requests)-1 && !hasSpan(requests[at], c.span) {
			at++
		}
		if diff := cmp.Diff(c.gains, gained(t, requests[at], c.span)); diff != "" {
			t.Errorf("%s, %s gains (-want +got):\n%s", c.recording, c.span, diff)
		}
	}
}

func hasSpan(td ptrace.Traces, name string) bool {
	for _, span := range allSpans(td) {
		if span.Name() == name {
			return true
		}
	}
	return false
}

// Shapes that nobody has recorded: written down from what producers document, and from what may meet in one span.
func TestStandardize_ConstructedSpans(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		span     string
		is, want attrs
	}{
		"Claude Code without a tool's name": {"claude_code.tool", attrs{"duration_ms": int64(3)}, attrs{}},
		"Claude Code, counts of both kinds": {
			"claude_code.llm_request",
			attrs{"span.type": "llm_request", "input_tokens": int64(120), "output_tokens": int64(17), "gen_ai.usage.input_tokens": int64(192)},
			attrs{"gen_ai.operation.name": "chat"},
		},
		"Claude Code, its own counts beside the conventions": {
			"claude_code.llm_request", attrs{"span.type": "llm_request", "gen_ai.operation.name": "chat", "input_tokens": int64(120)},
			attrs{},
		},
		"Claude Code, its own name beside the conventions": {
			"claude_code.tool", attrs{"gen_ai.operation.name": "execute_tool", "tool_name": "custom"},
			attrs{},
		},
		"Claude Code, a call that failed": {
			"claude_code.llm_request", attrs{"span.type": "llm_request", "model": "claude-sonnet-4-5"},
			attrs{"gen_ai.operation.name": "chat", "gen_ai.request.model": "claude-sonnet-4-5"},
		},
		"Gemini CLI under a category of its user's": {
			"tool_call", attrs{"gen_ai.operation.name": "tool_call", "switchboard.category": "plan"},
			attrs{},
		},
		"Codex without the id of the call": {
			"mcp__sb__claim", attrs{"tool_name": "mcp__sb__claim", "codex.tool.phase": "dispatch"},
			attrs{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "mcp__sb__claim"},
		},
		"Codex without the phase": {
			"exec", attrs{"tool_name": "exec", "call_id": "c1"},
			attrs{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "exec", "gen_ai.tool.call.id": "c1"},
		},
		"Codex reading a call":             {"handle_responses", attrs{"tool_name": "exec_command"}, attrs{}},
		"Codex with a total and no counts": {"handle_responses", attrs{"codex.usage.total_tokens": int64(7)}, attrs{}},
		"OpenCode without a tool's name":   {"Tool.execute", attrs{"session.id": "s"}, attrs{}},
		"a tool's name on another span":    {"qwen-code.hook", attrs{"tool.name": "bash"}, attrs{}},
		"OpenInference without a tool's name": {
			"search", attrs{"openinference.span.kind": "TOOL"},
			attrs{"gen_ai.operation.name": "execute_tool"},
		},
		"OpenInference, any other kind": {
			"agent", attrs{"openinference.span.kind": "AGENT", "llm.model_name": "m", "llm.token_count.prompt": int64(1)},
			attrs{},
		},
		"OpenInference beside the conventions": {
			"chat", attrs{"openinference.span.kind": "LLM", "gen_ai.operation.name": "generate_content", "llm.model_name": "m", "llm.token_count.prompt": int64(1)},
			attrs{"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": int64(1)},
		},
		"OpenInference on what calls no model": {
			"agent", attrs{"openinference.span.kind": "LLM", "gen_ai.operation.name": "invoke_agent", "llm.token_count.prompt": int64(1)},
			attrs{},
		},
		"OpenInference's tool in a model's call": {
			"chat", attrs{"openinference.span.kind": "TOOL", "gen_ai.operation.name": "chat", "tool.name": "x"},
			attrs{},
		},
		"Traceloop's other kinds": {
			"a.agent", attrs{"traceloop.span.kind": "agent", "traceloop.entity.name": "a"},
			attrs{},
		},
		"AI SDK before version 5": {
			"ai.generateObject.doGenerate", attrs{"ai.operationId": "ai.generateObject.doGenerate", "ai.model.id": "m", "ai.usage.promptTokens": int64(5), "ai.usage.completionTokens": int64(2)},
			attrs{"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": int64(5), "gen_ai.usage.output_tokens": int64(2)},
		},
		"AI SDK without the conventions' counts": {
			"ai.streamText.doStream", attrs{"ai.operationId": "ai.streamText.doStream", "ai.usage.inputTokens": int64(5), "ai.usage.outputTokens": int64(2), "ai.usage.cachedInputTokens": int64(1)},
			attrs{"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": int64(5), "gen_ai.usage.output_tokens": int64(2), "gen_ai.usage.cache_read.input_tokens": int64(1)},
		},
		"AI SDK, the span around its steps": {
			"ai.streamText", attrs{"ai.operationId": "ai.streamText", "ai.model.id": "m", "ai.usage.inputTokens": int64(5)},
			attrs{},
		},
		"AI SDK, an embedding": {
			"ai.embed.doEmbed", attrs{"ai.operationId": "ai.embed.doEmbed", "ai.usage.tokens": int64(5)},
			attrs{},
		},
		"Spring AI, documented": {
			"tool_call search", attrs{"gen_ai.operation.name": "framework", "gen_ai.system": "spring_ai", "spring.ai.kind": "tool_call", "spring.ai.tool.definition.name": "search"},
			attrs{"gen_ai.tool.name": "search", "gen_ai.provider.name": "spring_ai"},
		},
		"Spring AI without an operation": {
			"tool_call search", attrs{"spring.ai.kind": "tool_call", "spring.ai.tool.definition.name": "search"},
			attrs{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"},
		},
		"Spring AI's client": {
			"spring_ai chat_client", attrs{"spring.ai.kind": "chat_client", "gen_ai.operation.name": "framework"},
			attrs{},
		},
		"Google ADK without attributes": {
			"execute_tool get_weather", attrs{},
			attrs{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get_weather"},
		},
		"Google ADK's name on another operation": {
			"execute_tool get_weather", attrs{"gen_ai.operation.name": "invoke_agent"},
			attrs{},
		},
		"a name that names no tool": {"execute_tool  ", attrs{}, attrs{}},
		"Google ADK's call of no model": {
			"call_llm", attrs{"gen_ai.system": "gcp.vertex.agent", "gen_ai.provider.name": "x"},
			attrs{},
		},
		"an operation with an empty name is absent": {
			"call_llm", attrs{"gen_ai.request.model": "m", "gen_ai.operation.name": ""},
			attrs{"gen_ai.operation.name": "chat"},
		},
		"an empty source gives nothing": {
			"ai.toolCall", attrs{"ai.operationId": "ai.toolCall", "ai.toolCall.name": "", "ai.toolCall.id": nil},
			attrs{"gen_ai.operation.name": "execute_tool"},
		},
		"a list is no name": {
			"get_weather.tool", attrs{"traceloop.span.kind": "tool", "traceloop.entity.name": []any{"x"}},
			attrs{"gen_ai.operation.name": "execute_tool"},
		},

		// other versions of the conventions
		"http of old": {
			"GET", attrs{"http.method": "GET", "http.status_code": int64(200)},
			attrs{"http.request.method": "GET", "http.response.status_code": int64(200)},
		},
		"http of both":       {"GET", attrs{"http.method": "get", "http.request.method": "GET"}, attrs{}},
		"db.system.name":     {"SELECT", attrs{"db.system.name": "postgresql"}, attrs{"db.system": "postgresql"}},
		"rpc.system.name":    {"call", attrs{"rpc.system.name": "grpc"}, attrs{"rpc.system": "grpc"}},
		"the provider alone": {"chat", attrs{"gen_ai.provider.name": "openai"}, attrs{"gen_ai.system": "openai"}},
		"the system alone":   {"chat", attrs{"gen_ai.system": "openai"}, attrs{"gen_ai.provider.name": "openai"}},
		"both": {
			"chat", attrs{"gen_ai.system": "az.ai.openai", "gen_ai.provider.name": "azure.ai.openai"},
			attrs{},
		},
		"the id of a call of old": {"x", attrs{"gen_ai.tool.call_id": "c"}, attrs{"gen_ai.tool.call.id": "c"}},
		"nothing":                 {"x", attrs{}, attrs{}},
		"nothing that is known":   {"x", attrs{"a": "b", "gen_ai.input.messages": "hello"}, attrs{}},
	} {
		td := ptrace.NewTraces()
		span := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		span.SetName(c.span)
		if err := span.Attributes().FromRaw(c.is); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, gained(t, td, c.span)); diff != "" {
			t.Errorf("%s: gains (-want +got):\n%s", name, diff)
		}
	}
}

// Where two idioms meet in one span the first of the table decides, whatever the order of the attributes.
func TestStandardize_TheFirstIdiomDecides(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		first, second attrs
		span, tool    string // "" for a model's call
	}{
		{attrs{"tool_name": "claude"}, attrs{"ai.operationId": "ai.toolCall", "ai.toolCall.name": "ai"}, "claude_code.tool", "claude"},
		{attrs{"span.type": "llm_request"}, attrs{"tool_name": "codex", "call_id": "c"}, "x", ""},
		{attrs{"tool_name": "codex", "call_id": "c"}, attrs{"openinference.span.kind": "TOOL", "tool.name": "oi"}, "x", "codex"},
		{attrs{"tool_name": "codex", "call_id": "c"}, attrs{"codex.usage.total_tokens": int64(1), "gen_ai.usage.input_tokens": int64(1)}, "x", "codex"},
		{attrs{"tool.name": "opencode"}, attrs{"openinference.span.kind": "LLM"}, "Tool.execute", "opencode"},
		{attrs{"openinference.span.kind": "TOOL", "tool.name": "oi"}, attrs{"traceloop.span.kind": "tool", "traceloop.entity.name": "tl"}, "x", "oi"},
		{attrs{"openinference.span.kind": "LLM"}, attrs{"traceloop.span.kind": "tool", "traceloop.entity.name": "tl"}, "x", ""},
		{attrs{"traceloop.span.kind": "tool", "traceloop.entity.name": "tl"}, attrs{"ai.operationId": "ai.toolCall", "ai.toolCall.name": "ai"}, "x", "tl"},
		{attrs{"ai.operationId": "ai.toolCall", "ai.toolCall.name": "ai"}, attrs{"spring.ai.kind": "tool_call", "spring.ai.tool.definition.name": "spring"}, "x", "ai"},
		{attrs{"ai.operationId": "ai.generateText.doGenerate"}, attrs{"spring.ai.kind": "tool_call", "spring.ai.tool.definition.name": "spring"}, "x", ""},
		{attrs{"spring.ai.kind": "tool_call", "spring.ai.tool.definition.name": "spring"}, attrs{"genkit:metadata:subtype": "tool", "genkit:name": "gk"}, "x", "spring"},
		{attrs{"genkit:metadata:subtype": "tool", "genkit:name": "gk"}, attrs{"gen_ai.request.model": "m"}, "call_llm", "gk"},
		{attrs{"genkit:metadata:subtype": "tool", "genkit:name": "gk"}, attrs{}, "execute_tool adk", "gk"},
	} {
		for _, order := range [][2]attrs{{c.first, c.second}, {c.second, c.first}} {
			td := ptrace.NewTraces()
			span := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
			span.SetName(c.span)
			for _, part := range order {
				m := pcommon.NewMap()
				if err := m.FromRaw(part); err != nil {
					t.Fatal(err)
				}
				for key, v := range m.All() {
					v.CopyTo(span.Attributes().PutEmpty(key))
				}
			}
			spans.Standardize(td)
			operation, _ := span.Attributes().Get("gen_ai.operation.name")
			_, tool, _ := spans.Classify(span.Attributes(), span.Kind())
			if want := map[bool]string{true: "execute_tool", false: "chat"}[c.tool != ""]; operation.Str() != want || tool != c.tool {
				t.Errorf("%v: operation %q, tool %q; want %q, %q", order, operation.Str(), tool, want, c.tool)
			}
		}
	}
}

// Codex names the model some spans above the one that counts the tokens.
func TestStandardize_FindsTheModelAboveACall(t *testing.T) {
	t.Parallel()
	found := 0
	for _, file := range []string{"codex.otlp.json.gz", "codex-json.otlp.json.gz"} {
		for _, td := range recording(t, file) {
			spans.Standardize(td)
			for _, span := range allSpans(td) {
				if category, _, _ := spans.Classify(span.Attributes(), span.Kind()); category != "reason" {
					continue
				}
				found++
				want := attrs{"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5.1-codex",
					"gen_ai.usage.input_tokens": int64(120), "gen_ai.usage.output_tokens": int64(17)}
				got := attrs{}
				for key := range want {
					if v, ok := span.Attributes().Get(key); ok {
						got[key] = v.AsRaw()
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s, %s:\n%s", file, span.Name(), diff)
				}
			}
		}
	}
	if found != 4 {
		t.Errorf("%d model calls in two recordings of two each", found)
	}
}

func TestStandardize_TakesAModelFromAboveWhereACallHasNone(t *testing.T) {
	t.Parallel()
	td := ptrace.NewTraces()
	list := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	turn, step, named, nameless := list.AppendEmpty(), list.AppendEmpty(), list.AppendEmpty(), list.AppendEmpty()
	turn.SetSpanID(pcommon.SpanID{1})
	turn.Attributes().PutStr("model", "the turn's")
	step.SetSpanID(pcommon.SpanID{2})
	step.SetParentSpanID(turn.SpanID())
	step.Attributes().PutStr("model", "") // says nothing
	for _, call := range []ptrace.Span{named, nameless} {
		call.SetParentSpanID(step.SpanID())
		call.Attributes().PutInt("codex.usage.total_tokens", 3)
		call.Attributes().PutInt("gen_ai.usage.input_tokens", 2)
	}
	named.Attributes().PutStr("gen_ai.request.model", "its own")
	spans.Standardize(td)
	for want, call := range map[string]ptrace.Span{"its own": named, "the turn's": nameless} {
		if got, _ := call.Attributes().Get("gen_ai.request.model"); got.Str() != want {
			t.Errorf("the model is %q, want %s", got.Str(), want)
		}
	}
}

// What one span says is forgotten before the next is read.
func TestStandardize_SpansOfARequestKnowNothingOfEachOther(t *testing.T) {
	t.Parallel()
	td := ptrace.NewTraces()
	list := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	counted, other, empty := list.AppendEmpty(), list.AppendEmpty(), list.AppendEmpty()
	counted.Attributes().PutInt("gen_ai.usage.input_tokens", 2)
	counted.Attributes().PutStr("gen_ai.system", "openai")
	other.Attributes().PutStr("openinference.span.kind", "LLM")
	other.Attributes().PutInt("llm.token_count.prompt", 7)
	spans.Standardize(td)
	want := attrs{"openinference.span.kind": "LLM", "llm.token_count.prompt": int64(7),
		"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": int64(7)}
	if diff := cmp.Diff(want, other.Attributes().AsRaw()); diff != "" || empty.Attributes().Len() != 0 {
		t.Errorf("%d attributes on the empty span; the other (-want +got):\n%s", empty.Attributes().Len(), diff)
	}
}

// A circle of parents ends, and what the request does not hold names nothing.
func TestStandardize_LooksForAModelWithoutGoingAstray(t *testing.T) {
	t.Parallel()
	for name, parents := range map[string][]byte{
		"no parent": {0}, "its own parent": {1}, "a circle": {2, 3, 1}, "a parent elsewhere": {9},
	} {
		td := ptrace.NewTraces()
		list := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
		for i, parent := range parents {
			span := list.AppendEmpty()
			span.SetSpanID(pcommon.SpanID{byte(i + 1)})
			span.SetParentSpanID(pcommon.SpanID{parent})
		}
		span := list.At(0)
		span.Attributes().PutInt("codex.usage.total_tokens", 3)
		span.Attributes().PutInt("gen_ai.usage.input_tokens", 2)
		spans.Standardize(td)
		if _, ok := span.Attributes().Get("gen_ai.request.model"); ok {
			t.Errorf("%s: it found a model", name)
		}
	}
}
