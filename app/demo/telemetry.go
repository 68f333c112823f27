package demo

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// telemetry is a stock OpenTelemetry SDK with the stock OTLP exporter, set up in code as the environment
// variables of an endpoint would. It only adds that nothing is lost in silence.
type telemetry struct {
	provider *sdktrace.TracerProvider
	watched  *watchedExporter
}

func startTelemetry(ctx context.Context, otlpURL, token, service string) (*telemetry, error) {
	exporter, err := otlptracehttp.New(ctx,
		otlptracehttp.WithEndpointURL(otlpURL+"/v1/traces"),
		otlptracehttp.WithHeaders(map[string]string{"Authorization": "Bearer " + token}),
		otlptracehttp.WithCompression(otlptracehttp.GzipCompression))
	if err != nil {
		return nil, err
	}
	// The SDK's own handler prints; watchedExporter has seen every error of an export before it.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
	watched := &watchedExporter{SpanExporter: exporter}
	return &telemetry{watched: watched, provider: sdktrace.NewTracerProvider(
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", service))),
		sdktrace.WithSampler(sdktrace.AlwaysSample()), // whatever OTEL_TRACES_SAMPLER says here
		sdktrace.WithBatcher(watched),
	)}, nil
}

// tracer makes spans below the claim's traceparent, which is what binds them to the attempt.
func (t *telemetry) tracer(ctx context.Context, traceparent string) (context.Context, trace.Tracer) {
	carrier := propagation.MapCarrier{"traceparent": traceparent}
	return propagation.TraceContext{}.Extract(ctx, carrier), t.provider.Tracer("switchboard-demo")
}

func (t *telemetry) flush(ctx context.Context) (sent int, err error) {
	flushed := t.provider.ForceFlush(ctx)
	sent, err = t.watched.take()
	if err == nil {
		err = flushed
	}
	return sent, err
}

func (t *telemetry) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return t.provider.Shutdown(ctx)
}

// watchedExporter remembers what became of the exports that the SDK makes in the background: how many spans
// they took, and any refusal, a partial success included.
type watchedExporter struct {
	sdktrace.SpanExporter

	mu   sync.Mutex
	sent int
	err  error
}

func (e *watchedExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil {
		e.err = errors.Join(e.err, err)
		return err
	}
	e.sent += len(spans)
	return nil
}

// take answers what happened since it was last asked.
func (e *watchedExporter) take() (sent int, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	sent, err = e.sent, e.err
	e.sent, e.err = 0, nil
	return sent, err
}
