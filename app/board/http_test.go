package board

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/typeid"
)

// formToken finds the token that a page's forms carry.
func formToken(t *testing.T, body string) string {
	t.Helper()
	m := regexp.MustCompile(`name="form" value="([^"]+)"`).FindStringSubmatch(body)
	if m == nil {
		t.Fatal("the page has no form token")
	}
	return m[1]
}

func (a answer) cookie(name string) *http.Cookie {
	for _, c := range a.Cookies() {
		if c.Name == name {
			return c
		}
	}
	return nil
}

func TestSignIn_AGetNeverSpendsTheLink(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := must(h.identity.NewLoginLink(t.Context(), h.owner.ID))(t)
	for range 3 { // a mail scanner, a chat preview, the human
		if got := h.stranger().get("/login/" + token); got.StatusCode != http.StatusOK || !strings.Contains(got.body, `<form method="post"`) {
			t.Fatalf("%d %s", got.StatusCode, got.body)
		}
	}
	me := h.stranger()
	signed := me.post("/login/"+token, nil)
	if signed.StatusCode != http.StatusSeeOther || signed.Header.Get("Location") != "/" {
		t.Fatalf("%d to %s", signed.StatusCode, signed.Header.Get("Location"))
	}
	c := signed.cookie(sessionCookie)
	if c == nil || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Secure {
		t.Fatalf("the session cookie is %+v", c)
	}
	if got := me.get("/todos"); got.StatusCode != http.StatusOK {
		t.Fatalf("the session opens nothing: %d", got.StatusCode)
	}
	for _, again := range []answer{h.stranger().post("/login/"+token, nil), h.stranger().get("/login/" + token), h.stranger().get("/login/sbx_unknown")} {
		if again.StatusCode != http.StatusGone || again.cookie(sessionCookie) != nil {
			t.Errorf("a spent or unknown link answers %d", again.StatusCode)
		}
	}
}

func TestSignIn_ReturnsToWhereTheHumanWantedToGo(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	me := h.stranger()
	away := me.get("/todos/td_00000000000000000000000000?older=3")
	if away.StatusCode != http.StatusSeeOther || away.Header.Get("Location") != "/login" {
		t.Fatalf("%d to %s", away.StatusCode, away.Header.Get("Location"))
	}
	token := must(h.identity.NewLoginLink(t.Context(), h.owner.ID))(t)
	if got := me.post("/login/"+token, nil).Header.Get("Location"); got != "/todos/td_00000000000000000000000000?older=3" {
		t.Fatalf("signed in to %s", got)
	}
}

func TestSignIn_IsSecureBehindHTTPS(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	c := h.board.Config
	c.BaseURL = "https://board.example.com"
	handler, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	h.server.Config.Handler = handler
	token := must(h.identity.NewLoginLink(t.Context(), h.owner.ID))(t)
	if got := h.stranger().post("/login/"+token, nil).cookie(sessionCookie); got == nil || !got.Secure {
		t.Fatalf("the session cookie is %+v", got)
	}
}

func TestNew_RefusesABaseURLThatIsNone(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "board.example.com", "ftp://board.example.com", "http://"} {
		if _, err := New(Config{BaseURL: base}); err == nil {
			t.Errorf("%q was accepted", base)
		}
	}
}

