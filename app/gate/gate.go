// Package gate decides who calls, before anything of a call's body is read. MCP and A2A have the same one: the same
// limiters, the same bearers, and the same answers, which say nothing of whether an endpoint exists.
package gate

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/ratelimit"
)

// Config is what a gate needs.
type Config struct {
	Identity             *identity.Store
	PreAuth, PerEndpoint *ratelimit.Limiter
	ClientAddress        func(*http.Request) string // what PreAuth counts by
	Log                  *zap.Logger
}

// Gate stands before a route that names an endpoint as {endpoint}.
type Gate struct {
	Config
	origin *http.CrossOriginProtection
}

// New returns a gate.
func New(cfg Config) *Gate { return &Gate{Config: cfg, origin: http.NewCrossOriginProtection()} }

// Admit returns the endpoint whose bearer r presents. It returns nil when it has refused r: 403 for a page of
// another site and for the bearer of another endpoint, 429 with Retry-After over a limit, 401 without a valid bearer,
// whose challenge has the given parameters, 503 or 500 when that cannot be known.
func (g *Gate) Admit(w http.ResponseWriter, r *http.Request, challenge ...string) *identity.Endpoint {
	if !g.Reached(w, r) {
		return nil
	}
	return g.Enter(w, r, challenge...)
}

// Enter is the rest of Admit, for a route that looked at something else first.
func (g *Gate) Enter(w http.ResponseWriter, r *http.Request, challenge ...string) *identity.Endpoint {
	endpoint, err := g.Authenticate(r.Context(), r.Header)
	switch {
	case errors.Is(err, identity.ErrUnauthenticated):
		if Bearer(r.Header) != "" {
			challenge = append(challenge, `error="invalid_token"`) // who presents none has made no error (RFC 6750 section 3.1)
		}
		w.Header().Set("WWW-Authenticate", strings.TrimSpace("Bearer "+strings.Join(challenge, ", ")))
		http.Error(w, "a valid credential is needed: Authorization: Bearer sbk_...", http.StatusUnauthorized)
		return nil
	case err != nil:
		g.Broken(w, err)
		return nil
	case !endpoint.Matches(r.PathValue("endpoint")):
		http.Error(w, "this credential belongs to another endpoint", http.StatusForbidden)
		return nil
	}
	if ok, after := g.PerEndpoint.Allow(endpoint.ID.String()); !ok {
		tooMany(w, after)
		return nil
	}
	return endpoint
}

// Reached lets through what may be answered without a bearer. It returns false when it has refused r.
func (g *Gate) Reached(w http.ResponseWriter, r *http.Request) bool {
	if g.foreign(r) {
		http.Error(w, "this origin may not call", http.StatusForbidden)
		return false
	}
	if ok, after := g.PreAuth.Allow(g.ClientAddress(r)); !ok {
		tooMany(w, after)
		return false
	}
	return true
}

// foreign reports whether another site's page sends this. The check lets safe methods pass; here nothing is
// meant for a page, whatever the method.
func (g *Gate) foreign(r *http.Request) bool {
	unsafe := *r
	unsafe.Method = http.MethodPost
	return g.origin.Check(&unsafe) != nil
}

// Authenticate finds the endpoint that presents the bearer of these headers, or identity.ErrUnauthenticated. A call
// that waits asks again: its credential may have ended since.
func (g *Gate) Authenticate(ctx context.Context, h http.Header) (*identity.Endpoint, error) {
	return g.Identity.ResolveCredential(ctx, Bearer(h))
}

// Bearer returns the token that these headers present, or nothing, which opens nothing.
func Bearer(h http.Header) string {
	scheme, token, _ := strings.Cut(h.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

func tooMany(w http.ResponseWriter, after int) {
	w.Header().Set("Retry-After", strconv.Itoa(after))
	http.Error(w, "too many requests; wait and try again", http.StatusTooManyRequests)
}

// Broken answers when it cannot be known who calls.
func (g *Gate) Broken(w http.ResponseWriter, err error) {
	if postgres.Unavailable(err) {
		w.Header().Set("Retry-After", "1")
		http.Error(w, fault.ErrUnavailable.Message, http.StatusServiceUnavailable)
		return
	}
	request := uuid.NewString()
	g.Log.Error("a call could not be authenticated", zap.String("request_id", request), postgres.Field(err))
	w.Header().Set("X-Request-Id", request)
	http.Error(w, fault.ErrInternal.Message, http.StatusInternalServerError)
}
