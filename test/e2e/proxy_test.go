package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
)

// publicURL is the address that people and agents know, of docs/reverse-proxy.md.
const publicURL = "https://switchboard.example.com"

// public is a Switchboard behind a proxy that ends TLS.
type public struct {
	t     *testing.T
	c     *collector
	db    *postgrestest.DB
	proxy string // where it listens
	trust *tls.Config
}

// startPublic runs the configuration of a team with the lines of docs/reverse-proxy.md, behind a proxy of Go's.
func startPublic(t *testing.T, options ...option) *public {
	t.Helper()
	p := &public{t: t, db: postgrestest.New(t)}
	p.c = start(t, append(options, shipped("standalone.yaml"), withProviderFor(t, publicURL), withArgs("--config", documentedProxy(t)),
		withEnv("SWITCHBOARD_DATABASE_URL="+p.db.URL, "SWITCHBOARD_BASE_URL="+publicURL,
			"SWITCHBOARD_SECRET_ENCRYPTION_KEY="+strings.Repeat("5e", 32)))...)
	to, err := url.Parse(p.c.url)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host
		r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"] // whatever a client claims, as proxies do
		r.SetXForwarded()
	}})
	srv.EnableHTTP2 = true // as browsers speak to a proxy
	srv.StartTLS()
	t.Cleanup(srv.Close)
	p.proxy = srv.Listener.Addr().String()
	p.trust = &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "example.com"} // whom the certificate names
	p.trust.RootCAs.AddCert(srv.Certificate())
	return p
}

