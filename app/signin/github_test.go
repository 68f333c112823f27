package signin

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// gitHub answers as GitHub Enterprise does, with the addresses that a test gives the account.
func gitHub(t *testing.T, addresses string) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /login/oauth/access_token", func(w http.ResponseWriter, r *http.Request) {
		if r.PostFormValue("code") != "good" || r.PostFormValue("code_verifier") == "" || r.PostFormValue("client_secret") != testSecret {
			_, _ = w.Write([]byte(`error=bad_verification_code`)) // with 200, as GitHub does
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"access_token":"gho_secret","token_type":"bearer","scope":"user:email"}`))
	})
	signed := func(answer string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer gho_secret" {
				http.Error(w, "no", http.StatusUnauthorized)
				return
			}
			if !json.Valid([]byte(answer)) {
				t.Error("the test's answer is no JSON")
			}
			_, _ = w.Write([]byte(answer))
		}
	}
	mux.HandleFunc("GET /api/v3/user", signed(`{"id":583231,"login":"ann","name":null}`))
	mux.HandleFunc("GET /api/v3/user/emails", signed(addresses))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

func TestGitHub_NeedsAVerifiedPrimaryAddressAndKeepsNoToken(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		addresses, code string
		want            error
	}{
		"verified":            {`[{"email":"x@example.com","primary":false,"verified":true},{"email":"ann@example.com","primary":true,"verified":true}]`, "good", nil},
		"primary unverified":  {`[{"email":"x@example.com","primary":false,"verified":true},{"email":"ann@example.com","primary":true,"verified":false}]`, "good", ErrUnverified},
		"none":                {`[]`, "good", ErrUnverified},
		"a bad code":          {`[]`, "bad", ErrProvider},
		"an answer of a kind": {`{"message":"rate limited"}`, "good", ErrProvider},
		"not listed":          {`[{"email":"ann@elsewhere.example","primary":true,"verified":true}]`, "good", ErrNotEnrolled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := gitHub(t, tc.addresses)
			h := newHouse(t, func(c *Config) {
				c.OIDC, c.GitHub = OIDC{}, GitHub{ClientID: testClient, ClientSecret: testSecret, URL: site.URL}
			})
			address, browser, err := h.service.Begin(t.Context(), githubID, "")
			if err != nil || !strings.HasPrefix(address, site.URL+"/login/oauth/authorize?") {
				t.Fatal(address, err)
			}
			asked := must(url.Parse(address))(t).Query()
			if asked.Get("code_challenge_method") != "S256" || asked.Get("scope") != "user:email" {
				t.Errorf("%v", asked)
			}
			human, err := h.service.Finish(t.Context(), githubID, browser, url.Values{"code": {tc.code}, "state": {asked.Get("state")}})
			if !errors.Is(err, tc.want) {
				t.Fatalf("%v", err)
			}
			if tc.want == nil && (human.Issuer != site.URL || human.Subject != "583231" || human.Name != "ann") {
				t.Errorf("%+v", human)
			}
			for _, table := range []string{"humans", "sign_ins", "sessions"} {
				var n int
				if err := h.db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM `+table+` x WHERE x::text LIKE '%gho_%'`).Scan(&n); err != nil || n > 0 {
					t.Errorf("%s holds the token, %v", table, err)
				}
			}
		})
	}
}

// Somebody who was let in once still needs the address to be verified.
func TestGitHub_AnAddressThatIsVerifiedNoMoreKeepsItsHumanOut(t *testing.T) {
	t.Parallel()
	site := gitHub(t, `[{"email":"ann@example.com","primary":true,"verified":false}]`)
	h := newHouse(t, func(c *Config) {
		c.OIDC, c.GitHub = OIDC{}, GitHub{ClientID: testClient, ClientSecret: testSecret, URL: site.URL}
	})
	must(h.service.identity.Enroll(t.Context(), site.URL, "583231", "ann"))(t)
	address, browser, err := h.service.Begin(t.Context(), githubID, "")
	if err != nil {
		t.Fatal(err)
	}
	state := must(url.Parse(address))(t).Query().Get("state")
	if _, err := h.service.Finish(t.Context(), githubID, browser, url.Values{"code": {"good"}, "state": {state}}); !errors.Is(err, ErrUnverified) {
		t.Error(err)
	}
}
