package bindingprocessor

import (
	"strings"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/switchboard-otel/switchboard/app/binding"
	"github.com/switchboard-otel/switchboard/app/spans"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// dropInvalid takes out the spans of which no row can be made (decisions.md 6) and returns their number.
func dropInvalid(td ptrace.Traces) (invalid int) {
	removeSpans(td, func(span ptrace.Span) bool {
		malformed := !spans.WellFormed(span)
		if malformed {
			invalid++
		}
		return malformed
	})
	return invalid
}

// writeDecisions writes onto each span where it belongs, takes out those that belong nowhere and returns
// their number, in which a span that came twice counts once (decisions.md 7), and how often one came again.
// decisions are in document order, one for each span.
func writeDecisions(td ptrace.Traces, decisions []binding.Decision) (unbound, twins int) {
	stripForged(td)
	nowhere := map[spans.Key]struct{}{}
	taken := 0
	var spelled string
	var spelledID uuid.UUID // most requests are about one todo
	i := 0
	removeSpans(td, func(span ptrace.Span) bool {
		d := decisions[i]
		i++
		if d.Rule == binding.Unbound {
			taken++
			nowhere[spans.Key{TraceID: span.TraceID(), SpanID: span.SpanID()}] = struct{}{}
			return true
		}
		if d.TodoID != spelledID {
			spelled, spelledID = typeid.Todo.Format(d.TodoID), d.TodoID
		}
		attrs := span.Attributes()
		attrs.RemoveIf(reserved)
		attrs.PutStr(spans.ReservedTodo, spelled)
		if d.AttemptSeq > 0 {
			attrs.PutInt(spans.ReservedAttempt, int64(d.AttemptSeq))
		}
		if d.Learn {
			attrs.PutBool(spans.ReservedLearn, true)
		}
		return false
	})
	return len(nowhere), taken - len(nowhere)
}

// stripForged removes reserved attributes from resources and scopes. They decide nothing there, but a second
// backend, which searches by them, must not find what a producer made up (decisions.md 14).
func stripForged(td ptrace.Traces) {
	for _, resource := range td.ResourceSpans().All() {
		resource.Resource().Attributes().RemoveIf(reserved)
		for _, scope := range resource.ScopeSpans().All() {
			scope.Scope().Attributes().RemoveIf(reserved)
		}
	}
}

func reserved(key string, _ pcommon.Value) bool { return strings.HasPrefix(key, spans.ReservedPrefix) }

// removeSpans takes out spans, in document order, and the scopes and resources that hold none.
func removeSpans(td ptrace.Traces, remove func(ptrace.Span) bool) {
	td.ResourceSpans().RemoveIf(func(resource ptrace.ResourceSpans) bool {
		resource.ScopeSpans().RemoveIf(func(scope ptrace.ScopeSpans) bool {
			scope.Spans().RemoveIf(remove)
			return scope.Spans().Len() == 0
		})
		return resource.ScopeSpans().Len() == 0
	})
}
