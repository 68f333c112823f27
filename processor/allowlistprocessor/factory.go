package allowlistprocessor

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processorhelper"

	"github.com/switchboard-otel/switchboard/app/spans"
	"github.com/switchboard-otel/switchboard/internal/toggle"
	"github.com/switchboard-otel/switchboard/processor/allowlistprocessor/internal/metadata"
)

// NewFactory returns the factory of the switchboard_allowlist processor.
func NewFactory() processor.Factory {
	return processor.NewFactory(metadata.Type, createDefaultConfig,
		processor.WithTraces(createTraces, metadata.TracesStability))
}

func createDefaultConfig() component.Config {
	return &Config{KeepToolIO: toggle.FromEnv("SWITCHBOARD_OTLP_KEEP_TOOL_IO")}
}

func createTraces(ctx context.Context, set processor.Settings, cfg component.Config, next consumer.Traces) (processor.Traces, error) {
	c := cfg.(*Config)
	p := &allowlistProcessor{keep: spans.NewAllowList(c.KeepToolIO.On(), c.AdditionalKeys)}
	return processorhelper.NewTraces(ctx, set, cfg, next, p.process,
		processorhelper.WithCapabilities(consumer.Capabilities{MutatesData: true}))
}
