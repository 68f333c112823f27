package spans

import (
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/switchboard-otel/switchboard/app/dialect"
)

// DropPlumbing takes out the spans that show an agent's own machinery, and what holds none any more, and returns their
// number. A model's call, a tool's execution, and whatever stands above one in the same request stay. They are known
// by the category that Classify gives, so what spans spell in their own ways must be standardised before.
func DropPlumbing(td ptrace.Traces) (dropped int) {
	if !hasPlumbing(td) {
		return 0
	}
	stays := callsAndAbove(td)
	td.ResourceSpans().RemoveIf(func(resource ptrace.ResourceSpans) bool {
		resource.ScopeSpans().RemoveIf(func(scope ptrace.ScopeSpans) bool {
			scope.Spans().RemoveIf(func(span ptrace.Span) bool {
				drop := isPlumbing(scope, span) && !stays[keyOf(span)]
				if drop {
					dropped++
				}
				return drop
			})
			return scope.Spans().Len() == 0
		})
		return resource.ScopeSpans().Len() == 0
	})
	return dropped
}

// isPlumbing goes by the table, with one exception that needs more than a name: Codex closes the span that reads the
// call of a tool long before the tool ends, so what hangs below it may come in a later request.
func isPlumbing(scope ptrace.ScopeSpans, span ptrace.Span) bool {
	return dialect.Plumbing(scope.Scope().Name(), span.Name()) && !carries(span.Attributes(), keys[toolName])
}

func hasPlumbing(td ptrace.Traces) bool {
	for _, resource := range td.ResourceSpans().All() {
		for _, scope := range resource.ScopeSpans().All() {
			for _, span := range scope.Spans().All() {
				if isPlumbing(scope, span) {
					return true
				}
			}
		}
	}
	return false
}

// callsAndAbove returns the calls of models and tools of a request, and every span above one of them.
func callsAndAbove(td ptrace.Traces) map[Key]bool {
	parents := make(map[Key]Key, td.SpanCount())
	var calls []Key
	for _, resource := range td.ResourceSpans().All() {
		for _, scope := range resource.ScopeSpans().All() {
			for _, span := range scope.Spans().All() {
				parents[keyOf(span)] = parentOf(span)
				category, _, _ := Classify(span.Attributes(), span.Kind())
				if category == modelCall.category || category == toolCall.category {
					calls = append(calls, keyOf(span))
				}
			}
		}
	}
	found := map[Key]bool{}
	for _, at := range calls {
		for received := true; received && !found[at]; {
			found[at] = true
			at, received = parents[at]
		}
	}
	return found
}

func keyOf(span ptrace.Span) Key    { return Key{TraceID: span.TraceID(), SpanID: span.SpanID()} }
func parentOf(span ptrace.Span) Key { return Key{TraceID: span.TraceID(), SpanID: span.ParentSpanID()} }
