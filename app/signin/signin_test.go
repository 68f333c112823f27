package signin

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/settings"
)

const testBase = "https://switchboard.example"

// must fails the test on an error: must(f())(t).
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// house is a server at which people sign in through a provider that can misbehave.
type house struct {
	t       *testing.T
	db      *postgrestest.DB
	op      *fakeOP
	service *Service
	logged  *observer.ObservedLogs
}

func newHouse(t *testing.T, change ...func(*Config)) *house {
	t.Helper()
	core, logged := observer.New(zapcore.DebugLevel)
	h := &house{t: t, db: postgrestest.New(t), op: newFakeOP(t), logged: logged}
	reader := settings.NewReader(h.db.Pool, zap.NewNop())
	c := Config{Pool: h.db.Pool, Identity: identity.NewStore(h.db.Pool, queue.NewStore(h.db.Pool, reader)), BaseURL: testBase,
		OIDC:   OIDC{Issuer: h.op.URL, ClientID: testClient, ClientSecret: testSecret},
		Enroll: Enrollment{Allow: []string{"@example.com"}}, Log: zap.New(core)}
	for _, f := range change {
		f(&c)
	}
	h.service = New(c)
	return h
}

// begin leaves for the provider from a browser without a past.
func (h *house) begin() (address, browser string) {
	h.t.Helper()
	address, browser, err := h.service.Begin(h.t.Context(), oidcID, "")
	if err != nil {
		h.t.Fatal(err)
	}
	return address, browser
}

func (h *house) finish(browser string, answer url.Values) (*identity.Human, error) {
	return h.service.Finish(context.Background(), oidcID, browser, answer)
}

// signIn goes to the provider and back.
func (h *house) signIn() (*identity.Human, error) {
	h.t.Helper()
	address, browser := h.begin()
	code, state := h.op.code(address)
	return h.finish(browser, url.Values{"code": {code}, "state": {state}})
}

func (h *house) humans() (n int) {
	h.t.Helper()
	if err := h.db.Pool.QueryRow(h.t.Context(), `SELECT count(*) FROM humans`).Scan(&n); err != nil {
		h.t.Fatal(err)
	}
	return n
}

func TestSignIn_AHumanIsIssuerAndSubjectWhateverElseChanges(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	first := must(h.signIn())(t)
	if first.Issuer != h.op.URL || first.Subject != "subject-1" || first.Name != "Ann Example" {
		t.Fatalf("%+v", first)
	}
	// A new name, and an address that nobody listed: the same human.
	h.op.change(func() { h.op.claims = map[string]any{"name": "Ann Married", "email": "ann@elsewhere.example"} })
	again := must(h.signIn())(t)
	if again.ID != first.ID || again.Name != "Ann Married" {
		t.Fatalf("%+v became %+v", first, again)
	}
	// The same address under another subject is somebody else.
	h.op.change(func() { h.op.claims = map[string]any{"sub": "subject-2"} })
	if other := must(h.signIn())(t); other.ID == first.ID {
		t.Fatal("an address took over another's account")
	}
}

func TestBegin_AsksWithPKCEStateAndNonce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	address, _ := h.begin()
	q := must(url.Parse(address))(t).Query()
	if q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43 ||
		len(q.Get("state")) < 26 || len(q.Get("nonce")) < 26 || q.Get("redirect_uri") != testBase+"/login/with/oidc/callback" {
		t.Fatalf("%v", q)
	}
	other, _ := h.begin()
	if p := must(url.Parse(other))(t).Query(); p.Get("state") == q.Get("state") || p.Get("nonce") == q.Get("nonce") || p.Get("code_challenge") == q.Get("code_challenge") {
		t.Fatal("two sign-ins share a secret")
	}
}

func TestFinish_AStateWorksOnceInItsBrowserForTenMinutes(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	address, browser := h.begin()
	code, state := h.op.code(address)
	_, stranger := h.begin()
	for name, try := range map[string]struct{ browser, state string }{
		"another browser": {stranger, state}, "no browser": {"", state}, "a made-up state": {browser, "x"}, "no state": {browser, ""},
	} {
		if _, err := h.finish(try.browser, url.Values{"code": {code}, "state": {try.state}}); !errors.Is(err, ErrStale) {
			t.Errorf("%s: %v", name, err)
		}
	}
	answer := url.Values{"code": {code}, "state": {state}}
	must(h.finish(browser, answer))(t)
	if _, err := h.finish(browser, answer); !errors.Is(err, ErrStale) {
		t.Errorf("replayed: %v", err)
	}
	address, browser = h.begin()
	code, state = h.op.code(address)
	h.db.Advance(t, flowLifetime+time.Second)
	if _, err := h.finish(browser, url.Values{"code": {code}, "state": {state}}); !errors.Is(err, ErrStale) {
		t.Errorf("after ten minutes: %v", err)
	}
}

