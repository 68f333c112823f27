package board

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/routing"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// Bounds of the quarantine page: how many deliveries it shows, and how much of each one's payload.
const (
	heldShown        = 20
	heldPayloadBytes = 64 << 10
)

// heldView is the page of what waits for its human because its routing failed.
type heldView struct {
	Now   time.Time
	Form  string
	Items []heldItem
	More  bool // there is more than the page shows
}

// heldItem is one delivery in quarantine.
type heldItem struct {
	queue.HumanRow
	Endpoint *identity.Endpoint
	Trace    routing.Trace
	Verified string // what was checked of its sender
	Webhook  string // the editor of the rules that failed; empty when the webhook is gone
	Payload  *document
}

func (h *heldItem) mark() mark {
	if len(h.Trace.Faults) > 0 && h.Trace.Faults[0].RuleID != "" {
		return mark{"retry", "l-retry", "rule " + h.Trace.Faults[0].RuleID + " failed"}
	}
	return mark{"retry", "l-retry", "not routed"}
}

// ended reports whether its endpoint is cut off, so that it cannot be released.
func (h *heldItem) ended(now time.Time) bool {
	return h.Endpoint == nil || h.Endpoint.RevokedAt != nil || h.Endpoint.ExpiresAt != nil && !h.Endpoint.ExpiresAt.After(now)
}

func (h *heldItem) action(word string) string { return "/quarantine/" + h.ID.String() + "/" + word }

func (b *board) showQuarantine(w http.ResponseWriter, r *http.Request, v viewer) error {
	return b.quarantine(w, r, v, http.StatusOK, "")
}

func (b *board) quarantine(w http.ResponseWriter, r *http.Request, v viewer, status int, refused string) error {
	ctx := r.Context()
	rows, more, err := b.Queue.HeldTodos(ctx, v.human.ID, heldShown)
	if err != nil {
		return err
	}
	view := &heldView{Now: b.now(), Form: v.form, More: more}
	for _, row := range rows {
		item, err := b.heldItem(ctx, v.human.ID, row)
		if err != nil {
			return err
		}
		view.Items = append(view.Items, *item)
	}
	return b.render(w, r, status, quarantinePage(b.shell(r, v, "Quarantine", "/quarantine"), view, refused))
}

// heldItem reads one at a time, because the payloads of many together could be large.
func (b *board) heldItem(ctx context.Context, human uuid.UUID, row queue.HumanRow) (*heldItem, error) {
	item := &heldItem{HumanRow: row}
	e, err := b.Identity.Endpoint(ctx, human, row.EndpointSlug)
	if err != nil && fault.From(err, postgres.Fault) != fault.ErrEndpointNotFound {
		return nil, err
	}
	item.Endpoint = e
	event, err := b.Intake.EventOfTodo(ctx, human, row.ID.UUID())
	if err != nil || event == nil {
		return item, err
	}
	item.Trace, _ = traceOf(event.RoutingTrace)
	item.Verified = event.VerifyDetail
	item.Webhook = rulesPath(row.EndpointSlug, event.WebhookID, event.ID.String())
	if doc := event.Document(); doc != nil && len(doc) <= heldPayloadBytes {
		payload := pretty(doc)
		item.Payload = &payload
	}
	return item, nil
}

// releaseHeld lets a delivery go on to one of its endpoint's queues.
func (b *board) releaseHeld(w http.ResponseWriter, r *http.Request, v viewer) error {
	return b.settleHeld(w, r, v, func(id uuid.UUID) (string, error) {
		t, err := b.Queue.Admit(r.Context(), v.human.ID, id, r.PostFormValue("queue"), queue.ViaBoard)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("Released to %s.", t.Queue), nil
	})
}

// discardHeld ends a delivery, with the reason that its form asks for.
func (b *board) discardHeld(w http.ResponseWriter, r *http.Request, v viewer) error {
	return b.settleHeld(w, r, v, func(id uuid.UUID) (string, error) {
		_, err := b.Queue.Discard(r.Context(), v.human.ID, id, r.PostFormValue("reason"), queue.ViaBoard)
		return "Discarded.", err
	})
}

// settleHeld carries out one of the two, and says what came of it or why it did not.
func (b *board) settleHeld(w http.ResponseWriter, r *http.Request, v viewer, do func(id uuid.UUID) (string, error)) error {
	id, ok := typeid.Todo.Parse(r.PathValue("id"))
	if !ok {
		return fault.ErrTodoNotFound
	}
	said, err := do(id)
	if status, why := refusedForm(err); why != "" {
		return b.quarantine(w, r, v, status, why)
	}
	if err != nil {
		return err
	}
	b.say(r.Context(), said)
	http.Redirect(w, r, "/quarantine", http.StatusSeeOther)
	return nil
}

// held counts what waits in quarantine, up to a hundred. A page is worth showing without its count.
func (b *board) held(ctx context.Context, human uuid.UUID) int {
	n, err := b.Queue.Quarantined(ctx, human)
	if err != nil {
		b.Log.Debug("what waits in quarantine could not be counted", postgres.Field(err))
	}
	return n
}

// heldWords say how many deliveries wait.
func heldWords(v *heldView) string {
	if v.More {
		return fmt.Sprintf("more than %d deliveries wait for you", len(v.Items))
	}
	return fmt.Sprintf("%s %s for you", counted(len(v.Items), "delivery", "deliveries"), plural(len(v.Items), "waits", "wait"))
}
