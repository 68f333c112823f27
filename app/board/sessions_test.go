package board

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// during does something while a page of a session is being made: after the session was read, before it is written back.
func (h *house) during(c *browserless, path string, do func()) answer {
	h.t.Helper()
	entered, leave := make(chan bool), make(chan bool)
	health := h.board.Health
	h.board.Health = func(ctx context.Context) (time.Duration, error) {
		h.board.Health = health
		close(entered)
		<-leave
		return health(ctx)
	}
	got := make(chan answer)
	go func() { got <- c.get(path) }()
	<-entered
	do()
	close(leave)
	return <-got
}

// A page that is under way when its session ends does not bring it back.
func TestSession_ThatHasEndedIsNotBroughtBackByARequestUnderWay(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	me := h.signedIn(h.owner)
	at, _ := url.Parse(h.server.URL)
	session := me.Jar.Cookies(at)
	elsewhere := h.stranger()
	elsewhere.Jar.SetCookies(at, session)
	form := formToken(t, me.get("/settings").body)
	h.during(elsewhere, "/todos", func() {
		if got := me.post("/logout", url.Values{"form": {form}}); got.StatusCode != http.StatusSeeOther {
			t.Fatalf("signing out answers %d", got.StatusCode)
		}
	})
	if got := elsewhere.get("/todos"); got.Header.Get("Location") != "/login" {
		t.Errorf("the session that was ended answers %d", got.StatusCode)
	}
}

// What an action says is there, whatever other requests of its session were under way.
func TestSession_RequestsUnderWayDoNotUndoEachOther(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	id := h.push(h.vend(h.owner, "bugfix", "lane-s"), "Claim me", "")
	me := h.signedIn(h.owner)
	form := formToken(t, me.get(todoPath(id)).body)
	h.during(me, "/activity", func() {
		if got := me.post(todoPath(id)+"/claim", url.Values{"form": {form}}); got.StatusCode != http.StatusSeeOther {
			t.Fatalf("claiming answers %d", got.StatusCode)
		}
	})
	if got := me.get(todoPath(id)); !strings.Contains(got.body, "You hold it now") {
		t.Error("what the action said is lost")
	}
}