// Two tabs of a browser sign in at the same time.
func TestBegin_ABrowserCanHaveSeveralOnTheirWay(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	first, browser := h.begin()
	second, kept, err := h.service.Begin(t.Context(), oidcID, browser)
	if err != nil || kept != browser {
		t.Fatalf("%v", err)
	}
	for _, address := range []string{first, second} {
		code, state := h.op.code(address)
		must(h.finish(browser, url.Values{"code": {code}, "state": {state}}))(t)
	}
}

// A mix-up (RFC 9700 section 4.4): the answer of one provider comes back where another's is expected.
func TestFinish_AnAnswerOfAnotherProviderIsRefused(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(c *Config) { c.GitHub = GitHub{ClientID: "x", ClientSecret: "y"} })
	address, browser := h.begin()
	code, state := h.op.code(address)
	if _, err := h.service.Finish(t.Context(), githubID, browser, url.Values{"code": {code}, "state": {state}}); !errors.Is(err, ErrStale) {
		t.Errorf("at another provider's address: %v", err)
	}
	if _, err := h.finish(browser, url.Values{"code": {code}, "state": {state}, "iss": {"https://evil.example"}}); !errors.Is(err, ErrProvider) {
		t.Errorf("under another issuer's name: %v", err)
	}
	address, browser = h.begin()
	code, state = h.op.code(address)
	must(h.finish(browser, url.Values{"code": {code}, "state": {state}, "iss": {h.op.URL}}))(t)
}

