package gate_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/gate"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/ratelimit"
	"github.com/switchboard-otel/switchboard/app/settings"
)

// RFC 6750 section 3.1: an error is told to whoever presented a token, and no error to whoever presented none.
func TestChallenge_NamesAnErrorOnlyWhenATokenWasPresented(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	store := identity.NewStore(db.Pool, queue.NewStore(db.Pool, settings.NewReader(db.Pool, zap.NewNop())))
	g := gate.New(gate.Config{Identity: store, PreAuth: ratelimit.New(1000, 1000), PerEndpoint: ratelimit.New(1000, 1000),
		ClientAddress: func(*http.Request) string { return "here" }, Log: zap.NewNop()})
	for authorization, want := range map[string]string{
		"":                  `Bearer realm="r"`,
		"Bearer":            `Bearer realm="r"`,
		"Bearer ":           `Bearer realm="r"`,
		"Basic dTpw":        `Bearer realm="r"`,
		"Bearer sbk_wrong":  `Bearer realm="r", error="invalid_token"`,
		"bearer sbo_wrong":  `Bearer realm="r", error="invalid_token"`,
		"Bearer  sbo_wrong": `Bearer realm="r", error="invalid_token"`,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/x", nil)
		r.Header.Set("Authorization", authorization)
		w := httptest.NewRecorder()
		if g.Admit(w, r, `realm="r"`) != nil || w.Code != http.StatusUnauthorized || w.Header().Get("WWW-Authenticate") != want {
			t.Errorf("%q is answered %d, %q", authorization, w.Code, w.Header().Get("WWW-Authenticate"))
		}
	}
}
