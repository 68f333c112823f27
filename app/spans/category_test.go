package spans_test

import (
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/switchboard-otel/switchboard/app/spans"
)

func attributes(t testing.TB, raw map[string]any) pcommon.Map {
	t.Helper()
	m := pcommon.NewMap()
	if err := m.FromRaw(raw); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestClassify_REQ5_TheFirstRuleThatApplies(t *testing.T) {
	const client = ptrace.SpanKindClient
	for _, c := range []struct {
		attrs          map[string]any
		kind           ptrace.SpanKind
		category, tool string
	}{
		// 1: switchboard.category
		{map[string]any{"switchboard.category": "plan", "gen_ai.operation.name": "chat"}, client, "plan", ""},
		{map[string]any{"switchboard.category": "", "gen_ai.operation.name": "chat"}, client, "reason", ""},
		{map[string]any{"switchboard.category": nil, "db.system": "x"}, client, "read", ""},
		{map[string]any{"switchboard.category": 7}, client, "7", ""},
		// 2: gen_ai.operation.name, exactly
		{map[string]any{"gen_ai.operation.name": "chat"}, client, "reason", ""},
		{map[string]any{"gen_ai.operation.name": "text_completion"}, client, "reason", ""},
		{map[string]any{"gen_ai.operation.name": "generate_content"}, client, "reason", ""},
		{map[string]any{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "bash"}, client, "tool", "bash"},
		{map[string]any{"gen_ai.operation.name": "execute_tool"}, client, "tool", ""},
		{map[string]any{"gen_ai.operation.name": "chat", "gen_ai.tool.name": "bash"}, client, "reason", "bash"},
		{map[string]any{"gen_ai.operation.name": "Chat"}, client, "client", ""},
		{map[string]any{"gen_ai.operation.name": "embeddings", "http.request.method": "POST"}, client, "net", ""},
		// 3: gen_ai.tool.name
		{map[string]any{"gen_ai.tool.name": "bash", "http.request.method": "GET"}, client, "tool", "bash"},
		{map[string]any{"gen_ai.tool.name": ""}, client, "client", ""},
		// 4, 5
		{map[string]any{"http.request.method": "GET", "db.system": "x"}, client, "net", ""},
		{map[string]any{"rpc.system": "grpc"}, client, "net", ""},
		{map[string]any{"db.system": "postgresql"}, client, "read", ""},
		// 6
		{nil, ptrace.SpanKindUnspecified, "unspecified", ""},
		{nil, ptrace.SpanKindInternal, "internal", ""},
		{nil, ptrace.SpanKindServer, "server", ""},
		{nil, ptrace.SpanKindClient, "client", ""},
		{nil, ptrace.SpanKindProducer, "producer", ""},
		{nil, ptrace.SpanKindConsumer, "consumer", ""},
		{nil, ptrace.SpanKind(99), "unspecified", ""},
	} {
		category, tool, cut := spans.Classify(attributes(t, c.attrs), c.kind)
		if category != c.category || tool != c.tool || cut {
			t.Errorf("%v of kind %v: category %q, tool %q, cut %v; want %q, %q", c.attrs, c.kind, category, tool, cut, c.category, c.tool)
		}
	}
}

func TestClassify_ReportsWhatItCouldNotKeep(t *testing.T) {
	category, tool, cut := spans.Classify(attributes(t, map[string]any{
		"switchboard.category": strings.Repeat("c", 2000), "gen_ai.tool.name": strings.Repeat("t", 2000),
	}), 0)
	if len(category) != 64+512 || len(tool) != 128+512 || !cut {
		t.Errorf("category of %d and tool of %d bytes, cut %v; want 576, 640 and true", len(category), len(tool), cut)
	}
}

func TestStatusName(t *testing.T) {
	for code, want := range map[ptrace.StatusCode]string{0: "unset", 1: "ok", 2: "error", 9: "unset"} {
		if got := spans.StatusName(code); got != want {
			t.Errorf("StatusName(%d) = %q, want %q", code, got, want)
		}
	}
}
