package board

import (
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/spans"
)

// Every page, in both themes, on a desk and on a phone: nothing that WCAG 2.1 A or AA forbids, nothing that
// the browser complains about, nothing wider than the window.
func TestPages_AreAccessibleInEveryLook(t *testing.T) {
	g := newGallery(t)
	me, newcomer := g.signedIn(g.owner), g.signedIn(g.human("Newcomer"))
	link := must(g.identity.NewLoginLink(t.Context(), g.owner.ID))(t)
	visits := map[string]visit{"link": {"/login/" + link, nil}, "spent": {"/login/none", nil}, "no match": {"/todos?q=nothing", me}}
	maps.Copy(visits, g.visits(me, newcomer))
	for _, l := range looks {
		t.Run(l.String(), func(t *testing.T) {
			t.Parallel()
			for name, v := range visits {
				t.Run(name, func(t *testing.T) {
					b := g.open(t, v.as, l)
					b.visit(v.path)
					eval[int](b, `document.querySelectorAll("details").forEach(d => { d.open = true }), 1`)
					b.accessible()
					if wide := eval[int](b, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
						t.Errorf("the page is %d px wider than the window: %s", wide, eval[string](b, `[...document.querySelectorAll("main *")]
							.filter(e => e.getBoundingClientRect().right > innerWidth).map(e => e.outerHTML.slice(0, 80)).slice(0, 3).join("; ")`))
					}
					if vague := eval[string](b, `[...document.querySelectorAll("time[datetime]:not([data-countdown])")]
							.filter(t => !/\d UTC/.test(t.title)).map(t => t.outerHTML).slice(0, 3).join("; ")`); vague != "" {
						t.Errorf("times that leave their zone to be guessed: %s", vague)
					}
					b.quiet("the server responded with a status of 4")
				})
			}
		})
	}
}

// hostile is a todo whose every text tries something.
func (h *house) hostile(ep *identity.Endpoint) (id [16]byte) {
	h.t.Helper()
	todo := h.push(ep, `<img src=x onerror=alert(1)> `+"\u202eevil\u202c 🧵 "+strings.Repeat("W", 150), `{"html":"</pre><script>alert(1)</script>"}`)
	c := h.claim(ep, todo, `"><script>alert(1)</script>`, 10*time.Minute)
	c.note(`<b onmouseover=alert(1)>not bold</b> ` + strings.Repeat("ل", 200))
	deep := []spans.Span{}
	for i := range 14 {
		deep = append(deep, c.span(i, "tool", fmt.Sprintf("<img src=x onerror=alert(1)> %d \u202eabc", i), i, 5000-i, func(s *spans.Span) {
			s.Tool, s.StatusMessage, s.StatusCode = "<svg onload=alert(1)>", "</dd><script>alert(1)</script>", "error"
			s.Attributes = []byte(`{"switchboard.<b>":"<img src=x onerror=alert(1)>","nested":{"a":["<i>"]}}`)
		}))
	}
	deep = append(deep, c.span(0, "<script>", "", 0, 0))
	c.store(deep...)
	must(h.queue.Fail(h.t.Context(), ep, todo, queue.Report{Summary: ptr("<h1>" + strings.Repeat("x", 500)), Artifact: ptr("https://example.com/%22%3E%3Cscript%3E")},
		queue.FailParams{Retry: ptr(false), Result: []byte(`{"x":"<script>alert(1)</script>"}`)}))(h.t)
	return todo
}

func TestTodo_HostileTextIsText(t *testing.T) {
	h := newHouse(t)
	path := todoPath(h.hostile(h.vend(h.owner, "hostile", "h")))
	me := h.signedIn(h.owner)
	body := me.get(path).body
	for _, markup := range []string{"<img", "<b onmouseover", "<h1>x", "<script>", "<svg onload", "<i>"} {
		if strings.Contains(body, markup) {
			t.Errorf("%s of a producer is markup", markup)
		}
	}
	b := h.open(t, me, looks[0])
	b.visit(path)
	if got := eval[string](b, `document.querySelector(".wf-name").textContent`); !strings.HasPrefix(got, "<img src=x onerror=alert(1)> 0") {
		t.Errorf("the name reads %q", got)
	}
	if n := eval[int](b, `document.querySelectorAll("main img, main script, main [onerror]").length`); n != 0 {
		t.Errorf("%d elements came out of text", n)
	}
	style := regexp.MustCompile(`^--sb-at:\d+\.\d\d;--sb-len:\d+\.\d\d;$`)
	for _, m := range regexp.MustCompile(`style="([^"]*)"`).FindAllStringSubmatch(body, -1) {
		if !style.MatchString(m[1]) {
			t.Fatalf("an inline style says %q", m[1])
		}
	}
	b.quiet()
}

