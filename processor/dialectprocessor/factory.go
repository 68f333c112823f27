package dialectprocessor

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processorhelper"

	"github.com/switchboard-otel/switchboard/processor/dialectprocessor/internal/metadata"
)

// NewFactory returns the factory of the switchboard_dialect processor.
func NewFactory() processor.Factory {
	return processor.NewFactory(metadata.Type, createDefaultConfig,
		processor.WithTraces(createTraces, metadata.TracesStability))
}

func createDefaultConfig() component.Config { return &Config{} }

func createTraces(ctx context.Context, set processor.Settings, cfg component.Config, next consumer.Traces) (processor.Traces, error) {
	d := &dialectProcessor{dropPlumbing: cfg.(*Config).DropPlumbing.On()}
	return processorhelper.NewTraces(ctx, set, cfg, next, d.process,
		processorhelper.WithCapabilities(consumer.Capabilities{MutatesData: true}))
}
