package bindingprocessor

import (
	"testing"

	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/switchboard-otel/switchboard/app/ledger"
)

// decisions.md 5, for spans that a stock otlp receiver took: it answers with the status that the error carries.
func TestProcessor_ARequestOfTooManySpansIsAnInvalidArgument(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Set(t, "otlp_max_spans_per_request", "3")
	three := []func(ptrace.Span){func(ptrace.Span) {}, func(ptrace.Span) {}, func(ptrace.Span) {}}
	if err := b.processor.ConsumeTraces(as(t.Context(), b.Tenant), batch(nil, three...)); err != nil {
		t.Errorf("three of three: %v", err)
	}
	four := append(three, three[0])
	err := b.processor.ConsumeTraces(as(t.Context(), b.Tenant), batch(nil, four...))
	if s, _ := status.FromError(err); s.Code() != codes.InvalidArgument || !consumererror.IsPermanent(err) {
		t.Errorf("four of three: %v", err)
	}
	if n := len(b.next.AllTraces()); n != 1 {
		t.Errorf("%d requests were passed on", n)
	}

	// A receiver with a ledger has decided already, by the limit as it was then.
	ctx, _ := ledger.NewContext(as(t.Context(), b.Tenant))
	if err := b.processor.ConsumeTraces(ctx, batch(nil, four...)); err != nil {
		t.Errorf("after a receiver of ours: %v", err)
	}
}
