package board

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/intake"
	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/typeid"
	"github.com/switchboard-otel/switchboard/app/webhook"
)

var webhookNotFoundPage = failure{Status: http.StatusNotFound, Title: "No webhook here",
	Text: "There is no webhook of this id on that endpoint that you can see. It may have been deleted, or it belongs to someone else; this page is the same in both cases.",
	To:   "/endpoints", ToWords: "Your endpoints"}

// webhookRoutes are the pages of what comes in from outside: webhooks, their rules, and what waits in quarantine.
func (b *board) webhookRoutes() map[string]page {
	return map[string]page{
		"GET /endpoints/{slug}/webhooks":              b.showWebhooks,
		"POST /endpoints/{slug}/webhooks":             b.createWebhook,
		"POST /endpoints/{slug}/webhooks/{id}/rotate": b.rotateWebhook,
		"POST /endpoints/{slug}/webhooks/{id}/delete": b.deleteWebhook,
		"GET /endpoints/{slug}/webhooks/{id}/rules":   b.showRules,
		"POST /endpoints/{slug}/webhooks/{id}/rules":  b.editRules,
		"GET /quarantine":                             b.showQuarantine,
		"POST /quarantine/{id}/release":               b.releaseHeld,
		"POST /quarantine/{id}/discard":               b.discardHeld,
	}
}

// webhooksView is the page of an endpoint's webhooks and of what was delivered to them.
type webhooksView struct {
	Now      time.Time
	Form     string
	Endpoint *identity.Endpoint
	Webhooks []intake.Webhook
	Events   []intake.EventRow
	Next     string // the cursor of the next page of events
	Paged    bool   // this is not the first page of events
	Refused  string
	Draft    webhookDraft
}

// webhookDraft is what the form of a new webhook holds.
type webhookDraft struct{ Source, Queue string }

// Sources lists what the endpoint may have webhooks of.
func (v *webhooksView) Sources() (all []webhook.Source) {
	for _, s := range webhook.Sources {
		if v.Endpoint.Webhooks.AllowsSource(string(s)) {
			all = append(all, s)
		}
	}
	return all
}

// routedQueues lists where webhooks of an endpoint may put todos.
func routedQueues(e *identity.Endpoint) []string {
	return slices.DeleteFunc(slices.Clone(e.Queues), func(q string) bool { return !e.Routes(q) })
}

// full reports whether the endpoint has as many webhooks as it may.
func (v *webhooksView) full() bool { return len(v.Webhooks) >= v.Endpoint.Webhooks.Max }

// ended reports whether the endpoint is cut off, and takes no new webhook.
func (v *webhooksView) ended() bool {
	e := v.Endpoint
	return e.RevokedAt != nil || e.ExpiresAt != nil && !e.ExpiresAt.After(v.Now)
}

// of is the webhook that an event came to; nil when it is gone.
func (v *webhooksView) of(id intake.WebhookID) *intake.Webhook {
	i := slices.IndexFunc(v.Webhooks, func(w intake.Webhook) bool { return w.ID == id })
	if i < 0 {
		return nil
	}
	return &v.Webhooks[i]
}

func (b *board) showWebhooks(w http.ResponseWriter, r *http.Request, v viewer) error {
	view, err := b.webhooksOf(r, v)
	if err != nil {
		return err
	}
	return b.renderWebhooks(w, r, v, http.StatusOK, view)
}

func (b *board) renderWebhooks(w http.ResponseWriter, r *http.Request, v viewer, status int, view *webhooksView) error {
	return b.render(w, r, status, webhooksPage(b.shell(r, v, "Webhooks of "+view.Endpoint.Slug, "/endpoints"), view))
}

