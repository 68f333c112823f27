package e2e

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
)

// A client of the official SDK gets a URL and nothing else. It finds out whom to ask, registers itself, sends its human
// to a page that says what it wants, calls every verb there is, is rung for work, fetches new tokens, and goes on after
// the server was restarted. Since the protocol's version 2026-07-28 there are no sessions, and streams are calls.
func TestOAuth_AnMCPClientConnectsWithAURLAlone(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	c := start(t, withProvider(t), withEnv("SWITCHBOARD_DATABASE_URL="+db.URL, "SWITCHBOARD_A2A=1",
		"SWITCHBOARD_SECRET_ENCRYPTION_KEY="+strings.Repeat("5e", 32)))
	b := openBrowser(t)
	b.do(chromedp.Navigate(c.url + "/endpoints"))
	b.signInAs("test-user@127.0.0.1")
	owner := ownerOf(t, db)
	stranger := openBrowser(t) // the same human in a browser that is not signed in yet

	var clients []*urlClient
	for i, version := range []string{"2025-11-25", "2026-07-28"} {
		human := []*browser{stranger, b}[i]
		client := &urlClient{t: t, c: c, at: c.vendAll(owner, "sdk"), version: version, human: human, rings: make(rings, 100), changed: make(chan struct{}, 100)}
		client.withConsent()
		client.connect()
		client.callsEverything()
		client.isRung(owner)
		clients = append(clients, client)
	}
	clients[0].opensNothingElse(clients[1].at)

	// An hour later the access tokens are worth nothing, and the streams that they opened have ended.
	var before []oauth2.Token
	for _, client := range clients {
		before = append(before, *client.token())
		client.tokens.expire()
	}
	db.Advance(t, time.Hour+time.Second)
	for i, client := range clients {
		client.comesBack()
		client.isRung(owner)
		if now := client.token(); now.AccessToken == before[i].AccessToken || now.RefreshToken == before[i].RefreshToken {
			t.Error("the client did not refresh its tokens")
		}
	}

	if err := c.stop(); err != nil {
		t.Fatalf("%v\n%s", err, c.output)
	}
	c.launch()
	c.awaitReady()
	for _, client := range clients {
		client.tokens.expire()
		client.lists()
		client.comesBack()
		client.isRung(owner)
	}

	// The human sees the clients, and disconnects one, whose streams end.
	last := clients[1]
	stream := open(t, last.at.MCPURL, "Authorization", "Bearer "+last.token().AccessToken, "Accept", "text/event-stream")
	b.do(chromedp.Navigate(c.url+"/settings"), chromedp.WaitVisible(`section[aria-labelledby="clients-h"]`))
	for _, client := range clients {
		if rows := b.text(`section[aria-labelledby="clients-h"]`); !strings.Contains(rows, "An SDK client") || !strings.Contains(rows, client.at.Slug) {
			t.Errorf("the settings say %q", rows)
		}
	}
	b.do(chromedp.Click(`form[action="/settings/connections/end"] button`), chromedp.WaitVisible(`.toast`)) // the newest is the first
	stream.ends()
	if got := last.post(last.at.MCPURL); got.status != http.StatusUnauthorized {
		t.Errorf("a disconnected client is answered %d", got.status)
	}
	clients[0].lists()
}

// callsEverything calls each verb that the client is offered.
func (c *urlClient) callsEverything() {
	c.t.Helper()
	w := newShift(c.t, c.at, func(verb string, args map[string]any) json.RawMessage {
		c.t.Helper()
		result, err := c.session.CallTool(c.t.Context(), &mcp.CallToolParams{Name: verb, Arguments: args})
		if err != nil {
			c.t.Fatal(err)
		}
		structured, err := json.Marshal(result.StructuredContent)
		if err != nil || result.IsError {
			c.t.Fatalf("%s is answered %+v, %v", verb, result.Content, err)
		}
		return structured
	})
	w.work()
	var offered []string
	for tool, err := range c.session.Tools(c.t.Context(), nil) {
		if err != nil {
			c.t.Fatal(err)
		}
		offered = append(offered, tool.Name)
	}
	slices.Sort(offered)
	every := slices.Sorted(slices.Values(identity.Verbs))
	if diff := cmp.Diff(every, offered) + cmp.Diff(every, slices.Sorted(maps.Keys(w.used))); diff != "" {
		c.t.Errorf("of what there is, is offered and was called: %s", diff)
	}
	select {
	case <-c.changed:
	case <-time.After(patience):
		c.t.Error("the stream does not tell of the changed lease")
	}
}

