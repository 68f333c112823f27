package e2e

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// elsewhere is who a provider must not be.
const elsewhere = "http://evil.example"

// misled is a real provider with somebody between it and everybody who asks it.
type misled struct {
	t              *testing.T
	issuer, client string // its own address, and the collector's
	people         storage.UserStore

	mu       sync.Mutex
	provider http.Handler
	asked    func(q url.Values) // changes what a browser asks the provider for
	answers  func(to *url.URL)  // changes where the provider sends the browser back
}

func withMisled(t *testing.T, m *misled) option {
	return func(c *collector) {
		server := httptest.NewUnstartedServer(m)
		m.t, m.issuer, m.client = t, "http://"+server.Listener.Addr().String(), "http://"+c.addr
		m.people = storage.NewUserStore(m.issuer)
		m.startAnew(m.issuer)
		server.Start()
		t.Cleanup(server.Close)
		c.env = append(c.env, "SWITCHBOARD_OIDC_ISSUER="+m.issuer, "SWITCHBOARD_OIDC_CLIENT_ID="+providerClient,
			"SWITCHBOARD_OIDC_CLIENT_SECRET="+providerSecret, "SWITCHBOARD_ALLOWLIST=@zitadel.ch",
			"SWITCHBOARD_GITHUB_CLIENT_ID=another", "SWITCHBOARD_GITHUB_CLIENT_SECRET=provider")
	}
}

// startAnew makes a provider with a new key, which calls itself what it is told to.
func (m *misled) startAnew(issuer string) {
	client := storage.WebClient(providerClient, providerSecret, m.client+"/login/with/oidc/callback")
	people := storage.NewStorageWithClients(m.people, map[string]*storage.Client{providerClient: client})
	m.provider = exampleop.SetupServer(issuer, people, slog.New(slog.NewTextHandler(io.Discard, nil)), false, op.WithAllowInsecure())
}

func (m *misled) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if q := r.URL.Query(); m.asked != nil && q.Has("nonce") {
		m.asked(q)
		r.URL.RawQuery = q.Encode()
	}
	m.provider.ServeHTTP(&misleading{w, m}, r)
}

// misleading sends a browser elsewhere than the provider said.
type misleading struct {
	http.ResponseWriter
	m *misled
}

func (w *misleading) WriteHeader(status int) {
	if to, err := url.Parse(w.Header().Get("Location")); err == nil && to.String() != "" {
		if w.m.answers != nil && to.Query().Has("code") {
			w.m.answers(to)
		}
		leads := strings.Replace(to.String(), elsewhere, w.m.issuer, 1) // a provider by another name is found here all the same
		w.Header().Set("Location", leads)
	}
	w.ResponseWriter.WriteHeader(status)
}

// What goes wrong between a browser, this server and a provider ends on a page that says so, with nobody signed in; a
// provider that has other keys since this morning is followed.
func TestSignIn_WhatIsMisledSignsNobodyInInTheBrowser(t *testing.T) {
	t.Parallel()
	m := &misled{}
	c := start(t, withMisled(t, m))
	b := openBrowser(t)
	change := func(asked func(url.Values), answers func(*url.URL)) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.asked, m.answers = asked, answers
	}
	set := func(name, value string) func(*url.URL) {
		return func(to *url.URL) {
			q := to.Query()
			q.Set(name, value)
			to.RawQuery = q.Encode()
		}
	}
	const over, faulty = "This sign-in is over", "Your identity provider did not answer as it should"
	for _, try := range []struct {
		what, title string
		asked       func(url.Values)
		answers     func(*url.URL)
	}{
		{"a nonce of another sign-in", faulty, func(q url.Values) { q.Set("nonce", "another") }, nil},
		{"a challenge of another sign-in", faulty, func(q url.Values) { q.Set("code_challenge", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM") }, nil},
		{"a state of another sign-in", over, nil, set("state", "another")},
		{"a code of another sign-in", faulty, nil, set("code", "another")},
		{"an answer under another name (RFC 9207)", faulty, nil, set("iss", elsewhere)},
		{"an answer to another provider's address", over, nil, func(to *url.URL) { to.Path = "/login/with/github/callback" }},
	} {
		change(try.asked, try.answers)
		b.signInTo(c, "test-user@127.0.0.1", try.what, try.title)
	}
	change(nil, nil)

	m.mu.Lock()
	m.people.GetUserByUsername("test-user2").EmailVerified = false
	m.mu.Unlock()
	b.signInTo(c, "test-user2", "an address that nobody verified", "No verified e-mail address")

	m.mu.Lock()
	m.startAnew(elsewhere)
	m.mu.Unlock()
	b.signInTo(c, "test-user@127.0.0.1", "another issuer", faulty)

	for _, why := range []string{"made for another sign-in", "invalid_grant", "another provider sent it", "another issuer made it"} {
		if !strings.Contains(c.output.String(), why) {
			t.Errorf("the log does not say %q:\n%s", why, c.output)
		}
	}

	// The way in works, with keys that nobody has seen before; and its last step works once.
	m.mu.Lock()
	m.startAnew(m.issuer)
	var last string
	m.answers = func(to *url.URL) { last = to.String() }
	m.mu.Unlock()
	b.do(chromedp.Navigate(c.url + "/settings"))
	b.signInAs("test-user@127.0.0.1")
	if at := b.at(); at != c.url+"/settings" {
		t.Fatalf("the sign-in led to %s", at)
	}
	b.do(chromedp.Navigate(last), chromedp.WaitVisible(`#main`))
	if title := b.text("h1"); title != over {
		t.Errorf("an answer that came before leads to %q", title)
	}
}

// signInTo tries to sign in and wants a page that says why not.
func (b *browser) signInTo(c *collector, user, what, title string) {
	b.t.Helper()
	b.do(chromedp.Navigate(c.url+"/settings"), chromedp.WaitVisible(`.providers a`))
	b.signInAs(user)
	if got := b.text("h1"); got != title {
		b.t.Errorf("%s leads to %q", what, got)
	}
	b.do(chromedp.Navigate(c.url+"/settings"), chromedp.WaitVisible(`.providers a`)) // still nobody
}
