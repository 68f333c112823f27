package dialectprocessor

import (
	"context"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/switchboard-otel/switchboard/app/ledger"
	"github.com/switchboard-otel/switchboard/app/spans"
)

type dialectProcessor struct{ dropPlumbing bool }

// process passes an emptied batch on: the exporter has to commit it.
func (d *dialectProcessor) process(ctx context.Context, td ptrace.Traces) (ptrace.Traces, error) {
	spans.Standardize(td)
	if d.dropPlumbing {
		ledger.FromContext(ctx).Filter(spans.DropPlumbing(td))
	}
	return td, nil
}
