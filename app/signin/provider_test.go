package signin

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

const (
	testClient = "switchboard"
	testSecret = "provider-secret-0123456789"
)

// fakeOP is an OpenID Connect provider that can be made to do what a real one never should. It checks PKCE and that
// a code is used once, as a real one does.
type fakeOP struct {
	*httptest.Server
	t *testing.T

	mu       sync.Mutex
	key      *rsa.PrivateKey
	keyID    string
	codes    map[string]url.Values // what the code was asked for with
	claims   map[string]any        // beyond the usual, or instead of it; nil removes one
	userInfo map[string]any
	signer   *rsa.PrivateKey // signs instead of the published key
	down     bool
	asked    int // how often the keys were fetched
}

func newFakeOP(t *testing.T) *fakeOP {
	t.Helper()
	op := &fakeOP{t: t, codes: map[string]url.Values{}, claims: map[string]any{}}
	op.rotate("first")
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", op.configuration)
	mux.HandleFunc("GET /keys", op.keys)
	mux.HandleFunc("POST /token", op.token)
	mux.HandleFunc("GET /userinfo", op.info)
	op.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		op.mu.Lock()
		defer op.mu.Unlock()
		if op.down {
			http.Error(w, "a body that must not reach a log", http.StatusInternalServerError)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(op.Close)
	return op
}

// rotate replaces the provider's only key.
func (op *fakeOP) rotate(id string) {
	op.key, op.keyID = must(rsa.GenerateKey(rand.Reader, 2048))(op.t), id
}

// change does something to the provider while nobody asks it.
func (op *fakeOP) change(do func()) {
	op.mu.Lock()
	defer op.mu.Unlock()
	do()
}

func (op *fakeOP) configuration(w http.ResponseWriter, _ *http.Request) {
	document := map[string]any{"issuer": op.URL, "authorization_endpoint": op.URL + "/authorize", "token_endpoint": op.URL + "/token",
		"jwks_uri": op.URL + "/keys", "id_token_signing_alg_values_supported": []string{"RS256"}}
	if op.userInfo != nil {
		document["userinfo_endpoint"] = op.URL + "/userinfo"
	}
	op.write(w, document)
}

func (op *fakeOP) write(w http.ResponseWriter, document any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(document)
}

func (op *fakeOP) keys(w http.ResponseWriter, _ *http.Request) {
	op.asked++
	op.write(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: op.key.Public(), KeyID: op.keyID, Algorithm: "RS256", Use: "sig"}}})
}

// code is what the provider sends back for the address at which it was asked.
func (op *fakeOP) code(address string) (code, state string) {
	op.t.Helper()
	q := must(url.Parse(address))(op.t).Query()
	code = rand.Text()
	op.change(func() { op.codes[code] = q })
	return code, q.Get("state")
}

func (op *fakeOP) token(w http.ResponseWriter, r *http.Request) {
	asked, known := op.codes[r.PostFormValue("code")]
	delete(op.codes, r.PostFormValue("code"))
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !known || asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) || asked.Get("redirect_uri") != r.PostFormValue("redirect_uri") {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error":"invalid_grant","error_description":"a body that must not reach a log"}`))
		return
	}
	claims := map[string]any{"iss": op.URL, "aud": testClient, "sub": "subject-1", "nonce": asked.Get("nonce"), "name": "Ann Example",
		"email": "ann@example.com", "email_verified": true, "iat": time.Now().Unix(), "exp": time.Now().Add(5 * time.Minute).Unix()}
	maps.Copy(claims, op.claims)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	signer := op.key
	if op.signer != nil {
		signer = op.signer
	}
	signing := jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: signer, KeyID: op.keyID}}
	id := must(jwt.Signed(must(jose.NewSigner(signing, nil))(op.t)).Claims(claims).Serialize())(op.t)
	op.write(w, map[string]any{"access_token": "provider-access", "token_type": "Bearer", "id_token": id})
}

func (op *fakeOP) info(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer provider-access" {
		http.Error(w, "a token is needed", http.StatusUnauthorized)
		return
	}
	op.write(w, op.userInfo)
}
