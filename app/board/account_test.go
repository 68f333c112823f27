package board

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/switchboard-otel/switchboard/app/queue"
)

// REQ-15, catching up: three attempts ended overnight; the rail says so, the feed marks them and shows what was said,
// and having looked makes them old.
func TestActivity_CatchingUp(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ep := h.vend(h.owner, "bugfix", "lane-s")
	me := h.signedIn(h.owner)
	old := h.push(ep, "Long ago", "")
	h.claim(ep, old, "run-0", time.Minute).fail("Old news.", queue.FailParams{Retry: ptr(false)})
	me.get("/activity")
	h.later(8 * time.Hour)
	for _, title := range []string{"First", "Second", "Third"} {
		id := h.push(ep, title, "")
		h.claim(ep, id, "run", time.Minute).fail(title+" of three.", queue.FailParams{Retry: ptr(false)})
	}
	if body := me.get("/todos").body; !regexp.MustCompile(`id="news"[^>]*>\s*3\s*<span class="vh"> new</span>`).MatchString(body) {
		t.Errorf("the rail says %s", regexp.MustCompile(`id="news".{200}`).FindString(body))
	}
	// A filtered look does not count as having looked.
	me.get("/activity?queue=lane-s")
	body := me.get("/activity").body
	if n := strings.Count(body, `class="is-new"`); n != 3 {
		t.Errorf("%d entries are marked as new", n)
	}
	for _, want := range []string{"3 new since you last looked", "First of three.", "Second of three.", "Third of three.", "Old news."} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q", want)
		}
	}
	again := me.get("/activity").body
	if strings.Contains(again, `class="is-new"`) || !strings.Contains(again, `class="count n is-new is-none"`) {
		t.Error("having looked does not make them old")
	}
}

func TestActivity_FiltersAndPages(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ep, docs := h.vend(h.owner, "bugfix", "lane-s"), h.vend(h.owner, "docs", "docs")
	for range 55 {
		h.claim(ep, h.push(ep, "Filler", ""), "run", time.Minute).fail("x", queue.FailParams{Retry: ptr(false)})
	}
	h.claim(docs, h.push(docs, "Needle", ""), "run", time.Minute).complete("found", "mcp://cairn/x", `{}`)
	me := h.signedIn(h.owner)
	for query, want := range map[string]bool{"?queue=docs": true, "?queue=lane-s": false, "?endpoint=" + docs.Slug: true, "?endpoint=no-such": false,
		"?outcome=completed": true, "?outcome=dead_letter": false} {
		if got := strings.Contains(me.get("/activity"+query).body, "Needle"); got != want {
			t.Errorf("%s shows it: %v", query, got)
		}
	}
	next := regexp.MustCompile(`href="(/activity\?before=[^"]+)"`).FindStringSubmatch(me.get("/activity").body)
	if next == nil {
		t.Fatal("no older page")
	}
	older := me.get(next[1])
	if n := strings.Count(older.body, "Filler"); n != 6 || strings.Contains(older.body, "Needle") {
		t.Errorf("the older page has %d of 6", n)
	}
	if bad := me.get("/activity?outcome=fine"); bad.StatusCode != http.StatusBadRequest {
		t.Errorf("an outcome that is none: %d", bad.StatusCode)
	}
}

// Settings: a token is shown once and revoked by name; another browser can be signed out.
func TestSettings_TokensAndSessions(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	me, phone := h.signedIn(h.owner), h.signedIn(h.owner)
	form := formToken(t, me.get("/settings").body)
	made := me.post("/settings/tokens", url.Values{"form": {form}, "name": {"laptop"}})
	token := regexp.MustCompile(`sbp_[A-Za-z0-9_-]{43}`).FindString(made.body)
	must(h.identity.ResolveAccessToken(t.Context(), token))(t)
	if body := me.get("/settings").body; strings.Contains(body, token) || !strings.Contains(body, "laptop") {
		t.Error("the list shows the token, or not its name")
	}
	if twice := me.post("/settings/tokens", url.Values{"form": {form}, "name": {"laptop"}}); twice.StatusCode != http.StatusConflict {
		t.Errorf("a second token of the name: %d", twice.StatusCode)
	}
	must(h.identity.ResolveAccessToken(t.Context(), token))(t)
	me.post("/settings/tokens/revoke", url.Values{"form": {form}, "name": {"laptop"}})
	if _, err := h.identity.ResolveAccessToken(t.Context(), token); err == nil {
		t.Error("a revoked token works")
	}

	others := regexp.MustCompile(`name="session" value="([^"]+)"`).FindAllStringSubmatch(me.get("/settings").body, -1)
	if len(others) != 1 {
		t.Fatalf("%d other sessions", len(others))
	}
	stranger := h.signedIn(h.human("Second"))
	stranger.post("/settings/sessions/end", url.Values{"form": {formToken(t, stranger.get("/settings").body)}, "session": {others[0][1]}})
	if phone.get("/todos").StatusCode != http.StatusOK {
		t.Error("somebody else ended my session")
	}
	me.post("/settings/sessions/end", url.Values{"form": {form}, "session": {others[0][1]}})
	if phone.get("/todos").StatusCode == http.StatusOK || me.get("/todos").StatusCode != http.StatusOK {
		t.Error("not that session, and that alone, was ended")
	}
}

// Hostile text in every field that a producer controls appears as text: a counter that any script of it would move
// stays at zero, on every page, in the drawer and in what arrives live.
func TestHostileText_RunsNothing(t *testing.T) {
	h := newHouse(t)
	ep := h.vend(h.owner, "hostile", "h")
	const evil = `"><img src=x onerror="window.ran=(window.ran||0)+1"><script>window.ran=1</script><svg onload="window.ran=1">`
	id := h.push(ep, evil, `{"x":"</pre><script>window.ran=1</script>","hx":"<div hx-get='/logout' hx-trigger='load'></div>"}`)
	c := h.claim(ep, id, evil, 10*time.Minute)
	s := c.span(0, evil, evil, 0, 900)
	s.Category, s.Tool, s.ServiceName, s.StatusCode, s.StatusMessage = "cat<script>", `<svg onload="window.ran=1">`, evil, "error", evil
	s.Attributes = []byte(`{"switchboard.<img src=x onerror=window.ran=1>":"<script>window.ran=1</script>","gen_ai.request.model":"<img src=x onerror=window.ran=1>"}`)
	c.store(s)
	b := h.open(t, h.signedIn(h.owner), looks[0])
	check := func(where string) {
		t.Helper()
		if ran := eval[int](b, `window.ran || 0`); ran != 0 {
			t.Errorf("%s: a producer's script ran", where)
		}
	}
	b.visit(todoPath(id))
	b.listening()
	c.note(evil)
	b.wait(`document.querySelectorAll(".tl-note").length === 1`)
	check("a note that arrives")
	c.fail(evil, queue.FailParams{Retry: ptr(false)})
	b.wait(`document.querySelector("#outcome").textContent.includes("onerror")`)
	check("a summary that arrives")
	for _, path := range []string{todoPath(id), "/", "/activity", "/todos", "/endpoints"} {
		b.visit(path)
		eval[int](b, `document.querySelectorAll("details").forEach(d => { d.open = true }), 1`)
		check(path)
	}
	b.visit("/todos")
	b.do(chromedp.Click(".list .title"), chromedp.WaitVisible("#drawer dialog"))
	check("the drawer")
	b.quiet()
}
