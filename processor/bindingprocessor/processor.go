package bindingprocessor

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/binding"
	"github.com/switchboard-otel/switchboard/app/ingest"
	"github.com/switchboard-otel/switchboard/app/ledger"
	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// lookupTimeout bounds what the processor waits for the store, whatever the caller's patience.
const lookupTimeout = 10 * time.Second

var errNoEndpoint = consumererror.NewPermanent(errors.New("spans of nobody cannot be bound to a todo: " +
	"write `auth: {authenticator: switchboard}` for each protocol of the otlp receiver in front of switchboard_binding"))

type bindingProcessor struct {
	log   *zap.Logger
	owner owner
}

func (b *bindingProcessor) start(_ context.Context, host component.Host) (err error) {
	b.owner, err = findOwner(host)
	return err
}

// process writes onto each span where it belongs, and takes out the spans that belong nowhere and those that
// cannot be stored. A span that is both counts as invalid: that is decided without the store, teaches nothing,
// and says nothing about a todo. The batch goes on also when nothing is left of it, so that the exporter
// commits the request.
func (b *bindingProcessor) process(ctx context.Context, td ptrace.Traces) (ptrace.Traces, error) {
	endpoint, ok := endpointOf(ctx)
	if !ok {
		return td, errNoEndpoint
	}
	invalid := dropInvalid(td)
	request := readFacts(td)
	decisions, err := b.bind(ctx, endpoint, request)
	if err != nil {
		return td, b.failed(ctx, err, len(request))
	}
	unbound := writeDecisions(td, decisions)
	b.account(ctx, map[ledger.Reason]int{ledger.Unbound: unbound, ledger.Invalid: invalid})
	return td, nil
}

// endpointOf returns whose spans these are: what the receiver authenticated, never what a span says
// (decisions.md 15).
func endpointOf(ctx context.Context) (uuid.UUID, bool) {
	auth := client.FromContext(ctx).Auth
	if auth == nil {
		return uuid.Nil, false
	}
	id, _ := auth.GetAttribute(ingest.EndpointAttribute).(string)
	return typeid.Endpoint.Parse(id)
}

// bind asks the store for all that the request names at once, and decides.
func (b *bindingProcessor) bind(ctx context.Context, endpoint uuid.UUID, request []binding.Facts) ([]binding.Decision, error) {
	if len(request) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	traces, todos := named(request)
	remembered, err := b.owner.Spans().Bindings(ctx, endpoint, traces)
	if err != nil {
		return nil, err
	}
	for _, r := range remembered {
		todos = append(todos, r.TodoID)
	}
	resolution, err := b.owner.Queue().Resolve(ctx, endpoint, traces, todos)
	if err != nil {
		return nil, err
	}
	known := binding.Known{Resolution: resolution, Traces: remembered}
	if keys, todos := known.Ambiguous(request); len(keys) > 0 {
		if known.Homes, err = b.owner.Spans().Homes(ctx, endpoint, todos, keys); err != nil {
			return nil, err
		}
	}
	return binding.Bind(request, known), nil
}

// failed says what a failure of the store means for the request: worth a retry, or never (decisions.md 3). It
// logs the cause, because nobody behind it does.
func (b *bindingProcessor) failed(ctx context.Context, err error, spans int) error {
	err = postgres.Hide(err) // a stock receiver answers with it
	if postgres.Unavailable(err) {
		ledger.FromContext(ctx).Unavailable()
		b.log.Warn("spans could not be bound now; the producer is told to send them again", postgres.Field(err), zap.Int("spans", spans))
		return err
	}
	b.log.Error("spans could not be bound", postgres.Field(err), zap.Int("spans", spans))
	return consumererror.NewPermanent(err)
}

// account records what ended here: in the request's ledger, or, for a receiver that keeps none, in the metrics.
func (b *bindingProcessor) account(ctx context.Context, rejected map[ledger.Reason]int) {
	account := ledger.FromContext(ctx)
	if account == nil {
		b.owner.Telemetry().OTLP.Rejected(rejected)
		return
	}
	for reason, n := range rejected {
		account.Reject(reason, n)
	}
}
