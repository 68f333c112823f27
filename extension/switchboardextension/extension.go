package switchboardextension

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/extension/extensionauth"
	"go.opentelemetry.io/collector/extension/extensioncapabilities"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/a2a"
	"github.com/switchboard-otel/switchboard/app/background"
	"github.com/switchboard-otel/switchboard/app/board"
	"github.com/switchboard-otel/switchboard/app/doorbell"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/intake"
	"github.com/switchboard-otel/switchboard/app/oauth"
	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/ratelimit"
	"github.com/switchboard-otel/switchboard/app/settings"
	"github.com/switchboard-otel/switchboard/app/signin"
	"github.com/switchboard-otel/switchboard/app/spans"
	"github.com/switchboard-otel/switchboard/app/telemetry"
)

var (
	_ extensionauth.Server                        = (*switchboard)(nil)
	_ extensioncapabilities.PipelineWatcher       = (*switchboard)(nil)
	_ extensioncapabilities.ConfigSnapshotWatcher = (*switchboard)(nil)
)

// The intervals of the background jobs.
const (
	requeueEvery = 5 * time.Second
	expireEvery  = 30 * time.Second
	sweepEvery   = time.Hour
)

// drainTime is how long requests in flight may take to finish when the process ends.
const drainTime = 15 * time.Second

type switchboard struct {
	cfg *Config
	set extension.Settings
	log *zap.Logger

	db        *postgres.DB
	telemetry *telemetry.Metrics

	// What verbs, pages and background jobs use.
	settings *settings.Reader
	identity *identity.Store
	queue    *queue.Store
	spans    *spans.Store
	intake   *intake.Store
	bell     *doorbell.Bell
	signIn   *signin.Service
	oauth    *oauth.Server

	// What an ingest uses. It has a pool of its own, so that it never starves a claim.
	ingest struct {
		settings *settings.Reader
		identity *identity.Store
		queue    *queue.Store
		spans    *spans.Store
		intake   *intake.Store
	}

	preAuth, otlp, mcp, webhooks, registrations *ratelimit.Limiter

	proxies proxies

	board    *board.Board // nil: the process serves none
	a2a      *a2a.Server  // nil: the process serves none
	mounts   mounts
	patterns []string    // of the listener's routes but OTLP's and the Board's own: what there is to check of the site
	ready    atomic.Bool // the pipelines run
	server   *http.Server
	served   chan struct{}
	leading  *background.Leader
}

func newExtension(cfg *Config, set extension.Settings) *switchboard {
	limiter := func(l RateLimit) *ratelimit.Limiter { return ratelimit.New(l.PerSecond, l.Burst) }
	trusted, _ := parseProxies(cfg.TrustedProxies) // Validate has refused what it cannot read
	return &switchboard{
		proxies: trusted,
		cfg:     cfg, set: set, log: set.Logger, telemetry: telemetry.New(),
		preAuth: limiter(cfg.RateLimits.PreAuth), otlp: limiter(cfg.RateLimits.OTLP), mcp: limiter(cfg.RateLimits.MCP),
		webhooks: limiter(cfg.RateLimits.Webhooks), registrations: limiter(cfg.RateLimits.Registrations),
	}
}

// Start opens the database and the listener. Until the pipelines run, spans are answered 503.
func (s *switchboard) Start(ctx context.Context, host component.Host) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Shutdown(context.WithoutCancel(ctx)))
		}
	}()
	s.db, err = postgres.Open(ctx, postgres.Config{
		URL: string(s.cfg.DatabaseURL), DataDir: s.cfg.DataDir, Logger: s.log,
	})
	if err != nil {
		return err
	}
	s.settings = settings.NewReader(s.db.Verbs, s.log)
	s.queue = queue.NewStore(s.db.Verbs, s.settings, queue.WithMetrics(s.telemetry.Queue),
		queue.WithSummaryFromResult(s.cfg.SummaryFromResult.On()))
	s.telemetry.Queue.CollectDepth(s.queue.Depths)
	s.identity = identity.NewStore(s.db.Verbs, s.queue)
	s.spans = spans.NewStore(s.db.Verbs, s.settings)
	s.bell = doorbell.New(s.queue, s.identity, s.log)
	s.signIn, s.oauth = s.newSignIn(), s.newOAuth()

	sealer, err := s.sealer()
	if err != nil {
		return err
	}
	s.intake = s.newIntake(s.db.Verbs, s.settings, sealer)

	s.ingest.settings = settings.NewReader(s.db.Spans, s.log)
	s.ingest.queue = queue.NewStore(s.db.Spans, s.ingest.settings)
	s.ingest.identity = identity.NewStore(s.db.Spans, s.ingest.queue)
	s.ingest.spans = spans.NewStore(s.db.Spans, s.ingest.settings)
	s.ingest.intake = s.newIntake(s.db.Spans, s.ingest.settings, sealer)

	handler, err := s.routes()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", s.cfg.Endpoint)
	if err != nil {
		return fmt.Errorf("cannot listen: %w; set SWITCHBOARD_ADDR to another address", err)
	}
	if err := s.giveLocalCredential(ctx); err != nil {
		return errors.Join(err, listener.Close())
	}
	s.serve(listener, handler, host)
	s.leading = background.Lead(s.db.Verbs, s.log, s.jobs())
	return nil
}

