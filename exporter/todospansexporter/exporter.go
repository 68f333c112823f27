package todospansexporter

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/switchboard-otel/switchboard/app/ingest"
	"github.com/switchboard-otel/switchboard/app/ledger"
	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/spans"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

var (
	errNoLedger = consumererror.NewPermanent(errors.New("these spans come from a receiver that keeps no account of them, " +
		"so nobody would hear which were refused: give that pipeline an exporter of its own, " +
		"such as switchboard_todospans/stock, with require_ledger: false"))
	errNoEndpoint = consumererror.NewPermanent(errors.New("spans of nobody cannot be stored: " +
		"write `auth: {authenticator: switchboard}` for each protocol of the otlp receiver in front of switchboard_todospans"))
)

type todoSpans struct {
	cfg   *Config
	owner owner
}

func (e *todoSpans) start(_ context.Context, host component.Host) (err error) {
	e.owner, err = findOwner(host)
	return err
}

// store stores the spans and commits the request's account, once, after the last transaction. On an error it
// commits nothing: a retry must find the account of spans that were refused empty. The error is permanent
// when the database refused what it was given, and worth a retry otherwise (decisions.md 3).
func (e *todoSpans) store(ctx context.Context, td ptrace.Traces) error {
	account := ledger.FromContext(ctx)
	if account == nil && e.cfg.RequireLedger {
		return errNoLedger
	}
	endpoint, ok := endpointOf(ctx)
	if !ok {
		return errNoEndpoint
	}
	rows, unbound := spans.Translate(td)
	outcome, err := e.owner.Spans().Upsert(ctx, endpoint, rows)
	err = postgres.Hide(err) // the helper around this exporter logs it, and a stock receiver answers with it
	switch {
	case postgres.Unavailable(err):
		account.Unavailable()
		return err
	case err != nil:
		return consumererror.NewPermanent(err)
	}
	if unbound > 0 {
		outcome.Rejected[ledger.Unbound] += unbound
	}
	if account == nil {
		otlp := e.owner.Telemetry().OTLP
		otlp.Accepted(outcome.Stored)
		otlp.Rejected(outcome.Rejected)
		return nil
	}
	account.Commit(outcome)
	return nil
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