// isRung pushes work, which the client hears of and does.
func (c *urlClient) isRung(owner person) {
	c.t.Helper()
	id := c.c.pushAs(owner, c.at, map[string]any{"title": "ring for me"})
	c.rings.await(c.t, id)
	must[any](c.t, c.session, "claim", map[string]any{"id": id})
	must[any](c.t, c.session, "complete", map[string]any{"id": id})
}

func (c *urlClient) lists() {
	c.t.Helper()
	must[any](c.t, c.session, "list_todos", nil)
}

// comesBack opens the stream again where the SDK does not do so by itself: a call that listens is made once.
func (c *urlClient) comesBack() {
	c.t.Helper()
	if c.version >= "2026" {
		c.connect()
	}
}

// opensNothingElse wants the client's token to feed spans to its own endpoint, and nothing of another one.
func (c *urlClient) opensNothingElse(other vended) {
	c.t.Helper()
	if got := c.post(c.at.OTLPURL + "/v1/traces"); got.status != http.StatusOK {
		c.t.Errorf("spans with the token: %d %s", got.status, got.body)
	}
	for _, address := range []string{other.MCPURL, other.OTLPURL + "/v1/traces"} {
		if got := c.post(address); got.status != http.StatusForbidden {
			c.t.Errorf("%s with the token of another endpoint: %d %s", address, got.status, got.body)
		}
	}
}

func (c *urlClient) post(address string) reply {
	c.t.Helper()
	return request(c.t, http.MethodPost, address, []byte(`{}`), "Authorization", "Bearer "+c.token().AccessToken, "Content-Type", "application/json")
}

// urlClient is the SDK's client, with a human who answers the consent page in a browser.
type urlClient struct {
	t       *testing.T
	c       *collector
	at      vended
	version string // of the protocol
	human   *browser
	handler auth.OAuthHandler
	session *mcp.ClientSession
	tokens  *keptTokens
	rings   rings
	changed chan struct{} // tools/list_changed
}

// keptTokens hands out a client's tokens, which a test can look at and let expire. Calls and streams ask at once.
type keptTokens struct {
	ctx  context.Context
	cfg  *oauth2.Config
	mu   sync.Mutex
	last *oauth2.Token
}

func (k *keptTokens) Token() (token *oauth2.Token, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if token, err = k.cfg.TokenSource(k.ctx, k.last).Token(); err == nil {
		k.last = token
	}
	return token, err
}

func (k *keptTokens) expire() {
	k.mu.Lock()
	defer k.mu.Unlock()
	expired := *k.last
	expired.Expiry = time.Now().Add(-time.Minute)
	k.last = &expired
}

func (c *urlClient) token() *oauth2.Token {
	c.tokens.mu.Lock()
	defer c.tokens.mu.Unlock()
	return c.tokens.last
}

// withConsent prepares the part of a client that finds out whom to ask, registers and waits for its human's answer.
func (c *urlClient) withConsent() {
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

	c.handler, err = auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
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
			c.tokens = &keptTokens{ctx: ctx, cfg: cfg, last: token}
			return c.tokens, nil
		},
	})
	if err != nil {
		c.t.Fatal(err)
	}
}

// connect opens a session, with a stream on which it is told of things.
func (c *urlClient) connect() {
	c.t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { c.changed <- struct{}{} }})
	session, err := client.Connect(c.t.Context(), &mcp.StreamableClientTransport{Endpoint: c.at.MCPURL, OAuthHandler: c.handler,
		HTTPClient: &http.Client{Transport: c.rings}, MaxRetries: 1000}, &mcp.ClientSessionOptions{ProtocolVersion: c.version})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = session.Close() })
	c.session = session
	if got := session.InitializeResult().ProtocolVersion; got != c.version {
		c.t.Errorf("the session speaks %s", got)
	}
}

// consent is what the human does: sign in, read, allow.
func (c *urlClient) consent(page, origin string) {
	c.t.Helper()
	c.human.do(chromedp.Navigate(page), chromedp.WaitVisible(`button[value=allow], .providers a`))
	if c.human.number(`document.querySelectorAll('.providers a').length`) > 0 {
		c.human.signInAs("test-user@127.0.0.1")
	}
	said := c.human.text(`section[aria-labelledby="consent-h"]`)
	for _, must := range []string{"An SDK client", origin, c.at.Slug, "claim_next", "Test User"} {
		if !strings.Contains(said, must) {
			c.t.Errorf("the consent page does not name %s: %s", must, said)
		}
	}
	c.human.do(chromedp.Click(`button[value=allow]`), chromedp.WaitVisible(`h1#main`))
}
