package board

import (
	"bufio"
	"context"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/switchboard-otel/switchboard/app/live"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/spans"
)

// listening waits until a page has its stream.
func (b *tab) listening() {
	b.t.Helper()
	b.wait(`document.documentElement.dataset.live === "on"`)
}

// REQ-16: while a human watches, a note and a batch of spans arrive, and what they opened stays open.
func TestLive_ANoteAndSpansArriveWhereTheyBelong(t *testing.T) {
	h := newHouse(t)
	ep := h.vend(h.owner, "bugfix", "lane-s")
	id := h.push(ep, "Same body twice", "")
	c := h.claim(ep, id, "run-9", 10*time.Minute)
	c.store(c.span(0, "reason", "chat claude-fable-5", 0, 4000, usage("claude-fable-5", 10, 20)))
	b := h.open(t, h.signedIn(h.owner), looks[0])
	b.visit(todoPath(id))
	b.listening()
	b.do(chromedp.Click("#a1 tbody tr summary"), chromedp.WaitVisible("#a1 .wf-attrs dl"), chromedp.Click("#a1 .f-tool, #a1 .f-reason"))
	eval[bool](b, `(window.kept = document.querySelector("#a1 tbody tr"), true)`)

	c.note("two tests fail as expected")
	b.wait(`document.querySelector(".tl-attempt.is-open ol").textContent.includes("two tests fail as expected")`)
	if !eval[bool](b, `!!document.querySelector(".tl[aria-live=polite] .tl-note")`) {
		t.Error("the note did not land in the region that is announced")
	}

	c.store(c.span(0, "tool", "execute_tool bash", 5000, 9000, tool("bash")), c.span(0, "reason", "chat claude-fable-5", 15000, 1000))
	b.wait(`document.querySelectorAll("#a1 tbody tr").length === 3`)
	if !eval[bool](b, `window.kept.isConnected && window.kept.querySelector("details").open && document.querySelector("#wf-a1").open`) {
		t.Error("what was opened did not stay open")
	}
	if eval[bool](b, `document.querySelector("#a1 .f-reason").checked`) {
		t.Error("a filter was set back")
	}

	c.complete("Done.", "https://example.com/1", `{"ok":true}`)
	b.wait(`document.querySelector("#todo-head .chip").textContent.includes("done") && document.querySelector("#outcome").textContent.includes("Done.")`)
	b.wait(`document.querySelector("#wf-a1 summary .chip").textContent.includes("completed")`)
	b.wait(`document.querySelector("#news").textContent.includes("2")`)
	b.quiet()
}

// The first spans of an attempt bring the waterfall itself; a second attempt brings its own.
func TestLive_ANewWaterfallAppears(t *testing.T) {
	h := newHouse(t)
	ep := h.vend(h.owner, "bugfix", "lane-s")
	id := h.push(ep, "Fresh", "")
	b := h.open(t, h.signedIn(h.owner), looks[0])
	b.visit(todoPath(id))
	b.listening()
	c := h.claim(ep, id, "run-1", 10*time.Minute)
	b.wait(`!!document.querySelector(".tl-attempt.is-open")`)
	c.store(c.span(0, "tool", "execute_tool bash", 0, 900, tool("bash")))
	b.wait(`document.querySelectorAll("#a1 tbody tr").length === 1`)
	must(h.queue.Release(t.Context(), ep, id, queue.Report{}))(t)
	second := h.claim(ep, id, "run-2", 10*time.Minute)
	second.store(second.span(0, "tool", "execute_tool grep", 0, 900, tool("grep")))
	b.wait(`document.querySelectorAll("#a2 tbody tr").length === 1 && document.querySelectorAll("#a1 tbody tr").length === 1`)
	b.quiet()
}