// REQ-13: with scripts off everything can be read, opened and filtered, and a human can sign in and out.
func TestPages_WorkWithoutScript(t *testing.T) {
	g := newGallery(t)
	b := g.open(t, nil, looks[0])
	b.scriptsOff()
	b.visit(todoPath(g.relay))
	token := must(g.identity.NewLoginLink(t.Context(), g.owner.ID))(t)
	b.visit("/login/" + token)
	b.do(chromedp.Click("form button"), chromedp.WaitVisible("#timeline"))
	text := must(chromedp.Run(b.ctx, chromedp.Text("main")))(t)
	for _, want := range []string{"No attempt", "Attempt 1", "died", "quiet for", "running the whole suite once before I change anything",
		"502 and 504 from the carrier gateway are now retried", "invoke_agent bugfix", "review", "172,854", "Created by Local owner"} {
		if strings.Contains(text, want) == (want == "No attempt") {
			t.Errorf("%q", want)
		}
	}
	b.do(chromedp.Focus("#a3 tbody tr summary"), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible("#a3 tbody details[open] dl"))
	b.do(chromedp.Click("#a3 .f-reason"), chromedp.WaitNotVisible(`#a3 tr[data-cat="reason"]`), chromedp.WaitVisible(`#a3 tr[data-cat="tool"]`))
	b.do(chromedp.Click("#a3 .f-err"), chromedp.WaitNotVisible(`#a3 tr[data-cat="read"]`), chromedp.WaitVisible(`#a3 tr.is-error`))
	b.do(chromedp.Click(".menu summary"), chromedp.Click(`form[action="/logout"] button`), chromedp.WaitVisible("body.door"))
}

func TestKeys_DoWhatTheFootSays(t *testing.T) {
	g := newGallery(t)
	b := g.open(t, g.signedIn(g.owner), looks[0])
	b.visit(todoPath(g.relay))
	b.do(chromedp.KeyEvent("gt"))
	b.wait(`location.pathname === "/todos" && document.readyState === "complete"`)

	b.do(chromedp.KeyEvent("/"))
	b.wait(`document.activeElement.id === "q"`)
	eval[string](b, `document.activeElement.value = ""`)
	b.do(chromedp.KeyEvent("gtj?"))
	if got := eval[string](b, `document.activeElement.value + location.pathname`); got != "gtj?/todos" {
		t.Errorf("keys act inside an input: %s", got)
	}
	eval[bool](b, `document.activeElement.blur() === undefined`)

	b.do(chromedp.KeyEvent("jj"))
	b.wait(`[...document.querySelectorAll(".list .title")].indexOf(document.activeElement) === 1`)
	b.do(chromedp.KeyEvent("k"))
	b.wait(`[...document.querySelectorAll(".list .title")].indexOf(document.activeElement) === 0`)

	b.do(chromedp.KeyEvent("?"))
	b.wait(`document.querySelector("#keys").open`)
	b.do(chromedp.KeyEvent(kb.Escape))
	b.wait(`!document.querySelector("#keys").open`)

	b.do(chromedp.KeyEvent("t"))
	b.wait(`document.documentElement.dataset.theme === "dark"`)
	b.wait(`fetch(location.href).then(r => r.text()).then(x => x.includes('data-theme="dark"'))`)

	b.do(chromedp.KeyEvent("j"), chromedp.KeyEvent(kb.Enter))
	b.wait(`document.querySelector("#drawer dialog")?.open`)
	b.do(chromedp.KeyEvent(kb.Escape))
	b.wait(`!document.querySelector("#drawer dialog") && document.activeElement.matches(".list .title")`)
	for keys, path := range map[string]string{"gb": "/", "ga": "/activity", "gt": "/todos", "ge": "/endpoints", "gs": "/settings"} {
		b.do(chromedp.KeyEvent(keys))
		b.wait(`location.pathname === "` + path + `" && document.readyState === "complete"`)
	}
	b.quiet()
}

