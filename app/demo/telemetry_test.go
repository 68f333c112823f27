package demo

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The SDK exports in the background too, where its error reaches nobody: the next flush must still tell of it.
func TestTelemetry_AnExportThatFailedInTheBackgroundIsNotForgotten(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "not granted", http.StatusForbidden)
	}))
	defer server.Close()
	tel, err := startTelemetry(t.Context(), server.URL, "sbk_EXAMPLE", "worker")
	if err != nil {
		t.Fatal(err)
	}
	ctx, tracer := tel.tracer(t.Context(), "00-0102030405060708090a0b0c0d0e0f10-0102030405060708-01")
	_, span := tracer.Start(ctx, "work")
	span.End()
	_ = tel.provider.ForceFlush(t.Context()) // stands for the export that nobody waits for

	sent, err := tel.flush(t.Context())
	if sent != 0 || err == nil || !strings.Contains(err.Error(), "403") {
		t.Fatalf("sent %d, %v", sent, err)
	}
	if strings.Contains(err.Error(), "sbk_") {
		t.Error("the error quotes the credential")
	}
	if _, err := tel.flush(t.Context()); err != nil {
		t.Errorf("it is told twice: %v", err)
	}
	if err := tel.stop(t.Context()); err != nil {
		t.Error(err)
	}
}