// A lease that has lapsed is told at once, not only when the reaper or the next claim writes it down: nobody works.
func TestLive_ALapsedLeaseIsToldBeforeTheReaperComes(t *testing.T) {
	h := newHouse(t)
	ep := h.vend(h.owner, "bugfix", "lane-s")
	id := h.push(ep, "Its worker is gone", "")
	h.claim(ep, id, "run-1", 10*time.Minute).note("on it")
	me := h.signedIn(h.owner)
	todo, lanes := h.open(t, me, looks[0]), h.open(t, me, looks[2])
	todo.visit(todoPath(id))
	todo.listening()
	lanes.visit("/")
	lanes.listening()
	h.later(11 * time.Minute)
	todo.wait(`document.querySelector("#todo-head .chip").textContent.includes("lease lapsed")`)
	todo.wait(`document.querySelector("#todo-head .callout[data-st=died]")?.textContent.includes("The next claim takes the todo over")`)
	todo.wait(`document.querySelector(".tl-now").textContent.includes("Lease lapsed") && document.querySelector(".tl-attempt .chip").textContent.includes("lease lapsed")`)
	lanes.wait(`document.querySelector("#lane-held .tcard[data-st=died]")?.textContent.includes("lease lapsed")`)
	if body := me.get(todoPath(id)).body; strings.Contains(body, "Working") || strings.Contains(body, "of lease left") {
		t.Error("the page says that somebody works")
	}
	if body := me.get("/todos").body; !strings.Contains(body, "lease lapsed") {
		t.Error("the list says nothing of it")
	}
	must(h.queue.Reap(t.Context()))(t)
	todo.wait(`document.querySelector("#todo-head .chip").textContent.includes("pending")`)
	todo.quiet()
	lanes.quiet()
}

func TestLive_TheBoardAndTheFeedFollow(t *testing.T) {
	h := newHouse(t)
	ep := h.vend(h.owner, "bugfix", "lane-s")
	me := h.signedIn(h.owner)
	lanes, activity := h.open(t, me, looks[0]), h.open(t, me, looks[2])
	lanes.visit("/")
	activity.visit("/activity")
	lanes.listening()
	activity.listening()
	id := h.push(ep, "Arrives while one looks", "")
	lanes.wait(`document.querySelector("#lane-ready").textContent.includes("Arrives while one looks")`)
	c := h.claim(ep, id, "run-1", 10*time.Minute)
	lanes.wait(`document.querySelector("#lane-held .tcard[data-st=live]")?.textContent.includes("run-1")`)
	c.note("half way")
	lanes.wait(`document.querySelector("#lane-held .said")?.textContent.includes("half way")`)
	activity.wait(`document.querySelector("#feed .is-new")?.textContent.includes("half way")`)
	c.fail("No.", queue.FailParams{Retry: ptr(false)})
	lanes.wait(`document.querySelector("#needs").textContent.includes("1 dead letter")`)
	lanes.wait(`document.title === "(2) Board · Switchboard"`)
	activity.wait(`document.querySelector("#feed [data-st=dead]")?.textContent.includes("dead letter, waits for you")`)
	lanes.quiet()
	activity.quiet()
}

// A laptop that slept, or a server that was away: what happened meanwhile is there when the stream comes back.
func TestLive_NothingIsMissedAfterAReconnect(t *testing.T) {
	h := newHouse(t)
	ep := h.vend(h.owner, "bugfix", "lane-s")
	id := h.push(ep, "Sleeps", "")
	c := h.claim(ep, id, "run-1", 10*time.Minute)
	var away atomic.Bool
	pages := h.server.Config.Handler
	h.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			http.Error(w, "the server is away", http.StatusBadGateway)
			return
		}
		pages.ServeHTTP(w, r)
	})
	b := h.open(t, h.signedIn(h.owner), looks[0])
	b.visit(todoPath(id))
	b.listening()
	away.Store(true)
	h.server.CloseClientConnections()
	b.wait(`document.documentElement.dataset.live !== "on"`)
	c.note("while nobody listened")
	c.store(c.span(0, "tool", "execute_tool bash", 0, 900, tool("bash")))
	away.Store(false)
	b.wait(`document.querySelector("#timeline").textContent.includes("while nobody listened")`)
	b.wait(`document.querySelectorAll("#a1 tbody tr").length === 1`)
}

// events opens a stream as a program would and returns its events, each as its lines.
type events struct {
	t    *testing.T
	resp *http.Response
	in   *bufio.Scanner
}

func (c *browserless) events(path, lastID string) (*events, int) {
	c.h.t.Helper()
	ctx, cancel := context.WithTimeout(c.h.t.Context(), browserPatience)
	r := must(http.NewRequestWithContext(ctx, http.MethodGet, c.h.server.URL+path, nil))(c.h.t)
	if lastID != "" {
		r.Header.Set("Last-Event-ID", lastID)
	}
	resp := must(c.Do(r))(c.h.t)
	c.h.t.Cleanup(func() { cancel(); _ = resp.Body.Close() })
	e := &events{c.h.t.(*testing.T), resp, bufio.NewScanner(resp.Body)}
	e.in.Buffer(nil, 8<<20)
	return e, resp.StatusCode
}

