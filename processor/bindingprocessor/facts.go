package bindingprocessor

import (
	"math"
	"strconv"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/switchboard-otel/switchboard/app/binding"
	"github.com/switchboard-otel/switchboard/app/spans"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// The attributes by which a producer says where a span belongs (REQ-3 rule 2).
const (
	todoKey    = "switchboard.todo.id"
	attemptKey = "switchboard.attempt.seq"
)

// readFacts returns what each span of the batch says, in document order.
func readFacts(td ptrace.Traces) []binding.Facts {
	request := make([]binding.Facts, 0, td.SpanCount())
	for _, resource := range td.ResourceSpans().All() {
		attrs := resource.Resource().Attributes()
		resourceTodo, resourceAttempt := todoRef(attrs), attemptSeq(attrs)
		for _, scope := range resource.ScopeSpans().All() {
			for _, span := range scope.Spans().All() {
				f := binding.Facts{
					Key:      spans.Key{TraceID: span.TraceID(), SpanID: span.SpanID()},
					Start:    spans.Microseconds(span.StartTimestamp()),
					Todo:     todoRef(span.Attributes()),
					Attempts: [2]int{attemptSeq(span.Attributes()), resourceAttempt},
				}
				if !f.Todo.Present {
					f.Todo = resourceTodo
				}
				request = append(request, f)
			}
		}
	}
	return request
}

// todoRef reads switchboard.todo.id. Empty is absent, as for every attribute: it is what a template leaves
// behind for a variable that is not set. Anything else that is no todo's id names a todo that does not exist.
func todoRef(attrs pcommon.Map) binding.TodoRef {
	v, ok := attrs.Get(todoKey)
	if !ok || v.Type() == pcommon.ValueTypeEmpty || v.Type() == pcommon.ValueTypeStr && v.Str() == "" {
		return binding.TodoRef{}
	}
	id, _ := typeid.Todo.Parse(v.Str())
	return binding.TodoRef{Present: true, ID: id}
}

// attemptSeq reads switchboard.attempt.seq; 0 is absent, or no whole number. Text counts when it is one:
// OTEL_RESOURCE_ATTRIBUTES has nothing but text.
func attemptSeq(attrs pcommon.Map) int {
	v, ok := attrs.Get(attemptKey)
	if !ok {
		return 0
	}
	n := int64(0)
	switch v.Type() {
	case pcommon.ValueTypeInt:
		n = v.Int()
	case pcommon.ValueTypeDouble:
		if f := v.Double(); f == math.Trunc(f) && math.Abs(f) <= math.MaxInt32 {
			n = int64(f)
		}
	case pcommon.ValueTypeStr:
		if parsed, err := strconv.ParseInt(v.Str(), 10, 32); err == nil {
			n = parsed
		}
	}
	if n < 1 || n > math.MaxInt32 {
		return 0
	}
	return int(n)
}