func TestTodo_LinksOfAnAttemptOpenItsWaterfall(t *testing.T) {
	g := newGallery(t)
	b := g.open(t, g.signedIn(g.owner), looks[0])
	b.visit(todoPath(g.relay) + "#a1")
	b.wait(`document.querySelector("#a1").closest("details").open`)
	b.visit(todoPath(g.relay))
	b.do(chromedp.Click(`#timeline a[href="#a2"]`))
	b.wait(`document.querySelector("#a2").closest("details").open`)
}

// REQ-12, a relay's story: what happened, in order, each with an absolute and a relative time.
func TestTodo_TellsARelaysStory(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	id := h.relay(h.vend(h.owner, "bugfix", "lane-s"))
	body := h.signedIn(h.owner).get(todoPath(id)).body
	timeline := body[strings.Index(body, `id="timeline"`):strings.Index(body, `id="traces"`)]
	at := 0
	for _, want := range []string{"Created", "Attempt 1", "died", "harness/box-2/fixer/run-7", "4 spans", "Claimed", "502 is missing", "running the whole suite",
		"quiet for 10 m 19 s", "Reaped", "Died is not failed", "Attempt 2", "failed", "Claimed", "Failed", "a retry was scheduled", "The fix itself is small",
		"Attempt 3", "completed", "Claimed", "Completed", "now retried with full jitter", `href="https://github.com/northlake/parcel-api/pull/1191" rel="noopener noreferrer"`} {
		i := strings.Index(timeline[at:], want)
		if i < 0 {
			t.Fatalf("%q is missing, or out of order", want)
		}
		at += i
	}
	if times, ago := strings.Count(timeline, "<time datetime="), strings.Count(timeline, `class="rel"`); times < 10 || ago < 10 {
		t.Errorf("%d absolute and %d relative times", times, ago)
	}
}

func TestTodo_HasOneMainAndASectionForEachPart(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	body := h.signedIn(h.owner).get(todoPath(h.relay(h.vend(h.owner, "bugfix", "lane-s")))).body
	if strings.Count(body, "<main") != 1 || strings.Count(body, "<h1") != 1 {
		t.Error("not one main and one h1")
	}
	for id, heading := range map[string]string{"outcome": "Outcome", "timeline": "Timeline", "traces": "Traces", "event": "Source event"} {
		if !regexp.MustCompile(`<section[^>]*id="`+id+`"`).MatchString(body) || !strings.Contains(body, ">"+heading+"</h2>") {
			t.Errorf("no section %s with its heading", id)
		}
	}
	if strings.Count(body, "<caption") < 3 || !strings.Contains(body, `<ol class="tl" aria-live="polite"`) {
		t.Error("a waterfall without a caption, or a timeline that is no ordered list")
	}
	if i, j := strings.Index(body, `id="outcome"`), strings.Index(body, `id="timeline"`); i > j {
		t.Error("the outcome does not come first")
	}
}

func TestTodo_SaysHowSpansWouldCome(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ep := h.vend(h.owner, "bugfix", "lane-s")
	id := h.push(ep, "Nobody works this", "")
	body := h.signedIn(h.owner).get(todoPath(id)).body
	for _, want := range []string{"No attempt has finished yet.", "No spans yet", "OTEL_EXPORTER_OTLP_ENDPOINT=" + h.server.URL + "/otlp/" + ep.Slug,
		"OTEL_RESOURCE_ATTRIBUTES=switchboard.todo.id=" + strings.TrimPrefix(todoPath(id), "/todos/"), "TRACEPARENT"} {
		if !strings.Contains(body, want) {
			t.Errorf("%q is missing", want)
		}
	}
}

