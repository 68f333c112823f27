package board

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/intake"
	"github.com/switchboard-otel/switchboard/app/live"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/settings"
	"github.com/switchboard-otel/switchboard/app/spans"
	"github.com/switchboard-otel/switchboard/app/trail"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// mostSpansRead bounds how many spans of one attempt a page reads to count and arrange them. It is above
// what an attempt holds by default; the rows it draws are fewer (waterfall_max_spans).
const mostSpansRead = 10_000

// What a page holds of all its waterfalls together, newest attempt first: rows, and bytes of their details.
const (
	mostRows    = 2000
	mostDetails = 160 << 10
)

// todoView is a todo as its page shows it.
type todoView struct {
	Now      time.Time
	Todo     *queue.HumanDetail
	Last     *queue.Attempt // the most recent that has ended
	Open     *queue.Attempt // the one that has not
	Event    *intake.Event  // that it came from; nil: none
	Timeline trail.Timeline
	Traces   []trace
	Spans    map[int]spans.Count // by attempt; 0: without one
	Look     lens
	Refused  string // why an action was not carried out; empty: none was refused
	Viewer   string // the human's name
	Me       string // how the human is named on what they hold
	Form     string // the token of the session's forms
	BaseURL  string
}

// trace is the waterfall of one attempt, or of the spans without one.
type trace struct {
	Seq       int            // 0: spans without an attempt
	Attempt   *queue.Attempt // nil: none, or one that was pruned
	Count     spans.Count
	Limit     int // how many spans the attempt shows at most
	Detailed  int // how many rows have their details
	Summary   trail.Summary
	Waterfall trail.Waterfall
}

// Anchor is the fragment that leads to the waterfall.
func (t trace) Anchor() string { return anchor(t.Seq) }

func anchor(seq int) string {
	if seq == 0 {
		return "unattributed"
	}
	return fmt.Sprintf("a%d", seq)
}

// showTodo is the whole story of one todo, or its drawer where a script asks for that. A foreign id, an unknown
// one and one that is no id get the same answer (REQ-18).
func (b *board) showTodo(w http.ResponseWriter, r *http.Request, v viewer) error {
	w.Header().Add("Vary", "HX-Request")
	return b.todo(w, r, v, http.StatusOK, "")
}

// todo answers with a todo. refused is why an action on it was not carried out; empty: none was refused.
func (b *board) todo(w http.ResponseWriter, r *http.Request, v viewer, status int, refused string) error {
	id, ok := typeid.Todo.Parse(r.PathValue("id"))
	if !ok {
		return fault.ErrTodoNotFound
	}
	ctx := r.Context()
	version, err := b.version(ctx, live.Topic{Human: v.human.ID, Name: todoTopic(id)})
	if err != nil {
		return todoGone(err)
	}
	todo, err := b.Queue.HumanTodo(ctx, v.human.ID, id)
	if err != nil {
		return err
	}
	view := b.newTodoView(v, todo)
	if fragment(r) {
		return b.render(w, r, status, todoDrawer(view))
	}
	view.Refused, view.Look = refused, lensOf(r.URL.Query())
	if err := b.fill(ctx, view, v.human.ID, view.Look.Only); err != nil {
		return err
	}
	s := b.shell(r, v, todo.Title, "/todos")
	s.Stream = streamAddress(todoTopic(id), version, view.Look.values())
	return b.render(w, r, status, todoPage(s, view))
}

// fragment reports whether a script asks for a part of a page. A browser that restores its history wants the page.
func fragment(r *http.Request) bool {
	return r.Header.Get("HX-Request") == "true" && r.Header.Get("HX-History-Restore-Request") != "true"
}

// lens is how a human looks at a todo, as the address says it.
type lens struct {
	Older int   // how many of the newest timeline entries to leave out
	Fold  bool  // idle time is compressed
	Only  []int // the one attempt that is shown, or the two that are compared; nil: all
}

// lensOf reads an address. What says nothing sensible says nothing.
func lensOf(q url.Values) (l lens) {
	if n, err := strconv.Atoi(q.Get("older")); err == nil && n > 0 {
		l.Older = n
	}
	l.Fold = q.Get("gaps") == "fold"
	var only []int
	for text := range strings.SplitSeq(q.Get("attempts"), ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || slices.Contains(only, n) {
			return l
		}
		only = append(only, n)
	}
	if len(only) <= 2 {
		l.Only = only
	}
	return l
}

// values is the address again.
func (l lens) values() url.Values {
	q := url.Values{}
	if l.Older > 0 {
		q.Set("older", strconv.Itoa(l.Older))
	}
	if l.Fold {
		q.Set("gaps", "fold")
	}
	if l.Only != nil {
		q.Set("attempts", strings.Trim(strings.Join(strings.Fields(fmt.Sprint(l.Only)), ","), "[]"))
	}
	return q
}

