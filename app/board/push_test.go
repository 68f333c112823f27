package board

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// A human makes a todo on the Board, with scripts and without, and is led to it.
func TestNewTodo_WorksWithAndWithoutScript(t *testing.T) {
	for _, scripts := range []bool{true, false} {
		t.Run(map[bool]string{true: "with", false: "without"}[scripts], func(t *testing.T) {
			h := newHouse(t)
			h.vend(h.owner, "bugfix", "lane-s", "lane-m")
			b := h.open(t, h.signedIn(h.owner), looks[0])
			if !scripts {
				b.scriptsOff()
			}
			b.visit("/todos")
			b.do(chromedp.Click(`a[href="/new"]`), chromedp.WaitVisible("#title"), chromedp.SendKeys("#title", "By hand"),
				chromedp.SendKeys("#payload", `{"size":"m"}`), chromedp.SendKeys("#attempts", "3"),
				chromedp.Click(`form[action="/new"][method=post] .is-primary`), chromedp.WaitVisible(".toast"))
			id, ok := typeid.Todo.Parse(strings.TrimPrefix(eval[string](b, `location.pathname`), "/todos/"))
			if !ok {
				t.Fatal("it does not lead to the todo")
			}
			todo := must(h.queue.HumanTodo(t.Context(), h.owner.ID, id))(t)
			if todo.Title != "By hand" || todo.Queue != "lane-s" || string(todo.Payload) != `{"size":"m"}` || todo.MaxAttempts != 3 || todo.Source != queue.SourceOperator {
				t.Errorf("%+v", todo.Detail)
			}
			b.quiet()
		})
	}
}

// What is refused is said above the form, which keeps what was typed; nothing is made.
func TestNewTodo_KeepsWhatWasTypedWhenItIsRefused(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ep := h.vend(h.owner, "bugfix", "lane-s", "lane-m")
	foreign := h.vend(h.human("Second"), "theirs", "lane-s")
	me := h.signedIn(h.owner)
	form := formToken(t, me.get("/new").body)
	for name, fields := range map[string]url.Values{
		"no title":        {"title": {" "}},
		"no JSON":         {"payload": {"{size"}},
		"a foreign queue": {"to": {ep.Slug + " lane-x"}},
		"no number":       {"attempts": {"many"}},
		"too many":        {"attempts": {"1001"}},
	} {
		typed := url.Values{"form": {form}, "title": {"Typed <here>"}, "to": {ep.Slug + " lane-m"}, "payload": {`{"kept":true}`}}
		for field, value := range fields {
			typed[field] = value
		}
		got := me.post("/new", typed)
		if got.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(got.body, `role="alert"`) {
			t.Errorf("%s: %d", name, got.StatusCode)
		}
		if name == "too many" && (!strings.Contains(got.body, `value="Typed &lt;here&gt;"`) || !strings.Contains(got.body, `&#34;kept&#34;`) ||
			!strings.Contains(got.body, `lane-m" selected`)) {
			t.Errorf("%s: what was typed is gone", name)
		}
	}
	unknown := me.post("/new", url.Values{"form": {form}, "title": {"x"}, "to": {"nobody default"}})
	theirs := me.post("/new", url.Values{"form": {form}, "title": {"x"}, "to": {foreign.Slug + " lane-s"}})
	if theirs.StatusCode != http.StatusNotFound || theirs.body != unknown.body {
		t.Errorf("a foreign endpoint answers %d, an unknown one %d", theirs.StatusCode, unknown.StatusCode)
	}
	if rows, _, err := h.queue.HumanTodos(t.Context(), h.owner.ID, queue.HumanFilter{}); err != nil || len(rows) != 0 {
		t.Errorf("%d todos were made, %v", len(rows), err)
	}
}
