// Package a2a serves every todo of an endpoint as an A2A task on /a2a/{endpoint}: JSON-RPC, protocol version 1.0. A task
// is a projection of its todo, so whoever works the queue over MCP works what was sent over A2A, on any replica, and
// nothing but the todo is stored. Push notification configs are not offered: nothing would deliver them.
package a2a

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/log"
	"github.com/google/uuid"
	"go.uber.org/zap"

	"log/slog"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/gate"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/live"
	"github.com/switchboard-otel/switchboard/app/queue"
)

// maxBody caps the body of a call, in bytes.
const maxBody = 1 << 20

// Config is what the server needs.
type Config struct {
	Identity *identity.Store
	Queue    *queue.Store
	Gate     *gate.Gate
	BaseURL  string // without a slash at its end
	Version  string
	Log      *zap.Logger
}

// Server serves /a2a/{endpoint} and the agent cards. Close it before its listener drains.
type Server struct {
	Config
	rpc     http.Handler
	hub     *live.Hub
	streams streams
	mux     *http.ServeMux
}

// New returns a server.
func New(cfg Config) *Server {
	s := &Server{Config: cfg, mux: http.NewServeMux()}
	s.hub = live.NewHub(s.version, cfg.Log)
	s.rpc = a2asrv.NewJSONRPCHandler(&tasks{s}, a2asrv.WithTransportKeepAlive(live.KeepAlive))
	s.mux.HandleFunc("POST /a2a/{endpoint}", s.call)
	s.mux.HandleFunc("GET /a2a/{endpoint}/.well-known/agent-card.json", s.card)
	return s
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Close ends every stream and lets none begin. Their clients subscribe again, to another replica or after a restart.
func (s *Server) Close() { s.hub.Close() }

// version is how far a task has come, for the hub that its streams share.
func (s *Server) version(ctx context.Context, t live.Topic) (string, error) {
	endpoint, todo, _ := strings.Cut(t.Name, " ")
	version, err := s.Queue.TaskVersion(ctx, uuid.MustParse(endpoint), uuid.MustParse(todo))
	if errors.Is(err, fault.ErrTodoNotFound) {
		return "", live.ErrGone
	}
	return version, err
}

// caller is who calls and how: what the gate found, and what must be asked again while a stream stays open.
type caller struct {
	endpoint *identity.Endpoint
	header   http.Header
}

type callerKey struct{}

func (s *Server) call(w http.ResponseWriter, r *http.Request) {
	endpoint := s.Gate.Admit(w, r)
	if endpoint == nil {
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		http.Error(w, "a call may hold 1 MiB", http.StatusRequestEntityTooLarge)
		return
	case err != nil:
		http.Error(w, "the body ended early", http.StatusBadRequest)
		return
	case !json.Valid(body):
		body = nil // the binding takes one document out of what is none as a whole
	}
	ctx := context.WithValue(r.Context(), callerKey{}, &caller{endpoint, r.Header})
	// What goes wrong with a connection is for nobody's log; what goes wrong here is logged where it does.
	r = r.WithContext(log.AttachLogger(ctx, slog.New(slog.DiscardHandler)))
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.rpc.ServeHTTP(newQuiet(w), r)
}

// admit finds who calls a method, and refuses a version that is not spoken here and a verb that was not granted. An
// absent version is taken for the present one: there is no other on this route.
func admit(ctx context.Context, verb string) (*caller, error) {
	c := ctx.Value(callerKey{}).(*caller)
	if v := c.header.Get(a2a.SvcParamVersion); v != "" && v != string(a2a.Version) {
		return nil, a2a.NewError(a2a.ErrVersionNotSupported, "this server speaks A2A "+string(a2a.Version))
	}
	if !c.endpoint.Grants(verb) {
		return nil, refusal(fault.New(fault.Forbidden, "this endpoint was not granted "+verb))
	}
	return c, nil
}
