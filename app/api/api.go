// Package api is the human HTTP API under /api/v1: what a person may do to their endpoints and todos, with a
// personal access token. The command line is its first client; openapi.json describes it, and a test keeps
// the two equal.
package api

import (
	"net/http"
	"path"

	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/intake"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/rungraph"
	"github.com/switchboard-otel/switchboard/app/spans"
)

// Prefix is where the API lives. The handler expects whole paths.
const Prefix = "/api/v1"

// maxBody caps a request (decisions.md 51), but for the import of a document.
const maxBody = 1 << 20

// Config is what the API works with.
type Config struct {
	Identity   *identity.Store
	Queue      *queue.Store
	Spans      *spans.Store
	Intake     *intake.Store
	RunGraphs  *rungraph.Store
	BaseURL    string        // what links are built from, without a trailing slash
	Version    string        // of the server
	LocalLogin bool          // one-time sign-in links are handed out
	Describe   func() string // the database in a few words, for a person
	Log        *zap.Logger
}

// New returns the handler of everything below Prefix.
func New(cfg Config) http.Handler {
	s := &server{Config: cfg}
	mux := http.NewServeMux()
	byPath := map[string]map[string]http.Handler{}
	for _, r := range s.routes() {
		if byPath[r.path] == nil {
			byPath[r.path] = map[string]http.Handler{}
		}
		byPath[r.path][r.method] = s.handler(r)
	}
	for p, methods := range byPath {
		mux.Handle(Prefix+p, byMethod(methods))
	}
	mux.Handle(Prefix+documentPath, byMethod(map[string]http.Handler{http.MethodGet: http.HandlerFunc(serveDocument)}))
	mux.HandleFunc("/", noRoute)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		// The mux would answer an unclean path with a redirect, which drops a POST's body.
		if path.Clean(r.URL.Path) != r.URL.Path {
			noRoute(w, r)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, bodyLimit(r.URL.Path))
		mux.ServeHTTP(w, r)
	})
}

type server struct{ Config }

// call is one authenticated request.
type call struct {
	*http.Request
	human *identity.Human
}

// answer is what a handler returns: a status and a document.
type answer struct {
	status int
	body   any
}

func ok(body any) (*answer, error)      { return &answer{http.StatusOK, body}, nil }
func created(body any) (*answer, error) { return &answer{http.StatusCreated, body}, nil }

// handler authenticates, runs the route, and writes its answer or its refusal.
func (s *server) handler(r route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		human, err := s.authenticate(req)
		if err != nil {
			s.refuse(w, req, err)
			return
		}
		a, err := r.run(&call{Request: req, human: human})
		if err != nil {
			s.refuse(w, req, err)
			return
		}
		writeJSON(w, a.status, a.body)
	})
}
