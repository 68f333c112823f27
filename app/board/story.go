package board

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/spans"
	"github.com/switchboard-otel/switchboard/app/trail"
)

// newDay reports whether the day of a timeline entry is another than that of the one before.
func newDay(v *todoView, i int) bool {
	return i == 0 || !sameDay(v.Timeline.Entries[i-1].At, v.Timeline.Entries[i].At)
}

// clockOn is a time of day, with its date when that is not the day it stands under.
func clockOn(on, t time.Time) string {
	if sameDay(on, t) {
		return clock(t)
	}
	return t.UTC().Format("2 Jan 15:04")
}

// noteCut reports whether a note was longer than what is kept of it.
func noteCut(e *queue.ActivityEntry) bool {
	var detail struct {
		Truncated bool `json:"truncated"`
	}
	return json.Unmarshal(e.Detail, &detail) == nil && detail.Truncated
}

// lostOf lists, in words, what a todo's trail has lost to its bounds.
func lostOf(v *todoView) (lines []string) {
	for i := len(v.Todo.Attempts) - 1; i >= 0; i-- {
		a := v.Todo.Attempts[i]
		if a.SpansDropped > 0 {
			lines = append(lines, fmt.Sprintf("%s of attempt %d came after a cap and were dropped.", counted(a.SpansDropped, "span", "spans"), a.Seq))
		}
		if a.NotesDropped > 0 {
			lines = append(lines, fmt.Sprintf("%s of attempt %d came after the cap and were dropped.", counted(a.NotesDropped, "note", "notes"), a.Seq))
		}
	}
	if n := v.Todo.SpansDropped; n > 0 {
		lines = append(lines, counted(n, "span", "spans")+" without an attempt came after a cap and were dropped.")
	}
	if n := v.Todo.ActivityPruned; n > 0 {
		lines = append(lines, counted(n, "old entry", "old entries")+" of the activity log made room for newer ones.")
	}
	return lines
}

// plural is the noun that suits a number.
func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// counted is a number with its noun.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(int64(n)) + " " + many
}

// grouped is a whole number with its thousands set apart.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// size is a number of bytes.
func size(n int) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	default:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
}

// traceTitle heads a waterfall.
func traceTitle(t trace) string {
	switch {
	case t.Seq == 0:
		return "Unattributed spans"
	case t.Attempt == nil:
		return fmt.Sprintf("Attempt %d, pruned", t.Seq)
	default:
		return fmt.Sprintf("Attempt %d", t.Seq)
	}
}

// traceHint says beside the heading when the attempt ran, or why these spans have none.
func traceHint(v *todoView, t trace) string {
	switch a := t.Attempt; {
	case t.Seq == 0:
		return counted(t.Count.Stored, "span", "spans") + " that named this todo outside any attempt"
	case a == nil:
		return "only its spans are kept"
	case a.EndedAt == nil:
		return fmt.Sprintf("%s, since %s UTC", counted(t.Count.Stored, "span", "spans"), stamp(v.Now, a.ClaimedAt))
	default:
		return fmt.Sprintf("%s, %s to %s UTC", counted(t.Count.Stored, "span", "spans"), stamp(v.Now, a.ClaimedAt), clockOn(a.ClaimedAt, *a.EndedAt))
	}
}

// spanName is a span's name; producers may send none.
func spanName(s *spans.Span) string {
	if s.Name == "" {
		return "(no name)"
	}
	return s.Name
}

// tellsTool reports whether a row must say its tool because the span's name does not.
func tellsTool(s *spans.Span) bool { return s.Tool != "" && !strings.Contains(s.Name, s.Tool) }

// workOrderWords goes on after a queue where a rule told the agent why it made the todo.
func workOrderWords(r trail.Route) string {
	if r.WorkOrder {
		return ", as a work order"
	}
	return ""
}

// tellsModel is the model of a model's call whose name does not say it; empty for every other span.
func tellsModel(s *spans.Span) string {
	if model := trail.ModelOf(s); !strings.Contains(s.Name, model) {
		return model
	}
	return ""
}

