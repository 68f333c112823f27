package board

import (
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/zap/zaptest"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/oauth"
	"github.com/switchboard-otel/switchboard/app/ratelimit"
)

// connectable is a house at which OAuth clients can be connected.
func connectable(t *testing.T) *house {
	t.Helper()
	h := newHouse(t)
	plenty := ratelimit.New(1000, 1000)
	h.board.OAuth = oauth.New(oauth.Config{Pool: h.db.Pool, Identity: h.identity, BaseURL: h.server.URL, Log: zaptest.NewLogger(t),
		PreAuth: plenty, Registrations: plenty, ClientAddress: func(*http.Request) string { return "" }})
	h.server.Config.Handler = must(h.board.handler())(t)
	return h
}

// register makes a client known, and returns the address at which it asks the human for an endpoint.
func (h *house) register(redirect string, ep *identity.Endpoint, change ...string) string {
	h.t.Helper()
	body := must(json.Marshal(map[string]any{"client_name": "<b>Nice</b> client", "redirect_uris": []string{redirect}}))(h.t)
	r := httptest.NewRequest(http.MethodPost, "/oauth/register", strings.NewReader(string(body)))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.board.OAuth.Handler().ServeHTTP(w, r)
	var client struct {
		ID string `json:"client_id"`
	}
	if err := json.Unmarshal(must(io.ReadAll(w.Body))(h.t), &client); err != nil || w.Code != http.StatusCreated {
		h.t.Fatal(w.Code, err)
	}
	q := url.Values{"response_type": {"code"}, "client_id": {client.ID}, "redirect_uri": {redirect}, "state": {"s"},
		"code_challenge": {strings.Repeat("a", 43)}, "code_challenge_method": {"S256"}, "resource": {h.server.URL + "/mcp/" + ep.Slug}}
	for i := 0; i+1 < len(change); i += 2 {
		q.Set(change[i], change[i+1])
	}
	return oauth.AuthorizePath + "?" + q.Encode()
}

var hidden = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)"`)

// fields are those of the page's last form.
func fields(body string) url.Values {
	form := url.Values{}
	for _, m := range hidden.FindAllStringSubmatch(body[strings.LastIndex(body, "<form"):], -1) {
		form.Add(m[1], html.UnescapeString(m[2]))
	}
	return form
}

func TestConsent_NamesWhoAsksForWhatAndLeadsNowhereElse(t *testing.T) {
	t.Parallel()
	h := connectable(t)
	ep := h.vend(h.owner, "fixer", "reviews")
	me := h.signedIn(h.owner)
	for redirect, policy := range map[string]string{
		"https://app.example/cb?x=1": "form-action 'self' https://app.example", "http://127.0.0.1:4711/cb": "form-action 'self' http://127.0.0.1:4711",
		"cursor://somewhere/cb": "form-action 'self' cursor:", "http://[::1]:4711/cb": "form-action 'self' http:",
	} {
		page := me.get(h.register(redirect, ep))
		if page.StatusCode != http.StatusOK || !strings.HasSuffix(page.Header.Get("Content-Security-Policy"), policy) {
			t.Errorf("%s: %d %s", redirect, page.StatusCode, page.Header.Get("Content-Security-Policy"))
		}
		origin := strings.TrimPrefix(policy, "form-action 'self' ")
		for _, must := range []string{"&lt;b&gt;Nice&lt;/b&gt; client", origin, ep.Slug, "reviews", "claim_next, heartbeat", "Local owner"} {
			if !strings.Contains(page.body, must) {
				t.Errorf("%s: the page does not name %s", redirect, must)
			}
		}
		form := fields(page.body)
		form.Set("decision", "allow")
		to := must(url.Parse(me.post(oauth.AuthorizePath, form).Header.Get("Location")))(t)
		if q := to.Query(); !strings.HasPrefix(to.String(), redirect) || !strings.HasPrefix(q.Get("code"), "sbc_") || q.Get("state") != "s" || q.Get("iss") != h.server.URL {
			t.Errorf("%s: allowed to %s", redirect, to)
		}
		form.Del("decision")
		if to := must(url.Parse(me.post(oauth.AuthorizePath, form).Header.Get("Location")))(t); to.Query().Get("error") != "access_denied" || to.Query().Has("code") {
			t.Errorf("%s: denied to %s", redirect, to)
		}
	}
	if other := me.get("/settings").Header.Get("Content-Security-Policy"); other != contentSecurity {
		t.Errorf("another page's policy is %s", other)
	}
}

