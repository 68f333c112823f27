package main

import (
	"context"
	"fmt"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"

	"github.com/switchboard-otel/switchboard/app/garbage"
	"github.com/switchboard-otel/switchboard/exporter/todospansexporter"
	"github.com/switchboard-otel/switchboard/extension/switchboardextension"
	"github.com/switchboard-otel/switchboard/processor/allowlistprocessor"
	"github.com/switchboard-otel/switchboard/processor/bindingprocessor"
	"github.com/switchboard-otel/switchboard/processor/dialectprocessor"
	"github.com/switchboard-otel/switchboard/processor/maskingprocessor"
	"github.com/switchboard-otel/switchboard/receiver/switchboardreceiver"
)

// serve runs a collector until it is told to end: the components of Switchboard and the stock receiver in one program,
// so that what is compared is built in the same way and collects its garbage as the shipped program does.
func serve(ctx context.Context, cfg string) error {
	garbage.Tune()
	collector, err := otelcol.NewCollector(otelcol.CollectorSettings{
		BuildInfo: component.NewDefaultBuildInfo(),
		Factories: factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs:              []string{"file:" + cfg},
			ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory()},
		}},
	})
	if err != nil {
		return fmt.Errorf("prepare a collector: %w", err)
	}
	return collector.Run(ctx)
}

func factories() (f otelcol.Factories, err error) {
	f.Telemetry = otelconftelemetry.NewFactory()
	if f.Extensions, err = otelcol.MakeFactoryMap[extension.Factory](switchboardextension.NewFactory(), newStubOwnerFactory()); err != nil {
		return f, err
	}
	if f.Receivers, err = otelcol.MakeFactoryMap[receiver.Factory](switchboardreceiver.NewFactory(), otlpreceiver.NewFactory()); err != nil {
		return f, err
	}
	f.Processors, err = otelcol.MakeFactoryMap[processor.Factory](dialectprocessor.NewFactory(), bindingprocessor.NewFactory(),
		allowlistprocessor.NewFactory(), maskingprocessor.NewFactory())
	if err != nil {
		return f, err
	}
	f.Exporters, err = otelcol.MakeFactoryMap[exporter.Factory](todospansexporter.NewFactory(), newStubStoreFactory(),
		exportertest.NewNopFactory())
	return f, err
}