// documentedProxy is the YAML that the page shows, but for the port.
func documentedProxy(t *testing.T) (path string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs", "reverse-proxy.md"))
	if err != nil {
		t.Fatal(err)
	}
	shown := between(t, string(page), "```yaml\n", "```")
	const endpoint = "    endpoint: 127.0.0.1:8321\n"
	if strings.Count(shown, endpoint) != 1 {
		t.Fatalf("the page does not show where to listen: %s", shown)
	}
	path = filepath.Join(dataDir(t), "behind-a-proxy.yaml")
	if err := os.WriteFile(path, []byte(strings.Replace(shown, endpoint, "", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// client comes from a loopback address to the proxy, whatever is asked of switchboard.example.com. It keeps cookies.
func (p *public) client(from string) *http.Client {
	p.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		p.t.Fatal(err)
	}
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	transport := &http.Transport{TLSClientConfig: p.trust.Clone(), ForceAttemptHTTP2: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		if address == "switchboard.example.com:443" {
			address = p.proxy
		}
		return dialer.DialContext(ctx, network, address)
	}}
	p.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Jar: jar, Transport: transport}
}

// ask returns an answer and how it came, redirects followed.
func (p *public) ask(client *http.Client, method, address, body string, headers ...string) (*http.Response, string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := client.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return res, string(text)
}

// signIn does what a browser does between the sign-in page and the page that a human wanted, and returns that.
func (p *public) signIn(human *http.Client) (page string) {
	p.t.Helper()
	asked, _ := p.ask(human, http.MethodGet, publicURL+"/settings", "")
	if asked.Request.URL.Path != "/login" {
		p.t.Fatalf("a stranger is led to %s", asked.Request.URL)
	}
	provider, form := p.ask(human, http.MethodGet, publicURL+"/login/with/oidc", "")
	id := between(p.t, form, `name="id" value="`, `"`)
	back, page := p.ask(human, http.MethodPost, "http://"+provider.Request.URL.Host+"/login/username",
		url.Values{"id": {id}, "username": {"test-user@127.0.0.1"}, "password": {"verysecure"}}.Encode())
	if back.Request.URL.String() != publicURL+"/settings" || back.StatusCode != http.StatusOK || back.ProtoMajor != 2 {
		p.t.Fatalf("signing in leads to %s: %s %s", back.Request.URL, back.Proto, back.Status)
	}
	return page
}

func TestReverseProxy_PeopleAndAgentsNoticeNothingOfIt(t *testing.T) {
	t.Parallel()
	startPublic(t).check()
}

func (p *public) check() {
	t, human := p.t, p.client("127.0.0.1")
	form := between(t, p.signIn(human), `name="form" value="`, `"`)
	secure, _ := url.Parse(publicURL)
	plain, _ := url.Parse("http://switchboard.example.com")
	if len(human.Jar.Cookies(secure)) == 0 || len(human.Jar.Cookies(plain)) != 0 {
		t.Error("a cookie of the site would be sent in the clear")
	}
	for origin, want := range map[string]int{publicURL: http.StatusOK, "https://evil.example": http.StatusForbidden} {
		body := url.Values{"form": {form}, "theme": {"dark"}, "back": {"/todos"}}.Encode()
		if res, _ := p.ask(human, http.MethodPost, publicURL+"/theme", body, "Origin", origin); res.StatusCode != want {
			t.Errorf("a form from %s is answered %s", origin, res.Status)
		}
	}

	owner := ownerOf(t, p.db)
	v := p.c.vendAll(owner, "bot")
	if !strings.HasPrefix(v.MCPURL, publicURL+"/mcp/") {
		t.Errorf("agents are told to go to %s", v.MCPURL)
	}
	bell := openWith(t, p.client("127.0.0.1"), v.MCPURL, "Authorization", "Bearer "+v.Token, "Accept", "text/event-stream")
	page := openWith(t, human, publicURL+"/events?topic=board")
	page.until("id: ")
	id := p.c.pushAs(owner, v, map[string]any{"title": "seen while the stream is open"})
	bell.until(id)
	page.until("seen while the stream is open")

	agent := p.client("127.0.0.1")
	for _, path := range []string{"//otlp/x/v1/traces", "/otlp/./x/v1/traces"} {
		if res, _ := p.ask(agent, http.MethodPost, publicURL+path, ""); res.StatusCode != http.StatusUnauthorized || res.Request.URL.Path != path {
			t.Errorf("%s is answered %s at %s", path, res.Status, res.Request.URL)
		}
	}
	if _, text := p.ask(agent, http.MethodGet, publicURL+"/.well-known/oauth-authorization-server", ""); !strings.Contains(text, `"issuer":"`+publicURL+`"`) {
		t.Errorf("the issuer is not what people know: %s", text)
	}
}

// The limit of a client address counts who stands behind the proxy, by the proxy's word and nobody else's.
func TestReverseProxy_OnlyATrustedOneSaysWhoCalls(t *testing.T) {
	t.Parallel()
	const burst = 20
	startPublic(t, limited(t, burst)).checkCallers(burst)
}

// limited lets each client address ask a number of times, and then hardly ever.
func limited(t *testing.T, burst int) option {
	t.Helper()
	path := filepath.Join(dataDir(t), "limits.yaml")
	text := fmt.Sprintf("extensions:\n  switchboard:\n    rate_limits: {pre_auth: {per_second: 0.001, burst: %d}}\n", burst)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return withArgs("--config", path)
}

func (p *public) checkCallers(burst int) {
	// calls asks often, and claims to be somebody else each time. It returns how many were not too many.
	calls := func(client *http.Client, address string) (served int) {
		p.t.Helper()
		for i := range burst + 5 {
			res, _ := p.ask(client, http.MethodPost, address+"/mcp/x", "", "X-Forwarded-For", fmt.Sprintf("198.51.100.%d", i))
			if res.StatusCode == http.StatusUnauthorized {
				served++
			}
		}
		return served
	}
	if n := calls(p.client("127.0.0.2"), p.c.url); n != burst {
		p.t.Errorf("somebody who is no proxy is served %d times", n)
	}
	for _, from := range []string{"127.0.0.3", "127.0.0.4"} {
		if n := calls(p.client(from), publicURL); n != burst {
			p.t.Errorf("through the proxy, %s is served %d times", from, n)
		}
	}
}
