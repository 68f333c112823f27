package board

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// staged brings a todo to where an action is possible.
func (h *house) staged(ep *identity.Endpoint, action queue.Action) uuid.UUID {
	h.t.Helper()
	id := h.push(ep, "For "+string(action), "")
	switch action {
	case queue.ActionComplete, queue.ActionFail, queue.ActionExtend, queue.ActionRelease:
		must(h.queue.Act(h.t.Context(), h.owner.ID, id, queue.Act{Action: queue.ActionClaim, Via: queue.ViaBoard}))(h.t)
	case queue.ActionRetry:
		h.claim(ep, id, "run-1", time.Minute).fail("No.", queue.FailParams{Retry: ptr(false)})
	}
	return id
}

// acted is where each action leads.
var acted = map[queue.Action]queue.State{
	queue.ActionClaim: queue.StateClaimed, queue.ActionComplete: queue.StateDone, queue.ActionFail: queue.StateFailed,
	queue.ActionRetry: queue.StatePending, queue.ActionExtend: queue.StateClaimed, queue.ActionRelease: queue.StatePending,
	queue.ActionCancel: queue.StateCanceled,
}

// Each action, by clicking what the todo's page offers, with scripts and without. Each is one transition that the
// log tells as a human's, on the Board (decisions.md 32).
func TestActions_WorkWithAndWithoutScript(t *testing.T) {
	for _, scripts := range []bool{true, false} {
		name := map[bool]string{true: "with", false: "without"}[scripts]
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			ep := h.vend(h.owner, "bugfix", "lane-s")
			b := h.open(t, h.signedIn(h.owner), looks[0])
			if !scripts {
				b.scriptsOff()
			}
			for _, action := range queue.Actions {
				id := h.staged(ep, action)
				b.visit(todoPath(id))
				form := `form[action$="/` + string(action) + `"]`
				opened := `details:has(` + form + `) > summary`
				if action != queue.ActionClaim && action != queue.ActionRetry && action != queue.ActionExtend {
					b.do(chromedp.Click(opened), chromedp.WaitVisible(form+" button"))
				}
				if action == queue.ActionComplete {
					b.do(chromedp.SendKeys(form+" textarea[name=summary]", "Chose refunds-eu."), chromedp.SendKeys(form+" textarea[name=result]", `{"queue":"refunds-eu"}`))
				}
				b.do(chromedp.Click(form+" button"), chromedp.WaitVisible(".toast"))
				todo := must(h.queue.HumanTodo(t.Context(), h.owner.ID, id))(t)
				last := todo.Activity[len(todo.Activity)-1]
				if action == queue.ActionRetry {
					last = todo.Activity[len(todo.Activity)-2]
				}
				if todo.State != acted[action] || last.Kind != queue.KindHumanAction || !strings.Contains(string(last.Detail), `"via": "board"`) {
					t.Errorf("%s: the todo is %s, its log says %+v %s", action, todo.State, last, last.Detail)
				}
				if action == queue.ActionComplete && (string(todo.Result) != `{"queue":"refunds-eu"}` || *todo.Attempts[0].Summary != "Chose refunds-eu.") {
					t.Errorf("the report is %s %v", todo.Result, todo.Attempts[0].Summary)
				}
			}
			b.quiet()
		})
	}
}

