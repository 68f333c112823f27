package oauth

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/switchboard-otel/switchboard/app/typeid"
)

func TestToken_ACodeGivesTokensThatOpenItsEndpoint(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	_, got := h.connect()
	if got.text("token_type") != "Bearer" || got.body["expires_in"] != 3600.0 || got.text("scope") != "mcp" ||
		!strings.HasPrefix(got.text("access_token"), "sbo_") || !strings.HasPrefix(got.text("refresh_token"), "sbr_") {
		t.Fatalf("%v", got.body)
	}
	if !h.opens(got.text("access_token")) {
		t.Fatal("the access token opens nothing")
	}
	if h.opens(got.text("refresh_token")) {
		t.Fatal("the refresh token opens the endpoint")
	}
	h.db.Advance(t, accessLifetime+time.Second)
	if h.opens(got.text("access_token")) {
		t.Fatal("the access token opens its endpoint after an hour")
	}
}

// RFC 9700 section 2.1.1: whoever redeems a code second, the first may have been the thief.
func TestToken_AReplayedCodeIsRefusedAndWhatItGaveDies(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	client := h.register()
	code := h.code(client)
	first := h.redeem(client, code)
	next := h.refresh(client, first.text("refresh_token"))
	if !h.opens(next.text("access_token")) {
		t.Fatal("the tokens do not work to begin with")
	}
	if again := h.redeem(client, code); again.status != http.StatusBadRequest || again.text("error") != "invalid_grant" {
		t.Fatalf("%d %v", again.status, again.body)
	}
	for _, token := range []string{first.text("access_token"), next.text("access_token")} {
		if h.opens(token) {
			t.Error("a token of the replayed code still opens the endpoint")
		}
	}
	if late := h.refresh(client, next.text("refresh_token")); late.text("error") != "invalid_grant" {
		t.Errorf("its refresh token answers %d", late.status)
	}
}

func TestToken_ACodeIsForItsClientItsVerifierAndItsAddressWithinFiveMinutes(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	client, other := h.register(), h.register()
	for name, try := range map[string]func(code string) reply{
		"another client": func(code string) reply { return h.redeem(other, code) },
		"another verifier": func(code string) reply {
			return h.form(tokenPath, "grant_type", "authorization_code", "client_id", client, "code", code, "code_verifier", verifier+"x")
		},
		"no verifier": func(code string) reply {
			return h.form(tokenPath, "grant_type", "authorization_code", "client_id", client, "code", code)
		},
		"another address": func(code string) reply {
			return h.form(tokenPath, "grant_type", "authorization_code", "client_id", client, "code", code, "code_verifier", verifier, "redirect_uri", callback+"2")
		},
		"another code": func(code string) reply { return h.redeem(client, code+"x") },
		"no code":      func(string) reply { return h.redeem(client, "") },
	} {
		code := h.code(client)
		if got := try(code); got.status != http.StatusBadRequest || got.text("error") != "invalid_grant" {
			t.Errorf("%s: %d %v", name, got.status, got.body)
		}
		if got := h.redeem(client, code); got.status != http.StatusOK {
			t.Errorf("%s: the code does not work for its client any more: %v", name, got.body)
		}
	}
	code := h.code(client)
	h.db.Advance(t, codeLifetime+time.Second)
	if got := h.redeem(client, code); got.text("error") != "invalid_grant" {
		t.Errorf("after five minutes: %d %v", got.status, got.body)
	}
}

// RFC 8707: a token is for the resource that the human allowed, and another cannot be had for its code.
func TestToken_AnotherResourceThanTheAllowedOneIsRefused(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	other := h.vend(h.owner, "Another bot")
	client := h.register()
	for _, resource := range []string{h.url + "/mcp/" + other.Slug, h.url, h.url + "/mcp/", "https://elsewhere.example/mcp/" + h.endpoint.Slug, "::"} {
		got := h.form(tokenPath, "grant_type", "authorization_code", "client_id", client, "code", h.code(client), "code_verifier", verifier, "resource", resource)
		if got.status != http.StatusBadRequest || got.text("error") != "invalid_target" {
			t.Errorf("%s: %d %v", resource, got.status, got.body)
		}
	}
	_, tokens := h.connect()
	if got := h.refresh(client, tokens.text("refresh_token"), "resource", h.url+"/mcp/"+other.Slug); got.status != http.StatusBadRequest {
		t.Errorf("a refresh for another resource: %d", got.status)
	}
	// The id names the same endpoint as the slug.
	if got := h.form(tokenPath, "grant_type", "authorization_code", "client_id", client, "code", h.code(client), "code_verifier", verifier,
		"resource", h.url+"/mcp/"+typeid.Endpoint.Format(h.endpoint.ID)); got.status != http.StatusOK {
		t.Errorf("by id: %d %v", got.status, got.body)
	}
}

