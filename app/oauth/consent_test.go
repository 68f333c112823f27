package oauth

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

func TestMetadata_SaysWhatRFC8414AndMCPNeed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	got := h.do(http.MethodGet, metadataPath, "", "")
	for key, want := range map[string]string{
		"issuer": h.url, "authorization_endpoint": h.url + "/oauth/authorize", "token_endpoint": h.url + "/oauth/token",
		"registration_endpoint": h.url + "/oauth/register", "revocation_endpoint": h.url + "/oauth/revoke",
	} {
		if got.text(key) != want {
			t.Errorf("%s is %v", key, got.body[key])
		}
	}
	if got.body["authorization_response_iss_parameter_supported"] != true {
		t.Error("it does not promise to name itself")
	}
}

func TestRegister_TellsAClientWhatItGets(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	got := h.do(http.MethodPost, registerPath, "application/json; charset=utf-8",
		`{"client_name":" Some\u202e client\u0000 ","redirect_uris":["https://app.example/cb"],"grant_types":["authorization_code"],
		"token_endpoint_auth_method":"client_secret_basic","scope":"everything","logo_uri":"javascript:alert(1)"}`)
	if got.status != http.StatusCreated || got.text("token_endpoint_auth_method") != "none" || got.text("client_secret") != "" ||
		got.text("scope") != "mcp" || got.body["logo_uri"] != nil {
		t.Fatalf("%d %v", got.status, got.body)
	}
	if name := got.text("client_name"); name != "Some client\uFFFD" && name != "Some client" {
		t.Errorf("the name is kept as %q", name)
	}
	if _, ok := typeid.Client.Parse(got.text("client_id")); !ok {
		t.Errorf("the id is %q", got.text("client_id"))
	}
}

func TestRegister_RefusesWhatCannotBe(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for body, want := range map[string]string{
		`{}`:                                     "invalid_redirect_uri",
		`{"redirect_uris":[]}`:                   "invalid_redirect_uri",
		`{"redirect_uris":["javascript:x"]}`:     "invalid_redirect_uri",
		`{"redirect_uris":["http://a.example"]}`: "invalid_redirect_uri",
		`{"redirect_uris":["https://a.example"],"grant_types":["client_credentials"]}`: "invalid_client_metadata",
		`{"redirect_uris":["https://a.example"],"response_types":["token"]}`:           "invalid_client_metadata",
		`[]`: "invalid_client_metadata", `{`: "invalid_client_metadata",
		`{"redirect_uris":["https://a.example/` + strings.Repeat("x", maxBody) + `"]}`: "invalid_client_metadata",
	} {
		if got := h.do(http.MethodPost, registerPath, "application/json", body); got.status != http.StatusBadRequest || got.text("error") != want {
			t.Errorf("%.60s: %d %v", body, got.status, got.body)
		}
	}
	if got := h.do(http.MethodPost, registerPath, "text/plain", `{"redirect_uris":["https://a.example"]}`); got.status != http.StatusBadRequest {
		t.Errorf("a form that another site can send: %d", got.status)
	}
}

// Anybody can register, so one address cannot register for ever, and what nobody said yes to does not pile up.
func TestRegister_IsBounded(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for range 40 {
		h.register()
	}
	got := h.do(http.MethodPost, registerPath, "application/json", `{"redirect_uris":["https://a.example"]}`)
	if got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") == "" {
		t.Errorf("the 41st of a burst of 40 answers %d", got.status)
	}
	_, err := h.db.Pool.Exec(t.Context(), `
		INSERT INTO oauth_clients (id, name, redirect_uris, created_at)
		SELECT gen_random_uuid(), 'flood', '{https://a.example}', sb_now() + make_interval(secs => n * 0.001) FROM generate_series(1, 10050) n`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.server.addClient(t.Context(), typeid.New(), "one more", []string{callback}); err != nil {
		t.Fatal(err)
	}
	if n := h.count("oauth_clients"); n > maxUnapproved+1 {
		t.Errorf("%d clients wait for a yes", n)
	}
}

func TestRedirectAllowed_IsHTTPSThisMachineOrAPrivateScheme(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"https://app.example/cb?x=1": true, "http://127.0.0.1:33418/": true, "http://[::1]:80/cb": true, "http://localhost/cb": true,
		"cursor://anysphere.cursor-retrieval/oauth/cb": true, "com.example.app:/cb": true, "vscode://vscode.github-authentication/did": true,
		"http://app.example/cb": false, "http://127.0.0.1.evil.example/": false, "http://localhost@evil.example/": false,
		"https://user:pass@app.example/": false, "https://app.example/#here": false, "https:///cb": false, "https://": false,
		"javascript:alert(1)": false, "data:text/html,x": false, "file:///etc/passwd": false, "about:blank": false, "//app.example": false,
		"/cb": false, "": false, "https://app.example/ ;x": false, "https://app.example/\r\nX: y": false, "https://аpp.example/": false,
		"https://app.example;script-src/": false, "https://a,b/": false, "https://app.example:/cb": false, "HTTPS://app.example/": true,
		"https://" + strings.Repeat("a", maxRedirect): false,
	} {
		if got := redirectAllowed(address); got != want {
			t.Errorf("%q: %v", address, got)
		}
	}
}

