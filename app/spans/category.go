package spans

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Classify returns what REQ-5 calls a span's category, and the tool that it ran, "" for none. Both may be
// longer than they are stored; truncated reports that even Margin did not suffice.
//
// Of a key that a span carries twice the first counts, here as everywhere.
func Classify(attrs pcommon.Map, kind ptrace.SpanKind) (category, tool string, truncated bool) {
	tool, truncated = textOf(attrs, "gen_ai.tool.name", MaxToolBytes+Margin)
	if own, cut := textOf(attrs, "switchboard.category", MaxCategoryBytes+Margin); own != "" {
		return own, tool, truncated || cut
	}
	return derive(attrs, tool, kind), tool, truncated
}

func derive(attrs pcommon.Map, tool string, kind ptrace.SpanKind) string {
	if operation, ok := attrs.Get("gen_ai.operation.name"); ok {
		switch operation.Str() {
		case "chat", "text_completion", "generate_content":
			return "reason"
		case "execute_tool":
			return "tool"
		}
	}
	switch {
	case tool != "":
		return "tool"
	case carries(attrs, "http.request.method"), carries(attrs, "rpc.system"):
		return "net"
	case carries(attrs, "db.system"):
		return "read"
	}
	return KindName(kind)
}

func carries(attrs pcommon.Map, key string) bool {
	_, ok := attrs.Get(key)
	return ok
}

func textOf(attrs pcommon.Map, key string, most int) (string, bool) {
	v, ok := attrs.Get(key)
	if !ok {
		return "", false
	}
	return Text(v, most)
}