// A todo that has ended is run again by a new one, with scripts and without; both logs tell it, each in its own words.
func TestRunAgain_MakesANewTodoAndBothSayWhich(t *testing.T) {
	for _, scripts := range []bool{true, false} {
		t.Run(map[bool]string{true: "with", false: "without"}[scripts], func(t *testing.T) {
			h := newHouse(t)
			ep := h.vend(h.owner, "bugfix", "lane-s")
			first := h.push(ep, "Once more", `{"n":1}`)
			h.claim(ep, first, "run-1", time.Minute).complete("Done.", "https://example.com/1", `{"ok":true}`)
			b := h.open(t, h.signedIn(h.owner), looks[0])
			if !scripts {
				b.scriptsOff()
			}
			b.visit(todoPath(first))
			b.do(chromedp.Click(`form[action$="/again"] button`), chromedp.WaitVisible(".toast"))
			fresh := eval[string](b, `location.pathname`)
			if fresh == todoPath(first) {
				t.Fatal("it leads back to the todo that has ended")
			}
			me := h.signedIn(h.owner)
			for path, says := range map[string][]string{
				fresh:           {"made it to run an earlier one again on the Board", todoPath(first), `&#34;n&#34;: 1`},
				todoPath(first): {"ran it again on the Board", fresh},
				"/activity":     {"You ran it again", "You made it to run an earlier one again"},
			} {
				body := me.get(path).body
				for _, want := range says {
					if !strings.Contains(body, want) {
						t.Errorf("%s does not say %s", path, want)
					}
				}
			}
			b.quiet()
		})
	}
}

// What is still live is not run again; the page says why.
func TestRunAgain_OfWhatIsLiveIsExplained(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	id := h.push(h.vend(h.owner, "bugfix", "lane-s"), "Still live", "")
	me := h.signedIn(h.owner)
	form := formToken(t, me.get(todoPath(id)).body)
	if got := me.post(todoPath(id)+"/again", url.Values{"form": {form}}); got.StatusCode != http.StatusConflict || !strings.Contains(got.body, `role="alert"`) {
		t.Errorf("%d", got.StatusCode)
	}
	second := h.signedIn(h.human("Second"))
	form = formToken(t, second.get("/settings").body)
	if got := second.post(todoPath(id)+"/again", url.Values{"form": {form}}); got.StatusCode != http.StatusNotFound {
		t.Errorf("another human gets %d", got.StatusCode)
	}
}

// On the Board itself, a card's button acts and leads back to the Board.
func TestActions_FromACardLeadBackToTheBoard(t *testing.T) {
	h := newHouse(t)
	ep := h.vend(h.owner, "bugfix", "lane-s")
	id := h.push(ep, "Claim me", "")
	b := h.open(t, h.signedIn(h.owner), looks[2])
	b.visit("/?queue=lane-s")
	b.do(chromedp.Click(`#lane-ready .acts button`), chromedp.WaitVisible(`#lane-held .acts button`))
	if at := eval[string](b, `location.pathname + location.search`); at != "/?queue=lane-s" {
		t.Errorf("led to %s", at)
	}
	if todo := must(h.queue.HumanTodo(t.Context(), h.owner.ID, id))(t); todo.Owner == nil || *todo.Owner != ownerName(h.owner) {
		t.Errorf("held by %v", todo.Owner)
	}
	b.quiet()
}

// board.md section 1: an agent's todo answers with a conflict that the page explains in a sentence.
func TestActions_OnWhatAnAgentHoldsAreExplained(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ep := h.vend(h.owner, "bugfix", "lane-s")
	id := h.push(ep, "Held by an agent", "")
	h.claim(ep, id, "run-1", 10*time.Minute)
	me := h.signedIn(h.owner)
	form := formToken(t, me.get(todoPath(id)).body)
	for _, action := range []queue.Action{queue.ActionClaim, queue.ActionComplete, queue.ActionFail, queue.ActionExtend, queue.ActionRelease} {
		got := me.post(todoPath(id)+"/"+string(action), url.Values{"form": {form}})
		if got.StatusCode != http.StatusConflict || !strings.Contains(got.body, `role="alert"`) || !strings.Contains(got.body, "Held by an agent") {
			t.Errorf("%s: %d", action, got.StatusCode)
		}
	}
	got := me.post(todoPath(id)+"/complete", url.Values{"form": {form}})
	if !strings.Contains(got.body, "You do not hold this todo: an agent’s lease ends") && !strings.Contains(got.body, "You do not hold this todo: an agent&#39;s lease ends") {
		t.Error("the sentence is missing")
	}
	if body := me.get(todoPath(id)).body; strings.Contains(body, `/complete"`) || !strings.Contains(body, `/cancel"`) {
		t.Error("the page offers what is refused, or not what works")
	}
	mine := h.staged(ep, queue.ActionComplete)
	bad := me.post(todoPath(mine)+"/complete", url.Values{"form": {form}, "artifact": {"http://plain.example"}})
	if bad.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(bad.body, `role="alert"`) {
		t.Errorf("an artifact that is none: %d", bad.StatusCode)
	}
	if todo := must(h.queue.HumanTodo(t.Context(), h.owner.ID, mine))(t); todo.State != queue.StateClaimed {
		t.Errorf("and yet the todo is %s", todo.State)
	}
}

