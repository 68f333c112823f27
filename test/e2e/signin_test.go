package e2e

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/op"
	"golang.org/x/oauth2"
)

const (
	providerClient = "switchboard"
	providerSecret = "a-secret-between-two-servers"
)

// withProvider runs an OpenID Connect provider beside the collector, and lets its people in.
func withProvider(t *testing.T) option {
	return func(c *collector) {
		server := httptest.NewUnstartedServer(nil)
		issuer := "http://" + server.Listener.Addr().String()
		client := storage.WebClient(providerClient, providerSecret, "http://"+c.addr+"/login/with/oidc/callback")
		people := storage.NewStorageWithClients(storage.NewUserStore(issuer), map[string]*storage.Client{providerClient: client})
		server.Config.Handler = exampleop.SetupServer(issuer, people, slog.New(slog.NewTextHandler(io.Discard, nil)), false, op.WithAllowInsecure())
		server.Start()
		t.Cleanup(server.Close)
		c.env = append(c.env, "SWITCHBOARD_OIDC_ISSUER="+issuer, "SWITCHBOARD_OIDC_CLIENT_ID="+providerClient,
			"SWITCHBOARD_OIDC_CLIENT_SECRET="+providerSecret, "SWITCHBOARD_ALLOWLIST=test-user@zitadel.ch")
	}
}

// signInAs signs in at the provider from the sign-in page that the browser shows, as one of the provider's people.
func (b *browser) signInAs(user string) {
	b.t.Helper()
	b.do(chromedp.Click(`.providers a`), chromedp.WaitVisible(`#username`), chromedp.SendKeys(`#username`, user),
		chromedp.SendKeys(`#password`, "verysecure"), chromedp.Click(`button[type=submit]`), chromedp.WaitVisible(`#main`))
}

func (b *browser) text(selector string) string {
	b.t.Helper()
	text, err := chromedp.Run(b.ctx, chromedp.TextContent(selector))
	if err != nil {
		b.t.Fatalf("%s: %v", selector, err)
	}
	return strings.Join(strings.Fields(text), " ")
}

func (b *browser) at() string {
	b.t.Helper()
	location, err := chromedp.Run(b.ctx, chromedp.Location())
	if err != nil {
		b.t.Fatal(err)
	}
	return location
}

// A person signs in with their identity provider, is taken to the page that they wanted, and out again. One whom nobody
// listed is told so.
func TestSignIn_WithARealProviderInTheBrowser(t *testing.T) {
	t.Parallel()
	c := start(t, withProvider(t))
	b := openBrowser(t)
	b.do(chromedp.Navigate(c.url + "/settings"))
	b.signInAs("test-user2")
	if title := b.text("h1"); title != "You are not on the list" {
		t.Fatalf("somebody unlisted sees %q", title)
	}
	b.do(chromedp.Navigate(c.url + "/settings"))
	b.signInAs("test-user@127.0.0.1")
	if at := b.at(); at != c.url+"/settings" {
		t.Fatalf("the sign-in led to %s", at)
	}
	if me := b.text(`section[aria-labelledby="who-h"]`); !strings.Contains(me, "Test User") {
		t.Errorf("the page says %q", me)
	}
	// The session outlives a restart, and ends when its human signs out.
	if err := c.stop(); err != nil {
		t.Fatal(err)
	}
	c.launch()
	c.awaitReady()
	b.do(chromedp.Navigate(c.url+"/settings"), chromedp.WaitVisible(`section[aria-labelledby="who-h"]`),
		chromedp.Click(`section[aria-labelledby="sessions-h"] form[action="/logout"] button`), chromedp.WaitVisible(`.providers a`))
	b.do(chromedp.Navigate(c.url+"/settings"), chromedp.WaitVisible(`.providers a`))
}

