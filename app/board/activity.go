package board

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/switchboard-otel/switchboard/app/feed"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/queue"
)

// activityQuery is what the address of the feed says.
type activityQuery struct{ Queue, Endpoint, Outcome, Before string }

func activityQueryOf(v url.Values) activityQuery {
	return activityQuery{v.Get("queue"), v.Get("endpoint"), v.Get("outcome"), v.Get("before")}
}

// filtered reports whether the feed leaves anything out.
func (q activityQuery) filtered() bool {
	q.Before = ""
	return q != activityQuery{}
}

// first reports whether this is the page that counts as having looked: the newest, with nothing left out.
func (q activityQuery) first() bool { return q == activityQuery{} }

// address is the feed's address with another cursor; empty for the newest.
func (q activityQuery) address(before string) string {
	v := url.Values{}
	for name, value := range map[string]string{"queue": q.Queue, "endpoint": q.Endpoint, "outcome": q.Outcome, "before": before} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if len(v) == 0 {
		return "/activity"
	}
	return "/activity?" + v.Encode()
}

// outcomeChoices are what a human tells apart. A worker that was taken over and one that was reaped both died.
var outcomeChoices = []choice{
	{"", "Any outcome"}, {"completed", "completed"}, {"failed", "failed"}, {feed.OutcomeDied, "died"}, {"released", "released"},
	{"canceled", "canceled"}, {"revoked", "revoked"}, {feed.OutcomeDeadLetter, "dead letter"},
}

// activityView is the feed as its page shows it.
type activityView struct {
	Now       time.Time
	Query     activityQuery
	Entries   []feed.Entry
	Next      string     // the cursor of the older page, empty on the last
	Seen      *time.Time // when the human last looked; nil: never
	News      int
	Viewer    string
	Queues    []string
	Endpoints []identity.Endpoint
}

// showActivity is what happened across all todos of a human, newest first (REQ-15). Looking at the first page,
// unfiltered, makes everything on it old for the next time.
func (b *board) showActivity(w http.ResponseWriter, r *http.Request, v viewer) error {
	ctx := r.Context()
	query := activityQueryOf(r.URL.Query())
	endpoints, err := b.Identity.Endpoints(ctx, v.human.ID)
	if err != nil {
		return err
	}
	s := b.shell(r, v, "Activity", "/activity")
	view := &activityView{Now: b.now(), Viewer: v.human.Name}
	if endpoint, known := endpointNamed(endpoints, query.Endpoint); known {
		view, err = b.activityView(ctx, v, feed.Filter{Queue: query.Queue, Endpoint: endpoint, Outcome: query.Outcome, Before: query.Before})
		if err != nil {
			return err
		}
	}
	view.Query, view.Endpoints, view.Queues, view.News = query, endpoints, queuesOf(endpoints), s.News
	if query.first() {
		s.Stream = streamAddress(topicActivity, stamps{partFeed: view.head()}.String(), nil)
		if len(view.Entries) > 0 {
			if err := b.Feed.Look(ctx, v.human.ID, view.Entries[0].At); err != nil {
				return err
			}
		}
	}
	return b.render(w, r, http.StatusOK, activityPage(s, view))
}

func (b *board) activityView(ctx context.Context, v viewer, f feed.Filter) (*activityView, error) {
	view := &activityView{Now: b.now(), Viewer: v.human.Name}
	var err error
	if view.Seen, err = b.Feed.Seen(ctx, v.human.ID); err != nil {
		return nil, err
	}
	view.Entries, view.Next, err = b.Feed.Page(ctx, v.human.ID, f)
	return view, err
}

// head names the newest entry that the page shows.
func (v *activityView) head() string {
	if len(v.Entries) == 0 {
		return ""
	}
	return v.Entries[0].Cursor()
}

// isNew reports whether the human has not looked since an entry was written.
func (v *activityView) isNew(e feed.Entry) bool { return v.Seen == nil || e.At.After(*v.Seen) }

// feedDay is the entries of one day.
type feedDay struct {
	At      time.Time
	From    int // the number of its first entry on the page
	Entries []feed.Entry
}

func (v *activityView) days() (days []feedDay) {
	for i, e := range v.Entries {
		if i == 0 || !sameDay(v.Entries[i-1].At, e.At) {
			days = append(days, feedDay{At: e.At, From: i + 1})
		}
		d := &days[len(days)-1]
		d.Entries = append(d.Entries, e)
	}
	return days
}

// dayWord names a day as people do.
func dayWord(now, t time.Time) string {
	switch {
	case sameDay(now, t):
		return "Today"
	case sameDay(now.Add(-24*time.Hour), t):
		return "Yesterday"
	default:
		return t.UTC().Format("Monday")
	}
}

