package board

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/intake"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/routing"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// triedOn is how many deliveries the editor offers to try rules on.
const triedOn = 20

// rulesView is the editor of a webhook's rules, with what they make of one delivery.
type rulesView struct {
	Now      time.Time
	Form     string
	Endpoint *identity.Endpoint
	Webhook  *intake.Webhook
	Events   []intake.EventRow // the latest, to try rules on
	Draft    rulesDraft
	Refused  string
	Tried    *triedView
}

// rulesDraft is what the form holds. Every button sends it whole, so that the editor needs no script.
type rulesDraft struct {
	Rules   []ruleDraft
	Default string // as in ruleDraft.Do; empty is the target queue
	Params  string

	Event   string // the delivery to try them on
	Payload string // or one that was typed
	Kind    string // of the typed one
}

// ruleDraft is one rule as the form holds it.
type ruleDraft struct {
	ID, Name, Expr string
	Do             string // "to:queue", "order:queue" or "drop"
}

const (
	doDrop  = "drop"
	doQueue = "to:"
	doOrder = "order:"
)

func (d *ruleDraft) empty() bool { return strings.TrimSpace(d.Name+d.Expr) == "" }

// doOf is what an action is called in the form.
func doOf(a routing.Action) string {
	switch {
	case a.Drop:
		return doDrop
	case a.WorkOrder != nil && *a.WorkOrder:
		return doOrder + a.Queue
	case a.Queue != "":
		return doQueue + a.Queue
	default:
		return ""
	}
}

func actionOf(do string) routing.Action {
	if do == doDrop {
		return routing.Action{Drop: true}
	}
	if q, ok := strings.CutPrefix(do, doOrder); ok {
		yes := true
		return routing.Action{Queue: q, WorkOrder: &yes}
	}
	return routing.Action{Queue: strings.TrimPrefix(do, doQueue)}
}

// choice is one line of a select.
type doChoice struct{ Value, Word string }

// doChoices lists what a rule may do, with what it does now, also where that is not allowed any more.
func doChoices(e *identity.Endpoint, now string) (all []doChoice) {
	for _, q := range routedQueues(e) {
		all = append(all, doChoice{doQueue + q, q}, doChoice{doOrder + q, q + ", with a work order"})
	}
	all = append(all, doChoice{doDrop, "drop it: no todo"})
	if now != "" && !slices.ContainsFunc(all, func(c doChoice) bool { return c.Value == now }) {
		all = append(all, doChoice{now, actionOf(now).Queue + " (not one of the endpoint’s)"})
	}
	return all
}

// rulesDraftOf is what the form shows of saved rules.
func rulesDraftOf(saved *intake.Rules) rulesDraft {
	d := rulesDraft{Params: string(saved.Params)}
	for _, rule := range saved.Rules {
		d.Rules = append(d.Rules, ruleDraft{rule.ID, rule.Name, rule.Expr, doOf(rule.Action)})
	}
	if saved.Default != nil {
		d.Default = doOf(*saved.Default)
	}
	return d
}

// readRulesDraft reads the form. The fields of the rules come in parallel lists.
func readRulesDraft(r *http.Request) rulesDraft {
	d := rulesDraft{Default: r.PostFormValue("default"), Params: plainLines(r.PostFormValue("params")),
		Event: r.PostFormValue("event"), Payload: plainLines(r.PostFormValue("payload")), Kind: r.PostFormValue("kind")}
	nth := func(field string, i int) string {
		if all := r.PostForm[field]; i < len(all) {
			return all[i]
		}
		return ""
	}
	for i := range min(len(r.PostForm["expr"]), 2*routing.MaxRules) {
		d.Rules = append(d.Rules, ruleDraft{nth("id", i), strings.TrimSpace(nth("name", i)), plainLines(nth("expr", i)), nth("do", i)})
	}
	return d
}

// plainLines undoes what a browser does to the ends of lines.
func plainLines(text string) string { return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")) }

// edit carries out a button that changes the form and nothing else: add, up:2, down:2, remove:2. It reports false
// for other buttons.
func (d *rulesDraft) edit(button string) bool {
	word, number, _ := strings.Cut(button, ":")
	at, err := strconv.Atoi(number)
	inside := err == nil && at >= 0 && at < len(d.Rules)
	switch {
	case word == "add":
		d.Rules = append(d.Rules, ruleDraft{})
	case word == "up" && inside && at > 0:
		d.Rules[at-1], d.Rules[at] = d.Rules[at], d.Rules[at-1]
	case word == "down" && inside && at+1 < len(d.Rules):
		d.Rules[at+1], d.Rules[at] = d.Rules[at], d.Rules[at+1]
	case word == "remove" && inside:
		d.Rules = slices.Delete(d.Rules, at, at+1)
	default:
		return word == "up" || word == "down" || word == "remove"
	}
	return true
}

// change is the set of rules that the form describes. Rows that were left empty are none.
func (d *rulesDraft) change() intake.RuleChange {
	c := intake.RuleChange{ChangeParams: true, Rules: []routing.Rule{}}
	d.Rules = slices.DeleteFunc(d.Rules, func(r ruleDraft) bool { return r.empty() })
	for i := range d.Rules {
		if d.Rules[i].ID == "" {
			d.Rules[i].ID = d.freeID(d.Rules[i].Name)
		}
		rule := d.Rules[i]
		c.Rules = append(c.Rules, routing.Rule{ID: rule.ID, Name: rule.Name, Expr: rule.Expr, Action: actionOf(rule.Do)})
	}
	if d.Default != "" {
		a := actionOf(d.Default)
		c.Default = &a
	}
	if d.Params != "" {
		c.Params = json.RawMessage(d.Params)
	}
	return c
}

// freeID makes an id of a rule's name that no other rule of the form has.
func (d *rulesDraft) freeID(name string) string {
	var id strings.Builder
	for _, c := range strings.ToLower(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			id.WriteRune(c)
		case id.Len() > 0 && !strings.HasSuffix(id.String(), "-"):
			id.WriteByte('-')
		}
	}
	base := strings.Trim(id.String()[:min(id.Len(), 40)], "-")
	taken := func(id string) bool {
		return slices.ContainsFunc(d.Rules, func(r ruleDraft) bool { return r.ID == id })
	}
	if base != "" && !taken(base) {
		return base
	}
	if base == "" {
		base = "rule"
	}
	for n := 1; ; n++ {
		if id := fmt.Sprintf("%s-%d", base, n); !taken(id) {
			return id
		}
	}
}