func (b *board) webhooksOf(r *http.Request, v viewer) (*webhooksView, error) {
	ctx := r.Context()
	e, err := b.Identity.Endpoint(ctx, v.human.ID, r.PathValue("slug"))
	if err != nil {
		return nil, err
	}
	view := &webhooksView{Now: b.now(), Form: v.form, Endpoint: e}
	if view.Webhooks, err = b.Intake.List(ctx, intake.OfEndpoint(e)); err != nil {
		return nil, err
	}
	cursor := r.URL.Query().Get("before")
	view.Paged = cursor != ""
	view.Events, view.Next, err = b.Intake.Events(ctx, intake.OfEndpoint(e), intake.EventFilter{Cursor: cursor})
	return view, err
}

// createWebhook makes a webhook and shows its address and its secret, this once.
func (b *board) createWebhook(w http.ResponseWriter, r *http.Request, v viewer) error {
	view, err := b.webhooksOf(r, v)
	if err != nil {
		return err
	}
	view.Draft = webhookDraft{Source: r.PostFormValue("source"), Queue: r.PostFormValue("queue")}
	shown, err := b.Intake.Create(r.Context(), view.Endpoint, intake.CreateParams{
		Source: webhook.Source(view.Draft.Source), TargetQueue: view.Draft.Queue})
	if status, said := refusedForm(err); said != "" {
		view.Refused = said
		return b.renderWebhooks(w, r, v, status, view)
	}
	if err != nil {
		return err
	}
	return b.showWebhookSecret(w, r, v, &webhookSecretView{Endpoint: view.Endpoint, Shown: shown})
}

// refusedForm is what a form says above its fields when it was refused, with the status of the answer. It says
// nothing of what is not the form's fault.
func refusedForm(err error) (status int, said string) {
	if err == nil {
		return 0, ""
	}
	switch f := fault.From(err, postgres.Fault); f.Code {
	case fault.Invalid, fault.Forbidden:
		return http.StatusUnprocessableEntity, sentence(f.Message)
	case fault.Conflict:
		return http.StatusConflict, sentence(f.Message)
	}
	return 0, ""
}

// webhookSecretView shows what is shown of a webhook this once: its address, its signing secret, or both.
type webhookSecretView struct {
	Endpoint *identity.Endpoint
	Shown    *intake.Shown
	Renewed  bool
}

func (b *board) showWebhookSecret(w http.ResponseWriter, r *http.Request, v viewer, view *webhookSecretView) error {
	return b.render(w, r, http.StatusOK, webhookSecretPage(b.shell(r, v, "Webhook of "+view.Endpoint.Slug, "/endpoints"), view))
}

// rotateWebhook renews a secret or an address. The one before counts for as long as the form says.
func (b *board) rotateWebhook(w http.ResponseWriter, r *http.Request, v viewer) error {
	e, id, err := b.webhookAt(r, v)
	if err != nil {
		return b.webhookFailed(w, r, v, err)
	}
	p := intake.RotateParams{Address: r.PostFormValue("what") == "address"}
	if secret := strings.TrimSpace(r.PostFormValue("secret")); secret != "" && !p.Address {
		p.Secret = &secret
	}
	if r.PostFormValue("overlap") == "none" {
		p.Overlap = new(time.Duration)
	}
	shown, err := b.Intake.Rotate(r.Context(), intake.OfEndpoint(e), id, p)
	if status, said := refusedForm(err); said != "" {
		view, err := b.webhooksOf(r, v)
		if err != nil {
			return err
		}
		view.Refused = said
		return b.renderWebhooks(w, r, v, status, view)
	}
	if err != nil {
		return b.webhookFailed(w, r, v, err)
	}
	if shown.URL == "" && shown.Secret == "" {
		b.say(r.Context(), "The secret is changed to the one you gave.")
		http.Redirect(w, r, webhooksPath(e.Slug), http.StatusSeeOther)
		return nil
	}
	return b.showWebhookSecret(w, r, v, &webhookSecretView{Endpoint: e, Shown: shown, Renewed: true})
}

