package board

import (
	"time"

	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/trail"
)

// mark is how a state is drawn, everywhere: a lamp whose shape differs, a word, and a tone last, so that
// nothing rests on colour alone.
type mark struct {
	Tone string // data-st: wait, live, done, retry, dead, died, ask, off
	Lamp string // the sprite's id
	Word string
}

// lapsed reports whether a claimed todo's lease has ended, which the next claim or the reaper will write down.
func lapsed(r *queue.Row, now time.Time) bool {
	return r.State == queue.StateClaimed && r.LeaseExpiresAt != nil && !r.LeaseExpiresAt.After(now)
}

var lapsedMark = mark{"died", "l-died", "lease lapsed"}

// stateMark draws a todo's state in the word that every other surface has for it.
func stateMark(now time.Time, r *queue.Row) mark {
	if lapsed(r, now) {
		return lapsedMark
	}
	switch r.State {
	case queue.StatePending:
		if r.Queue == queue.Quarantine {
			return mark{"retry", "l-retry", "in quarantine"}
		}
		return mark{"wait", "l-wait", "pending"}
	case queue.StateClaimed:
		return mark{"live", "l-live", "claimed"}
	case queue.StateDone:
		return mark{"done", "l-done", "done"}
	case queue.StateInputRequired:
		return mark{"ask", "l-ask", "input required"}
	case queue.StateAuthRequired:
		return mark{"ask", "l-ask", "sign-in required"}
	case queue.StateFailed:
		if r.DeadLetter {
			return mark{"dead", "l-dead", "dead letter"}
		}
		return mark{"retry", "l-retry", "retry scheduled"}
	default:
		return mark{"off", "l-off", string(r.State)}
	}
}

// attemptMark draws how an attempt ended, or that it has not.
func attemptMark(a *queue.Attempt) mark {
	switch {
	case a.Outcome == nil:
		return mark{"live", "l-live", "in progress"}
	case a.Died:
		return mark{"died", "l-died", "died"}
	}
	switch *a.Outcome {
	case "completed":
		return mark{"done", "l-done", "completed"}
	case "failed", "revoked":
		return mark{"dead", "l-fail", *a.Outcome}
	case "released":
		return mark{"off", "l-rel", "released"}
	default:
		return mark{"off", "l-off", *a.Outcome}
	}
}

// attemptMark draws an attempt of the todo: what is open ends with its lease, though nothing has written that yet.
func (v *todoView) attemptMark(a *queue.Attempt) mark {
	if a.EndedAt == nil && v.lapsed() {
		return lapsedMark
	}
	return attemptMark(a)
}

// lapsed reports whether whoever holds the todo has let its lease end.
func (v *todoView) lapsed() bool { return lapsed(&v.Todo.Row, v.Now) }

// ending is the end of an attempt in words: what happened, and what became of the todo.
type ending struct{ Verb, Rest string }

func endingOf(a *queue.Attempt) ending {
	outcome, disposition := orEmpty(a.Outcome), orEmpty(a.Disposition)
	after := map[string]string{
		"requeued":        "the todo went back to the queue",
		"dead_lettered":   "nothing re-queues the todo: it is a dead letter",
		"retry_scheduled": "a retry was scheduled",
	}[disposition]
	switch outcome {
	case "completed":
		return ending{"Completed", ""}
	case "released":
		return ending{"Released", ", back to the queue without a verdict"}
	case "canceled":
		return ending{"Canceled", " over A2A"}
	case "revoked":
		return ending{"Revoked", ": its endpoint was revoked, so " + after}
	case "failed":
		return ending{"Failed", "; " + after}
	case "reaped":
		return ending{"Reaped", ": the worker said nothing more, its lease lapsed, and " + after}
	case "lease_expired":
		return ending{"Lease expired", ": the worker said nothing more, and another claimed the todo"}
	default:
		return ending{outcome, ""}
	}
}

// attemptVerb is how an attempt stands in a word.
func attemptVerb(v *todoView, a *queue.Attempt) string {
	switch {
	case a.Outcome == nil && v.lapsed():
		return "Lease lapsed"
	case a.Outcome == nil:
		return "In progress"
	case a.Died:
		return "Died"
	default:
		return endingOf(a).Verb
	}
}

// category draws one of REQ-5's categories; any other keeps its own name and looks like "other".
type category struct{ Key, Icon, Name string }

func categoryOf(name string) category {
	switch name {
	case trail.CategoryReason, trail.CategoryTool, trail.CategoryNet, trail.CategoryRead, trail.CategoryInternal:
		return category{name, "i-" + name, name}
	}
	return category{"other", "i-other", name}
}

// filter is one checkbox above a waterfall.
type filter struct {
	category
	N int
}

// filtersOf lists the categories that occur, the known ones first and in their order, the others as one.
func filtersOf(counts []trail.Count) []filter {
	known := []string{trail.CategoryReason, trail.CategoryTool, trail.CategoryNet, trail.CategoryRead, trail.CategoryInternal}
	byKey := map[string]*filter{}
	for _, c := range counts {
		k := categoryOf(c.Name)
		f := byKey[k.Key]
		if f == nil {
			byKey[k.Key] = &filter{k, c.N}
			continue
		}
		f.N += c.N
		f.Name = "other"
	}
	var out []filter
	for _, key := range append(known, "other") {
		if f := byKey[key]; f != nil {
			out = append(out, *f)
		}
	}
	return out
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
