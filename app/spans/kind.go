package spans

import "go.opentelemetry.io/collector/pdata/ptrace"

// KindName is how a span's kind is stored; one that OTLP does not know is unspecified (decisions.md 25).
func KindName(kind ptrace.SpanKind) string {
	switch kind {
	case ptrace.SpanKindInternal:
		return "internal"
	case ptrace.SpanKindServer:
		return "server"
	case ptrace.SpanKindClient:
		return "client"
	case ptrace.SpanKindProducer:
		return "producer"
	case ptrace.SpanKindConsumer:
		return "consumer"
	default:
		return "unspecified"
	}
}

// StatusName is how a span's status code is stored; one that OTLP does not know is unset.
func StatusName(code ptrace.StatusCode) string {
	switch code {
	case ptrace.StatusCodeOk:
		return "ok"
	case ptrace.StatusCodeError:
		return "error"
	default:
		return "unset"
	}
}