func TestRedirectRegistered_IsExactButForALoopbackPort(t *testing.T) {
	t.Parallel()
	registered := []string{"http://127.0.0.1:4711/cb?a=1", "https://app.example/cb", "http://localhost/cb"}
	for address, want := range map[string]bool{
		"http://127.0.0.1:4711/cb?a=1": true, "http://127.0.0.1:50000/cb?a=1": true, "http://127.0.0.1/cb?a=1": true, "https://app.example/cb": true,
		"http://localhost:9/cb": true, "http://127.0.0.1:4711/cb": false, "http://127.0.0.1:4711/cb?a=1#x": false, "http://127.0.0.1:4711/CB?a=1": false,
		"http://127.0.0.2:4711/cb?a=1": false, "http://[::1]:4711/cb?a=1": false, "https://app.example:8443/cb": false, "https://app.example/cb/": false,
		"https://app.example/cb?x": false, "https://127.0.0.1:4711/cb?a=1": false, "https://evil.example/cb": false, "": false,
	} {
		if got := redirectRegistered(registered, address); got != want {
			t.Errorf("%q: %v", address, got)
		}
	}
}

func TestAsk_NamesWhatAHumanMustKnow(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	c := must(h.server.Ask(t.Context(), h.owner.ID, h.request(h.register())))(t)
	if c.Client != "A test" || c.Origin != "http://127.0.0.1:4711" || c.Policy != c.Origin || c.Endpoint.ID != h.endpoint.ID {
		t.Fatalf("%+v", c)
	}
	to := must(url.Parse(must(h.server.Allow(t.Context(), c))(t)))(t)
	if q := to.Query(); !strings.HasPrefix(to.String(), callback+"?") || q.Get("state") != "their state" || q.Get("iss") != h.url || !strings.HasPrefix(q.Get("code"), "sbc_") {
		t.Errorf("allowed to %s", to)
	}
	no := must(url.Parse(h.server.Deny(c)))(t).Query()
	if no.Get("error") != "access_denied" || no.Has("code") || no.Get("state") != "their state" || no.Get("iss") != h.url {
		t.Errorf("denied with %v", no)
	}
}

// Where the client or its address is in doubt, nothing is sent anywhere.
func TestAsk_OfAnUnknownClientOrAForeignRedirectLeadsNowhere(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	client := h.register()
	for _, q := range []url.Values{
		h.request(typeid.Client.Format(typeid.New())), h.request(""), h.request("x"),
		h.request(client, "redirect_uri", "https://evil.example/"), h.request(client, "redirect_uri", callback+"/.."),
		h.request(client, "redirect_uri", "http://localhost:4711/callback"), h.request(client, "redirect_uri", ""),
	} {
		if _, err := h.server.Ask(t.Context(), h.owner.ID, q); !errors.Is(err, ErrUnknownClient) {
			t.Errorf("%v: %v", q, err)
		}
	}
}

func TestAsk_TellsTheClientWhatItAskedWrongly(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	client := h.register()
	twice := h.request(client)
	twice.Add("state", "another")
	for want, q := range map[string][]url.Values{
		"unsupported_response_type": {h.request(client, "response_type", "token")},
		"invalid_request": {h.request(client, "code_challenge_method", "plain"), h.request(client, "code_challenge", ""),
			h.request(client, "code_challenge", "short"), twice},
		"invalid_target": {h.request(client, "resource", ""), h.request(client, "resource", h.url), h.request(client, "resource", h.url+"/otlp/"+h.endpoint.Slug),
			h.request(client, "resource", "https://other.example/mcp/"+h.endpoint.Slug), h.request(client, "resource", h.resource()+"?x=1")},
	} {
		for _, one := range q {
			_, err := h.server.Ask(t.Context(), h.owner.ID, one)
			var wrong *AtClient
			if !errors.As(err, &wrong) {
				t.Errorf("%v: %v", one, err)
				continue
			}
			if got := must(url.Parse(wrong.Redirect))(t).Query(); got.Get("error") != want || got.Get("iss") != h.url || got.Has("code") {
				t.Errorf("%v: %v", one, got)
			}
		}
	}
}

func TestAsk_GivesNobodyElsesEndpointAndNoDeadOne(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	client := h.register()
	if _, err := h.server.Ask(t.Context(), h.stranger().ID, h.request(client)); !errors.Is(err, fault.ErrEndpointNotFound) {
		t.Errorf("a foreign endpoint: %v", err)
	}
	if _, err := h.server.Ask(t.Context(), h.owner.ID, h.request(client, "resource", h.url+"/mcp/unknown")); !errors.Is(err, fault.ErrEndpointNotFound) {
		t.Errorf("an unknown one: %v", err)
	}
	if _, err := h.identity.Revoke(t.Context(), h.owner.ID, h.endpoint.Slug); err != nil {
		t.Fatal(err)
	}
	if _, err := h.server.Ask(t.Context(), h.owner.ID, h.request(client)); !errors.Is(err, fault.ErrEndpointNotFound) {
		t.Errorf("a revoked one: %v", err)
	}
}

func TestConnections_AreAHumansOwnAndCanBeEnded(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	_, tokens := h.connect()
	stranger := h.stranger()
	if theirs := must(h.server.Connections(t.Context(), stranger.ID))(t); len(theirs) != 0 {
		t.Fatalf("a stranger sees %v", theirs)
	}
	mine := must(h.server.Connections(t.Context(), h.owner.ID))(t)
	if len(mine) != 1 || mine[0].Client != "A test" || mine[0].Slug != h.endpoint.Slug {
		t.Fatalf("%+v", mine)
	}
	if ended := must(h.server.Disconnect(t.Context(), stranger.ID, mine[0].ID))(t); ended || !h.opens(tokens.text("access_token")) {
		t.Fatal("a stranger ended it")
	}
	if ended := must(h.server.Disconnect(t.Context(), h.owner.ID, mine[0].ID))(t); !ended || h.opens(tokens.text("access_token")) {
		t.Fatal("the token outlives its connection")
	}
}
