package identity_test

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/settings"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

type bundle struct {
	*postgrestest.DB
	*identity.Store
	owner *identity.Human
}

func setup(t *testing.T) *bundle {
	t.Helper()
	t.Parallel()
	db := postgrestest.New(t)
	s := identity.NewStore(db.Pool, queue.NewStore(db.Pool, settings.NewReader(db.Pool, zap.NewNop())))
	owner, err := s.LocalOwner(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &bundle{db, s, owner}
}

func (b *bundle) vend(t *testing.T, p identity.VendParams) *identity.Vended {
	t.Helper()
	v, err := b.Vend(t.Context(), b.owner.ID, p)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func ptr[T any](v T) *T { return &v }

func wantUnauthenticated(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, identity.ErrUnauthenticated) {
		t.Errorf("%s: %v", what, err)
	}
}

func TestLocalOwner_IsOneAcrossStarts(t *testing.T) {
	b := setup(t)
	again, err := b.LocalOwner(t.Context())
	if err != nil || again.ID != b.owner.ID || again.Name != "Local owner" {
		t.Errorf("%+v, %v", again, err)
	}
}

func TestVend_GrantsTheDrainVerbsAndTheDefaultQueueUnlessAsked(t *testing.T) {
	b := setup(t)
	v := b.vend(t, identity.VendParams{Name: "My Böt!  7"})
	if !slices.Equal(v.Queues, []string{"default"}) || !slices.Equal(v.Verbs, identity.DrainVerbs) {
		t.Errorf("%+v", v.Endpoint)
	}
	if !regexp.MustCompile(`^my-b-t-7-[a-z0-9]{4}$`).MatchString(v.Slug) || !strings.HasPrefix(v.Token, "sbk_") || len(v.Token) != 47 {
		t.Errorf("slug %q, a token of %d bytes", v.Slug, len(v.Token))
	}
	if !v.Matches(v.Slug) || !v.Matches(typeid.Endpoint.Format(v.ID)) || v.Matches(v.ID.String()) || v.Matches("") {
		t.Error("an endpoint must be named by its slug or its id")
	}
	narrow := b.vend(t, identity.VendParams{Name: "日本", Verbs: []string{"list_todos", "list_todos"}, Queues: []string{"a", "b", "a"}})
	if !narrow.Grants("get_todo") || narrow.Grants("release") || len(narrow.Verbs) != 1 || len(narrow.Queues) != 2 || !strings.HasPrefix(narrow.Slug, "agent-") {
		t.Errorf("%+v", narrow.Endpoint)
	}
}

func TestVend_RefusesByNameAndNotByValue(t *testing.T) {
	b := setup(t)
	for argument, p := range map[string]identity.VendParams{
		"name":                      {Name: "a\x00CANARY"},
		"name ":                     {Name: "  "},
		"name  ":                    {Name: strings.Repeat("a", 129)},
		"agent_kind":                {Name: "x", Kind: ptr("a\nCANARY")},
		"queues":                    {Name: "x", Queues: []string{"CANARY"}},
		"queues ":                   {Name: "x", Queues: []string{"quarantine"}},
		"queues  ":                  {Name: "x", Queues: []string{".hidden"}},
		"verbs":                     {Name: "x", Verbs: []string{"CANARY"}},
		"default_lease_ttl_seconds": {Name: "x", DefaultLeaseTTLSeconds: ptr(59)},
		"default_max_attempts":      {Name: "x", DefaultMaxAttempts: ptr(0)},
		"expires_in_seconds":        {Name: "x", ExpiresIn: ptr(time.Second)},
	} {
		_, err := b.Vend(t.Context(), b.owner.ID, p)
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != fault.Invalid || !strings.HasPrefix(f.Message, strings.TrimSpace(argument)+" ") || strings.Contains(f.Message, "CANARY") {
			t.Errorf("%s: %v", argument, err)
		}
	}
}

func TestCredential_StopsWithItsEndpoint(t *testing.T) {
	b := setup(t)
	v := b.vend(t, identity.VendParams{Name: "x"})
	expiring := b.vend(t, identity.VendParams{Name: "y", ExpiresIn: ptr(time.Hour)})
	if e, err := b.ResolveCredential(t.Context(), v.Token); err != nil || e.ID != v.ID || e.AgentName != "x" {
		t.Fatalf("%+v, %v", e, err)
	}
	for _, token := range []string{"", "sbk_", v.Token + "x", strings.ToUpper(v.Token), "sbp_" + v.Token[4:]} {
		_, err := b.ResolveCredential(t.Context(), token)
		wantUnauthenticated(t, "an unknown token", err)
	}
	for range 2 { // revoking again changes nothing
		if e, err := b.Revoke(t.Context(), b.owner.ID, v.Slug); err != nil || e.RevokedAt == nil {
			t.Fatal(e, err)
		}
	}
	_, err := b.ResolveCredential(t.Context(), v.Token)
	wantUnauthenticated(t, "a revoked endpoint's", err)
	b.Advance(t, 2*time.Hour)
	_, err = b.ResolveCredential(t.Context(), expiring.Token)
	wantUnauthenticated(t, "an expired endpoint's", err)
}

func TestEndpoint_OfAnotherHumanIsUnknown(t *testing.T) {
	b := setup(t)
	v := b.vend(t, identity.VendParams{Name: "x"})
	other := uuid.Must(uuid.NewV7())
	if _, err := b.Pool.Exec(t.Context(), `INSERT INTO humans (id, issuer, subject, name) VALUES ($1, 'test', 'other', 'Other')`, other); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{v.Slug, typeid.Endpoint.Format(v.ID), "nosuch-1234", "", "a\x00", "\xff"} {
		if _, err := b.Endpoint(t.Context(), other, ref); err != fault.ErrEndpointNotFound {
			t.Errorf("%q: %v", ref, err)
		}
		if _, err := b.Revoke(t.Context(), other, ref); err != fault.ErrEndpointNotFound {
			t.Errorf("revoke %q: %v", ref, err)
		}
	}
	if list, err := b.Endpoints(t.Context(), other); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := b.ResolveCredential(t.Context(), v.Token); err != nil {
		t.Error("a foreign revoke took effect")
	}
}

func TestLoginLink_SignsInOnceAndNotForEver(t *testing.T) {
	b := setup(t)
	link := func() string {
		token, err := b.NewLoginLink(t.Context(), b.owner.ID)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	token := link()
	for range 3 {
		if valid, err := b.LoginLinkValid(t.Context(), token); !valid || err != nil {
			t.Fatalf("looking spent the link: %v, %v", valid, err)
		}
	}
	var mu sync.Mutex
	signedIn := 0
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if h, err := b.SpendLoginLink(context.Background(), token); err == nil && h.ID == b.owner.ID {
				mu.Lock()
				signedIn++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if signedIn != 1 {
		t.Errorf("one link signed in %d times", signedIn)
	}
	if valid, _ := b.LoginLinkValid(t.Context(), token); valid {
		t.Error("a spent link looks valid")
	}
	late := link()
	b.Advance(t, 11*time.Minute)
	_, err := b.SpendLoginLink(t.Context(), late)
	wantUnauthenticated(t, "a link of eleven minutes ago", err)
}

func TestAccessToken_ANewOneOfItsNameReplacesIt(t *testing.T) {
	b := setup(t)
	token := func(name string) string {
		s, err := b.NewAccessToken(t.Context(), b.owner.ID, name)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first, other := token("command line"), token("laptop")
	second := token("command line")
	_, err := b.ResolveAccessToken(t.Context(), first)
	wantUnauthenticated(t, "the replaced token", err)
	for _, s := range []string{other, second} {
		if h, err := b.ResolveAccessToken(t.Context(), s); err != nil || h.ID != b.owner.ID {
			t.Errorf("%+v, %v", h, err)
		}
	}
}

func TestTokens_OnlyHashesAreStored(t *testing.T) {
	b := setup(t)
	v := b.vend(t, identity.VendParams{Name: "x"})
	access, err := b.NewAccessToken(t.Context(), b.owner.ID, "x")
	if err != nil {
		t.Fatal(err)
	}
	link, err := b.NewLoginLink(t.Context(), b.owner.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ table, token string }{{"credentials", v.Token}, {"access_tokens", access}, {"login_links", link}} {
		var shown, rows int
		err := b.Pool.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE x::text LIKE '%' || $1 || '%'), count(*) FROM `+c.table+` x`, c.token[4:]).Scan(&shown, &rows)
		if err != nil || shown != 0 || rows == 0 {
			t.Errorf("%s: the token shows in %d of %d rows, %v", c.table, shown, rows, err)
		}
	}
}

func TestSession_LivesUntilItExpiresOrIsDeleted(t *testing.T) {
	b := setup(t)
	s := b.SessionStore(func([]byte) (*uuid.UUID, string) { return &b.owner.ID, "Firefox" })
	find := func(token string) bool {
		data, found, err := s.FindCtx(t.Context(), token)
		if err != nil || found && string(data) != "state" {
			t.Fatal(string(data), err)
		}
		return found
	}
	for _, token := range []string{"a", "b"} {
		if err := s.CommitCtx(t.Context(), token, []byte("state"), time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.DeleteCtx(t.Context(), "b"); err != nil || !find("a") || find("b") {
		t.Error("a session that was deleted lives, or one that was not does not", err)
	}
	b.Advance(t, 2*time.Hour)
	if find("a") {
		t.Error("an expired session lives")
	}
	if err := b.SweepSessions(t.Context()); err != nil {
		t.Fatal(err)
	}
	var rows int
	if err := b.Pool.QueryRow(t.Context(), `SELECT count(*) FROM sessions`).Scan(&rows); err != nil || rows != 0 {
		t.Errorf("%d rows, %v", rows, err)
	}
}
