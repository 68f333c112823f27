package switchboardextension

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/typeid"
	"github.com/switchboard-otel/switchboard/internal/toggle"
)

// A route is one of these. What each must do is in the test below.
type kind int

const (
	page    kind = iota // for a signed-in human; a stranger is sent to sign in
	action              // a form of a page: changes something, answers with a redirect or the page
	door                // a page for whoever is not signed in
	asset               // a file that everybody may keep
	stream              // follows what happens, for a signed-in human
	machine             // a program's, which shows a credential or needs none; never a cookie, never a redirect
)

type siteRoute struct {
	kind    kind
	cookies string // that it may set, beside the session's own, separated by spaces
	open    bool   // of a machine's: answers without a credential
	cors    string // Access-Control-Allow-Origin
}

// site is every route there is. A new one does not pass without an entry, and an entry goes with its route.
var site = map[string]siteRoute{
	"GET /{$}":                                    {kind: page},
	"GET /activity":                               {kind: page},
	"GET /todos":                                  {kind: page},
	"GET /new":                                    {kind: page},
	"POST /new":                                   {kind: action},
	"GET /todos/{id}":                             {kind: page},
	"POST /todos/{id}/again":                      {kind: action},
	"POST /todos/{id}/claim":                      {kind: action},
	"POST /todos/{id}/complete":                   {kind: action},
	"POST /todos/{id}/fail":                       {kind: action},
	"POST /todos/{id}/retry":                      {kind: action},
	"POST /todos/{id}/extend":                     {kind: action},
	"POST /todos/{id}/release":                    {kind: action},
	"POST /todos/{id}/cancel":                     {kind: action},
	"GET /endpoints":                              {kind: page},
	"GET /endpoints/vend":                         {kind: page},
	"POST /endpoints/vend":                        {kind: action},
	"POST /endpoints/quick":                       {kind: action},
	"GET /endpoints/{slug}/edit":                  {kind: page},
	"POST /endpoints/{slug}/edit":                 {kind: action},
	"POST /endpoints/{slug}/rotate":               {kind: action},
	"POST /endpoints/{slug}/revoke":               {kind: action},
	"GET /endpoints/{slug}/webhooks":              {kind: page},
	"POST /endpoints/{slug}/webhooks":             {kind: action},
	"POST /endpoints/{slug}/webhooks/{id}/rotate": {kind: action},
	"POST /endpoints/{slug}/webhooks/{id}/delete": {kind: action},
	"GET /endpoints/{slug}/webhooks/{id}/rules":   {kind: page},
	"POST /endpoints/{slug}/webhooks/{id}/rules":  {kind: action},
	"GET /quarantine":                             {kind: page},
	"POST /quarantine/{id}/release":               {kind: action},
	"POST /quarantine/{id}/discard":               {kind: action},
	"GET /rungraph/{document}":                    {kind: page},
	"GET /settings":                               {kind: page},
	"POST /settings/tokens":                       {kind: action},
	"POST /settings/tokens/revoke":                {kind: action},
	"POST /settings/sessions/end":                 {kind: action},
	"POST /settings/connections/end":              {kind: action},
	"GET /events":                                 {kind: stream},
	"POST /theme":                                 {kind: action, cookies: "sb_theme"},
	"POST /logout":                                {kind: action},
	"GET /oauth/authorize":                        {kind: page},
	"POST /oauth/authorize":                       {kind: action, cookies: "sb_resume"},

	"GET /login":                          {kind: door},
	"GET /login/{token}":                  {kind: door},
	"POST /login/{token}":                 {kind: door},
	"GET /login/with/{provider}":          {kind: door, cookies: "sb_signin"},
	"GET /login/with/{provider}/callback": {kind: door},
	"GET /static/{file...}":               {kind: asset},

	"GET /healthz": {kind: machine, open: true},
	"GET /readyz":  {kind: machine, open: true},
	"GET /metrics": {kind: machine},
	"/mcp/":        {kind: machine},
	"/a2a/":        {kind: machine},
	"/api/v1/":     {kind: machine},
	"/webhooks/w/": {kind: machine},
	"/.well-known/oauth-protected-resource/mcp/": {kind: machine, open: true, cors: "*"},
	"/.well-known/oauth-authorization-server":    {kind: machine, open: true},
	"/oauth/register":                            {kind: machine},
	"/oauth/token":                               {kind: machine},
	"/oauth/revoke":                              {kind: machine},
}