func (b *board) deleteWebhook(w http.ResponseWriter, r *http.Request, v viewer) error {
	e, id, err := b.webhookAt(r, v)
	if err == nil {
		err = b.Intake.Delete(r.Context(), intake.OfEndpoint(e), id)
	}
	if err != nil {
		return b.webhookFailed(w, r, v, err)
	}
	b.say(r.Context(), "The webhook is deleted. Its address is unknown from now on; what it brought stays.")
	http.Redirect(w, r, webhooksPath(e.Slug), http.StatusSeeOther)
	return nil
}

// webhookAt is the endpoint and the webhook that an address names. Whether the webhook is the endpoint's, the
// store says.
func (b *board) webhookAt(r *http.Request, v viewer) (*identity.Endpoint, uuid.UUID, error) {
	e, err := b.Identity.Endpoint(r.Context(), v.human.ID, r.PathValue("slug"))
	if err != nil {
		return nil, uuid.Nil, err
	}
	id, ok := typeid.Webhook.Parse(r.PathValue("id"))
	if !ok {
		return nil, uuid.Nil, intake.ErrWebhookNotFound
	}
	return e, id, nil
}

// webhookFailed answers with the page of an unknown webhook, where that is what failed.
func (b *board) webhookFailed(w http.ResponseWriter, r *http.Request, v viewer, err error) error {
	if !errors.Is(err, intake.ErrWebhookNotFound) {
		return err
	}
	b.show(w, r, v, webhookNotFoundPage)
	return nil
}

func webhooksPath(slug string) string { return endpointPath(slug, "webhooks") }

func webhookPath(slug string, id intake.WebhookID, action string) string {
	return webhooksPath(slug) + "/" + id.String() + "/" + action
}

// rulesPath is the editor of a webhook's rules, with a delivery chosen to try them on; empty chooses none.
func rulesPath(slug string, id intake.WebhookID, event string) string {
	path := webhookPath(slug, id, "rules")
	if event != "" {
		path += "?" + url.Values{"event": {event}}.Encode()
	}
	return path
}

// sourceNames are the source types in words.
var sourceNames = map[webhook.Source]string{
	webhook.GitHub: "GitHub", webhook.Gitea: "Gitea or Forgejo", webhook.Stripe: "Stripe", webhook.Slack: "Slack",
	webhook.Standard: "Standard Webhooks", webhook.Generic: "Anything else",
}

// sourceSteps say where a new address and its secret go on the other side.
var sourceSteps = map[webhook.Source][]string{
	webhook.GitHub: {
		"In the repository, open Settings, Webhooks, Add webhook.",
		"Paste the address as Payload URL and the secret as Secret; choose the content type application/json.",
		"Choose “Let me select individual events” and tick Issues, or whatever your rules ask for.",
	},
	webhook.Gitea: {
		"In the repository, open Settings, Webhooks, Add webhook, Gitea.",
		"Paste the address as Target URL and the secret as Secret; leave the content type application/json.",
	},
	webhook.Stripe: {
		"In the Dashboard, add an event destination of the type webhook with this address.",
		"Stripe shows a signing secret of its own. Rotate the secret of this webhook and paste that one.",
	},
	webhook.Slack: {
		"In the app’s Event Subscriptions, paste the address as Request URL.",
		"Slack signs with the secret under Basic Information. Rotate the secret of this webhook and paste that one.",
	},
	webhook.Standard: {
		"Give the address and the secret to the sender; it signs webhook-id, webhook-timestamp and the body.",
	},
	webhook.Generic: {
		"POST to the address. Who knows it may deliver, so treat it like a password.",
		"Send a header X-Delivery-Id with an id of your own, so that a delivery sent twice makes one todo.",
	},
}

// dispositionMark draws what became of an event.
func dispositionMark(d intake.Disposition) mark {
	switch d {
	case intake.Routed:
		return mark{"done", "l-done", "routed"}
	case intake.Dropped:
		return mark{"off", "l-off", "dropped"}
	default:
		return mark{"retry", "l-retry", "faulted"}
	}
}

// trustWord says how sure it is who sent.
func trustWord(t webhook.Trust) string {
	if t == webhook.TrustSigned {
		return "signed"
	}
	return "by its address"
}
