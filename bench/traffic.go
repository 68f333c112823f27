package main

import (
	"crypto/rand"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/switchboard-otel/switchboard/app/spans"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// newTraces is an export request of n new spans of one trace, as an agent's SDK sends them: turns of a model's call,
// the tool that it asked for, and a request of that tool. They have nine attributes on average, of which half are
// stored, and their resource has eight.
func newTraces(n int, trace [16]byte) ptrace.Traces {
	td := ptrace.NewTraces()
	resource := td.ResourceSpans().AppendEmpty()
	putAll(resource.Resource().Attributes(),
		"service.name", "review-bot", "service.version", "3.2.1", "service.instance.id", "0b1f6f64-3f4c-4c8e-a6a7-5f2f5c0d5c10",
		"host.name", "build-7", "os.type", "linux", "telemetry.sdk.name", "opentelemetry",
		"telemetry.sdk.language", "python", "telemetry.sdk.version", "1.36.0",
	)
	scope := resource.ScopeSpans().AppendEmpty()
	scope.Scope().SetName("review-bot.agent")
	scope.Spans().EnsureCapacity(n)
	start := time.Now()
	var turn pcommon.SpanID
	for i := range n {
		span := scope.Spans().AppendEmpty()
		span.SetTraceID(trace)
		span.SetSpanID(newSpanID())
		span.SetStartTimestamp(pcommon.NewTimestampFromTime(start.Add(time.Duration(i) * time.Millisecond)))
		span.SetEndTimestamp(pcommon.NewTimestampFromTime(start.Add(time.Duration(i)*time.Millisecond + 950*time.Microsecond)))
		switch i % 5 {
		case 0, 3:
			fillModelCall(span, i)
			turn = span.SpanID()
		case 1, 4:
			fillToolCall(span, i)
			span.SetParentSpanID(turn)
		default:
			fillHTTPRequest(span, i)
			span.SetParentSpanID(turn)
		}
	}
	return td
}

func newSpanID() (id pcommon.SpanID) {
	_, _ = rand.Read(id[:])
	return id
}

func newTraceID() (id [16]byte) {
	_, _ = rand.Read(id[:])
	return id
}

func fillModelCall(span ptrace.Span, i int) {
	span.SetName("chat claude-opus-4-1")
	span.SetKind(ptrace.SpanKindClient)
	putAll(span.Attributes(),
		"gen_ai.operation.name", "chat", "gen_ai.provider.name", "anthropic", "gen_ai.request.model", "claude-opus-4-1",
		"gen_ai.response.model", "claude-opus-4-1-20250805", "gen_ai.response.id", fmt.Sprintf("msg_01XFDUDYJgAACzvnptvV%04d", i),
		"gen_ai.conversation.id", "ebe24a91-e50f-47c2-8bd7-fb15748605cc", "server.address", "api.anthropic.com",
	)
	span.Attributes().PutInt("gen_ai.usage.input_tokens", int64(12_000+i))
	span.Attributes().PutInt("gen_ai.usage.output_tokens", int64(300+i))
	span.Attributes().PutEmptySlice("gen_ai.response.finish_reasons").AppendEmpty().SetStr("tool_use")
}

func fillToolCall(span ptrace.Span, i int) {
	span.SetName("execute_tool bash")
	putAll(span.Attributes(),
		"gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "bash", "gen_ai.tool.type", "function",
		"gen_ai.tool.call.id", fmt.Sprintf("toolu_01A09q90qw90lq917835%04d", i), "code.function.name", "run_command",
		"gen_ai.conversation.id", "ebe24a91-e50f-47c2-8bd7-fb15748605cc",
		"gen_ai.tool.description", "Runs a command in the workspace's shell and returns what it printed. Long output is cut in its middle.",
	)
	span.Attributes().PutInt("process.exit.code", int64(i%2))
	if i%2 == 1 {
		span.Status().SetCode(ptrace.StatusCodeError)
		span.Status().SetMessage("exit status 1")
		span.Attributes().PutStr("error.type", "exit_status")
	}
}

func fillHTTPRequest(span ptrace.Span, i int) {
	span.SetName("GET")
	span.SetKind(ptrace.SpanKindClient)
	putAll(span.Attributes(),
		"http.request.method", "GET", "server.address", "git.example.com", "network.protocol.version", "1.1",
		"url.full", fmt.Sprintf("https://git.example.com/example/shop/contents/internal/payments/client.go?ref=%04d", i),
		"user_agent.original", "review-bot/3.2.1 python-httpx/0.28.1",
	)
	span.Attributes().PutInt("http.response.status_code", 200)
	span.Attributes().PutInt("server.port", 443)
	span.Attributes().PutInt("http.response.body.size", int64(4096+i))
}

// putAll puts texts, each behind its key.
func putAll(attrs pcommon.Map, texts ...string) {
	for i := 0; i < len(texts); i += 2 {
		attrs.PutStr(texts[i], texts[i+1])
	}
}

// rowsOf is what the pipeline makes of a request, for those who store without a pipeline.
func rowsOf(td ptrace.Traces, todo uuid.UUID) []spans.Span {
	spans.Standardize(td)
	keep := spans.NewAllowList(false, nil)
	for _, span := range td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().All() {
		attrs := span.Attributes()
		category, tool, _ := spans.Classify(attrs, span.Kind())
		attrs.RemoveIf(func(key string, _ pcommon.Value) bool { return !keep.Keeps(key) })
		attrs.PutStr(spans.ReservedTodo, typeid.Todo.Format(todo))
		attrs.PutInt(spans.ReservedAttempt, 1)
		attrs.PutStr(spans.ReservedCategory, category)
		attrs.PutStr(spans.ReservedTool, tool)
	}
	rows, _ := spans.Translate(td)
	return rows
}
