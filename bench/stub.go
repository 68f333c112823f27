package main

import (
	"context"
	"errors"
	"net"
	"net/http"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/ledger"
	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/ratelimit"
	"github.com/switchboard-otel/switchboard/app/settings"
	"github.com/switchboard-otel/switchboard/app/spans"
	"github.com/switchboard-otel/switchboard/app/telemetry"
)

// stubConfig configures what stands in the place of the extension where no request is to wait for the database.
type stubConfig struct {
	Endpoint    string `mapstructure:"endpoint"`
	DatabaseURL string `mapstructure:"database_url"`
	Token       string `mapstructure:"token"`
}

// stubOwner is the owner of a receiver and a binding that knows one credential by heart. What binding asks of the
// database once for each trace, it still asks.
type stubOwner struct {
	cfg       *stubConfig
	db        *postgres.DB
	mux       *http.ServeMux
	server    *http.Server
	endpoint  *identity.Endpoint
	settings  *settings.Reader
	spans     *spans.Store
	telemetry *telemetry.Metrics
	unlimited *ratelimit.Limiter
}

func newStubOwnerFactory() extension.Factory {
	return extension.NewFactory(component.MustNewType("stub"), func() component.Config { return &stubConfig{} },
		func(_ context.Context, _ extension.Settings, cfg component.Config) (extension.Extension, error) {
			return &stubOwner{cfg: cfg.(*stubConfig), mux: http.NewServeMux(), telemetry: telemetry.New(),
				unlimited: ratelimit.New(1e6, 1e6)}, nil
		}, component.StabilityLevelDevelopment)
}

func (s *stubOwner) Start(ctx context.Context, _ component.Host) (err error) {
	if s.db, err = postgres.Open(ctx, postgres.Config{URL: s.cfg.DatabaseURL}); err != nil {
		return err
	}
	s.settings = settings.NewReader(s.db.Spans, zap.NewNop())
	s.spans = spans.NewStore(s.db.Spans, s.settings)
	s.endpoint, err = identity.NewStore(s.db.Verbs, newQueue(s.db)).ResolveCredential(ctx, s.cfg.Token)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", s.cfg.Endpoint)
	if err != nil {
		return err
	}
	s.server = &http.Server{Handler: s.mux}
	go func() { _ = s.server.Serve(listener) }()
	return nil
}

func (s *stubOwner) Shutdown(ctx context.Context) error {
	return errors.Join(s.server.Shutdown(ctx), s.db.Close())
}

func (s *stubOwner) ResolveCredential(_ context.Context, token string) (*identity.Endpoint, error) {
	if token != s.cfg.Token {
		return nil, identity.ErrUnauthenticated
	}
	return s.endpoint, nil
}

func (s *stubOwner) OTLPEnabled() bool                           { return true }
func (s *stubOwner) Settings() *settings.Reader                  { return s.settings }
func (s *stubOwner) OTLPLimiters() (pre, per *ratelimit.Limiter) { return s.unlimited, s.unlimited }
func (s *stubOwner) ClientAddress(r *http.Request) string        { return r.RemoteAddr }
func (s *stubOwner) Telemetry() *telemetry.Metrics               { return s.telemetry }
func (s *stubOwner) Spans() *spans.Store                         { return s.spans }
func (s *stubOwner) Mount(prefix string, h http.Handler) (un func()) {
	s.mux.Handle(prefix, h)
	return func() {}
}

// newStubStoreFactory is of an exporter that answers in the store's place that everything is stored.
func newStubStoreFactory() exporter.Factory {
	return exporter.NewFactory(component.MustNewType("stub"), func() component.Config { return &struct{}{} },
		exporter.WithTraces(func(context.Context, exporter.Settings, component.Config) (exporter.Traces, error) {
			return stubStore{}, nil
		}, component.StabilityLevelDevelopment))
}

type stubStore struct {
	component.StartFunc
	component.ShutdownFunc
}

func (stubStore) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (stubStore) ConsumeTraces(ctx context.Context, td ptrace.Traces) error {
	ledger.FromContext(ctx).Commit(ledger.Outcome{Stored: td.SpanCount()})
	return nil
}
