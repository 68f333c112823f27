package binding

import (
	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/spans"
)

// Ask returns what must be looked up before Bind can decide, and what is remembered already. remembered knows the
// attempts that some traces were minted for. It is believed about a trace unless a span of it names another todo: should
// the remembered one be gone by now, that span belongs there.
func Ask(request []Facts, remembered func(trace [16]byte) (spans.MintedAttempt, bool)) (spans.Question, map[[16]byte]spans.MintedAttempt) {
	known := map[[16]byte]spans.MintedAttempt{}
	var q spans.Question
	asked := map[[16]byte]bool{}
	for _, f := range request {
		trace := f.Key.TraceID
		if asked[trace] {
			continue
		}
		a, ok := known[trace]
		if !ok {
			if a, ok = remembered(trace); ok {
				known[trace] = a
			}
		}
		if !ok || f.Todo.Present && f.Todo.ID != a.TodoID {
			delete(known, trace)
			asked[trace] = true
			q.Traces = append(q.Traces, trace)
		}
	}
	seen := map[uuid.UUID]bool{uuid.Nil: true}
	for _, f := range request {
		switch {
		case !asked[f.Key.TraceID]:
		case !f.Todo.Present:
			q.Keys = append(q.Keys, f.Key)
		case !seen[f.Todo.ID]:
			seen[f.Todo.ID] = true
			q.Todos = append(q.Todos, f.Todo.ID)
		}
	}
	return q, known
}
