package todospansexporter

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"

	"github.com/switchboard-otel/switchboard/exporter/todospansexporter/internal/metadata"
)

// NewFactory returns the factory of the switchboard_todospans exporter.
func NewFactory() exporter.Factory {
	return exporter.NewFactory(metadata.Type, createDefaultConfig,
		exporter.WithTraces(createTraces, metadata.TracesStability))
}

func createDefaultConfig() component.Config {
	return &Config{
		TimeoutConfig: exporterhelper.TimeoutConfig{Timeout: defaultTimeout},
		RequireLedger: true,
	}
}

func createTraces(ctx context.Context, set exporter.Settings, cfg component.Config) (exporter.Traces, error) {
	e := &todoSpans{cfg: cfg.(*Config)}
	return exporterhelper.NewTraces(ctx, set, cfg, e.store,
		exporterhelper.WithStart(e.start),
		exporterhelper.WithTimeout(e.cfg.TimeoutConfig))
}
