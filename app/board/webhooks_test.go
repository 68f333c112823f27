package board

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/intake"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/routing"
	"github.com/switchboard-otel/switchboard/app/settings"
	"github.com/switchboard-otel/switchboard/app/webhook"
)

// switchyard is a house with an endpoint that work comes to from outside.
type switchyard struct {
	*house
	intake *intake.Store
	ep     *identity.Endpoint
	me     *browserless
	form   string
}

func newSwitchyard(t *testing.T) *switchyard {
	t.Helper()
	h := newHouse(t)
	sealer := must(intake.NewSealer(strings.Repeat("5c", 32)))(t)
	y := &switchyard{house: h, intake: intake.NewStore(intake.Config{Pool: h.db.Pool, Queue: h.queue,
		Settings: settings.NewReader(h.db.Pool, h.board.Log), Sealer: sealer, BaseURL: h.server.URL})}
	h.board.Intake = y.intake
	y.ep = h.vend(h.owner, "fixer", "triage", "bugs", "docs")
	y.me = h.signedIn(h.owner)
	y.form = formToken(t, y.me.get("/endpoints").body)
	return y
}

// webhook makes a webhook of an endpoint's that is known by its address alone, and returns its address's token.
func (y *switchyard) webhook() (id intake.WebhookID, token string) {
	y.t.Helper()
	shown := must(y.intake.Create(y.t.Context(), y.ep, intake.CreateParams{Source: webhook.Generic, TargetQueue: "triage"}))(y.t)
	return shown.ID, shown.URL[strings.LastIndex(shown.URL, "/")+1:]
}

// deliver delivers a body as a producer does.
func (y *switchyard) deliver(token, id, body string) *intake.Receipt {
	y.t.Helper()
	target := must(y.intake.Resolve(y.t.Context(), token))(y.t)
	header := http.Header{"Content-Type": {"application/json"}, "X-Delivery-Id": {id}}
	return must(y.intake.Deliver(y.t.Context(), target, intake.Delivery{Header: header, Body: []byte(body)}))(y.t)
}

// rules saves rules without trying them on what was delivered before.
func (y *switchyard) rules(id intake.WebhookID, rules ...routing.Rule) {
	y.t.Helper()
	must(y.intake.SetRules(y.t.Context(), intake.OfHuman(y.owner.ID), id.UUID(), intake.RuleChange{Rules: rules}))(y.t)
}

const anIssue = `{"action": "opened", "title": "The parser eats a comma", "issue": {"number": 7, "labels": [{"name": "bug"}]}}`

// held puts a delivery into quarantine by a rule that fails on it.
func (y *switchyard) held() (id intake.WebhookID, todo string) {
	y.t.Helper()
	id, token := y.webhook()
	y.rules(id, routing.Rule{ID: "mine", Expr: `.payload.issue.assignees[].login == "octocat"`, Action: routing.Action{Queue: "bugs"}})
	r := y.deliver(token, "d-1", anIssue)
	if r.Todos[0].Queue != queue.Quarantine {
		y.t.Fatalf("the delivery went to %s", r.Todos[0].Queue)
	}
	return id, r.Todos[0].ID.String()
}

func (y *switchyard) submit(path string, form url.Values) answer {
	y.t.Helper()
	form.Set("form", y.form)
	return y.me.post(path, form)
}