func (b *board) showRules(w http.ResponseWriter, r *http.Request, v viewer) error {
	view, err := b.rulesOf(r, v)
	if err != nil {
		return b.webhookFailed(w, r, v, err)
	}
	saved, err := b.Intake.Rules(r.Context(), intake.OfEndpoint(view.Endpoint), view.Webhook.ID.UUID())
	if err != nil {
		return b.webhookFailed(w, r, v, err)
	}
	view.Draft = rulesDraftOf(saved)
	view.Draft.Event = r.URL.Query().Get("event")
	if view.Draft.Event != "" {
		if err := b.try(r, view); err != nil {
			return err
		}
	}
	return b.renderRules(w, r, v, http.StatusOK, view)
}

// editRules is every button of the editor.
func (b *board) editRules(w http.ResponseWriter, r *http.Request, v viewer) error {
	view, err := b.rulesOf(r, v)
	if err != nil {
		return b.webhookFailed(w, r, v, err)
	}
	view.Draft = readRulesDraft(r)
	button := r.PostFormValue("go")
	if view.Draft.edit(button) {
		return b.renderRules(w, r, v, http.StatusOK, view)
	}
	if button != "save" {
		if err := b.try(r, view); err != nil {
			return err
		}
		return b.renderRules(w, r, v, http.StatusOK, view)
	}
	_, err = b.Intake.SetRules(r.Context(), intake.OfEndpoint(view.Endpoint), view.Webhook.ID.UUID(), view.Draft.change())
	if status, said := refusedForm(err); said != "" {
		view.Refused = said
		return b.renderRules(w, r, v, status, view)
	}
	if err != nil {
		return b.webhookFailed(w, r, v, err)
	}
	b.say(r.Context(), "Saved. The next delivery is routed by these rules.")
	http.Redirect(w, r, rulesPath(view.Endpoint.Slug, view.Webhook.ID, view.Draft.Event), http.StatusSeeOther)
	return nil
}

func (b *board) renderRules(w http.ResponseWriter, r *http.Request, v viewer, status int, view *rulesView) error {
	if len(view.Draft.Rules) == 0 {
		view.Draft.Rules = []ruleDraft{{}}
	}
	return b.render(w, r, status, rulesPage(b.shell(r, v, "Rules of "+view.Endpoint.Slug, "/endpoints"), view))
}

func (b *board) rulesOf(r *http.Request, v viewer) (*rulesView, error) {
	ctx := r.Context()
	e, id, err := b.webhookAt(r, v)
	if err != nil {
		return nil, err
	}
	view := &rulesView{Now: b.now(), Form: v.form, Endpoint: e}
	if view.Webhook, err = b.Intake.Get(ctx, intake.OfEndpoint(e), id); err != nil {
		return nil, err
	}
	most := triedOn
	view.Events, _, err = b.Intake.Events(ctx, intake.OfEndpoint(e), intake.EventFilter{Webhook: &id, Limit: &most})
	return view, err
}

// triedView is what rules make of a delivery.
type triedView struct {
	*intake.Tried
	Rules []routing.Rule
}

// try has the draft decide about the delivery that the form names. What cannot be tried is said above the form.
func (b *board) try(r *http.Request, view *rulesView) error {
	trial, said := view.Draft.trial()
	if said != "" {
		view.Refused = said
		return nil
	}
	change := view.Draft.change()
	tried, err := b.Intake.TestRules(r.Context(), intake.OfEndpoint(view.Endpoint), view.Webhook.ID.UUID(), &change, trial)
	if errors.Is(err, intake.ErrEventNotFound) {
		view.Refused = "That delivery is not kept any more. Choose another."
		return nil
	}
	if _, said := refusedForm(err); said != "" {
		view.Refused = said
		return nil
	}
	if err != nil {
		return err
	}
	view.Tried = &triedView{tried, change.Rules}
	return nil
}

// trial is the delivery that the form names: one that was typed, else a stored one.
func (d *rulesDraft) trial() (t intake.Trial, said string) {
	if d.Payload != "" {
		if queue.CheckJSON("the payload", json.RawMessage(d.Payload)) != nil {
			return t, "The payload to try the rules on must be JSON."
		}
		return intake.Trial{Payload: json.RawMessage(d.Payload), Kind: d.Kind}, ""
	}
	id, ok := typeid.Event.Parse(d.Event)
	if !ok {
		return t, "Choose a delivery to try the rules on, or type a payload."
	}
	return intake.Trial{Event: &id}, ""
}

// ruleExamples are shown beside the editor. A test compiles them.
const ruleExamples = `.kind == "issues.opened"

any(.payload.issue.labels[]?; .name == "bug")

.payload.issue.title | test("^docs?:"; "i")

.payload.sender.login | IN("dependabot[bot]", "renovate[bot]")

any(.payload.commits[]?.modified[]?; startswith("docs/"))

.payload.pull_request.labels | map(.name) | index($params.lane)`
