package telemetry

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/switchboard-otel/switchboard/app/ledger"
)

// otlpCodes are the statuses that the receiver can answer with (REQ-24, decisions.md 1 to 3).
var otlpCodes = [...]int{
	http.StatusOK,
	http.StatusBadRequest,
	http.StatusUnauthorized,
	http.StatusForbidden,
	http.StatusNotFound,
	http.StatusMethodNotAllowed,
	http.StatusRequestEntityTooLarge,
	http.StatusUnsupportedMediaType,
	http.StatusTooManyRequests,
	http.StatusInternalServerError,
	http.StatusServiceUnavailable,
}

// OTLP counts what came in over OTLP and what became of it (REQ-20).
type OTLP struct {
	requests *prometheus.CounterVec
	accepted prometheus.Counter
	rejected map[ledger.Reason]prometheus.Counter
	filtered prometheus.Counter
}

func newOTLP(registry prometheus.Registerer) OTLP {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "switchboard_otlp_requests_total",
		Help: "OTLP requests, by the HTTP status of the answer.",
	}, []string{"code"})
	for _, code := range otlpCodes {
		requests.WithLabelValues(strconv.Itoa(code))
	}
	spans := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "switchboard_otlp_spans_total",
		Help: "Spans of answered OTLP requests, by what became of them.",
	}, []string{"result"})
	filtered := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "switchboard_otlp_spans_filtered_total",
		Help: "Spans that this server's own configuration removed before they reached the store.",
	})
	registry.MustRegister(requests, spans, filtered)

	rejected := make(map[ledger.Reason]prometheus.Counter, len(ledger.Reasons))
	for _, reason := range ledger.Reasons {
		rejected[reason] = spans.WithLabelValues("rejected_" + string(reason))
	}
	return OTLP{
		requests: requests,
		accepted: spans.WithLabelValues("accepted"),
		rejected: rejected,
		filtered: filtered,
	}
}

// Request counts one answered request.
func (o OTLP) Request(status int) { o.requests.WithLabelValues(strconv.Itoa(status)).Inc() }

// Accepted counts spans that are in the store, those that were there already included.
func (o OTLP) Accepted(spans int) { o.accepted.Add(float64(spans)) }

// Rejected counts spans that were refused, by reason; reasons other than the three of REQ-8 do not exist.
func (o OTLP) Rejected(spans map[ledger.Reason]int) {
	for _, reason := range ledger.Reasons {
		o.rejected[reason].Add(float64(spans[reason]))
	}
}

// Filtered counts spans that neither our stages nor the store account for (decisions.md 13).
func (o OTLP) Filtered(spans int) { o.filtered.Add(float64(spans)) }
