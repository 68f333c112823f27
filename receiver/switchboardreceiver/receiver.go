package switchboardreceiver

import (
	"context"
	"errors"
	"math"
	"net/http"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receiverhelper"
)

// prefix is where the routes live on the extension's listener.
const prefix = "/otlp/"

// tracesReceiver is the component: it opens a way in at Start and lets requests finish at Shutdown.
type tracesReceiver struct {
	cfg    *Config
	set    receiver.Settings
	next   consumer.Traces
	report *receiverhelper.ObsReport

	drain   drain
	unmount func()
	server  *http.Server
	served  chan struct{}
}

func newReceiver(cfg *Config, set receiver.Settings, next consumer.Traces) (*tracesReceiver, error) {
	report, err := receiverhelper.NewObsReport(receiverhelper.ObsReportSettings{
		ReceiverID:             set.ID,
		Transport:              "http",
		ReceiverCreateSettings: set,
	})
	if err != nil {
		return nil, err
	}
	return &tracesReceiver{cfg: cfg, set: set, next: next, report: report}, nil
}

// Start begins to serve: on the extension's listener, or on its own when the YAML has http.
func (r *tracesReceiver) Start(ctx context.Context, host component.Host) error {
	owner, err := findOwner(host)
	if err != nil {
		return err
	}
	h := r.drain.wrap(&handler{owner: owner, next: r.next, report: r.report, memory: newMemory(), log: r.set.Logger})
	if !r.cfg.HTTP.HasValue() {
		r.unmount = owner.Mount(prefix, h)
		return nil
	}
	return r.listen(ctx, host, h)
}

func (r *tracesReceiver) listen(ctx context.Context, host component.Host, h http.Handler) error {
	cfg := *r.cfg.HTTP.Get()
	// The caps are live settings that the handler enforces; confighttp's, which is fixed here, must never be smaller.
	cfg.MaxRequestBodySize = math.MaxInt64
	listener, err := cfg.ToListener(ctx)
	if err != nil {
		return err
	}
	r.server, err = cfg.ToServer(ctx, host.GetExtensions(), r.set.TelemetrySettings, h)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	r.served = make(chan struct{})
	go func() {
		defer close(r.served)
		if err := r.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			componentstatus.ReportStatus(host, componentstatus.NewFatalErrorEvent(err))
		}
	}()
	return nil
}

// Shutdown takes no new request and returns when those in flight have been answered, or when ctx ends. The
// pipeline still runs then: the collector stops receivers first.
func (r *tracesReceiver) Shutdown(ctx context.Context) error {
	r.drain.stop()
	if r.unmount != nil {
		r.unmount()
		r.unmount = nil
	}
	if r.server != nil {
		if err := r.server.Shutdown(ctx); err != nil {
			return errors.Join(err, r.server.Close())
		}
		<-r.served
	}
	return r.drain.wait(ctx)
}