// next reads one event. ok is false when the stream has ended.
func (e *events) next() (name, id, data string, ok bool) {
	for e.in.Scan() {
		field, value, _ := strings.Cut(e.in.Text(), ": ")
		switch {
		case e.in.Text() == "" && name != "":
			return name, id, data, true
		case field == "event":
			name = value
		case field == "id":
			id = value
		case field == "data":
			data += value + "\n"
		}
	}
	return "", "", "", false
}

var streamLink = regexp.MustCompile(`sse-connect="([^"]+)"`)

func streamOf(t *testing.T, page string) string {
	t.Helper()
	m := streamLink.FindStringSubmatch(page)
	if m == nil {
		t.Fatal("the page has no stream")
	}
	return html.UnescapeString(m[1])
}

// An old Last-Event-ID gets the changed sections whole, and only those.
func TestStream_SendsWhatChangedSinceTheLastEvent(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ep := h.vend(h.owner, "bugfix", "lane-s")
	id := h.push(ep, "Watched", "")
	me := h.signedIn(h.owner)
	address := streamOf(t, me.get(todoPath(id)).body)
	e, _ := me.events(address, "")
	name, version, data, _ := e.next()
	if name != "same" || strings.TrimSpace(data) != "" {
		t.Fatalf("a page that is up to date is sent %s %s", name, data)
	}
	c := h.claim(ep, id, "run-1", time.Minute)
	c.note("on it")
	again, _ := me.events(address, version)
	name, newer, data, _ := again.next()
	if name != "changed" || !strings.Contains(data, "on it") || !strings.Contains(data, `id="news"`) || strings.Contains(data, `id="traces"`) {
		t.Fatalf("%s %.300s", name, data)
	}
	last, _ := me.events(address, newer)
	if name, _, _, _ := last.next(); name != "same" {
		t.Error("what was seen is sent again")
	}
	if junk, _ := me.events(address, "m.zzz~~~nonsense"); true {
		if name, _, data, _ := junk.next(); name != "changed" || !strings.Contains(data, "on it") {
			t.Error("an id that nobody gave out gets nothing")
		}
	}
}

// A frame is made once for all pages of a human that show the same. What is a session's own is not shared: the forms in it
// carry the token of the session that reads it.
func TestStream_SessionsShareAFrameButNotItsFormToken(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ep := h.vend(h.owner, "bugfix", "lane-s")
	id := h.push(ep, "Waits for somebody", "")
	var tokens []string
	for _, me := range []*browserless{h.signedIn(h.owner), h.signedIn(h.owner)} {
		own := formToken(t, me.get("/settings").body)
		e, _ := me.events("/events?topic="+todoTopic(id), "")
		_, _, frame, _ := e.next()
		if strings.Contains(frame, h.board.formMark) {
			t.Error("a frame shows what stands for the token")
		}
		got := formToken(t, frame)
		if got != own {
			t.Error("a frame's form carries another token than the session's")
		}
		tokens = append(tokens, got)
	}
	if tokens[0] == tokens[1] {
		t.Error("two sessions have one token")
	}
}

// At most four streams per session: a fifth closes the oldest. Signing out closes all.
func TestStream_AFifthClosesTheOldestAndSigningOutAll(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	me := h.signedIn(h.owner)
	var open []*events
	for range 5 {
		e, status := me.events("/events?topic=board", "")
		if status != http.StatusOK {
			t.Fatal(status)
		}
		if _, _, _, ok := e.next(); !ok {
			t.Fatal("a stream did not begin")
		}
		open = append(open, e)
	}
	if _, _, _, ok := open[0].next(); ok {
		t.Error("the oldest of five goes on")
	}
	form := formToken(t, me.get("/settings").body)
	me.post("/logout", map[string][]string{"form": {form}})
	for _, e := range open[1:] {
		for ok := true; ok; {
			_, _, _, ok = e.next()
		}
	}
}

// REQ-18: a stream of a foreign todo is answered like that of an unknown one, before it opens.
func TestStream_ForeignIsUnknown(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	id := h.push(h.vend(h.owner, "bugfix", "lane-s"), "Mine", "")
	second := h.signedIn(h.human("Second"))
	var bodies []string
	for _, topic := range []string{strings.TrimPrefix(todoPath(id), "/todos/"), "td_0190a1b2c3d4e5f6g7h8j9kmnp", "nonsense"} {
		got := second.get("/events?topic=todo:" + topic)
		if got.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", topic, got.StatusCode)
		}
		bodies = append(bodies, got.body)
	}
	if bodies[0] != bodies[1] || bodies[1] != bodies[2] {
		t.Error("a foreign stream differs from an unknown one")
	}
	if got := second.get("/events?topic=everything"); got.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown topic answers %d", got.StatusCode)
	}
	if got := h.stranger().get("/events?topic=board"); got.StatusCode != http.StatusSeeOther {
		t.Errorf("nobody gets %d", got.StatusCode)
	}
}

