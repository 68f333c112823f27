package binding

import (
	"bytes"
	"slices"

	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/spans"
)

// caller is the rule after the three: the attempt claimed under the span's trace that was running when the
// span started, else the latest one claimed (decisions.md 19). A span that is stored stays with its todo,
// whatever was claimed since (decisions.md 8).
func (k Known) caller(f Facts) Decision {
	home, stored := k.Homes[f.Key]
	var chosen Decision
	for _, a := range slices.Backward(k.Callers[f.Key.TraceID]) {
		if stored && a.TodoID != home {
			continue
		}
		this := Decision{Rule: Caller, TodoID: a.TodoID, AttemptSeq: a.Seq}
		if contains(a.AttemptWindow, f.Start) {
			return this
		}
		if chosen.Rule == Unbound {
			chosen = this
		}
	}
	return chosen
}

// Ambiguous returns the spans whose home must be known before Bind: those that the time of a claim would
// decide anew each time they are sent, because their trace leads to more than one todo. todos is where they
// may be stored.
func (k Known) Ambiguous(request []Facts) (keys []spans.Key, todos []uuid.UUID) {
	choices := map[[16]byte][]uuid.UUID{}
	for _, f := range request {
		trace := f.Key.TraceID
		if len(k.Callers[trace]) == 0 || f.Todo.Present || k.minted(f).Rule == Minted {
			continue
		}
		of, ok := choices[trace]
		if !ok {
			of = k.choices(trace)
			choices[trace] = of
			if len(of) > 1 {
				todos = append(todos, of...)
			}
		}
		if len(of) > 1 {
			keys = append(keys, f.Key)
		}
	}
	return keys, todos
}

// choices returns the todos that a trace without an attribute may lead to.
func (k Known) choices(trace [16]byte) []uuid.UUID {
	var todos []uuid.UUID
	if b, ok := k.Traces[trace]; ok {
		todos = append(todos, b.TodoID)
	}
	for _, a := range k.Callers[trace] {
		todos = append(todos, a.TodoID)
	}
	slices.SortFunc(todos, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(todos)
}