// A client of the official SDK gets a URL and nothing else. It finds out whom to ask, registers itself, sends its human
// to a page that says what it wants, works, fetches new tokens, and goes on after the server was restarted.
func TestOAuth_AnMCPClientConnectsWithAURLAlone(t *testing.T) {
	t.Parallel()
	c := start(t, withProvider(t))
	b := openBrowser(t)
	b.do(chromedp.Navigate(c.url + "/endpoints"))
	b.signInAs("test-user@127.0.0.1")
	b.do(chromedp.Click(`form[action="/endpoints/quick"] button`), chromedp.WaitVisible(`.secret`),
		chromedp.Navigate(c.url+"/endpoints"), chromedp.WaitVisible(`article.ep`))
	slug := b.text(`article.ep h2`)

	// The client's human has another browser, which is not signed in yet.
	human := openBrowser(t)
	client := &urlClient{t: t, resource: c.url + "/mcp/" + slug, slug: slug, human: human}
	session := client.connect()
	if _, err := verb[map[string]any](t.Context(), session, "list_todos", nil); err != nil {
		t.Fatal(err)
	}
	first := client.token()

	// The same token feeds spans, and opens nothing else.
	spans := request(t, http.MethodPost, c.url+"/otlp/"+slug+"/v1/traces", []byte(`{"resourceSpans":[]}`),
		"Authorization", "Bearer "+first.AccessToken, "Content-Type", "application/json")
	if spans.status != http.StatusOK {
		t.Errorf("spans with the token: %d %s", spans.status, spans.body)
	}
	other := c.vend("another")
	for _, address := range []string{other.MCPURL, other.OTLPURL + "/v1/traces"} {
		if got := request(t, http.MethodPost, address, []byte(`{}`), "Authorization", "Bearer "+first.AccessToken, "Content-Type", "application/json"); got.status != http.StatusForbidden {
			t.Errorf("%s with the token of another endpoint: %d %s", address, got.status, got.body)
		}
	}

	// An hour later, in the client's eyes; and a server that was restarted.
	client.expire()
	if _, err := verb[map[string]any](t.Context(), session, "list_todos", nil); err != nil {
		t.Fatalf("after the access token expired: %v", err)
	}
	if next := client.token(); next.AccessToken == first.AccessToken || next.RefreshToken == first.RefreshToken {
		t.Error("the client did not refresh its tokens")
	}
	if err := c.stop(); err != nil {
		t.Fatal(err)
	}
	c.launch()
	c.awaitReady()
	if _, err := verb[map[string]any](t.Context(), session, "list_todos", nil); err != nil {
		t.Fatalf("after a restart: %v", err)
	}
	client.expire()
	if _, err := verb[map[string]any](t.Context(), session, "list_todos", nil); err != nil {
		t.Fatalf("refreshing after a restart: %v", err)
	}

	// The human sees the client, and disconnects it.
	b.do(chromedp.Navigate(c.url+"/settings"), chromedp.WaitVisible(`section[aria-labelledby="clients-h"]`))
	if row := b.text(`section[aria-labelledby="clients-h"]`); !strings.Contains(row, "An SDK client") || !strings.Contains(row, slug) {
		t.Errorf("the settings say %q", row)
	}
	b.do(chromedp.Click(`form[action="/settings/connections/end"] button`), chromedp.WaitVisible(`.toast`))
	if got := request(t, http.MethodPost, client.resource, []byte(`{}`), "Authorization", "Bearer "+client.token().AccessToken, "Content-Type", "application/json"); got.status != http.StatusUnauthorized {
		t.Errorf("a disconnected client is answered %d", got.status)
	}
}

// urlClient is the SDK's client, with a human who answers the consent page in a browser.
type urlClient struct {
	t              *testing.T
	resource, slug string
	human          *browser
	tokens         *keptTokens
}

// keptTokens hands out a client's tokens, which a test can look at and let expire.
type keptTokens struct {
	ctx  context.Context
	cfg  *oauth2.Config
	last *oauth2.Token
}

func (k *keptTokens) Token() (token *oauth2.Token, err error) {
	if token, err = k.cfg.TokenSource(k.ctx, k.last).Token(); err == nil {
		k.last = token
	}
	return token, err
}

func (c *urlClient) token() *oauth2.Token { return c.tokens.last }

func (c *urlClient) expire() {
	expired := *c.tokens.last
	expired.Expiry = time.Now().Add(-time.Minute)
	c.tokens.last = &expired
}

func (c *urlClient) connect() *mcp.ClientSession {
	c.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		c.t.Fatal(err)
	}
	answers := make(chan url.Values, 1)
	callback := &http.Server{ReadHeaderTimeout: patience, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/callback" {
			answers <- r.URL.Query()
		}
		_, _ = io.WriteString(w, `<h1 id="main">You can close this window</h1>`)
	})}
	go func() { _ = callback.Serve(listener) }()
	c.t.Cleanup(func() { _ = callback.Close() })
	redirect := "http://" + listener.Addr().String() + "/callback"

	handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{
			Metadata: &oauthex.ClientRegistrationMetadata{ClientName: "An SDK client", RedirectURIs: []string{redirect}}},
		RedirectURL: redirect,
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			c.consent(args.URL, "http://"+listener.Addr().String())
			select {
			case q := <-answers:
				return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
		NewTokenSource: func(ctx context.Context, cfg *oauth2.Config, token *oauth2.Token) (oauth2.TokenSource, error) {
			c.tokens = &keptTokens{ctx, cfg, token}
			return c.tokens, nil
		},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, nil).Connect(c.t.Context(),
		&mcp.StreamableClientTransport{Endpoint: c.resource, OAuthHandler: handler}, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = session.Close() })
	return session
}

// consent is what the human does: sign in, read, allow.
func (c *urlClient) consent(page, origin string) {
	c.t.Helper()
	c.human.do(chromedp.Navigate(page))
	c.human.signInAs("test-user@127.0.0.1")
	said := c.human.text(`section[aria-labelledby="consent-h"]`)
	for _, must := range []string{"An SDK client", origin, c.slug, "claim_next", "Test User"} {
		if !strings.Contains(said, must) {
			c.t.Errorf("the consent page does not name %s: %s", must, said)
		}
	}
	c.human.do(chromedp.Click(`button[value=allow]`), chromedp.WaitVisible(`h1#main`))
}
