// Package switchboardextension owns what the whole process shares: the database, the one listener with
// everything on it, and the background loops. Our receiver, processors and exporter find it through the host.
package switchboardextension

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension"

	"github.com/switchboard-otel/switchboard/extension/switchboardextension/internal/metadata"
)

// NewFactory returns the factory of the switchboard extension.
func NewFactory() extension.Factory {
	return extension.NewFactory(
		metadata.Type,
		func() component.Config { return createDefaultConfig() },
		func(_ context.Context, set extension.Settings, cfg component.Config) (extension.Extension, error) {
			return newExtension(cfg.(*Config), set), nil
		},
		metadata.ExtensionStability,
	)
}
