package switchboardreceiver

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/switchboard-otel/switchboard/app/ledger"
)

// exportWithSDK sends one span as a program with the stock Go SDK does that was configured by the environment alone
// (REQ-1, "Stock exporter configuration"), and returns what the exporter reported.
func exportWithSDK(t *testing.T, base, token string, compression otlptracehttp.Compression) error {
	t.Helper()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", base)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer "+token)
	exporter, err := otlptracehttp.New(t.Context(), otlptracehttp.WithCompression(compression),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: false}))
	if err != nil {
		t.Fatal(err)
	}
	var reported error
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { reported = err }))
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	_, span := provider.Tracer("test").Start(t.Context(), "execute_tool bash")
	span.SetAttributes(attribute.Int64("exact", 1<<62+1))
	span.End()
	if err := provider.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	return reported
}

func TestStockGoExporter_IsAuthenticatedAndReportsNothing(t *testing.T) {
	for name, compression := range map[string]otlptracehttp.Compression{"plain": otlptracehttp.NoCompression, "gzip": otlptracehttp.GzipCompression} {
		t.Run(name, func(t *testing.T) {
			got := ptrace.NewTraces()
			server := httptest.NewServer(start(t, newFakeOwner(t), copyTo(got)))
			defer server.Close()
			if err := exportWithSDK(t, server.URL+"/otlp/my-bot", tokenOfMyBot, compression); err != nil {
				t.Fatalf("the exporter reported %v", err)
			}
			span := spansOf(got).At(0)
			exact, _ := span.Attributes().Get("exact")
			if span.Name() != "execute_tool bash" || exact.Int() != 1<<62+1 {
				t.Errorf("got span %q with %v", span.Name(), exact.AsString())
			}
		})
	}
}

func TestStockGoExporter_ReportsARefusalAndAPartialSuccess(t *testing.T) {
	server := httptest.NewServer(start(t, newFakeOwner(t), sink(func(ctx context.Context, _ ptrace.Traces) error {
		ledger.FromContext(ctx).Reject(ledger.Unbound, 1)
		ledger.FromContext(ctx).Commit(ledger.Outcome{})
		return nil
	})))
	defer server.Close()
	for token, want := range map[string]string{
		tokenOfMyBot:  "rejected spans: unbound (1 spans rejected)",
		"sbk_unknown": "a valid endpoint credential is required",
	} {
		err := exportWithSDK(t, server.URL+"/otlp/my-bot", token, otlptracehttp.GzipCompression)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the exporter reported %v, want %q", err, want)
		}
	}
}
