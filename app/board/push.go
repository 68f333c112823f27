package board

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/queue"
)

// pushView is the form of a new todo, as it was typed.
type pushView struct {
	Form                         string
	Jacks                        []jack // where it may go
	To, Title, Payload, Attempts string
	Refused                      string
}

// jack is a queue of an endpoint, as one choice of a select.
type jack struct{ Endpoint, Queue string }

func (j jack) value() string { return j.Endpoint + " " + j.Queue }

func (b *board) showNewTodo(w http.ResponseWriter, r *http.Request, v viewer) error {
	return b.newTodo(w, r, v, http.StatusOK, &pushView{})
}

func (b *board) newTodo(w http.ResponseWriter, r *http.Request, v viewer, status int, view *pushView) error {
	endpoints, err := b.Identity.Endpoints(r.Context(), v.human.ID)
	if err != nil {
		return err
	}
	view.Form, view.Jacks = v.form, jacksOf(endpoints, b.now())
	return b.render(w, r, status, pushPage(b.shell(r, v, "New todo", "/todos"), view))
}

// jacksOf lists the queues that a todo can be pushed to.
func jacksOf(endpoints []identity.Endpoint, now time.Time) (all []jack) {
	for _, e := range endpoints {
		if e.RevokedAt != nil || e.ExpiresAt != nil && !e.ExpiresAt.After(now) {
			continue
		}
		for _, q := range e.Queues {
			all = append(all, jack{e.Slug, q})
		}
	}
	return all
}

// pushTodo makes a todo and leads to it. A form that is refused keeps what was typed.
func (b *board) pushTodo(w http.ResponseWriter, r *http.Request, v viewer) error {
	view := &pushView{To: r.PostFormValue("to"), Title: strings.TrimSpace(r.PostFormValue("title")), Payload: r.PostFormValue("payload"),
		Attempts: strings.TrimSpace(r.PostFormValue("attempts"))}
	todo, err := b.push(r.Context(), v, view)
	if status, why := refusedForm(err); why != "" {
		view.Refused = why
		return b.newTodo(w, r, v, status, view)
	}
	if err != nil {
		return err
	}
	b.say(r.Context(), "It waits for an agent.")
	http.Redirect(w, r, "/todos/"+todo.ID.String(), http.StatusSeeOther)
	return nil
}

func (b *board) push(ctx context.Context, v viewer, view *pushView) (*queue.Todo, error) {
	slug, to, _ := strings.Cut(view.To, " ")
	endpoint, err := b.Identity.Endpoint(ctx, v.human.ID, slug)
	if err != nil {
		return nil, err
	}
	p := queue.PushParams{Endpoint: endpoint, Queue: to, Title: view.Title}
	if p.MaxAttempts, err = wholeOf("the attempts", view.Attempts, "must be a whole number, 1 to 1000"); err != nil {
		return nil, err
	}
	if strings.TrimSpace(view.Payload) != "" {
		p.Payload = json.RawMessage(view.Payload)
	}
	todo, _, err := b.Queue.Push(ctx, v.human.ID, p)
	return todo, err
}