// CSRF: nothing moves without the token of the same session's forms, nor for a page of another site.
func TestActions_NeedTheFormOfTheSession(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ep := h.vend(h.owner, "bugfix", "lane-s")
	me := h.signedIn(h.owner)
	others := formToken(t, h.signedIn(h.human("Second")).get("/").body)
	for _, action := range queue.Actions {
		id := h.staged(ep, action)
		before := must(h.queue.HumanTodo(t.Context(), h.owner.ID, id))(t).State
		for _, form := range []url.Values{nil, {"form": {""}}, {"form": {others}}} {
			if got := me.post(todoPath(id)+"/"+string(action), form); got.StatusCode != http.StatusForbidden {
				t.Errorf("%s without the token: %d", action, got.StatusCode)
			}
		}
		if after := must(h.queue.HumanTodo(t.Context(), h.owner.ID, id))(t).State; after != before {
			t.Errorf("%s moved the todo from %s to %s", action, before, after)
		}
	}
}

// REQ-18: pages, fragments and actions of a foreign todo are those of one that does not exist, byte by byte.
func TestSecondHuman_GetsTheAnswerOfAnUnknownTodo(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	id := h.relay(h.vend(h.owner, "bugfix", "lane-s"))
	second := h.signedIn(h.human("Second"))
	form := formToken(t, second.get("/").body)
	ask := func(path string, fragment bool) answer {
		r := must(http.NewRequestWithContext(t.Context(), http.MethodGet, h.server.URL+path, nil))(t)
		if fragment {
			r.Header.Set("HX-Request", "true")
		}
		return second.do(r)
	}
	unknown := todoPath(typeid.New())
	for what, get := range map[string]func(path string) answer{
		"page":     func(path string) answer { return ask(path, false) },
		"fragment": func(path string) answer { return ask(path, true) },
		"older":    func(path string) answer { return ask(path+"?older=3&attempts=1", false) },
		"stream":   func(path string) answer { return ask("/events?topic=todo:"+strings.TrimPrefix(path, "/todos/"), false) },
		"cancel":   func(path string) answer { return second.post(path+"/cancel", url.Values{"form": {form}}) },
	} {
		foreign, none, nonsense := get(todoPath(id)), get(unknown), get("/todos/nonsense")
		if foreign.StatusCode != http.StatusNotFound || foreign.body != none.body || foreign.body != nonsense.body {
			t.Errorf("%s: %d and %d", what, foreign.StatusCode, none.StatusCode)
		}
		if vary := foreign.Header.Get("Vary"); vary != none.Header.Get("Vary") {
			t.Errorf("%s: the headers differ: %s", what, vary)
		}
	}
	if body := second.get("/").body + second.get("/activity").body + second.get("/todos").body; strings.Contains(body, "carrier gateway") {
		t.Error("a list of theirs holds what is mine")
	}
	if todo := must(h.queue.HumanTodo(t.Context(), h.owner.ID, id))(t); todo.State != queue.StateDone {
		t.Errorf("they moved it to %s", todo.State)
	}
}

