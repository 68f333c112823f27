package mcpserver_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/oauth"
	"github.com/switchboard-otel/switchboard/app/ratelimit"
)

// connection is an OAuth client that the human allowed the bundle's endpoint.
type connection struct {
	t                             *testing.T
	server                        *oauth.Server
	client, code, access, refresh string
}

func (b *bundle) connectOAuth(t *testing.T) *connection {
	t.Helper()
	c := &connection{t: t, server: oauth.New(oauth.Config{Pool: b.Pool, Identity: b.identity, BaseURL: b.url, Log: zap.NewNop(),
		PreAuth: ratelimit.New(1000, 1000), Registrations: ratelimit.New(1000, 1000),
		ClientAddress: func(*http.Request) string { return "192.0.2.1" }})}
	const verifier, callback = "a-verifier-that-is-longer-than-the-forty-three-characters", "http://127.0.0.1:4711/callback"
	c.client = c.post("/oauth/register", "application/json", `{"client_name":"A test","redirect_uris":["`+callback+`"]}`)["client_id"]
	challenge := sha256.Sum256([]byte(verifier))
	consent, err := c.server.Ask(t.Context(), b.human.ID, url.Values{"response_type": {"code"}, "client_id": {c.client}, "redirect_uri": {callback},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])}, "code_challenge_method": {"S256"},
		"resource": {b.url + "/mcp/" + b.vended.Slug}})
	if err != nil {
		t.Fatal(err)
	}
	to, err := c.server.Allow(t.Context(), consent)
	if err != nil {
		t.Fatal(err)
	}
	_, query, _ := strings.Cut(to, "?")
	answer, _ := url.ParseQuery(query)
	c.code = answer.Get("code")
	tokens := c.form("/oauth/token", "grant_type", "authorization_code", "code", c.code, "code_verifier", verifier)
	if c.access, c.refresh = tokens["access_token"], tokens["refresh_token"]; c.access == "" || c.refresh == "" {
		t.Fatal("the client got no tokens")
	}
	return c
}

func (c *connection) form(path string, fields ...string) map[string]string {
	c.t.Helper()
	form := url.Values{"client_id": {c.client}}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return c.post(path, "application/x-www-form-urlencoded", form.Encode())
}

func (c *connection) post(path, media, body string) map[string]string {
	c.t.Helper()
	r := httptest.NewRequestWithContext(c.t.Context(), http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", media)
	w := httptest.NewRecorder()
	c.server.Handler().ServeHTTP(w, r)
	var all map[string]any
	_ = json.Unmarshal(w.Body.Bytes(), &all)
	texts := map[string]string{}
	for key, value := range all {
		if text, ok := value.(string); ok {
			texts[key] = text
		}
	}
	return texts
}

// A stream ends with what opened it, however that ended, and hears nothing of the todo that comes next. Streams of the
// same endpoint that another credential opened go on, and are rung.
func TestDoorbell_AStreamEndsWithTheCredentialThatOpenedIt(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, b *bundle, c *connection){
		"disconnected by its human": func(t *testing.T, b *bundle, c *connection) {
			all, err := c.server.Connections(t.Context(), b.human.ID)
			if err != nil || len(all) != 1 {
				t.Fatal(all, err)
			}
			if ended, err := c.server.Disconnect(t.Context(), b.human.ID, all[0].ID); err != nil || !ended {
				t.Fatal(ended, err)
			}
		},
		"the client gave its refresh token back": func(_ *testing.T, _ *bundle, c *connection) { c.form("/oauth/revoke", "token", c.refresh) },
		"the client gave its access token back":  func(_ *testing.T, _ *bundle, c *connection) { c.form("/oauth/revoke", "token", c.access) },
		"the code came again": func(t *testing.T, _ *bundle, c *connection) {
			if got := c.form("/oauth/token", "grant_type", "authorization_code", "code", c.code); got["error"] != "invalid_grant" {
				t.Fatal(got)
			}
		},
		"its hour is over": func(t *testing.T, b *bundle, _ *connection) { b.Advance(t, time.Hour+time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t)
			c := b.connectOAuth(t)
			theirs := *b.vended
			theirs.Token = c.access
			ended := b.listen(t, &theirs, "a")
			first := b.push(t, "while the token stands")
			if n, ok := ended.next(t); !ok || n.Params.Meta["todo_id"] != first {
				t.Fatalf("a client with an access token hears %+v", n)
			}
			end(t, b, c)
			second := b.push(t, "afterwards")
			if n, ok := ended.next(t); ok {
				t.Fatalf("the stream goes on with %+v", n)
			}
			own := b.listen(t, b.vended, "b")
			for told := ""; told != second; { // the first one may be due to be rung again
				n, ok := own.next(t)
				if !ok {
					t.Fatal("the endpoint's own stream ended, too")
				}
				told = n.Params.Meta["todo_id"]
			}
		})
	}
}

func TestDoorbell_ARotationEndsTheStreamsOfTheOldCredentialAlone(t *testing.T) {
	b := setup(t)
	ended := b.listen(t, b.vended, "a")
	rotated, err := b.identity.Rotate(t.Context(), b.human.ID, b.vended.Slug, 0)
	if err != nil {
		t.Fatal(err)
	}
	own := b.listen(t, rotated, "b")
	if n, ok := ended.next(t); ok {
		t.Fatalf("the stream goes on with %+v", n)
	}
	id := b.push(t, "for the new one")
	if n, ok := own.next(t); !ok || n.Params.Meta["todo_id"] != id {
		t.Errorf("the new stream hears %+v", n)
	}
}

// Both kinds of credential end with their endpoint, by a revocation and by its own time.
func TestDoorbell_EveryStreamEndsWithTheEndpoint(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, b *bundle){
		"revoked": func(t *testing.T, b *bundle) {
			if _, err := b.identity.Revoke(t.Context(), b.human.ID, b.vended.Slug); err != nil {
				t.Fatal(err)
			}
		},
		"expired": func(t *testing.T, b *bundle) { b.Advance(t, 31*time.Minute) },
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t)
			soon := 30 * time.Minute
			b.vended = b.vend(t, identity.VendParams{Name: "for half an hour", ExpiresIn: &soon})
			theirs := *b.vended
			theirs.Token = b.connectOAuth(t).access
			streams := []*stream{b.listen(t, b.vended, "a"), b.listen(t, &theirs, "b")}
			end(t, b)
			for _, s := range streams {
				if n, ok := s.next(t); ok {
					t.Errorf("a stream of an endpoint that ended hears %+v", n)
				}
			}
		})
	}
}
