package e2e

import (
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/op"
)

const (
	providerClient = "switchboard"
	providerSecret = "a-secret-between-two-servers"
)

// withProvider runs an OpenID Connect provider beside the collector, and lets its people in.
func withProvider(t *testing.T) option {
	return func(c *collector) { withProviderFor(t, "http://"+c.addr)(c) }
}

// withProviderFor is for a collector that people reach at another address than its own.
func withProviderFor(t *testing.T, base string) option {
	return func(c *collector) {
		server := httptest.NewUnstartedServer(nil)
		issuer := "http://" + server.Listener.Addr().String()
		client := storage.WebClient(providerClient, providerSecret, base+"/login/with/oidc/callback")
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
