package switchboardreceiver

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/receiver"

	"github.com/switchboard-otel/switchboard/receiver/switchboardreceiver/internal/metadata"
)

// NewFactory returns the factory of the switchboard receiver.
func NewFactory() receiver.Factory {
	return receiver.NewFactory(metadata.Type, createDefaultConfig,
		receiver.WithTraces(createTraces, metadata.TracesStability))
}

func createDefaultConfig() component.Config {
	server := confighttp.NewDefaultServerConfig()
	// Not nil, which would mean every decompressor there is. confighttp's would unpack a body and answer in plain
	// text before the receiver could authenticate.
	server.CompressionAlgorithms = []string{}
	return &Config{HTTP: configoptional.Default(server)}
}

func createTraces(_ context.Context, set receiver.Settings, cfg component.Config, next consumer.Traces) (receiver.Traces, error) {
	return newReceiver(cfg.(*Config), set, next)
}
