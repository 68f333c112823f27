// Package oauth is the authorization server by which an MCP client connects with nothing but a URL: it registers
// itself, a signed-in human allows it one of their endpoints, and it gets tokens that open that endpoint and nothing
// else (OAuth 2.1; RFC 7591, 7636, 8414, 8707, 7009, 9207). The pages that ask the human are the Board's.
package oauth

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/ratelimit"
)

// How long what is issued lasts. A refresh renews the refresh token's time: a client that is used stays connected.
const (
	codeLifetime    = 5 * time.Minute
	accessLifetime  = time.Hour
	refreshLifetime = 30 * 24 * time.Hour
)

// scope is the one that every token has. What a token may do is fixed by its endpoint, so a client has nothing to
// choose from.
const scope = "mcp"

// resourcePath stands before the name of an endpoint in the resource that a token is asked for (RFC 8707).
const resourcePath = "/mcp/"

// Config is what the server needs.
type Config struct {
	Pool     *pgxpool.Pool
	Identity *identity.Store
	BaseURL  string // the issuer; without a slash at its end
	Log      *zap.Logger

	PreAuth, Registrations *ratelimit.Limiter         // per client address; Registrations beside PreAuth
	ClientAddress          func(*http.Request) string // what they count by
}

// Server issues codes and tokens.
type Server struct {
	Config
	base *url.URL
}

// New returns the server. The base URL was checked when the configuration was read.
func New(c Config) *Server {
	base, err := url.Parse(c.BaseURL)
	if err != nil {
		base = &url.URL{}
	}
	return &Server{c, base}
}

// Paths are those that Handler serves. The Board serves AuthorizePath, because a human answers there.
var Paths = []string{metadataPath, registerPath, tokenPath, revokePath}

// AuthorizePath is where a client sends its human.
const AuthorizePath = "/oauth/authorize"

const (
	metadataPath = "/.well-known/oauth-authorization-server"
	registerPath = "/oauth/register"
	tokenPath    = "/oauth/token"
	revokePath   = "/oauth/revoke"
)

// Handler answers clients. They are programs: none of it reads a cookie, and no page of another site gets to see it.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+metadataPath, s.metadata)
	mux.HandleFunc("POST "+registerPath, s.register)
	mux.HandleFunc("POST "+tokenPath, s.token)
	mux.HandleFunc("POST "+revokePath, s.revoke)
	return s.limited(mux)
}

// endpointOf reads the name of an endpoint out of a resource, which must be one of this server's.
func (s *Server) endpointOf(resource string) (ref string, ok bool) {
	u, err := url.Parse(resource)
	if err != nil || u.Fragment != "" || u.RawQuery != "" || u.User != nil ||
		!strings.EqualFold(u.Scheme, s.base.Scheme) || !strings.EqualFold(u.Host, s.base.Host) {
		return "", false
	}
	ref, ok = strings.CutPrefix(u.Path, s.base.Path+resourcePath)
	ref = strings.TrimSuffix(ref, "/")
	return ref, ok && ref != "" && !strings.Contains(ref, "/")
}