func TestSession_StoresNoToken(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	me := h.signedIn(h.owner)
	at, _ := url.Parse(h.server.URL)
	token := me.Jar.Cookies(at)[0].Value
	var n int
	if err := h.db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM sessions WHERE token_hash = $1 OR position($1::bytea IN data) > 0`, token).Scan(&n); err != nil || n != 0 {
		t.Fatalf("%d rows hold the token, %v", n, err)
	}
}

// A token that was in the browser before signing in, planted or not, opens nothing afterwards.
func TestSignIn_StartsUnderANewToken(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	me := h.signedIn(h.owner)
	at, _ := url.Parse(h.server.URL)
	before := me.Jar.Cookies(at)
	me.post("/login/"+must(h.identity.NewLoginLink(t.Context(), h.owner.ID))(t), nil)
	if got := me.get("/todos"); got.StatusCode != http.StatusOK {
		t.Fatalf("the new session answers %d", got.StatusCode)
	}
	planted := h.stranger()
	planted.Jar.SetCookies(at, before)
	if got := planted.get("/todos"); got.Header.Get("Location") != "/login" {
		t.Fatalf("the old token still opens: %d", got.StatusCode)
	}
}

func TestSession_EndsWhenItsHumanSignsOut(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	me := h.signedIn(h.owner)
	at, _ := url.Parse(h.server.URL)
	stolen := me.Jar.Cookies(at)
	form := url.Values{"form": {formToken(t, me.get("/todos").body)}}
	if got := me.post("/logout", form); got.StatusCode != http.StatusSeeOther {
		t.Fatalf("signing out answered %d", got.StatusCode)
	}
	thief := h.stranger()
	thief.Jar.SetCookies(at, stolen)
	if got := thief.get("/todos"); got.Header.Get("Location") != "/login" {
		t.Fatalf("the old cookie still opens: %d", got.StatusCode)
	}
}

func TestSession_ExpiresWithoutUse(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	me := h.signedIn(h.owner)
	h.later(idleLifetime + time.Hour)
	if got := me.get("/todos"); got.Header.Get("Location") != "/login" {
		t.Fatalf("answered %d", got.StatusCode)
	}
}

func TestForms_NeedTheTokenOfTheirSession(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	me, other := h.signedIn(h.owner), h.signedIn(h.owner)
	foreign := formToken(t, other.get("/todos").body)
	for name, form := range map[string]url.Values{"none": nil, "another session's": {"form": {foreign}}, "empty": {"form": {""}}} {
		if got := me.post("/logout", form); got.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %d", name, got.StatusCode)
		}
	}
	if got := me.get("/todos"); got.StatusCode != http.StatusOK {
		t.Fatal("a refused form ended the session")
	}
}

func TestForms_OfAnotherSiteAreRefused(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	me := h.signedIn(h.owner)
	form := url.Values{"form": {formToken(t, me.get("/todos").body)}}
	for header, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"} {
		r := must(http.NewRequestWithContext(t.Context(), http.MethodPost, h.server.URL+"/logout", strings.NewReader(form.Encode())))(t)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set(header, value)
		if got := me.do(r); got.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %d", header, got.StatusCode)
		}
	}
}

func TestTheme_IsRenderedByTheServer(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	me := h.signedIn(h.owner)
	page := me.get("/todos")
	if strings.Contains(page.body, "<html lang=\"en\" data-theme") {
		t.Fatal("a theme before one was chosen")
	}
	form := url.Values{"form": {formToken(t, page.body)}, "theme": {"dark"}, "back": {"//evil.example"}}
	if got := me.post("/theme", form); got.Header.Get("Location") != "/" {
		t.Fatalf("sent to %s", got.Header.Get("Location"))
	}
	if got := me.get("/todos").body; !strings.Contains(got, `<html lang="en" data-theme="dark">`) {
		t.Fatal("the choice is not rendered")
	}
	form.Set("theme", "system")
	me.post("/theme", form)
	if got := me.get("/todos").body; strings.Contains(got, `<html lang="en" data-theme`) {
		t.Fatal("the choice cannot be taken back")
	}
}

// REQ-18: what another human's todo answers must not tell it from an id that never was.
func TestTodo_OfAnotherHumanIsByteForByteUnknown(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	id := h.push(h.vend(h.owner, "mine", "q"), "A secret title", `{"secret":"payload"}`)
	other := h.signedIn(h.human("Second human"))
	foreign := other.get(todoPath(id))
	if foreign.StatusCode != http.StatusNotFound || strings.Contains(foreign.body, "secret") {
		t.Fatalf("%d %s", foreign.StatusCode, foreign.body)
	}
	for _, path := range []string{"/todos/" + typeid.Todo.Format(uuid.Must(uuid.NewV7())), "/todos/td_x", "/todos/" + strings.ToUpper(typeid.Todo.Format(id)), todoPath(id) + "?older=2"} {
		unknown := other.get(path)
		if unknown.StatusCode != foreign.StatusCode || unknown.body != foreign.body {
			t.Errorf("%s answers something else", path)
		}
	}
	if got := other.get("/todos").body; strings.Contains(got, "A secret title") {
		t.Error("the list shows another human's todo")
	}
	if got := other.get("/todos?endpoint=" + h.vend(h.owner, "mine", "q").Slug).body; !strings.Contains(got, "No todo matches") {
		t.Error("a foreign endpoint filters like one of mine")
	}
}

func TestEveryAnswer_CarriesTheSecurityHeaders(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	me := h.signedIn(h.owner)
	for _, path := range []string{"/", "/login", "/login/x", "/todos", "/todos/td_x", "/nowhere", "/static/board.css", "/static/none"} {
		got := me.get(path)
		for name, want := range map[string]string{"Content-Security-Policy": contentSecurity, "X-Content-Type-Options": "nosniff",
			"X-Frame-Options": "DENY", "Referrer-Policy": "same-origin"} {
			if got.Header.Get(name) != want {
				t.Errorf("%s: %s is %q", path, name, got.Header.Get(name))
			}
		}
		if !strings.HasPrefix(path, "/static/") && !strings.HasPrefix(got.Header.Get("Cache-Control"), "no-store") {
			t.Errorf("%s may be cached: %s", path, got.Header.Get("Cache-Control"))
		}
	}
}

func TestPages_AreGetOnlyAndBounded(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	me := h.signedIn(h.owner)
	for _, path := range []string{"/", "/todos", "/todos/td_x", "/login"} {
		if got := me.post(path, nil); got.StatusCode != http.StatusMethodNotAllowed || got.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("POST %s: %d, allow %q", path, got.StatusCode, got.Header.Get("Allow"))
		}
	}
	if got := me.post("/theme", url.Values{"theme": {strings.Repeat("x", maxBody)}}); got.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a body over 1 MiB answers %d", got.StatusCode)
	}
	if got := me.get("/todos?before=nonsense"); got.StatusCode != http.StatusBadRequest {
		t.Errorf("a cursor that is none answers %d", got.StatusCode)
	}
	if got := me.get("/todos?q=%zz"); got.StatusCode != http.StatusBadRequest {
		t.Errorf("a query that is none answers %d", got.StatusCode)
	}
}

func TestStatic_MayBeKeptWhenItsAddressSaysItsContent(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	c := h.stranger()
	hashed := c.get(asset("board.css"))
	if hashed.StatusCode != http.StatusOK || !strings.Contains(hashed.Header.Get("Cache-Control"), "immutable") || hashed.Header.Get("Set-Cookie") != "" {
		t.Fatalf("%d %v", hashed.StatusCode, hashed.Header)
	}
	plain := c.get("/static/board.css?v=0123")
	if strings.Contains(plain.Header.Get("Cache-Control"), "immutable") {
		t.Fatal("an old address is kept for ever")
	}
	r := must(http.NewRequestWithContext(t.Context(), http.MethodGet, h.server.URL+"/static/fonts/plex-sans-latin.woff2", nil))(t)
	r.Header.Set("If-None-Match", `"`+files["fonts/plex-sans-latin.woff2"].digest+`"`)
	if got := c.do(r); got.StatusCode != http.StatusNotModified {
		t.Fatalf("a font that did not change answers %d", got.StatusCode)
	}
	for _, path := range []string{"/static/", "/static/fonts/LICENSE-plex-sans.txt", "/static/../board.go"} {
		if got := c.get(path); got.StatusCode == http.StatusOK {
			t.Errorf("%s is served", path)
		}
	}
}

func TestBoard_SaysThatTheDatabaseDoesNotAnswer(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	me := h.signedIn(h.owner)
	if got := me.get("/todos").body; !strings.Contains(got, "Database answers") || !strings.Contains(got, "in 3 ms") {
		t.Error("the foot does not say how the database is")
	}
	if _, err := h.db.Pool.Exec(t.Context(), `ALTER TABLE sessions RENAME TO gone`); err != nil {
		t.Fatal(err)
	}
	broken := me.get("/todos")
	if broken.StatusCode != http.StatusInternalServerError || strings.Contains(broken.body, "sessions") || !strings.Contains(broken.body, "req_") {
		t.Errorf("a store that refuses answers %d", broken.StatusCode)
	}
	h.db.Pool.Close()
	down := me.get("/todos")
	if down.StatusCode != http.StatusServiceUnavailable || down.Header.Get("Retry-After") != "10" || !strings.Contains(down.body, "Database does not answer") {
		t.Errorf("a store that is away answers %d %s", down.StatusCode, down.body)
	}
}

func TestList_FiltersAndPages(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ep, docs := h.vend(h.owner, "bugfix", "lane-s"), h.vend(h.owner, "docs", "docs")
	h.variety(ep, docs)
	me := h.signedIn(h.owner)
	for query, want := range map[string]struct {
		titles  []string
		without string
	}{
		"":                                {[]string{"Draft the December", "Backfill postal", "retry in", "Flaky"}, "No todo"},
		"?state=dead_letter":              {[]string{"Backfill postal"}, "Nightly export"},
		"?state=retry":                    {[]string{"Nightly export"}, "Backfill postal"},
		"?state=claimed":                  {[]string{"Same body"}, "Flaky"},
		"?queue=docs":                     {[]string{"Draft the December", "Group carrier"}, "Flaky"},
		"?endpoint=" + docs.Slug:          {[]string{"Draft the December"}, "Flaky"},
		"?q=POSTAL":                       {[]string{"Backfill postal"}, "Flaky"},
		"?q=%3Cscript%3E":                 {[]string{"No todo matches", `value="&lt;script&gt;"`}, "<script>"},
		"?endpoint=ep_unknown&state=done": {[]string{"No todo matches"}, "Group carrier"},
	} {
		got := me.get("/todos" + query)
		for _, title := range want.titles {
			if !strings.Contains(got.body, title) {
				t.Errorf("%s lacks %q", query, title)
			}
		}
		if strings.Contains(got.body, want.without) {
			t.Errorf("%s shows %q", query, want.without)
		}
	}

	for range pageRows {
		h.push(ep, "Filler", "")
	}
	first := me.get("/todos?queue=lane-s").body
	next := regexp.MustCompile(`href="(/todos\?[^"]*before=[^"]*)"`).FindStringSubmatch(first)
	if next == nil || strings.Contains(first, "Flaky") {
		t.Fatal("the first page has no next one")
	}
	second := me.get(strings.ReplaceAll(next[1], "&amp;", "&")).body
	if !strings.Contains(second, "Flaky") || strings.Contains(second, "Draft the December") {
		t.Fatal("the second page is not the rest of the same list")
	}
}

func TestList_TeachesWhenItIsEmpty(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	me := h.signedIn(h.owner)
	if got := me.get("/todos").body; !strings.Contains(got, "bin/switchboard demo") || !strings.Contains(got, "bin/switchboard endpoint vend") {
		t.Error("without an endpoint the page does not say how to get one")
	}
	ep := h.vend(h.owner, "bugfix", "lane-s")
	if got := me.get("/todos").body; !strings.Contains(got, "bin/switchboard todo push "+ep.Slug) {
		t.Error("with an endpoint the page does not say how to push a todo")
	}
}
