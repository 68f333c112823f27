package board

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/settings"
	"github.com/switchboard-otel/switchboard/app/spans"
	"github.com/switchboard-otel/switchboard/app/trail"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// mostSpansRead bounds how many spans of one attempt a page reads to count and arrange them. It is above
// what an attempt holds by default; the rows it draws are fewer (waterfall_max_spans).
const mostSpansRead = 10_000

// What a page holds of all its waterfalls together, newest attempt first: rows, and bytes of attributes.
const (
	mostRows       = 2000
	mostAttributes = 384 << 10
)

// todoView is a todo as its page shows it.
type todoView struct {
	Now      time.Time
	Todo     *queue.HumanDetail
	Last     *queue.Attempt // the most recent that has ended
	Open     *queue.Attempt // the one that has not
	Timeline trail.Timeline
	Skip     int // timeline entries that are newer than this page's
	Traces   []trace
	Spans    map[int]spans.Count // by attempt; 0: without one
	Viewer   string              // the human's name
	BaseURL  string
}

// trace is the waterfall of one attempt, or of the spans without one.
type trace struct {
	Seq       int            // 0: spans without an attempt
	Attempt   *queue.Attempt // nil: none, or one that was pruned
	Count     spans.Count
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

// showTodo is the whole story of one todo. A foreign id, an unknown one and one that is no id get the same
// answer (REQ-18).
func (b *board) showTodo(w http.ResponseWriter, r *http.Request, v viewer) error {
	id, ok := typeid.Todo.Parse(r.PathValue("id"))
	if !ok {
		return fault.ErrTodoNotFound
	}
	ctx := r.Context()
	todo, err := b.Queue.HumanTodo(ctx, v.human.ID, id)
	if err != nil {
		return err
	}
	view, err := b.todoView(ctx, v, todo, skipOf(r))
	if err != nil {
		return err
	}
	return b.render(w, r, http.StatusOK, todoPage(b.shell(r, v, todo.Title, "/todos"), view))
}

// skipOf reads how many of the newest timeline entries to leave out. What is no such number is none.
func skipOf(r *http.Request) int {
	n, err := strconv.Atoi(r.URL.Query().Get("older"))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

func (b *board) todoView(ctx context.Context, v viewer, todo *queue.HumanDetail, skip int) (*todoView, error) {
	limits := b.Settings.Values(ctx)
	view := &todoView{Now: b.now(), Todo: todo, Skip: skip, Viewer: v.human.Name, BaseURL: b.BaseURL,
		Last: trail.LastClosed(todo.Attempts), Spans: map[int]spans.Count{}}
	if len(todo.Attempts) > 0 && todo.Attempts[0].EndedAt == nil {
		view.Open = &todo.Attempts[0]
	}
	view.Timeline = trail.Merge(&todo.Detail, todo.Activity, limits[settings.TimelineMaxEntries], skip)
	counts, err := b.Spans.Counts(ctx, v.human.ID, todo.ID.UUID())
	if err != nil {
		return nil, err
	}
	for _, c := range counts {
		view.Spans[c.AttemptSeq] = c
	}
	rows, bytes := mostRows, mostAttributes
	for _, t := range view.traced(counts) {
		all, err := b.Spans.ForTodo(ctx, v.human.ID, todo.ID.UUID(), &t.Seq, mostSpansRead)
		if err != nil {
			return nil, err
		}
		if len(all) == 0 {
			continue
		}
		t.arrange(all, view.Now, min(limits[settings.WaterfallMaxSpans], rows))
		rows -= len(t.Waterfall.Rows)
		bytes = t.thin(bytes)
		view.Traces = append(view.Traces, t)
	}
	return view, nil
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

func (t *trace) arrange(all []spans.Span, now time.Time, limit int) {
	var origin trail.Origin
	var had trail.Interval
	if a := t.Attempt; a != nil {
		_, _ = hex.Decode(origin.Trace[:], []byte(a.TraceID)) // 32 digits, as the store writes them
		origin.Ended = a.EndedAt != nil
		had = trail.Interval{From: a.ClaimedAt, To: endOf(a, now)}
	}
	t.Summary = trail.Summarize(all, had)
	t.Waterfall = trail.Layout(all, origin, limit)
}

// thin takes the attributes out of the rows for which a page has no room left, and returns the room that is.
func (t *trace) thin(room int) int {
	for i := range t.Waterfall.Rows {
		s := t.Waterfall.Rows[i].Span
		if s == nil {
			continue
		}
		if room -= len(s.Attributes); room < 0 {
			s.Attributes = []byte(`{"left out":"this page would grow too large; switchboard todo show --spans --json has them"}`)
			room = 0
		}
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