func TestRefresh_GivesTheNextPairAndItsReuseEndsTheGrant(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	client, first := h.connect()
	second := h.refresh(client, first.text("refresh_token"), "resource", h.resource())
	if second.status != http.StatusOK || second.text("refresh_token") == first.text("refresh_token") || !h.opens(second.text("access_token")) {
		t.Fatalf("%d %v", second.status, second.body)
	}
	if got := h.refresh(client, first.text("refresh_token")); got.status != http.StatusBadRequest || got.text("error") != "invalid_grant" {
		t.Fatalf("a used refresh token answers %d %v", got.status, got.body)
	}
	for _, token := range []string{first.text("access_token"), second.text("access_token")} {
		if h.opens(token) {
			t.Error("an access token outlives the reuse")
		}
	}
	if got := h.refresh(client, second.text("refresh_token")); got.text("error") != "invalid_grant" {
		t.Errorf("the newest refresh token outlives the reuse: %d", got.status)
	}
}

// Two at once are a reuse as well: one of them gets tokens, and they are worth nothing.
func TestRefresh_OfTwoAtOnceNoneKeepsAWorkingToken(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	client, first := h.connect()
	var both sync.WaitGroup
	answers := make([]reply, 2)
	for i := range answers {
		both.Go(func() { answers[i] = h.refresh(client, first.text("refresh_token")) })
	}
	both.Wait()
	won := 0
	for _, a := range answers {
		if a.status == http.StatusOK {
			won++
			if h.opens(a.text("access_token")) {
				t.Error("a token of the race opens the endpoint")
			}
		}
	}
	if won != 1 {
		t.Errorf("%d of two got tokens", won)
	}
}

func TestRefresh_IsForItsClientAndExpires(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	client, tokens := h.connect()
	if got := h.refresh(h.register(), tokens.text("refresh_token")); got.text("error") != "invalid_grant" {
		t.Errorf("another client: %d %v", got.status, got.body)
	}
	h.db.Advance(t, 29*24*time.Hour)
	next := h.refresh(client, tokens.text("refresh_token"))
	if next.status != http.StatusOK {
		t.Fatalf("after 29 days: %d %v", next.status, next.body)
	}
	h.db.Advance(t, refreshLifetime+time.Second)
	if got := h.refresh(client, next.text("refresh_token")); got.text("error") != "invalid_grant" {
		t.Errorf("after 30 days without use: %d %v", got.status, got.body)
	}
}

func TestToken_DiesWithItsEndpoint(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	client, tokens := h.connect()
	code := h.code(client)
	if _, err := h.identity.Revoke(t.Context(), h.owner.ID, h.endpoint.Slug); err != nil {
		t.Fatal(err)
	}
	if h.opens(tokens.text("access_token")) {
		t.Error("the access token outlives its endpoint")
	}
	if got := h.refresh(client, tokens.text("refresh_token")); got.text("error") != "invalid_grant" {
		t.Errorf("refreshing: %d", got.status)
	}
	if got := h.redeem(client, code); got.text("error") != "invalid_grant" {
		t.Errorf("redeeming: %d", got.status)
	}
}