func TestWebhooks_AreMadeWithWhatIsShownOnce(t *testing.T) {
	t.Parallel()
	y := newSwitchyard(t)
	path := webhooksPath(y.ep.Slug)
	if got := y.me.get(path); got.StatusCode != http.StatusOK || !strings.Contains(got.body, "No webhook yet") {
		t.Fatalf("%d %s", got.StatusCode, got.body)
	}
	made := y.submit(path, url.Values{"source": {"github"}, "queue": {"bugs"}})
	if made.StatusCode != http.StatusOK || !strings.Contains(made.body, "whsec_") || !strings.Contains(made.body, intake.AddressPrefix) || !strings.Contains(made.body, "Payload URL") {
		t.Fatalf("%d %s", made.StatusCode, made.body)
	}
	list := y.me.get(path)
	if !strings.Contains(list.body, "GitHub") || strings.Contains(list.body, "whsec_") || strings.Contains(list.body, intake.AddressPrefix) {
		t.Error("the list does not show the webhook, or shows what is shown once")
	}
	if got := y.submit(path, url.Values{"source": {"github"}, "queue": {"elsewhere"}}); got.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(got.body, "Target_queue is not among") {
		t.Errorf("a queue that is not granted answers %d", got.StatusCode)
	}
}

func TestWebhooks_AreRotatedAndDeleted(t *testing.T) {
	t.Parallel()
	y := newSwitchyard(t)
	id, token := y.webhook()
	path := webhookPath(y.ep.Slug, id, "rotate")
	rotated := y.submit(path, url.Values{"what": {"address"}, "overlap": {"none"}})
	if rotated.StatusCode != http.StatusOK || !strings.Contains(rotated.body, intake.AddressPrefix) {
		t.Fatalf("%d %s", rotated.StatusCode, rotated.body)
	}
	if _, err := y.intake.Resolve(t.Context(), token); err == nil {
		t.Error("the address that leaked works on")
	}
	if got := y.submit(webhookPath(y.ep.Slug, id, "delete"), url.Values{}); got.StatusCode != http.StatusSeeOther {
		t.Errorf("deleting answers %d", got.StatusCode)
	}
	if got := y.submit(path, url.Values{}); got.StatusCode != http.StatusNotFound || !strings.Contains(got.body, "No webhook here") {
		t.Errorf("a webhook that is gone answers %d", got.StatusCode)
	}
}

// Another human's endpoint, webhook and held delivery are unknown, whatever is asked of them.
func TestWebhooks_OfOthersAreUnknown(t *testing.T) {
	t.Parallel()
	y := newSwitchyard(t)
	id, todo := y.held()
	stranger := y.signedIn(y.human("Stranger"))
	form := formToken(t, stranger.get("/endpoints").body)
	for _, path := range []string{webhooksPath(y.ep.Slug), rulesPath(y.ep.Slug, id, "")} {
		if got := stranger.get(path); got.StatusCode != http.StatusNotFound {
			t.Errorf("GET %s answers %d", path, got.StatusCode)
		}
	}
	for _, path := range []string{webhooksPath(y.ep.Slug), rulesPath(y.ep.Slug, id, ""), webhookPath(y.ep.Slug, id, "rotate"),
		webhookPath(y.ep.Slug, id, "delete"), "/quarantine/" + todo + "/release", "/quarantine/" + todo + "/discard"} {
		if got := stranger.post(path, url.Values{"form": {form}, "reason": {"x"}, "go": {"save"}}); got.StatusCode != http.StatusNotFound {
			t.Errorf("POST %s answers %d", path, got.StatusCode)
		}
	}
	if strings.Contains(stranger.get("/quarantine").body, "comma") {
		t.Error("the quarantine shows another human's delivery")
	}
}