// The two rules of out-of-band swaps that fail without a word (board.md section 3): what carries the attribute must
// be morphed whole, since every other way of swapping inserts its children only; and a frame must not hold rows of
// a table outside a template, since a parser drops them.
func TestFrames_KeepTheRulesOfOutOfBandSwaps(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ep := h.vend(h.owner, "bugfix", "lane-s")
	id := h.push(ep, "Watched", "")
	c := h.claim(ep, id, "run-1", time.Minute)
	c.note("on it")
	c.store(c.span(0, "tool", "execute_tool bash", 0, 900, tool("bash")))
	me := h.signedIn(h.owner)
	shown := map[string]string{todoPath(id): "", "/": "", "/activity": ""}
	for path := range shown {
		shown[path] = me.get(path).body
		e, _ := me.events(streamOf(t, shown[path]), "nothing.seen")
		name, _, frame, _ := e.next()
		if name != "changed" {
			t.Fatalf("%s: %s", path, name)
		}
		checkFrame(t, path, frame, shown[path])
	}
	for name, broken := range map[string]string{
		"a carrier that is lost": `<ol id="x" hx-swap-oob="beforeend"><li>new</li></ol>`,
		"a row of a table":       `<tr id="x" hx-swap-oob="morph"><td>new</td></tr>`,
		"no id":                  `<div hx-swap-oob="morph">new</div>`,
		"no target":              `<div id="nowhere" hx-swap-oob="morph">new</div>`,
	} {
		if problems := frameProblems(broken, shown["/"]); len(problems) == 0 {
			t.Errorf("%s is let through", name)
		}
	}
	for name, f := range files {
		if strings.Contains(name, "board.js") && strings.Contains(string(f.content), "swap-oob") {
			t.Error("a script swaps out of band past outOfBand")
		}
	}
}

func checkFrame(t *testing.T, path, frame, page string) {
	t.Helper()
	for _, problem := range frameProblems(frame, page) {
		t.Errorf("%s: %s", path, problem)
	}
}

// frameProblems looks at a frame as htmx does: as a fragment of a body.
func frameProblems(frame, page string) (problems []string) {
	body := &html.Node{Type: html.ElementNode, Data: "body", DataAtom: atom.Body}
	nodes, err := html.ParseFragment(strings.NewReader(frame), body)
	if err != nil {
		return []string{err.Error()}
	}
	found := 0
	for _, n := range nodes {
		if n.Type != html.ElementNode {
			if strings.TrimSpace(n.Data) != "" {
				problems = append(problems, "text outside an element: "+n.Data)
			}
			continue
		}
		found++
		id, swap := attr(n, "id"), attr(n, "hx-swap-oob")
		switch {
		case swap != "morph":
			problems = append(problems, n.Data+" is swapped by "+swap+": its element would be lost")
		case id == "":
			problems = append(problems, n.Data+" has no id")
		case !strings.Contains(page, `id="`+id+`"`):
			problems = append(problems, "nothing on the page is called "+id)
		}
	}
	if found == 0 {
		problems = append(problems, "a parser drops everything: rows of a table need a template each")
	}
	return problems
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// Span batches are coalesced: however many come, a todo's stream says so at most once a second.
func TestStream_CoalescesSpanBatches(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ep := h.vend(h.owner, "bugfix", "lane-s")
	id := h.push(ep, "Busy", "")
	c := h.claim(ep, id, "run-1", time.Minute)
	stream, version, err := h.board.live.Follow(t.Context(), live.Topic{Human: h.owner.ID, Name: todoTopic(id)}, "test")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	began := time.Now()
	var last []spans.Span
	for i := range 40 {
		last = []spans.Span{c.span(0, "tool", "execute_tool bash", i, 900, tool("bash"))}
		c.store(last...)
	}
	frames := 0
	for !strings.Contains(version, "s.1_40") {
		version = <-stream.Changed()
		frames++
	}
	if most := int(time.Since(began)/time.Second) + 1; frames > most {
		t.Errorf("%d frames in %v", frames, time.Since(began))
	}
}