// narrowed reports whether the page's own bounds leave spans out that the attempt would show alone.
func (t trace) narrowed(v *todoView) bool {
	return v.Look.Only == nil && t.Waterfall.Shown < min(t.Limit, t.Waterfall.Total)
}

// folds reports whether plumbing is folded.
func (t trace) folds() bool {
	return slices.ContainsFunc(t.Waterfall.Rows, func(r trail.Row) bool { return r.Fold != nil })
}

// earlier is the attempt before this one that has spans; 0: none.
func (t trace) earlier(v *todoView) (seq int) {
	for s, c := range v.Spans {
		if s > seq && s < t.Seq && c.Stored > 0 {
			seq = s
		}
	}
	return seq
}

// deadWords says why nothing re-queues a dead letter.
func deadWords(v *todoView) string {
	switch t := v.Todo; {
	case t.EndpointRevoked:
		return "Its endpoint was revoked."
	case t.Attempt < t.MaxAttempts:
		return fmt.Sprintf("Its worker gave it up at attempt %d of %d.", t.Attempt, t.MaxAttempts)
	default:
		return fmt.Sprintf("It used %d of %d attempts.", t.Attempt, t.MaxAttempts)
	}
}

// heardWords goes on after workingWords, before the time of the last heartbeat.
func heardWords(a *queue.Attempt) string {
	if a.LastHeartbeatAt == nil {
		return ", no heartbeat yet"
	}
	return ", last heartbeat "
}

// deedWords says what a human did to a todo, and by which way.
func deedWords(e *queue.ActivityEntry) string {
	did, way := deedOf(e.Detail)
	return strings.TrimSuffix(did+" "+way, " ")
}

// workingWords says what the holder of a todo does.
func workingWords(v *todoView) string {
	switch {
	case v.lapsed():
		return "Lease lapsed"
	case v.Todo.State == queue.StateClaimed:
		return "Working"
	default:
		return "Waiting for an answer"
	}
}

// lapsedWords say what becomes of a todo whose lease has ended.
func lapsedWords(v *todoView) string {
	if v.Todo.Attempt >= v.Todo.MaxAttempts {
		return "The reaper ends this attempt, its last, at its next round; then nothing retries the todo by itself."
	}
	return "The next claim takes the todo over. If none comes first, the reaper ends this attempt as died at its next round, and the todo goes back to its queue."
}

// otherTodo is the todo that was run again, or the one that runs it again, where the log tells of that; else empty.
func otherTodo(e *queue.ActivityEntry) string {
	d := detailOf(e.Detail)
	if d.Action != string(queue.ActionAgain) {
		return ""
	}
	return cmp.Or(d.Todo, d.From)
}

// exporterSettings is the environment of a stock OTLP exporter whose spans are to land on this todo.
func exporterSettings(v *todoView) string {
	return fmt.Sprintf(`export OTEL_TRACES_EXPORTER=otlp
export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf
export OTEL_EXPORTER_OTLP_ENDPOINT=%s/otlp/%s
export OTEL_EXPORTER_OTLP_HEADERS="Authorization=Bearer sbk_..."
export OTEL_RESOURCE_ATTRIBUTES=switchboard.todo.id=%s`, strings.TrimSuffix(v.BaseURL, "/"), v.Todo.EndpointSlug, v.Todo.ID)
}

// ownerLabel names who holds a todo as a human knows them, where the owner itself is an id.
func ownerLabel(v *todoView) string {
	if strings.HasPrefix(*v.Todo.Owner, "human:") {
		return "human:" + v.Viewer
	}
	return "agent:" + v.Todo.AgentName
}

// limitWords says how much of an attempt a waterfall shows.
func limitWords(t trace) string {
	return fmt.Sprintf("The first %s of %s spans in start order. The numbers above count the first %s.",
		grouped(int64(t.Waterfall.Shown)), grouped(int64(max(t.Count.Stored, t.Waterfall.Total))), grouped(int64(t.Waterfall.Total)))
}