func TestRules_AreTriedAndSavedByAPlainForm(t *testing.T) {
	t.Parallel()
	y := newSwitchyard(t)
	id, token := y.webhook()
	y.deliver(token, "d-1", anIssue)
	events, _, err := y.intake.Events(t.Context(), intake.OfHuman(y.owner.ID), intake.EventFilter{})
	if err != nil {
		t.Fatal(err)
	}
	path := rulesPath(y.ep.Slug, id, "")
	form := url.Values{
		"id": {"", ""}, "name": {"Docs", "Bugs first"}, "do": {"drop", "order:bugs"},
		"expr":  {`.payload.action == "closed"`, "any(.payload.issue.labels[];\r\n  .name == $params.label)"},
		"event": {events[0].ID.String()}, "params": {`{"label": "bug"}`}, "default": {"to:docs"}, "go": {"try"},
	}
	tried := y.submit(path, form)
	for _, want := range []string{"Its todo goes to bugs, with a work order.", "does not match", "matches"} {
		if !strings.Contains(tried.body, want) {
			t.Errorf("trying does not say %q", want)
		}
	}
	if saved := must(y.intake.Rules(t.Context(), intake.OfHuman(y.owner.ID), id.UUID()))(t); len(saved.Rules) != 0 {
		t.Error("trying has saved the rules")
	}

	form.Set("go", "down:0")
	if moved := y.submit(path, form); strings.Index(moved.body, "Bugs first") > strings.Index(moved.body, `value="Docs"`) {
		t.Error("the first rule did not move down")
	}

	form.Set("go", "save")
	if got := y.submit(path, form); got.StatusCode != http.StatusSeeOther {
		t.Fatalf("saving answers %d: %s", got.StatusCode, got.body)
	}
	saved := must(y.intake.Rules(t.Context(), intake.OfHuman(y.owner.ID), id.UUID()))(t)
	if len(saved.Rules) != 2 || saved.Rules[1].ID != "bugs-first" || saved.Rules[1].Expr != "any(.payload.issue.labels[];\n  .name == $params.label)" ||
		!*saved.Rules[1].Action.WorkOrder || saved.Default.Queue != "docs" {
		t.Errorf("saved %+v", saved)
	}
	if r := y.deliver(token, "d-2", anIssue); r.Todos[0].Queue != "bugs" {
		t.Errorf("the next delivery went to %s", r.Todos[0].Queue)
	}
	if shown := y.me.get(path); !strings.Contains(shown.body, `$params.label`) || !strings.Contains(shown.body, `value="bugs-first"`) {
		t.Error("the editor does not show what was saved")
	}
}

// What was typed is still there when a form is refused.
func TestRules_AreRefusedWithTheReasonAboveTheForm(t *testing.T) {
	t.Parallel()
	y := newSwitchyard(t)
	id, token := y.webhook()
	y.deliver(token, "d-1", anIssue)
	for expr, why := range map[string]string{
		`[range(1e9)]`:                 "Rules[0] (mine): its expression calls range/1, which is not a function of rules.",
		`.payload.action |`:            "Rules[0] (mine): its expression is not jq: look at byte",
		`.payload.issue.assignees[].x`: "Rule mine fails on the delivery",
	} {
		got := y.submit(rulesPath(y.ep.Slug, id, ""), url.Values{"id": {"mine"}, "name": {"Mine"}, "expr": {expr}, "do": {"to:bugs"}, "go": {"save"}})
		if got.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(got.body, why) || !strings.Contains(got.body, `value="Mine"`) {
			t.Errorf("%s answers %d without %q", expr, got.StatusCode, why)
		}
	}
}

func TestRules_TheExamplesCompile(t *testing.T) {
	t.Parallel()
	for _, expr := range strings.Split(ruleExamples, "\n\n") {
		if _, err := routing.Compile(routing.Set{Rules: []routing.Rule{{ID: "r", Expr: expr, Action: routing.Action{Drop: true}}}}); err != nil {
			t.Errorf("%s: %v", expr, err)
		}
	}
}