// jobs are what the leader does for all replicas.
func (s *switchboard) jobs() []background.Job {
	counted := func(run func(context.Context) (int, error)) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := run(ctx)
			return err
		}
	}
	return []background.Job{
		{Name: "reaper", Every: s.cfg.ReapInterval, Run: counted(s.queue.Reap)},
		{Name: "retries", Every: requeueEvery, Run: counted(s.queue.RequeueDue)},
		{Name: "expiry", Every: expireEvery, Run: counted(s.identity.SweepExpired)},
		{Name: "retention", Every: sweepEvery, Run: counted(s.prune)},
		{Name: "sessions", Every: sweepEvery, Run: s.identity.SweepSessions},
		{Name: "sign-ins", Every: sweepEvery, Run: s.signIn.Sweep},
		{Name: "oauth", Every: sweepEvery, Run: s.oauth.Sweep},
	}
}

// prune removes todos first: an event goes with its last todo.
func (s *switchboard) prune(ctx context.Context) (int, error) {
	todos, err := s.queue.Prune(ctx)
	if err != nil {
		return todos, err
	}
	events, err := s.intake.Prune(ctx)
	return todos + events, err
}

func (s *switchboard) serve(listener net.Listener, handler http.Handler, host component.Host) {
	s.server = &http.Server{
		Handler:           boundBodies(handler),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          zap.NewStdLog(s.log),
	}
	s.served = make(chan struct{})
	go func() {
		defer close(s.served)
		if err := s.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			componentstatus.ReportStatus(host, componentstatus.NewFatalErrorEvent(err))
		}
	}()
}

// Shutdown lets requests in flight finish, stops the loops and closes the database. Receivers, and with
// them every span in flight, have stopped before.
func (s *switchboard) Shutdown(ctx context.Context) error {
	s.ready.Store(false)
	var errs []error
	if s.server != nil {
		s.queue.StopWaiting()
		s.bell.Close()
		if s.board != nil {
			s.board.Close()
		}
		if s.a2a != nil {
			s.a2a.Close()
		}
		errs = append(errs, s.drain(ctx))
		<-s.served
		s.server = nil
	}
	if s.leading != nil {
		s.leading.Stop()
		s.leading = nil
	}
	if s.db != nil {
		errs = append(errs, s.db.Close())
		s.db = nil
	}
	return errors.Join(errs...)
}

// drain lets the requests in flight finish, for a while: nobody may keep the process from ending.
func (s *switchboard) drain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	if err := s.server.Shutdown(ctx); err != nil {
		s.log.Warn("requests were still open when the process had to end")
		return s.server.Close()
	}
	return nil
}

// Ready is called when every pipeline runs: now people are told where everything is.
func (s *switchboard) Ready() error {
	s.ready.Store(true)
	return s.announce(os.Stdout)
}

// NotReady is called before the receivers stop.
func (s *switchboard) NotReady() error {
	s.ready.Store(false)
	return nil
}

// What our components ask of their owner.

// ResolveCredential finds the endpoint that presents a token, or returns identity.ErrUnauthenticated.
func (s *switchboard) ResolveCredential(ctx context.Context, token string) (*identity.Endpoint, error) {
	return s.ingest.identity.ResolveCredential(ctx, token)
}

// OTLPEnabled reports whether this process takes spans (REQ-21).
func (s *switchboard) OTLPEnabled() bool { return s.cfg.Features.OTLP.On() }

// Settings reads what an operator may change while the process runs.
func (s *switchboard) Settings() *settings.Reader { return s.ingest.settings }

// Queue is where a pipeline looks todos and attempts up.
func (s *switchboard) Queue() *queue.Store { return s.ingest.queue }

// Spans is where a pipeline stores spans.
func (s *switchboard) Spans() *spans.Store { return s.ingest.spans }

// Telemetry is the registry of the switchboard_* metrics.
func (s *switchboard) Telemetry() *telemetry.Metrics { return s.telemetry }

// OTLPLimiters returns the limiter of client addresses, which MCP shares, and that of endpoints.
func (s *switchboard) OTLPLimiters() (preAuth, perEndpoint *ratelimit.Limiter) {
	return s.preAuth, s.otlp
}

// ClientAddress is who calls, seen through the proxies that the operator trusts.
func (s *switchboard) ClientAddress(r *http.Request) string { return s.proxies.clientAddress(r) }

// Mount serves every path under prefix with h until unmount is called. The configuration was refused
// before, if two receivers wanted the same prefix.
func (s *switchboard) Mount(prefix string, h http.Handler) (unmount func()) {
	return s.mounts.add(prefix, h)
}

// version is the build's, without the v some builds put before it.
func (s *switchboard) version() string { return strings.TrimPrefix(s.set.BuildInfo.Version, "v") }
