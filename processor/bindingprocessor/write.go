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

// refused counts spans that are taken out. One that comes twice counts once (decisions.md 7); spans without ids are
// nobody's twins.
type refused struct {
	taken, nameless int
	keys            map[spans.Key]struct{}
}

func (r *refused) take(span ptrace.Span) {
	r.taken++
	if span.TraceID().IsEmpty() || span.SpanID().IsEmpty() {
		r.nameless++
		return
	}
	if r.keys == nil {
		r.keys = map[spans.Key]struct{}{}
	}
	r.keys[spans.Key{TraceID: span.TraceID(), SpanID: span.SpanID()}] = struct{}{}
}

func (r *refused) count() int { return r.nameless + len(r.keys) }
func (r *refused) twins() int { return r.taken - r.count() }

// dropInvalid takes out the spans of which no row can be made (decisions.md 6).
func dropInvalid(td ptrace.Traces) (invalid refused) {
	removeSpans(td, func(span ptrace.Span) bool {
		malformed := !spans.WellFormed(span)
		if malformed {
			invalid.take(span)
		}
		return malformed
	})
	return invalid
}

// writeDecisions writes onto each span where it belongs and takes out those that belong nowhere. decisions are in
// document order, one for each span.
func writeDecisions(td ptrace.Traces, decisions []binding.Decision) (unbound refused) {
	stripForged(td)
	var spelled string
	var spelledID uuid.UUID // most requests are about one todo
	i := 0
	removeSpans(td, func(span ptrace.Span) bool {
		d := decisions[i]
		i++
		if d.Rule == binding.Unbound {
			unbound.take(span)
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
	return unbound
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
