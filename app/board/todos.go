package board

import (
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/queue"
)

// pageRows is how many todos a page of the list holds.
const pageRows = 50

// choice is one option of a filter.
type choice struct{ Value, Word string }

// stateChoices are the states a human tells apart. A failed todo is either waiting for its retry or a dead
// letter; the store calls both failed.
var stateChoices = []choice{
	{"", "Any state"}, {"pending", "pending"}, {"claimed", "claimed"}, {"input-required", "input required"},
	{"auth-required", "sign-in required"}, {"retry", "retry scheduled"}, {"dead_letter", "dead letter"},
	{"done", "done"}, {"canceled", "canceled"}, {"rejected", "rejected"},
}

// listQuery is what the address of the list says.
type listQuery struct {
	Text, State, Queue, Endpoint string
	Before                       string // the cursor of an older page
}

func listQueryOf(v url.Values) listQuery {
	return listQuery{Text: v.Get("q"), State: v.Get("state"), Queue: v.Get("queue"), Endpoint: v.Get("endpoint"), Before: v.Get("before")}
}

// filtered reports whether the list leaves anything out.
func (q listQuery) filtered() bool {
	q.Before = ""
	return q != listQuery{}
}

// address is the list's address with another cursor; empty for the newest.
func (q listQuery) address(before string) string {
	v := url.Values{}
	for name, value := range map[string]string{"q": q.Text, "state": q.State, "queue": q.Queue, "endpoint": q.Endpoint, "before": before} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if len(v) == 0 {
		return "/todos"
	}
	return "/todos?" + v.Encode()
}

func (q listQuery) filter(endpoint uuid.UUID) queue.HumanFilter {
	f := queue.HumanFilter{State: queue.State(q.State), Queue: q.Queue, Endpoint: endpoint, Text: q.Text, Limit: pageRows, Cursor: q.Before}
	switch q.State {
	case "retry", "dead_letter":
		dead := q.State == "dead_letter"
		f.State, f.DeadLetter = queue.StateFailed, &dead
	}
	return f
}

// list is the todo list as its page shows it.
type list struct {
	Now       time.Time
	Query     listQuery
	Rows      []queue.HumanRow
	Next      string // the cursor of the older page, empty on the last
	Queues    []string
	Endpoints []identity.Endpoint // that can be asked for, newest first
}

// listTodos shows the todos of every endpoint of the human, newest first.
func (b *board) listTodos(w http.ResponseWriter, r *http.Request, v viewer) error {
	l := list{Now: b.now(), Query: listQueryOf(r.URL.Query())}
	var err error
	if l.Endpoints, err = b.Identity.Endpoints(r.Context(), v.human.ID); err != nil {
		return err
	}
	l.Queues = queuesOf(l.Endpoints)
	endpoint, known := endpointNamed(l.Endpoints, l.Query.Endpoint)
	if known {
		l.Rows, l.Next, err = b.Queue.HumanTodos(r.Context(), v.human.ID, l.Query.filter(endpoint))
		if err != nil {
			return err
		}
	}
	return b.render(w, r, http.StatusOK, todosPage(b.shell(r, v, "Todos", "/todos"), l))
}

// endpointNamed finds the endpoint that an address names; none is every endpoint. One that the human does not
// have is not known: it matches nothing.
func endpointNamed(endpoints []identity.Endpoint, name string) (id uuid.UUID, known bool) {
	if name == "" {
		return uuid.Nil, true
	}
	for _, e := range endpoints {
		if e.Matches(name) {
			return e.ID, true
		}
	}
	return uuid.Nil, false
}

func queuesOf(endpoints []identity.Endpoint) []string {
	var all []string
	for _, e := range endpoints {
		all = append(all, e.Queues...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// handOf names an endpoint that a todo can be pushed to; empty when there is none.
func handOf(endpoints []identity.Endpoint, now time.Time) string {
	for _, e := range endpoints {
		if e.RevokedAt == nil && (e.ExpiresAt == nil || e.ExpiresAt.After(now)) {
			return e.Slug
		}
	}
	return ""
}
