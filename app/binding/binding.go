// Package binding decides to which todo and attempt each span of a request belongs: REQ-3's three rules and
// the caller's trace after them (decisions.md 16 to 19). It is a pure function of what the spans say and what
// the store knows.
package binding

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/spans"
)

// Facts is what one span says about where it belongs.
type Facts struct {
	Key   spans.Key
	Start time.Time // as it is stored: cut down to the microsecond
	Todo  TodoRef   // the span's own switchboard.todo.id, else its resource's

	// Attempts is switchboard.attempt.seq, the span's own and then its resource's; 0 where it is absent or
	// not a whole number.
	Attempts [2]int
}

// TodoRef is a switchboard.todo.id. The zero value is an absent one.
type TodoRef struct {
	Present bool
	ID      uuid.UUID // uuid.Nil: the value is no todo's id, which is the same as a foreign one
}

// Known is what the store knows about the traces and todos of one request, all of it within the owner scope
// of the endpoint that sent it.
type Known struct{ *spans.Resolution }

// Rule is what bound a span.
type Rule int

// The rules in the order in which they are tried.
const (
	Unbound   Rule = iota // none applies
	Minted                // REQ-3 rule 1: the trace id was minted for an attempt
	Attribute             // REQ-3 rule 2: switchboard.todo.id
	Earlier               // REQ-3 rule 3: the trace was bound by its attribute before
	Caller                // decisions.md 19: the claim came with this trace
)

// Decision is where a span belongs.
type Decision struct {
	Rule       Rule
	TodoID     uuid.UUID
	AttemptSeq int  // 0: the todo is known, but no attempt of it
	Learn      bool // the trace is to be remembered as this todo's
}

// Bind decides for every span of a request, in document order. What one span's attribute teaches about a
// trace holds for the whole request, earlier spans included: exporters send children before their parents,
// and a repeated request must find what the first one found.
func Bind(request []Facts, known Known) []Decision {
	decisions := make([]Decision, len(request))
	taught := map[[16]byte]uuid.UUID{}
	for i, f := range request {
		if d := known.minted(f); d.Rule == Minted {
			decisions[i] = d
			continue
		}
		d := known.attribute(f)
		if d.Rule == Attribute {
			d.Learn = known.learn(f.Key.TraceID, d.TodoID, taught)
		}
		decisions[i] = d
	}
	for i, f := range request {
		// A wrong id shows instead of landing somewhere: no later rule is tried for it (decisions.md 16).
		if decisions[i].Rule != Unbound || f.Todo.Present {
			continue
		}
		if decisions[i] = known.earlier(f, taught); decisions[i].Rule == Unbound {
			decisions[i] = known.caller(f)
		}
	}
	return decisions
}

// minted is rule 1. Of a pruned attempt only the trace and the number are left, among the trace bindings
// (decisions.md 18).
func (k Known) minted(f Facts) Decision {
	if a, ok := k.Minted[f.Key.TraceID]; ok {
		return Decision{Rule: Minted, TodoID: a.TodoID, AttemptSeq: a.Seq}
	}
	if b, ok := k.Traces[f.Key.TraceID]; ok && b.AttemptSeq > 0 {
		return Decision{Rule: Minted, TodoID: b.TodoID, AttemptSeq: b.AttemptSeq}
	}
	return Decision{}
}

// attribute is rule 2.
func (k Known) attribute(f Facts) Decision {
	if !f.Todo.Present {
		return Decision{}
	}
	attempts, inScope := k.Attempts[f.Todo.ID]
	if !inScope {
		return Decision{}
	}
	return Decision{Rule: Attribute, TodoID: f.Todo.ID, AttemptSeq: chooseAttempt(f, attempts)}
}

// learn says whether a span that its attribute bound is one to remember its trace by: the first binding of
// a trace wins, and never moves (decisions.md 17).
func (k Known) learn(trace [16]byte, todo uuid.UUID, taught map[[16]byte]uuid.UUID) bool {
	if _, stored := k.Traces[trace]; stored {
		return false
	}
	first, ok := taught[trace]
	if !ok {
		taught[trace] = todo
		return true
	}
	return first == todo
}

// earlier is rule 3: what the store remembers, then what this request teaches.
func (k Known) earlier(f Facts, taught map[[16]byte]uuid.UUID) Decision {
	todo, ok := taught[f.Key.TraceID]
	if b, stored := k.Traces[f.Key.TraceID]; stored {
		todo, ok = b.TodoID, true
	}
	if !ok {
		return Decision{}
	}
	if home, stored := k.Homes[f.Key]; stored && home != todo {
		return Decision{} // the caller's trace stored it, before the trace was bound otherwise
	}
	attempts, inScope := k.Attempts[todo]
	if !inScope {
		return Decision{}
	}
	return Decision{Rule: Earlier, TodoID: todo, AttemptSeq: chooseAttempt(f, attempts)}
}

// chooseAttempt finds the attempt of a todo that a span belongs to: the one it names, else the one that was
// running when it started, else the latest, else none. A number beyond the todo's attempts is as if it were
// absent; one of a pruned attempt is kept (decisions.md 18).
func chooseAttempt(f Facts, attempts []spans.AttemptWindow) int {
	if len(attempts) == 0 {
		return 0
	}
	latest := attempts[len(attempts)-1].Seq
	for _, seq := range f.Attempts {
		if seq >= 1 && seq <= latest {
			return seq
		}
	}
	for _, a := range slices.Backward(attempts) {
		if contains(a, f.Start) {
			return a.Seq
		}
	}
	return latest
}

// contains reports whether an attempt ran at t. Both ends belong to it, and an open one has no end.
func contains(a spans.AttemptWindow, t time.Time) bool {
	return !t.Before(a.ClaimedAt) && (a.EndedAt == nil || !t.After(*a.EndedAt))
}
