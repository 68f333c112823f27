package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/switchboard-otel/switchboard/app/intake"
	"github.com/switchboard-otel/switchboard/app/webhook"
)

// Intake counts deliveries to webhooks and what their rules decided.
type Intake struct {
	deliveries, decisions *prometheus.CounterVec
}

var _ intake.Metrics = Intake{}

func newIntake(registry prometheus.Registerer) Intake {
	deliveries := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "switchboard_webhook_deliveries_total",
		Help: "Deliveries to webhooks that exist, by what became of them.",
	}, []string{"provider", "trust_mode", "verdict"})
	for _, source := range webhook.Sources {
		for _, verdict := range webhook.Verdicts {
			deliveries.WithLabelValues(string(source), string(source.Trust()), string(verdict))
		}
	}
	decisions := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "switchboard_routing_decisions_total",
		Help: "New events, by what their webhook's rules decided.",
	}, []string{"action"})
	for _, decision := range intake.Decisions {
		decisions.WithLabelValues(decision)
	}
	registry.MustRegister(deliveries, decisions)
	return Intake{deliveries, decisions}
}

// Delivery counts a delivery to a webhook that exists.
func (i Intake) Delivery(source webhook.Source, verdict webhook.Verdict) {
	i.deliveries.WithLabelValues(string(source), string(source.Trust()), string(verdict)).Inc()
}

// Routed counts a new event.
func (i Intake) Routed(decision string) { i.decisions.WithLabelValues(decision).Inc() }