// Whoever sends a human to a link of this server gets no redirect out of it, and nothing that was tampered with passes.
func TestConsent_SendsNothingWhereTheClientDidNotRegister(t *testing.T) {
	t.Parallel()
	h := connectable(t)
	ep, hers := h.vend(h.owner, "fixer"), h.vend(h.human("her"), "hers")
	me := h.signedIn(h.owner)
	const redirect = "https://app.example/cb"
	for name, tc := range map[string]struct {
		at     string
		status int
	}{
		"a foreign redirect":  {h.register(redirect, ep, "redirect_uri", "https://evil.example/"), http.StatusBadRequest},
		"an unknown client":   {h.register(redirect, ep, "client_id", "cl_00000000000000000000000000"), http.StatusBadRequest},
		"no PKCE":             {h.register(redirect, ep, "code_challenge_method", "plain"), http.StatusBadRequest},
		"no resource":         {h.register(redirect, ep, "resource", ""), http.StatusBadRequest},
		"another's endpoint":  {h.register(redirect, hers), http.StatusNotFound},
		"an unknown endpoint": {h.register(redirect, ep, "resource", h.server.URL+"/mcp/unknown"), http.StatusNotFound},
	} {
		if got := me.get(tc.at); got.StatusCode != tc.status || got.Header.Get("Location") != "" || strings.Contains(got.body, "evil.example") {
			t.Errorf("%s: %d to %q", name, got.StatusCode, got.Header.Get("Location"))
		}
		form := must(url.Parse(tc.at))(t).Query()
		form.Set("form", formToken(t, me.get("/settings").body))
		form.Set("decision", "allow")
		got := me.post(oauth.AuthorizePath, form)
		if to := got.Header.Get("Location"); strings.Contains(to, "code=") || to != "" && !strings.HasPrefix(to, redirect+"?") {
			t.Errorf("%s, posted: %d to %q", name, got.StatusCode, to)
		}
	}
	var grants int
	if err := h.db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM oauth_grants`).Scan(&grants); err != nil || grants != 0 {
		t.Errorf("%d grants were made, %v", grants, err)
	}
}

func TestConsent_IsAskedAfterASignInThatInterruptsIt(t *testing.T) {
	t.Parallel()
	h := connectable(t)
	at := h.register("https://app.example/cb", h.vend(h.owner, "fixer"), "state", strings.Repeat("s", 1500))
	me := h.stranger()
	if got := me.get(at); got.Header.Get("Location") != "/login" {
		t.Fatalf("a stranger is sent to %s", got.Header.Get("Location"))
	}
	spend := func() string {
		t.Helper()
		return me.post("/login/"+must(h.identity.NewLoginLink(t.Context(), h.owner.ID))(t), nil).Header.Get("Location")
	}
	if to := spend(); to != at {
		t.Fatalf("the sign-in led to %s", to)
	}
	// The session ends between the question and the answer.
	form := fields(me.get(at).body)
	form.Set("decision", "allow")
	me.post("/logout", url.Values{"form": {form.Get("form")}})
	if got := me.post(oauth.AuthorizePath, form); got.Header.Get("Location") != "/login" {
		t.Fatalf("answered without a session: %d to %s", got.StatusCode, got.Header.Get("Location"))
	}
	again := must(url.Parse(spend()))(t)
	if again.Path != oauth.AuthorizePath || again.Query().Get("state") != strings.Repeat("s", 1500) || again.Query().Has("decision") || again.Query().Has("form") {
		t.Fatalf("the sign-in led to %.200s", again)
	}
}

func TestConsent_CanBeReadByEverybody(t *testing.T) {
	t.Parallel()
	h := connectable(t)
	ep := h.vend(h.owner, "fixer", "reviews")
	me := h.signedIn(h.owner)
	right := h.register("https://app.example/cb", ep)
	wrong := h.register("https://app.example/cb", ep, "resource", "")
	for _, l := range looks {
		t.Run(l.String(), func(t *testing.T) {
			b := h.open(t, me, l)
			for _, at := range []string{right, wrong} {
				b.visit(at)
				b.wait(`document.readyState === "complete"`)
				b.accessible()
				b.quiet("the server responded with a status of 400")
			}
		})
	}
}