// REQ-11: with HX-Request the drawer, else the page; caches are told, and a restored history gets the page.
func TestTodo_IsADrawerForAScriptAndAPageForEverybodyElse(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	id := h.relay(h.vend(h.owner, "bugfix", "lane-s"))
	me := h.signedIn(h.owner)
	get := func(headers ...string) answer {
		r := must(http.NewRequestWithContext(t.Context(), http.MethodGet, h.server.URL+todoPath(id), nil))(t)
		for _, name := range headers {
			r.Header.Set(name, "true")
		}
		return me.do(r)
	}
	drawer, page := get("HX-Request"), get()
	if !strings.HasPrefix(drawer.body, "<dialog") || strings.Contains(drawer.body, "<html") || !strings.Contains(drawer.body, "Full history") ||
		!strings.Contains(drawer.body, "The fix itself is small") {
		t.Errorf("the drawer is %.200s", drawer.body)
	}
	if !strings.HasPrefix(page.body, "<!doctype html>") && !strings.HasPrefix(page.body, "<!DOCTYPE html>") {
		t.Errorf("the page is %.100s", page.body)
	}
	for _, got := range []answer{drawer, page} {
		if !strings.Contains(strings.Join(got.Header.Values("Vary"), ","), "HX-Request") {
			t.Errorf("Vary is %q", got.Header.Values("Vary"))
		}
	}
	if restored := get("HX-Request", "HX-History-Restore-Request"); strings.HasPrefix(restored.body, "<dialog") {
		t.Error("a restored history gets a fragment")
	}
}

// REQ-11, deep link: a click that wants a tab of its own opens the page, and no drawer here.
func TestDrawer_LeavesNewTabsToTheBrowser(t *testing.T) {
	h := newHouse(t)
	h.push(h.vend(h.owner, "bugfix", "lane-s"), "Elsewhere", "")
	b := h.open(t, h.signedIn(h.owner), looks[0])
	b.visit("/todos")
	asked := eval[int](b, `(() => {
		let asked = 0;
		document.body.addEventListener("htmx:beforeRequest", () => { asked++; });
		const link = document.querySelector(".list .title");
		link.addEventListener("click", (e) => e.preventDefault()); // reached only when it is not for the browser
		link.dispatchEvent(new MouseEvent("click", {ctrlKey: true, bubbles: true, cancelable: true}));
		return asked;
	})()`)
	if asked != 0 {
		t.Error("a click for a new tab asked for the drawer")
	}
	b.visit("/todos")
	b.do(chromedp.Click(".list .title"), chromedp.WaitVisible("#drawer dialog"))
	b.quiet()
}

// The drawer traps the focus, gives it back, and leads to the page.
func TestDrawer_HoldsTheFocusAndGivesItBack(t *testing.T) {
	h := newHouse(t)
	ep := h.vend(h.owner, "bugfix", "lane-s")
	h.relay(ep)
	h.push(ep, "Another", "")
	b := h.open(t, h.signedIn(h.owner), looks[0])
	b.visit("/todos")
	b.do(chromedp.KeyEvent("jj"), chromedp.KeyEvent(kb.Enter))
	b.wait(`document.querySelector("#drawer dialog")?.matches(":modal")`)
	b.wait(`document.activeElement.id === "drawer-h"`)
	for range 12 {
		b.do(chromedp.KeyEvent(kb.Tab))
		// A modal dialog lets the focus go to itself or, between its last and first element, to the browser.
		if !eval[bool](b, `document.activeElement === document.body || !!document.activeElement.closest("#drawer dialog")`) {
			t.Fatal("the focus left the drawer")
		}
	}
	b.accessible()
	b.do(chromedp.KeyEvent(kb.Escape))
	b.wait(`!document.querySelector("#drawer dialog")`)
	b.wait(`[...document.querySelectorAll(".list .title")].indexOf(document.activeElement) === 1`)
	b.do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible("#drawer dialog"), chromedp.Click(".drawer-bar a"))
	b.wait(`location.pathname.startsWith("/todos/td_") && !!document.querySelector("#timeline")`)
	b.quiet()
}