func TestToken_RefusesWhatIsNoRequestOfAClientItKnows(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	client := h.register()
	for name, tc := range map[string]struct {
		got    reply
		status int
		code   string
	}{
		"no client":        {h.form(tokenPath, "grant_type", "authorization_code", "code", "x"), 401, "invalid_client"},
		"an unknown one":   {h.redeem(typeid.Client.Format(typeid.New()), "x"), 401, "invalid_client"},
		"another grant":    {h.form(tokenPath, "grant_type", "password", "client_id", client), 400, "unsupported_grant_type"},
		"no grant":         {h.form(tokenPath, "client_id", client), 400, "unsupported_grant_type"},
		"one thing twice":  {h.redeem(client, "x", "code", "y"), 400, "invalid_request"},
		"a body too large": {h.redeem(client, strings.Repeat("x", maxBody)), 400, "invalid_request"},
		"no form":          {h.do(http.MethodPost, tokenPath, "application/json", `{}`), 401, "invalid_client"},
	} {
		if tc.got.status != tc.status || tc.got.text("error") != tc.code || tc.got.text("error_description") == "" {
			t.Errorf("%s: %d %v", name, tc.got.status, tc.got.body)
		}
	}
	if got := h.do(http.MethodGet, tokenPath, "", ""); got.status != http.StatusMethodNotAllowed {
		t.Errorf("GET answers %d", got.status)
	}
}

func TestRevoke_OfARefreshTokenEndsTheGrantAndOfAnAccessTokenItAlone(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	client, tokens := h.connect()
	access, refresh := tokens.text("access_token"), tokens.text("refresh_token")
	for _, unrelated := range []string{"sbr_unknown", "x"} {
		if got := h.form(revokePath, "client_id", client, "token", unrelated); got.status != http.StatusOK {
			t.Errorf("an unknown token answers %d", got.status)
		}
	}
	other := h.register()
	for _, token := range []string{access, refresh} {
		if got := h.form(revokePath, "client_id", other, "token", token); got.status != http.StatusOK || !h.opens(access) {
			t.Errorf("another client revoked a token, or learned of it: %d", got.status)
		}
	}
	h.form(revokePath, "client_id", client, "token", access, "token_type_hint", "access_token")
	if h.opens(access) {
		t.Error("the access token works after its revocation")
	}
	next := h.refresh(client, refresh)
	if next.status != http.StatusOK {
		t.Fatalf("the grant ended with an access token: %v", next.body)
	}
	h.form(revokePath, "client_id", client, "token", next.text("refresh_token"))
	if h.opens(next.text("access_token")) || h.count("oauth_grants") != 0 {
		t.Error("the grant outlives its refresh token's revocation")
	}
}

func TestStore_HoldsNoToken(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	client, tokens := h.connect()
	code := h.code(client)
	for _, table := range []string{"oauth_grants", "oauth_access_tokens", "oauth_refresh_tokens"} {
		for _, secret := range []string{code, tokens.text("access_token"), tokens.text("refresh_token")} {
			var n int
			if err := h.db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM `+table+` x WHERE position($1 IN x::text) > 0`, secret[4:]).Scan(&n); err != nil || n > 0 {
				t.Errorf("%s holds a secret in %d rows, %v", table, n, err)
			}
		}
	}
}

func TestSweep_KeepsWhatCanStillBeUsed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	client, tokens := h.connect()
	h.code(client) // allowed, never redeemed
	h.register()   // never allowed
	sweep := func(after time.Duration) {
		t.Helper()
		h.db.Advance(t, after)
		if err := h.server.Sweep(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	sweep(0)
	if h.count("oauth_grants") != 2 || h.count("oauth_clients") != 2 || !h.opens(tokens.text("access_token")) {
		t.Fatal("something went while it could be used")
	}
	sweep(accessLifetime + time.Second)
	if g, a, r := h.count("oauth_grants"), h.count("oauth_access_tokens"), h.count("oauth_refresh_tokens"); g != 1 || a != 0 || r != 1 {
		t.Errorf("after an hour: %d grants, %d access tokens, %d refresh tokens", g, a, r)
	}
	sweep(unapprovedFor)
	if n := h.count("oauth_clients"); n != 1 {
		t.Errorf("after a day: %d clients", n)
	}
	if got := h.refresh(client, tokens.text("refresh_token")); got.status != http.StatusOK {
		t.Fatalf("the swept server does not refresh: %v", got.body)
	}
	sweep(refreshLifetime)
	if g, r := h.count("oauth_grants"), h.count("oauth_refresh_tokens"); g != 0 || r != 0 {
		t.Errorf("after a month without use: %d grants, %d refresh tokens", g, r)
	}
	sweep(forgottenFor)
	if n := h.count("oauth_clients"); n != 0 {
		t.Errorf("after a year: %d clients", n)
	}
}
