// Package telemetry is the Prometheus registry of the switchboard_* metrics: names and labels that operators
// may build on. The collector's own telemetry is elsewhere and stays as operators know it.
//
// Each group of metrics is a file and a field of Metrics. Every series of a closed label set exists at zero from
// the first scrape. No label carries a todo, an endpoint, a human or free text (REQ-20).
package telemetry

import (
	"crypto/sha256"
	"crypto/subtle"
	"io"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics is one process's registry.
type Metrics struct {
	OTLP   OTLP   // span ingest
	Queue  *Queue // todos and attempts
	Intake Intake // webhooks

	registry *prometheus.Registry
}

// New returns a registry with every metric at zero.
func New() *Metrics {
	registry := prometheus.NewRegistry()
	return &Metrics{
		OTLP:     newOTLP(registry),
		Queue:    newQueue(registry),
		Intake:   newIntake(registry),
		registry: registry,
	}
}

// Handler serves the registry to a bearer that equals token, and answers 401 to everybody else: to everybody at
// all while token is empty (queue.md 6). The comparison takes the same time wherever the tokens differ.
func (m *Metrics) Handler(token string) http.Handler {
	want := sha256.Sum256([]byte(token))
	scrape := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		sent, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		got := sha256.Sum256([]byte(sent))
		if same := subtle.ConstantTimeCompare(got[:], want[:]) == 1; !same || !isBearer || token == "" {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, "the metrics token is required\n")
			return
		}
		scrape.ServeHTTP(w, r)
	})
}