func TestFinish_AnIDTokenThatIsNotForThisSignInIsRefused(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	foreign := must(rsa.GenerateKey(rand.Reader, 2048))(t)
	for name, lie := range map[string]func(){
		"wrong nonce":            func() { h.op.claims["nonce"] = "another" },
		"no nonce":               func() { h.op.claims["nonce"] = nil },
		"wrong issuer":           func() { h.op.claims["iss"] = "https://evil.example" },
		"wrong audience":         func() { h.op.claims["aud"] = "another client" },
		"issued to another":      func() { h.op.claims["azp"] = "another client" },
		"several, to nobody":     func() { h.op.claims["aud"] = []string{testClient, "another client"} },
		"expired":                func() { h.op.claims["exp"] = time.Now().Add(-2 * time.Minute).Unix() },
		"not valid yet":          func() { h.op.claims["nbf"] = time.Now().Add(10 * time.Minute).Unix() },
		"no subject":             func() { h.op.claims["sub"] = nil },
		"an unprintable subject": func() { h.op.claims["sub"] = "a\nb" },
		"another's signature":    func() { h.op.signer = foreign },
	} {
		h.op.change(func() { h.op.claims, h.op.signer = map[string]any{}, nil; lie() })
		if _, err := h.signIn(); !errors.Is(err, ErrProvider) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := h.humans(); n != 0 {
		t.Errorf("%d humans were made", n)
	}
}

func TestFinish_ToleratesAClockThatIsAMinuteOff(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for name, claims := range map[string]map[string]any{
		"behind": {"exp": time.Now().Add(-30 * time.Second).Unix(), "iat": time.Now().Add(-6 * time.Minute).Unix()},
		"ahead":  {"nbf": time.Now().Add(time.Minute).Unix(), "iat": time.Now().Add(time.Minute).Unix()},
	} {
		h.op.change(func() { h.op.claims = claims })
		if _, err := h.signIn(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFinish_FollowsAProviderThatRotatesItsKeys(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	must(h.signIn())(t)
	must(h.signIn())(t)
	h.op.change(func() {
		if h.op.asked != 1 {
			t.Errorf("the keys were fetched %d times for two sign-ins", h.op.asked)
		}
		h.op.rotate("second")
	})
	must(h.signIn())(t)
}

func TestFinish_AsksForTheUserInfoWhenTheIDTokenIsShort(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.op.change(func() {
		h.op.claims = map[string]any{"email": nil, "email_verified": nil, "name": nil}
		h.op.userInfo = map[string]any{"sub": "somebody else", "email": "ann@example.com", "email_verified": true}
	})
	if _, err := h.signIn(); !errors.Is(err, ErrProvider) {
		t.Errorf("about somebody else: %v", err)
	}
	h.op.change(func() {
		h.op.userInfo = map[string]any{"sub": "subject-1", "email": "ann@example.com", "email_verified": "true", "preferred_username": "ann"}
	})
	if human := must(h.signIn())(t); human.Name != "ann" {
		t.Errorf("%+v", human)
	}
}

func TestEnrollment_WhoIsNewMustBeListedUnderAVerifiedAddress(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for name, tc := range map[string]struct {
		claims map[string]any
		want   error
	}{
		"unverified":          {map[string]any{"email_verified": false}, ErrUnverified},
		"nothing of verified": {map[string]any{"email_verified": nil}, ErrUnverified},
		"no address":          {map[string]any{"email": nil}, ErrUnverified},
		"another domain":      {map[string]any{"email": "ann@example.com.evil.example"}, ErrNotEnrolled},
		"a subdomain":         {map[string]any{"email": "ann@sub.example.com"}, ErrNotEnrolled},
		"an odd address":      {map[string]any{"email": "@example.com"}, ErrNotEnrolled},
	} {
		h.op.change(func() { h.op.claims = tc.claims })
		if _, err := h.signIn(); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := h.humans(); n != 0 {
		t.Fatalf("%d humans were made", n)
	}
}

func TestEnrollment_OpenTakesWhomeverTheProviderKnows(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(c *Config) { c.Enroll = Enrollment{Open: true} })
	h.op.change(func() { h.op.claims = map[string]any{"email": nil, "name": nil} })
	if human := must(h.signIn())(t); human.Name == "" {
		t.Errorf("%+v", human)
	}
}

func TestEnrollment_RefusesEntriesThatCannotMatch(t *testing.T) {
	t.Parallel()
	for entry, ok := range map[string]bool{"ann@example.com": true, "@example.com": true, "example.com": false, "*@example.com": false,
		"@*.example.com": false, "Ann <ann@example.com>": false, "@": false, "a b@example.com": false} {
		if err := (Enrollment{Allow: []string{entry}}).Validate(); (err == nil) != ok {
			t.Errorf("%q: %v", entry, err)
		}
	}
	if !(Enrollment{Allow: []string{"Ann@Example.com"}}).Admits("ann@example.COM") {
		t.Error("case matters")
	}
}

func TestFinish_SaysWhatTheProviderDeclined(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	address, browser := h.begin()
	_, state := h.op.code(address)
	if _, err := h.finish(browser, url.Values{"error": {"access_denied"}, "state": {state}}); !errors.Is(err, ErrDeclined) {
		t.Error(err)
	}
}

// A provider may be down when this server starts, and whenever somebody wants in. It says so, and works when it is back.
func TestBegin_AProviderThatIsDownIsAskedAgain(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.op.change(func() { h.op.down = true })
	if _, _, err := h.service.Begin(t.Context(), oidcID, ""); !errors.Is(err, ErrProvider) {
		t.Fatal(err)
	}
	h.op.change(func() { h.op.down = false })
	address, browser := h.begin()
	code, state := h.op.code(address)
	h.op.change(func() { h.op.down = true })
	if _, err := h.finish(browser, url.Values{"code": {code}, "state": {state}}); !errors.Is(err, ErrProvider) {
		t.Fatal(err)
	}
	h.op.change(func() { h.op.down = false })
	must(h.signIn())(t)
}

func TestLog_SaysWhyAndNothingOfTheProvidersAnswer(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.op.change(func() { h.op.claims = map[string]any{"nonce": "another"} })
	_, _ = h.signIn()
	address, browser := h.begin()
	_, state := h.op.code(address)
	_, _ = h.finish(browser, url.Values{"code": {"a-made-up-code"}, "state": {state}})
	entries := h.logged.All()
	if len(entries) != 2 || entries[1].ContextMap()["reason"] != "invalid_grant" {
		t.Fatalf("%v", entries)
	}
	for _, e := range entries {
		for key, value := range e.ContextMap() {
			if text, _ := value.(string); strings.Contains(text, "must not reach") || strings.Contains(text, "a-made-up-code") || strings.Contains(text, testSecret) {
				t.Errorf("%s: %s", key, text)
			}
		}
	}
}

func TestSweep_DeletesTheSignInsThatNobodyCameBackFrom(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.begin()
	for _, want := range []int{1, 0} {
		if err := h.service.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		var n int
		if err := h.db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM sign_ins`).Scan(&n); err != nil || n != want {
			t.Fatalf("%d sign-ins are kept, %v", n, err)
		}
		h.db.Advance(t, flowLifetime+time.Second)
	}
}