// telling is how an entry is told: its lamp or icon, what happened, the text that came with it.
type telling struct {
	mark
	Icon string // instead of the lamp; empty: the lamp
	Verb string
	Text *string
	More []string // small print
}

func tellingOf(e feed.Entry) telling {
	switch e.Kind {
	case feed.KindAttempt:
		return attemptTelling(e)
	case feed.KindDeadLetter:
		return telling{mark: mark{"dead", "l-dead", ""}, Verb: "Dead letter", More: []string{"its endpoint was revoked", "waits for you"}}
	case feed.KindNote:
		return telling{mark: mark{"off", "", ""}, Icon: "i-note", Verb: "Note", Text: e.Activity.Message}
	case feed.KindRetried, feed.KindHumanAction:
		did, way := deedOf(e.Activity.Detail)
		return telling{mark: mark{"live", "", ""}, Icon: "i-user", Verb: "You " + did, Text: e.Activity.Message, More: nonEmpty(way)}
	case feed.KindA2AState:
		return a2aTelling(e)
	default:
		return telling{mark: mark{"off", "", ""}, Icon: "i-info", Verb: string(e.Kind), Text: e.Activity.Message}
	}
}

func attemptTelling(e feed.Entry) telling {
	a := e.Attempt
	t := telling{mark: attemptMark(a), Verb: endingOf(a).Verb, Text: a.Summary}
	if a.Died {
		t.Verb = "Died"
		heard := "never heard of after its claim"
		if a.LastHeartbeatAt != nil {
			heard = "last heartbeat " + clockOn(e.At, *a.LastHeartbeatAt)
		}
		t.More = append(t.More, heard)
	}
	switch disposition := orEmpty(a.Disposition); {
	case e.DeadLetter:
		t.mark.Lamp, t.mark.Tone = "l-dead", "dead"
		t.More = append(t.More, "dead letter, waits for you")
	case disposition == "requeued" && a.Died:
		t.More = append(t.More, "back in the queue")
	case disposition == "retry_scheduled" && e.Todo.NextRetryAt != nil:
		t.More = append(t.More, "retry due "+clockOn(e.At, *e.Todo.NextRetryAt))
	}
	return t
}

func a2aTelling(e feed.Entry) telling {
	action := detailOf(e.Activity.Detail).Action
	verb := map[string]string{"input-required": "Asks for input", "auth-required": "Asks for a sign-in", "resume": "Resumed",
		"cancel": "Canceled", "reject": "Rejected"}[action]
	m := mark{"ask", "l-ask", ""}
	if action == "cancel" || action == "reject" {
		m = mark{"off", "l-off", ""}
	}
	return telling{mark: m, Verb: cmp.Or(verb, "Changed over A2A"), Text: e.Activity.Message, More: []string{"over A2A"}}
}

// actionDetail is what the log says of an action.
type actionDetail struct {
	Action, Via string
	Todo, From  string // of a todo that was run again: the new one; of the new one: what it runs again
}

func detailOf(raw json.RawMessage) (d actionDetail) {
	_ = json.Unmarshal(raw, &d) // what does not say it, did something
	return d
}

// deedOf says what a human did to a todo, and by which way.
func deedOf(raw json.RawMessage) (did, way string) {
	d := detailOf(raw)
	did = map[string]string{
		"claim": "claimed it", "complete": "completed it", "fail": "marked it failed", "retry": "asked for a retry now",
		"extend": "extended the lease", "release": "released it", "cancel": "canceled it",
		"quarantine_release": "released it from quarantine", "quarantine_discard": "discarded it", "again": "ran it again",
	}[d.Action]
	if d.Action == string(queue.ActionAgain) && d.From != "" {
		did = "made it to run an earlier one again"
	}
	way = map[string]string{"board": "on the Board", "api": "over the API", "cli": "from the command line"}[d.Via]
	return cmp.Or(did, "acted on it"), way
}

func nonEmpty(words ...string) []string {
	return slices.DeleteFunc(words, func(w string) bool { return w == "" })
}

// attemptWord names the attempt an entry belongs to; empty when it belongs to none.
func attemptWord(e feed.Entry) string {
	switch {
	case e.Attempt != nil && e.DeadLetter:
		return "attempt " + attemptOf(e.Attempt.Attempt, e.Todo.MaxAttempts)
	case e.Attempt != nil:
		return "attempt " + strconv.Itoa(e.Attempt.Seq)
	case e.Activity != nil && e.Activity.AttemptSeq != nil:
		return "attempt " + strconv.Itoa(*e.Activity.AttemptSeq)
	default:
		return ""
	}
}
