package switchboardextension

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/switchboard-otel/switchboard/app/a2a"
	"github.com/switchboard-otel/switchboard/app/api"
	"github.com/switchboard-otel/switchboard/app/board"
	"github.com/switchboard-otel/switchboard/app/feed"
	"github.com/switchboard-otel/switchboard/app/gate"
	"github.com/switchboard-otel/switchboard/app/intake"
	"github.com/switchboard-otel/switchboard/app/mcpserver"
	"github.com/switchboard-otel/switchboard/app/oauth"
	"github.com/switchboard-otel/switchboard/app/rungraph"
	"github.com/switchboard-otel/switchboard/app/spans"
)

// healthTimeout bounds how long a health probe waits for the database.
const healthTimeout = 2 * time.Second

const otlpPrefix = "/otlp/"

// routes is everything on the one listener. Paths under /otlp/ never meet a ServeMux: it answers // and /./
// with a redirect, and exporters send both and follow none.
func (s *switchboard) routes() (http.Handler, error) {
	mux := http.NewServeMux()
	handle := func(pattern string, h http.Handler) {
		mux.Handle(pattern, h)
		s.patterns = append(s.patterns, pattern)
	}
	handle("GET /healthz", http.HandlerFunc(s.healthz))
	handle("GET /readyz", http.HandlerFunc(s.readyz))
	handle("GET /metrics", s.telemetry.Handler(string(s.cfg.MetricsToken)))
	graphs := rungraph.NewStore(s.db.Verbs, s.queue, s.spans, s.version())
	if s.cfg.Features.MCP.On() {
		var surfaces *spans.Store
		if s.cfg.Features.A2UI.On() {
			surfaces = s.spans
		}
		verbs := mcpserver.New(mcpserver.Config{
			AuthorizationServers: s.authorizationServers(),
			Identity:             s.identity, Queue: s.queue, Intake: s.intake, Bell: s.bell, RunGraphs: graphs, Spans: surfaces,
			BaseURL: s.cfg.baseURL(), Version: s.version(), Log: s.log, PreAuth: s.preAuth, PerEndpoint: s.mcp, ClientAddress: s.ClientAddress,
		})
		handle("/mcp/", verbs)
		handle("/.well-known/oauth-protected-resource/mcp/", verbs)
	}
	if s.cfg.Features.A2A.On() {
		s.a2a = a2a.New(a2a.Config{
			Identity: s.identity, Queue: s.queue, BaseURL: s.cfg.baseURL(), Version: s.version(), Log: s.log,
			Gate: gate.New(gate.Config{Identity: s.identity, PreAuth: s.preAuth, PerEndpoint: s.mcp, ClientAddress: s.ClientAddress, Log: s.log}),
		})
		handle("/a2a/", s.a2a)
	}
	if s.cfg.Features.Webhooks.On() {
		handle(intake.AddressPrefix, &intake.Handler{
			Intake: s.ingest.intake, Settings: s.ingest.settings, PreAuth: s.preAuth, PerWebhook: s.webhooks,
			ClientAddress: s.ClientAddress, Log: s.log,
		})
	}
	if s.cfg.Features.Board.On() {
		handle("/api/v1/", api.New(api.Config{
			Identity: s.identity, Queue: s.queue, Spans: s.spans, Intake: s.intake, RunGraphs: graphs, BaseURL: s.cfg.baseURL(),
			Version: s.version(), LocalLogin: s.cfg.LocalLogin.On(), Describe: s.db.Describe, Log: s.log,
		}))
		pages, err := board.New(board.Config{
			Identity: s.identity, Queue: s.queue, Spans: s.spans, Feed: feed.NewStore(s.db.Verbs), Intake: s.intake,
			RunGraphs: graphs, Settings: s.settings, SignIn: s.signIn, OAuth: s.oauth, BaseURL: s.cfg.baseURL(),
			Version: s.version(), LocalLogin: s.cfg.LocalLogin.On(), Health: s.health, Log: s.log,
		})
		if err != nil {
			return nil, err
		}
		s.board = pages
		for _, path := range oauth.Paths {
			handle(path, s.oauth.Handler())
		}
		handle("/", pages)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if clean := path.Clean("/"+r.URL.Path) + "/"; strings.HasPrefix(clean, otlpPrefix) {
			s.serveOTLP(w, r, clean)
			return
		}
		mux.ServeHTTP(w, r)
	}), nil
}

// health asks the database for a sign of life and says how long that took.
func (s *switchboard) health(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	began := time.Now()
	err := s.db.Ping(ctx)
	return time.Since(began), err
}

func (s *switchboard) healthz(w http.ResponseWriter, r *http.Request) {
	if _, err := s.health(r.Context()); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = fmt.Fprintln(w, "ok")
}

func (s *switchboard) readyz(w http.ResponseWriter, r *http.Request) {
	if !s.ready.Load() {
		http.Error(w, "the pipelines are starting or stopping", http.StatusServiceUnavailable)
		return
	}
	s.healthz(w, r)
}