func TestQuarantine_ReleasesToAQueueAndDiscardsWithAReason(t *testing.T) {
	t.Parallel()
	y := newSwitchyard(t)
	if got := y.me.get("/quarantine"); !strings.Contains(got.body, "Nothing is in quarantine") {
		t.Fatalf("%d %s", got.StatusCode, got.body)
	}
	_, first := y.held()
	_, second := y.held()
	page := y.me.get("/quarantine")
	for _, want := range []string{"2 deliveries wait for you", "rule mine failed", "Rule mine stopped: cannot iterate over null.", "The parser eats a comma", "fails"} {
		if !strings.Contains(page.body, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if got := y.submit("/quarantine/"+first+"/release", url.Values{"queue": {"elsewhere"}}); got.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("a queue that is not the endpoint's answers %d", got.StatusCode)
	}
	if got := y.submit("/quarantine/"+second+"/discard", url.Values{"reason": {" "}}); got.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("discarding without a reason answers %d", got.StatusCode)
	}
	if got := y.submit("/quarantine/"+first+"/release", url.Values{"queue": {"bugs"}}); got.StatusCode != http.StatusSeeOther {
		t.Errorf("releasing answers %d", got.StatusCode)
	}
	if got := y.submit("/quarantine/"+second+"/discard", url.Values{"reason": {"a test"}}); got.StatusCode != http.StatusSeeOther {
		t.Errorf("discarding answers %d", got.StatusCode)
	}
	rows, _, err := y.queue.HumanTodos(t.Context(), y.owner.ID, queue.HumanFilter{})
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]string{}
	for _, row := range rows {
		states[row.ID.String()] = row.Queue + " " + string(row.State)
	}
	if body := y.me.get("/todos/" + first).body; !strings.Contains(body, "faulted") || !strings.Contains(body, "now in queue") || strings.Contains(body, "held") {
		t.Error("the source of what was released says that it is in quarantine still")
	}
	if states[first] != "bugs pending" || states[second] != "quarantine rejected" {
		t.Errorf("the todos are %v", states)
	}
	if got := y.submit("/quarantine/"+first+"/discard", url.Values{"reason": {"late"}}); got.StatusCode != http.StatusConflict {
		t.Errorf("settling one twice answers %d", got.StatusCode)
	}
}

// inbound are the pages of what comes in, with something on each and with nothing.
func (y *switchyard) inbound() map[string]visit {
	y.t.Helper()
	id, _ := y.held()
	github := must(y.intake.Create(y.t.Context(), y.ep, intake.CreateParams{Source: webhook.GitHub}))(y.t)
	fresh, token := y.webhook()
	y.deliver(token, "d-3", anIssue)
	y.rules(fresh,
		routing.Rule{ID: "closed", Name: "Closed ones", Expr: `.payload.action == "closed"`, Action: routing.Action{Drop: true}},
		routing.Rule{ID: "bugs", Name: "Bugs", Expr: `any(.payload.issue.labels[]?; .name == "bug")`, Action: routing.Action{Queue: "bugs"}},
		routing.Rule{ID: "rest", Expr: `.payload.issue != null`, Action: routing.Action{Queue: "docs"}})
	y.deliver(token, "d-4", anIssue)
	y.deliver(token, "d-5", `{"action": "closed", "title": "`+strings.Repeat("W", 90)+` \u202eevil"}`)
	events, _, err := y.intake.Events(y.t.Context(), intake.OfHuman(y.owner.ID), intake.EventFilter{})
	if err != nil {
		y.t.Fatal(err)
	}
	newcomer := y.human("Newcomer")
	ep, other := y.vend(newcomer, "first", "default"), y.signedIn(newcomer)
	return map[string]visit{
		"webhooks": {webhooksPath(y.ep.Slug), y.me}, "webhooks-empty": {webhooksPath(ep.Slug), other},
		"rules": {rulesPath(y.ep.Slug, fresh, events[1].ID.String()), y.me}, "rules-empty": {rulesPath(y.ep.Slug, github.ID, ""), y.me},
		"rules-fault": {rulesPath(y.ep.Slug, id, events[3].ID.String()), y.me},
		"quarantine":  {"/quarantine", y.me}, "quarantine-empty": {"/quarantine", other},
	}
}

