package spans

import (
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/switchboard-otel/switchboard/app/typeid"
)

// WellFormed reports whether a span has what every stored span must have: ids, a start, and an end that does
// not precede it, compared in nanoseconds (REQ-5, decisions.md 6). Every time that OTLP can say, up to the
// year 2554, is one that the database can hold.
func WellFormed(span ptrace.Span) bool {
	return !span.TraceID().IsEmpty() && !span.SpanID().IsEmpty() &&
		span.StartTimestamp() != 0 && span.EndTimestamp() >= span.StartTimestamp()
}

// Microseconds cuts a time of OTLP down to what the database keeps (decisions.md 29). Unlike
// pcommon.Timestamp.AsTime it is right beyond the year 2262.
func Microseconds(t pcommon.Timestamp) time.Time { return time.UnixMicro(int64(t / 1000)).UTC() }

// Translate makes rows of the spans that binding and allow-list prepared. The attributes by which the two
// speak to us are not stored (decisions.md 14). unbound counts spans that no binding has seen.
func Translate(td ptrace.Traces) (bound []Span, unbound int) {
	n := td.SpanCount()
	bound = make([]Span, 0, n)
	attributes := newAttributesEncoder(n)
	for _, resource := range td.ResourceSpans().All() {
		service := ""
		if v, ok := resource.Resource().Attributes().Get("service.name"); ok && v.Type() == pcommon.ValueTypeStr {
			service = v.Str()
		}
		for _, scope := range resource.ScopeSpans().All() {
			for _, span := range scope.Spans().All() {
				row, ok := translate(span, &attributes)
				if !ok {
					unbound++
					continue
				}
				row.ServiceName = service
				bound = append(bound, row)
			}
		}
	}
	return bound, unbound
}

func translate(span ptrace.Span, attributes *attributesEncoder) (row Span, bound bool) {
	row = Span{
		TraceID:       span.TraceID(),
		SpanID:        span.SpanID(),
		ParentSpanID:  span.ParentSpanID(),
		Name:          span.Name(),
		Kind:          KindName(span.Kind()),
		StatusCode:    StatusName(span.Status().Code()),
		StatusMessage: span.Status().Message(),
		StartAt:       Microseconds(span.StartTimestamp()),
		EndAt:         Microseconds(span.EndTimestamp()),
	}
	for key, v := range span.Attributes().All() {
		switch key {
		case ReservedTodo:
			row.TodoID, bound = typeid.Todo.Parse(v.Str())
		case ReservedAttempt:
			row.AttemptSeq = int(v.Int())
		case ReservedLearn:
			row.LearnTrace = v.Bool()
		case ReservedCategory:
			row.Category = v.Str()
		case ReservedTool:
			row.Tool = v.Str()
		}
	}
	if row.Category == "" {
		row.Category = row.Kind // REQ-5's last rule, for a pipeline without the allow-list
	}
	row.Attributes = attributes.encode(span.Attributes())
	return row, bound
}