// with is the address with something changed, at a fragment of the page.
func (l lens) with(fragment string, change func(*lens)) string {
	change(&l)
	return "?" + l.values().Encode() + "#" + fragment
}

func (b *board) newTodoView(v viewer, todo *queue.HumanDetail) *todoView {
	view := &todoView{Now: b.now(), Todo: todo, Viewer: v.human.Name, Form: v.form, Me: ownerName(v.human), BaseURL: b.BaseURL,
		Last: trail.LastClosed(todo.Attempts), Spans: map[int]spans.Count{}}
	if len(todo.Attempts) > 0 && todo.Attempts[0].EndedAt == nil {
		view.Open = &todo.Attempts[0]
	}
	return view
}

// fill reads what a page has beyond its drawer: the timeline and the traces. It reads the spans of all attempts,
// or, unless only is nil, of those that it names.
func (b *board) fill(ctx context.Context, view *todoView, human uuid.UUID, only []int) error {
	limits := b.Settings.Values(ctx)
	todo := view.Todo
	var err error
	if view.Event, err = b.Intake.EventOfTodo(ctx, human, todo.ID.UUID()); err != nil {
		return err
	}
	view.Timeline = trail.Merge(view.Event, &todo.Detail, todo.Activity, limits[settings.TimelineMaxEntries], view.Look.Older)
	counts, err := b.Spans.Counts(ctx, human, todo.ID.UUID())
	if err != nil {
		return err
	}
	for _, c := range counts {
		view.Spans[c.AttemptSeq] = c
	}
	rows, bytes := mostRows, mostDetails
	for _, t := range view.traced(counts) {
		if only != nil && !slices.Contains(only, t.Seq) {
			continue
		}
		all, err := b.Spans.ForTodo(ctx, human, todo.ID.UUID(), &t.Seq, mostSpansRead)
		if err != nil {
			return err
		}
		if len(all) == 0 {
			continue
		}
		t.Limit = limits[settings.WaterfallMaxSpans]
		t.arrange(all, view.Now, min(t.Limit, rows), view.Look.Fold)
		rows -= len(t.Waterfall.Rows)
		bytes = t.thin(bytes)
		view.Traces = append(view.Traces, t)
	}
	return nil
}

// traced lists the waterfalls to draw: the newest attempt first, pruned ones whose spans were kept among
// them, spans without an attempt last.
func (v *todoView) traced(counts []spans.Count) []trace {
	var out []trace
	for i := len(counts) - 1; i >= 0; i-- {
		if c := counts[i]; c.Stored > 0 {
			out = append(out, trace{Seq: c.AttemptSeq, Count: c, Attempt: attemptBySeq(v.Todo.Attempts, c.AttemptSeq)})
		}
	}
	return out
}

func attemptBySeq(attempts []queue.Attempt, seq int) *queue.Attempt {
	for i := range attempts {
		if attempts[i].Seq == seq {
			return &attempts[i]
		}
	}
	return nil
}

func (t *trace) arrange(all []spans.Span, now time.Time, limit int, fold bool) {
	var origin trail.Origin
	var had trail.Interval
	if a := t.Attempt; a != nil {
		_, _ = hex.Decode(origin.Trace[:], []byte(a.TraceID)) // 32 digits, as the store writes them
		origin.Ended = a.EndedAt != nil
		had = trail.Interval{From: a.ClaimedAt, To: endOf(a, now)}
	}
	t.Summary = trail.Summarize(all, had)
	t.Waterfall = trail.Layout(all, origin, limit)
	if fold {
		t.Waterfall.FoldGaps()
	}
}

// thin decides how many rows have their details, for which a page has room, and returns the room that is left.
func (t *trace) thin(room int) int {
	for i := range t.Waterfall.Rows {
		if s := t.Waterfall.Rows[i].Span; s != nil {
			for _, f := range factsOf(s) {
				room -= len(f.Name) + len(f.Value) + len("<dt></dt><dd></dd>")
			}
		}
		if room < 0 {
			return 0
		}
		t.Detailed = i + 1
	}
	return room
}

// endOf is when an attempt ended, now while it is open.
func endOf(a *queue.Attempt, now time.Time) time.Time {
	if a.EndedAt != nil {
		return *a.EndedAt
	}
	return now
}

// leaseHeld is how long the current lease was given for, from the last sign of life.
func (v *todoView) leaseHeld() time.Duration {
	heard := v.Open.ClaimedAt
	if v.Open.LastHeartbeatAt != nil {
		heard = *v.Open.LastHeartbeatAt
	}
	return max(v.Todo.LeaseExpiresAt.Sub(heard), time.Second)
}

func attemptOf(attempt, most int) string { return fmt.Sprintf("%d/%d", attempt, most) }

// traceCount is how many waterfalls a todo has, drawn or not.
func (v *todoView) traceCount() (n int) {
	for _, c := range v.Spans {
		if c.Stored > 0 {
			n++
		}
	}
	return n
}
