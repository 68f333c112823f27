package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"go.uber.org/zap/zaptest"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/ratelimit"
	"github.com/switchboard-otel/switchboard/app/settings"
)

const callback = "http://127.0.0.1:4711/callback"

// house is an authorization server over a database of its own, reached over HTTP.
type house struct {
	t        *testing.T
	db       *postgrestest.DB
	identity *identity.Store
	server   *Server
	url      string
	owner    *identity.Human
	endpoint *identity.Vended
}

func newHouse(t *testing.T) *house {
	t.Helper()
	db := postgrestest.New(t)
	log := zaptest.NewLogger(t)
	h := &house{t: t, db: db, identity: identity.NewStore(db.Pool, queue.NewStore(db.Pool, settings.NewReader(db.Pool, log)))}
	h.owner = must(h.identity.LocalOwner(t.Context()))(t)
	h.endpoint = h.vend(h.owner, "My bot")

	web := httptest.NewUnstartedServer(nil)
	web.Start()
	t.Cleanup(web.Close)
	h.url = web.URL
	h.server = New(Config{Pool: db.Pool, Identity: h.identity, BaseURL: h.url, Log: log,
		PreAuth: ratelimit.New(1000, 1000), Registrations: ratelimit.New(0.001, 40),
		ClientAddress: func(*http.Request) string { return "192.0.2.1" }})
	web.Config.Handler = h.server.Handler()
	return h
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func (h *house) vend(human *identity.Human, name string) *identity.Vended {
	h.t.Helper()
	return must(h.identity.Vend(h.t.Context(), human.ID, identity.VendParams{Name: name}))(h.t)
}

func (h *house) stranger() *identity.Human {
	h.t.Helper()
	return must(h.identity.Enroll(h.t.Context(), "https://issuer.example", "stranger", "A stranger"))(h.t)
}

func (h *house) resource() string { return h.url + "/mcp/" + h.endpoint.Slug }

// reply is an answer of the server.
type reply struct {
	status int
	header http.Header
	body   map[string]any
}

func (r reply) text(key string) string {
	s, _ := r.body[key].(string)
	return s
}

func (h *house) do(method, path, media, body string) reply {
	h.t.Helper()
	r := must(http.NewRequestWithContext(h.t.Context(), method, h.url+path, strings.NewReader(body)))(h.t)
	if media != "" {
		r.Header.Set("Content-Type", media)
	}
	res := must(http.DefaultClient.Do(r))(h.t)
	defer func() { _ = res.Body.Close() }()
	out := reply{status: res.StatusCode, header: res.Header}
	raw := must(io.ReadAll(res.Body))(h.t)
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &out.body); err != nil && res.StatusCode != http.StatusMethodNotAllowed {
			h.t.Fatalf("%s %s answered no JSON: %s", method, path, raw)
		}
	}
	if res.Header.Get("Cache-Control") != "no-store" && res.StatusCode != http.StatusMethodNotAllowed {
		h.t.Errorf("%s %s may be cached", method, path)
	}
	return out
}

func (h *house) form(path string, fields ...string) reply {
	h.t.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	return h.do(http.MethodPost, path, "application/x-www-form-urlencoded", form.Encode())
}

// register makes a client known and returns its id.
func (h *house) register(redirects ...string) string {
	h.t.Helper()
	if len(redirects) == 0 {
		redirects = []string{callback}
	}
	body := must(json.Marshal(map[string]any{"client_name": "A test", "redirect_uris": redirects}))(h.t)
	got := h.do(http.MethodPost, registerPath, "application/json", string(body))
	if got.status != http.StatusCreated {
		h.t.Fatalf("registering answered %d %v", got.status, got.body)
	}
	return got.text("client_id")
}

const verifier = "a-verifier-that-is-longer-than-the-forty-three-characters"

func challenge() string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func (h *house) request(client string, change ...string) url.Values {
	q := url.Values{"response_type": {"code"}, "client_id": {client}, "redirect_uri": {callback}, "code_challenge": {challenge()},
		"code_challenge_method": {"S256"}, "resource": {h.resource()}, "state": {"their state"}}
	for i := 0; i+1 < len(change); i += 2 {
		q.Set(change[i], change[i+1])
	}
	return q
}

// code has the owner allow a request, and returns the code that the client is sent.
func (h *house) code(client string, change ...string) string {
	h.t.Helper()
	consent := must(h.server.Ask(h.t.Context(), h.owner.ID, h.request(client, change...)))(h.t)
	to := must(url.Parse(must(h.server.Allow(h.t.Context(), consent))(h.t)))(h.t)
	return to.Query().Get("code")
}

func (h *house) redeem(client, code string, more ...string) reply {
	h.t.Helper()
	return h.form(tokenPath, append([]string{"grant_type", "authorization_code", "client_id", client, "code", code, "code_verifier", verifier,
		"redirect_uri", callback, "resource", h.resource()}, more...)...)
}

func (h *house) refresh(client, token string, more ...string) reply {
	h.t.Helper()
	return h.form(tokenPath, append([]string{"grant_type", "refresh_token", "client_id", client, "refresh_token", token}, more...)...)
}

// connect gets a client its first tokens.
func (h *house) connect() (client string, tokens reply) {
	h.t.Helper()
	client = h.register()
	tokens = h.redeem(client, h.code(client))
	if tokens.status != http.StatusOK {
		h.t.Fatalf("redeeming answered %d %v", tokens.status, tokens.body)
	}
	return client, tokens
}

// opens reports whether a token opens an endpoint, and which.
func (h *house) opens(token string) bool {
	h.t.Helper()
	e, err := h.identity.ResolveCredential(context.Background(), token)
	if err == nil && e.ID != h.endpoint.ID {
		h.t.Errorf("the token opens %s", e.Slug)
	}
	return err == nil
}

func (h *house) count(table string) (n int) {
	h.t.Helper()
	if err := h.db.Pool.QueryRow(h.t.Context(), `SELECT count(*) FROM `+table).Scan(&n); err != nil {
		h.t.Fatal(err)
	}
	return n
}