func TestInboundPages_AreAccessibleInEveryLook(t *testing.T) {
	y := newSwitchyard(t)
	visits := y.inbound()
	for _, l := range looks {
		t.Run(l.String(), func(t *testing.T) {
			for name, v := range visits {
				b := y.open(t, v.as, l)
				b.visit(v.path)
				b.picture(name)
				eval[int](b, `document.querySelectorAll("details").forEach(d => { d.open = true }), 1`)
				b.accessible()
				if wide := eval[int](b, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
					t.Errorf("%s is %d px wider than the window", name, wide)
				}
				b.quiet()
			}
		})
	}
}

// until waits until an expression holds on a page that is whole. It asks through the browser's protocol, because
// a page whose scripts are off cannot watch itself.
func (b *tab) until(expression string) {
	b.t.Helper()
	for b.ctx.Err() == nil {
		holds, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](`document.readyState === "complete" && Boolean(`+expression+`)`))
		if err == nil && holds {
			return
		}
		if err != nil && !navigated(err) {
			b.t.Fatalf("waiting for %s: %v", expression, err)
		}
	}
	b.t.Fatalf("waiting for %s: %v", expression, b.ctx.Err())
}

// A human makes a webhook, writes a rule, tries it, saves it and settles what is held: with scripts and without.
func TestInboundPages_WorkWithAndWithoutScript(t *testing.T) {
	for _, scripts := range []bool{true, false} {
		name := map[bool]string{true: "with", false: "without"}[scripts]
		t.Run(name, func(t *testing.T) {
			y := newSwitchyard(t)
			y.held()
			b := y.open(t, y.me, looks[0])
			if !scripts {
				b.scriptsOff()
			}
			b.visit(webhooksPath(y.ep.Slug))
			b.do(chromedp.SendKeys("#source", "Any"), chromedp.Click(`form[aria-labelledby="new-h"] button`))
			b.until(`document.querySelector("#address")`)
			address := eval[string](b, `document.querySelector("#address").textContent`)
			y.deliver(address[strings.LastIndex(address, "/")+1:], "d-9", anIssue)
			b.do(chromedp.Click(`.wizard-foot a.is-primary`))
			b.until(`document.querySelector("#expr-0")`)
			b.do(chromedp.SendKeys("#name-0", "Bugs"), chromedp.SendKeys("#expr-0", `any(.payload.issue.labels[]; .name == "bug")`),
				chromedp.SendKeys("#do-0", "bugs"), chromedp.Click(`section button[value="try"]`))
			b.until(`document.querySelector(".rules")`)
			if said := eval[string](b, `document.querySelector(".callout").textContent`); !strings.Contains(said, "Its todo goes to bugs.") {
				t.Errorf("trying says %q", said)
			}
			b.do(chromedp.Click(`button[value="add"]`))
			b.until(`document.querySelector("#expr-1")`)
			b.do(chromedp.Click(`button[value="remove:1"]`))
			b.until(`document.querySelector("#expr-0") && !document.querySelector("#expr-1")`)
			b.do(chromedp.Click(`button[value="save"]`))
			b.until(`document.querySelector(".toast")`)
			b.visit("/quarantine")
			b.do(chromedp.SendKeys(".held select", "docs"), chromedp.Click(".held .btn.is-primary"))
			b.until(`document.querySelector(".toast") && document.querySelector(".empty")`)
			if scripts {
				b.quiet()
			}
		})
	}
}

// The page shows a bounded number, and says so.
func TestQuarantine_ShowsABoundedNumber(t *testing.T) {
	t.Parallel()
	y := newSwitchyard(t)
	id, token := y.webhook()
	y.rules(id, routing.Rule{ID: "mine", Expr: `.payload.issue.assignees[]`, Action: routing.Action{Drop: true}})
	for i := range heldShown + 1 {
		y.deliver(token, fmt.Sprint(i), anIssue)
	}
	page := y.me.get("/quarantine")
	if !strings.Contains(page.body, "more than 20 deliveries wait for you") || strings.Count(page.body, `<article class="card held"`) != heldShown {
		t.Error("the page does not show the newest 20 and say that there are more")
	}
}
