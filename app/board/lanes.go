package board

import (
	"context"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/intake"
	"github.com/switchboard-otel/switchboard/app/queue"
)

// lanesView is the Board: what waits, what is held, what ended today.
type lanesView struct {
	Now       time.Time
	Lanes     *queue.Lanes
	Received  []received // today's deliveries, newest first
	Me, Form  string
	Viewer    string
	Queue     string // the filter
	Endpoint  string // the filter, as the address has it
	Queues    []string
	Endpoints []identity.Endpoint
}

// showLanes is the first page: the Board with its three lanes (board.md section 1).
func (b *board) showLanes(w http.ResponseWriter, r *http.Request, v viewer) error {
	view, err := b.lanesView(r.Context(), v, r.URL.Query())
	if err != nil {
		return err
	}
	s := b.shell(r, v, "Board", "/")
	head, err := b.Feed.Head(r.Context(), v.human.ID)
	if err != nil {
		return err
	}
	s.Stream = streamAddress(topicBoard, stamps{partLanes: lanesStamp(view.Lanes, view.newest()), partFeed: head}.String(), view.values())
	return b.render(w, r, http.StatusOK, lanesPage(s, view))
}

func (b *board) lanesView(ctx context.Context, v viewer, q url.Values) (*lanesView, error) {
	view := &lanesView{Me: ownerName(v.human), Form: v.form, Viewer: v.human.Name, Queue: q.Get("queue"), Endpoint: q.Get("endpoint"),
		Lanes: &queue.Lanes{}}
	var err error
	if view.Endpoints, err = b.Identity.Endpoints(ctx, v.human.ID); err != nil {
		return nil, err
	}
	view.Queues = queuesOf(view.Endpoints)
	if endpoint, known := endpointNamed(view.Endpoints, view.Endpoint); known {
		if view.Lanes, err = b.Queue.Lanes(ctx, v.human.ID, queue.LaneFilter{Queue: view.Queue, Endpoint: endpoint}); err != nil {
			return nil, err
		}
	}
	view.Now = b.now()
	view.Received, err = b.received(ctx, v.human.ID, view.Now)
	return view, err
}

// received is a delivery of today, and the todo that came of it.
type received struct {
	intake.EventRow
	Todo *queue.Row // nil: it was dropped, or its todo was pruned
}

// mostReceived is how many deliveries the Board shows.
const mostReceived = 20

// received reads what was delivered since midnight UTC. The filters of the Board are about todos; a delivery may
// have none.
func (b *board) received(ctx context.Context, human uuid.UUID, now time.Time) ([]received, error) {
	most := mostReceived
	rows, _, err := b.Intake.Events(ctx, intake.OfHuman(human), intake.EventFilter{Limit: &most})
	if err != nil {
		return nil, err
	}
	var today []received
	var ids []uuid.UUID
	for _, e := range rows {
		if sameDay(e.ReceivedAt, now) {
			today, ids = append(today, received{EventRow: e}), append(ids, e.ID.UUID())
		}
	}
	if len(today) == 0 {
		return nil, nil
	}
	todos, err := b.Queue.OfEvents(ctx, human, ids)
	for i := range today {
		if todo, ok := todos[today[i].ID.UUID()]; ok {
			today[i].Todo = &todo
		}
	}
	return today, err
}

// became says what became of a delivery.
func (e received) became(now time.Time) mark {
	if e.Todo == nil {
		return dispositionMark(e.Disposition)
	}
	return stateMark(now, e.Todo)
}

// newest names the newest delivery of today.
func (v *lanesView) newest() string {
	if len(v.Received) == 0 {
		return ""
	}
	return v.Received[0].ID.String()
}

func (v *lanesView) values() url.Values {
	q := url.Values{}
	if v.Queue != "" {
		q.Set("queue", v.Queue)
	}
	if v.Endpoint != "" {
		q.Set("endpoint", v.Endpoint)
	}
	return q
}

// address is the Board as it is filtered now: where an action on it leads back to.
func (v *lanesView) address() string {
	if q := v.values().Encode(); q != "" {
		return "/?" + q
	}
	return "/"
}

// lanesStamp changes when the Board looks different. newest is the newest delivery.
func lanesStamp(l *queue.Lanes, newest string) string {
	h := fnv.New64a()
	fmt.Fprintln(h, newest)
	for _, lane := range []queue.Lane{l.Ready, l.Held, l.Finished} {
		fmt.Fprintln(h, lane.Total)
		for i := range lane.Rows {
			r := &lane.Rows[i]
			fmt.Fprintln(h, r.ID, r.State, lapsed(&r.Row, l.At), r.UpdatedAt.UnixMicro(), r.Spans)
		}
	}
	fmt.Fprintln(h, l.DeadLetters, l.Questions, l.Quarantined, l.At.UTC().Format(time.DateOnly))
	return fmt.Sprintf("%x", h.Sum64())
}

// leaseOf is how a card shows a lease: its meter's length, what is left of it, and whether that is little.
type leaseOf struct {
	Whole, Left int // seconds
	Tone        string
}

// lease shows the lease of a row. Its length is not in the row: a meter is full at the last sign of life.
func lease(now time.Time, r *queue.LaneRow) leaseOf {
	left := secondsLeft(now, *r.LeaseExpiresAt)
	whole := max(int(r.LeaseExpiresAt.Sub(r.UpdatedAt).Seconds()), left, 1)
	l := leaseOf{Whole: whole, Left: left, Tone: "live"}
	if left*4 < whole {
		l.Tone = "retry"
	}
	return l
}

// briefWord says how a todo ended. What a human did themselves says so.
func briefWord(now time.Time, r *queue.LaneRow) string {
	word := stateMark(now, &r.Row).Word
	if r.State == queue.StateDone {
		word = "completed"
		if r.ClaimerKind != nil && *r.ClaimerKind == "owner" {
			word = "completed by you"
		}
	}
	return word
}

// rowMark is the lamp of a card: a todo whose last attempt died shows that until somebody claims it again.
func rowMark(now time.Time, r *queue.LaneRow) mark {
	if r.State == queue.StatePending && r.LastDied {
		return mark{"died", "l-died", "last attempt died"}
	}
	return stateMark(now, &r.Row)
}

// capped is a count that is not counted beyond 99.
func capped(n int) string {
	if n > 99 {
		return "99+"
	}
	return fmt.Sprint(n)
}

// boundedCount is a count that the store stopped at a thousand.
func boundedCount(n int) string {
	if n >= 1000 {
		return "1,000+"
	}
	return fmt.Sprint(n)
}

// receivedCount is how many deliveries of today are shown; when the lane is full, there may be more.
func receivedCount(n int) string {
	if n >= mostReceived {
		return fmt.Sprintf("%d+", n)
	}
	return fmt.Sprint(n)
}
