package intake_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/switchboard-otel/switchboard/app/intake"
	"github.com/switchboard-otel/switchboard/app/webhook"
)

// After the key was lost a rotation brings a webhook back at once, although the secret before it, which counts for a day
// more, cannot be read any more. What that may have signed is asked for again.
func TestRotate_BringsAWebhookBackWhoseKeyWasLost(t *testing.T) {
	w := setup(t)
	before := w.create(webhook.GitHub)
	sealer, err := intake.NewSealer(strings.Repeat("5f", 32))
	if err != nil {
		t.Fatal(err)
	}
	w.handler.Intake = intake.NewStore(intake.Config{Pool: w.db.Pool, Queue: w.queue, Settings: w.handler.Settings, Metrics: w.counts, Sealer: sealer})
	after, err := w.handler.Intake.Rotate(t.Context(), intake.OfHuman(w.human.ID), before.ID.UUID(), intake.RotateParams{})
	if err != nil {
		t.Fatal(err)
	}
	after.URL = before.URL
	w.github(after, "a", `{}`).receipt(t)
	if got := w.github(before, "b", `{}`); got.status != http.StatusServiceUnavailable {
		t.Errorf("signed with the secret before: %d %s", got.status, got.body)
	}
	if got := w.send(before.URL, `{}`); got.status != http.StatusUnauthorized {
		t.Errorf("not signed at all: %d %s", got.status, got.body)
	}
}
