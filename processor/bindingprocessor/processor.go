package bindingprocessor

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/switchboard-otel/switchboard/app/binding"
	"github.com/switchboard-otel/switchboard/app/ingest"
	"github.com/switchboard-otel/switchboard/app/ledger"
	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/settings"
	"github.com/switchboard-otel/switchboard/app/spans"
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
	if err := b.withinLimit(ctx, td); err != nil {
		return td, err
	}
	invalid := dropInvalid(td)
	request := readFacts(td)
	decisions, err := b.bind(ctx, endpoint, request)
	if err != nil {
		return td, b.failed(ctx, err, len(request))
	}
	unbound := writeDecisions(td, decisions)
	b.account(ctx, map[ledger.Reason]int{ledger.Unbound: unbound.count(), ledger.Invalid: invalid.count()}, unbound.twins()+invalid.twins())
	return td, nil
}

// withinLimit refuses a request of too many spans (decisions.md 5) that no receiver of ours has looked at. A stock otlp
// receiver answers it with InvalidArgument over gRPC and with 400 over HTTP.
func (b *bindingProcessor) withinLimit(ctx context.Context, td ptrace.Traces) error {
	if ledger.FromContext(ctx) != nil {
		return nil
	}
	limit := b.owner.Settings().Values(ctx)[settings.OTLPMaxSpansPerRequest]
	if td.SpanCount() <= limit {
		return nil
	}
	return consumererror.NewPermanent(status.Errorf(codes.InvalidArgument,
		"a request may hold %d spans; set a collector's send_batch_max_size to that or less", limit))
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

// bind asks the store, in one statement, for all that the request names and nobody remembers, and decides.
func (b *bindingProcessor) bind(ctx context.Context, endpoint uuid.UUID, request []binding.Facts) ([]binding.Decision, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	store := b.owner.Spans()
	question, remembered := binding.Ask(request, func(trace [16]byte) (spans.MintedAttempt, bool) {
		return store.Minted(endpoint, trace)
	})
	found, err := store.Resolve(ctx, endpoint, question)
	if err != nil {
		return nil, err
	}
	maps.Copy(found.Minted, remembered)
	return binding.Bind(request, binding.Known{Resolution: found}), nil
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
func (b *bindingProcessor) account(ctx context.Context, rejected map[ledger.Reason]int, twins int) {
	account := ledger.FromContext(ctx)
	if account == nil {
		b.owner.Telemetry().OTLP.Rejected(rejected)
		return
	}
	for reason, n := range rejected {
		account.Reject(reason, n)
	}
	account.Twin(twins)
}