func TestTodo_ShowsSpansWithoutAnAttemptAndThoseOfPrunedOnes(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ep := h.vend(h.owner, "bugfix", "lane-s")
	id := h.push(ep, "Spans of everybody", "")
	c := h.claim(ep, id, "run-1", time.Minute)
	stray := c.span(0, "net", "GET /healthz", 10, 20)
	stray.AttemptSeq = 0
	gone := c.span(0, "net", "GET /old", 10, 20)
	gone.AttemptSeq = 7
	c.store(stray, gone)
	body := h.signedIn(h.owner).get(todoPath(id)).body
	for _, want := range []string{`id="unattributed"`, "Unattributed spans", "GET /healthz", "Attempt 7, pruned", "GET /old"} {
		if !strings.Contains(body, want) {
			t.Errorf("%q is missing", want)
		}
	}
}

func TestTodo_ShowsTheFirstSpansAndSaysHowManyThereAre(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	if _, err := h.db.Pool.Exec(t.Context(), `INSERT INTO settings VALUES ('waterfall_max_spans', '3'), ('timeline_max_entries', '2')`); err != nil {
		t.Fatal(err)
	}
	ep := h.vend(h.owner, "bugfix", "lane-s")
	id := h.push(ep, "Many spans", "")
	c := h.claim(ep, id, "run-1", time.Minute)
	c.store(c.span(0, "net", "one", 0, 9), c.span(0, "net", "two", 1, 9), c.span(0, "net", "three", 2, 9), c.span(0, "net", "four", 3, 9))
	c.note("first note")
	c.note("second note")
	me := h.signedIn(h.owner)
	body := me.get(todoPath(id)).body
	if !strings.Contains(body, "The first 3 of 4 spans") || strings.Contains(body, ">four<") || !strings.Contains(body, ">three<") {
		t.Error("the waterfall is not cut at its limit")
	}
	if !strings.Contains(body, `<a href="?older=2#timeline">2 older entries</a>`) || !strings.Contains(body, "second note") {
		t.Error("the timeline does not lead to its older entries")
	}
	older := me.get(todoPath(id) + "?older=2").body
	if !strings.Contains(older, "Created") || strings.Contains(older, "second note") || !strings.Contains(older, "2 newer entries") {
		t.Error("the older entries are not those")
	}
	if got := me.get(todoPath(id) + "?older=99999999999999999999"); got.StatusCode != http.StatusOK {
		t.Errorf("a number that is none answers %d", got.StatusCode)
	}
}

// An agent within every cap must not make a page that nobody can open.
func TestTodo_AttributesDoNotMakeThePageHuge(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ep := h.vend(h.owner, "bugfix", "lane-s")
	id := h.push(ep, "Large spans", "")
	c := h.claim(ep, id, "run-1", time.Minute)
	for i := range 120 {
		s := c.span(i, "net", "large", i, 9)
		s.Attributes = []byte(`{"switchboard.x":"` + strings.Repeat("<", 15_000) + `"}`)
		c.store(s)
	}
	body := h.signedIn(h.owner).get(todoPath(id)).body
	if len(body) > 3<<20 || !strings.Contains(body, "would grow too large") || strings.Count(body, ">large<") < 120 {
		t.Errorf("a page of %d bytes that names its spans %d times", len(body), strings.Count(body, ">large<"))
	}
}

func TestTodo_MarksALateParentAndTakesItsPlace(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ep := h.vend(h.owner, "bugfix", "lane-s")
	c := h.claim(ep, h.push(ep, "Late parent", ""), "run-1", time.Minute)
	parent, child := c.span(9, "internal", "the parent", 0, 50), c.span(1, "tool", "the child", 10, 20)
	c.store(child)
	me := h.signedIn(h.owner)
	if got := me.get(todoPath(c.todo)).body; !strings.Contains(got, "parent not received yet") || !strings.Contains(got, hex.EncodeToString(parent.SpanID[:])) {
		t.Error("an absent parent is not marked")
	}
	c.store(parent)
	if got := me.get(todoPath(c.todo)).body; strings.Contains(got, "parent not received yet") || !strings.Contains(got, "the parent") {
		t.Error("the parent did not take its place")
	}
}