const policy = "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

// visitor looks at the site: a browser that follows nothing, signed in or not.
type visitor struct {
	t      *testing.T
	s      *switchboard
	client *http.Client
	secure bool // behind https
}

func (s *switchboard) visitor(t *testing.T) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &visitor{t: t, s: s, secure: strings.HasPrefix(s.cfg.baseURL(), "https:"),
		client: &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

type seen struct {
	*http.Response
	body string
}

func (v *visitor) ask(method, path string, form url.Values, headers ...string) seen {
	v.t.Helper()
	ctx, cancel := context.WithCancel(v.t.Context())
	defer cancel() // a stream ends with its question
	r, err := http.NewRequestWithContext(ctx, method, "http://"+v.s.cfg.Endpoint+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := v.client.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		return seen{res, ""}
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return seen{res, string(body)}
}

// signIn makes the visitor the human, and returns the token of the session's forms.
func (v *visitor) signIn(human *identity.Human) (form string) {
	v.t.Helper()
	link, err := v.s.identity.NewLoginLink(v.t.Context(), human.ID)
	if err != nil {
		v.t.Fatal(err)
	}
	got := v.ask(http.MethodPost, "/login/"+link, nil)
	v.checkCookies("signing in", got, "sb_session")
	if got.StatusCode != http.StatusSeeOther || len(got.Cookies()) != 1 {
		v.t.Fatalf("signing in answered %d with %v", got.StatusCode, got.Cookies())
	}
	if v.secure { // the jar keeps a secure cookie from a server that speaks plain http
		at := &url.URL{Scheme: "http", Host: v.s.cfg.Endpoint}
		for _, c := range got.Cookies() {
			c.Secure = false
			v.client.Jar.SetCookies(at, []*http.Cookie{c})
		}
	}
	page := v.ask(http.MethodGet, "/settings", nil)
	m := regexp.MustCompile(`name="form" value="([^"]+)"`).FindStringSubmatch(page.body)
	if m == nil {
		v.t.Fatalf("the settings have no form: %d", page.StatusCode)
	}
	return m[1]
}

// checkCookies holds every cookie that is set to the attributes that keep scripts and other sites from it.
func (v *visitor) checkCookies(what string, got seen, allowed string) {
	v.t.Helper()
	for _, c := range got.Cookies() {
		if !slices.Contains(strings.Fields(allowed), c.Name) {
			v.t.Errorf("%s sets the cookie %s", what, c.Name)
		}
		if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Secure != v.secure || c.Domain != "" || !strings.HasPrefix(c.Path, "/") {
			v.t.Errorf("%s sets %s", what, c)
		}
		if c.Name == "sb_session" && c.MaxAge >= 0 && (c.Path != "/" || len(c.Value) < 43) {
			v.t.Errorf("%s sets a session of %d characters at %s", what, len(c.Value), c.Path)
		}
	}
}

func (v *visitor) checkHeaders(what string, got seen, r siteRoute) {
	v.t.Helper()
	h := got.Header
	cors := r.cors
	if got.StatusCode == http.StatusMethodNotAllowed {
		cors = ""
	}
	want := map[string]string{"X-Content-Type-Options": "nosniff", "Access-Control-Allow-Origin": cors, "Access-Control-Allow-Credentials": "",
		"Server": "", "X-Powered-By": ""}
	if r.kind != machine {
		want["Content-Security-Policy"], want["X-Frame-Options"], want["Referrer-Policy"] = policy, "DENY", "same-origin"
	}
	if r.kind != machine && r.kind != asset && r.kind != stream {
		want["Cache-Control"] = "no-store"
	}
	for name, value := range want {
		if got := h.Get(name); got != value {
			v.t.Errorf("%s: %s is %q", what, name, got)
		}
	}
}

// checkRedirect holds every redirect to this server, but for the one that leaves for an identity provider.
func (v *visitor) checkRedirect(what string, got seen) {
	v.t.Helper()
	to := got.Header.Get("Location")
	if redirects := got.StatusCode >= 300 && got.StatusCode < 400; redirects != (to != "") || redirects && got.StatusCode != http.StatusSeeOther {
		v.t.Errorf("%s: %d to %q", what, got.StatusCode, to)
	}
	if to != "" && (!strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//")) {
		v.t.Errorf("%s redirects to %s", what, to)
	}
}

var (
	formTag   = regexp.MustCompile(`(?s)<form([^>]*)>(.*?)</form>`)
	attribute = regexp.MustCompile(`([a-z-]+)="([^"]*)"`)
)

// checkForms holds every form to a route of this site, and every form that changes something to its session.
func (v *visitor) checkForms(what, body, token string) (found int) {
	v.t.Helper()
	for _, m := range formTag.FindAllStringSubmatch(body, -1) {
		found++
		attributes := map[string]string{"method": "get"}
		for _, a := range attribute.FindAllStringSubmatch(m[1], -1) {
			attributes[a[1]] = a[2]
		}
		to := attributes["action"]
		if to != "" && (!strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//")) || attributes["target"] != "" {
			v.t.Errorf("%s has a form to %q", what, to)
		}
		switch attributes["method"] {
		case "get", "dialog":
		case "post":
			if !strings.Contains(m[2], `name="form" value="`+token+`"`) {
				v.t.Errorf("%s has a form to %q without its session's token", what, to)
			}
		default:
			v.t.Errorf("%s has a form with method %q", what, attributes["method"])
		}
	}
	return found
}

// paths fills in a pattern: things that are there, where a page needs them.
func paths(pattern, slug string) (methods []string, path string) {
	method, path, ok := strings.Cut(pattern, " ")
	methods = []string{method}
	if !ok {
		methods, path = []string{http.MethodGet, http.MethodPost}, pattern
	}
	path = strings.NewReplacer("{$}", "", "{slug}", slug, "{id}", typeid.Todo.Format(typeid.New()), "{token}", "sbi_unknown",
		"{provider}", "oidc", "{file...}", "favicon.svg", "{document}", "1").Replace(path)
	if strings.HasSuffix(path, "/mcp/") || strings.HasSuffix(path, "/w/") || strings.HasSuffix(path, "/a2a/") {
		path += slug
	}
	return methods, path
}

func (s *switchboard) allPatterns() []string {
	var all []string
	for _, p := range append(slices.Clone(s.patterns), s.board.Patterns()...) {
		if p != "/" { // the Board's, whose own patterns follow
			all = append(all, p)
		}
	}
	return all
}

// TestSite_EveryCookieHeaderRedirectAndForm walks all routes, as a stranger, as a human, as a human whom another site's
// page drives, over http and behind https.
func TestSite_EveryCookieHeaderRedirectAndForm(t *testing.T) {
	for _, base := range []string{"", "https://switchboard.example.com"} {
		name := "http"
		if base != "" {
			name = "https"
		}
		t.Run(name, func(t *testing.T) {
			s := setup(t, func(c *Config) {
				c.BaseURL, c.Features.A2A = base, toggle.On
				c.SignIn.OIDC = OIDC{Issuer: "http://127.0.0.1:1", ClientID: "nobody answers there"}
				c.RateLimits.PreAuth = RateLimit{PerSecond: 1000, Burst: 1000}
			})
			owner, err := s.identity.LocalOwner(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			vended, err := s.identity.Vend(t.Context(), owner.ID, identity.VendParams{Name: "bot"})
			if err != nil {
				t.Fatal(err)
			}
			patterns := s.allPatterns()
			for pattern := range site {
				if !slices.Contains(patterns, pattern) {
					t.Errorf("%s is in the table and not on the site", pattern)
				}
			}
			forms := 0
			for _, pattern := range patterns {
				r, known := site[pattern]
				if !known {
					t.Errorf("%s has no entry in the table of this test", pattern)
					continue
				}
				methods, path := paths(pattern, vended.Slug)
				for _, method := range methods {
					s.strangerLooks(t, method, path, r)
					forms += s.humanLooks(t, owner, method, path, r)
				}
			}
			if forms < 20 {
				t.Errorf("only %d forms were found: is this test still looking at the pages?", forms)
			}
		})
	}
}

func (s *switchboard) strangerLooks(t *testing.T, method, path string, r siteRoute) {
	t.Helper()
	v, what := s.visitor(t), "a stranger's "+method+" "+path
	got := v.ask(method, path, nil)
	v.checkHeaders(what, got, r)
	switch r.kind {
	case page, stream, action:
		allowed := ""
		if method == http.MethodGet {
			allowed = "sb_resume"
		}
		v.checkCookies(what, got, allowed+" "+r.cookies)
		if got.StatusCode != http.StatusSeeOther || got.Header.Get("Location") != "/login" || strings.Contains(got.body, "<h1") {
			t.Errorf("%s answers %d to %q", what, got.StatusCode, got.Header.Get("Location"))
		}
	case door:
		v.checkCookies(what, got, r.cookies)
		v.checkRedirect(what, got)
	case asset:
		v.checkCookies(what, got, "")
		if got.StatusCode != http.StatusOK {
			t.Errorf("%s answers %d", what, got.StatusCode)
		}
	case machine:
		v.checkCookies(what, got, "")
		if answers := got.StatusCode < 300; answers && !r.open || got.StatusCode >= 300 && got.StatusCode < 400 {
			t.Errorf("%s answers %d", what, got.StatusCode)
		}
	}
}

// humanLooks also tries what another site could make the human's browser do.
func (s *switchboard) humanLooks(t *testing.T, human *identity.Human, method, path string, r siteRoute) (forms int) {
	t.Helper()
	v, what := s.visitor(t), "a human's "+method+" "+path
	token := v.signIn(human)
	if r.kind == action {
		for name, try := range map[string]struct {
			form    url.Values
			headers []string
		}{
			"without a token":                {nil, nil},
			"with another session's token":   {url.Values{"form": {"AAAAAAAAAAAAAAAAAAAAAAAAAA"}}, nil},
			"from another site":              {url.Values{"form": {token}}, []string{"Sec-Fetch-Site", "cross-site"}},
			"from another site, old browser": {url.Values{"form": {token}}, []string{"Origin", "https://evil.example"}},
		} {
			got := v.ask(method, path, try.form, try.headers...)
			v.checkHeaders(what+" "+name, got, r)
			v.checkCookies(what+" "+name, got, "sb_session")
			if got.StatusCode != http.StatusForbidden {
				t.Errorf("%s %s answers %d", what, name, got.StatusCode)
			}
		}
	}
	got := v.ask(method, path, url.Values{"form": {token}})
	v.checkHeaders(what, got, r)
	if r.kind == machine {
		v.checkCookies(what, got, "")
		if got.StatusCode < 300 && !r.open {
			t.Errorf("%s answers %d to a cookie", what, got.StatusCode)
		}
		return 0
	}
	v.checkCookies(what, got, "sb_session "+r.cookies)
	v.checkRedirect(what, got)
	if got.StatusCode >= 500 && r.kind != door || got.StatusCode == http.StatusForbidden && r.kind == action {
		t.Errorf("%s answers %d", what, got.StatusCode)
	}
	if r.kind == page || r.kind == action {
		forms = v.checkForms(what, got.body, token)
	}
	return forms
}
