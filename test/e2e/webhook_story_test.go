package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/intake"
	"github.com/switchboard-otel/switchboard/app/settings"
	timeline "github.com/switchboard-otel/switchboard/app/trail"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// REQ-12's scenario, from the HTTP delivery to the data of the page: a delivery is routed by the rule lane-s, its todo is
// claimed, noted twice, reaped, claimed again and completed; REQ-14's panel has the rule and the work order.
func TestDelivery_ARelaysStory(t *testing.T) {
	t.Parallel()
	n := startNeighbours(t)
	w := n.mine
	hook := made[struct{ ID, URL, Secret string }](n.collector, w.owner, "/endpoints/"+w.Slug+"/webhooks", map[string]any{"source_type": "github", "target_queue": "idle"})
	if res := n.api(w.owner, http.MethodPut, "/webhooks/"+hook.ID+"/rules", `{"rules":[
		{"id":"bots","expr":".payload.sender.type == \"Bot\"","action":{"drop":true}},
		{"id":"lane-s","expr":".kind == \"issues.opened\" and (.payload.issue.title | length) < $params.short","action":{"queue":"default","work_order":true}}],
		"params":{"short":80}}`); res.status != http.StatusOK {
		t.Fatal(res.body)
	}
	const body = `{"action":"opened","issue":{"number":12,"title":"Login fails"},"repository":{"full_name":"acme/web"},"sender":{"type":"User"}}`
	mac := hmac.New(sha256.New, []byte(hook.Secret))
	mac.Write([]byte(body))
	res := request(t, http.MethodPost, hook.URL, []byte(body), "Content-Type", "application/json", "X-GitHub-Event", "issues",
		"X-GitHub-Delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958", "X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	var receipt struct{ Todos []struct{ ID, Queue string } }
	if err := json.Unmarshal([]byte(res.body), &receipt); err != nil || res.status != http.StatusAccepted || receipt.Todos[0].Queue != "default" {
		t.Fatalf("%d %s", res.status, res.body)
	}
	id := receipt.Todos[0].ID

	answered[any](t, n.call(w.vended, "claim", map[string]any{"id": id, "claimant": "first", "lease_ttl_seconds": 60}))
	for _, note := range []string{"reading the code", "found it"} {
		answered[any](t, n.call(w.vended, "heartbeat", map[string]any{"id": id, "note": note}))
	}
	n.db.Advance(t, 2*time.Minute)
	await(t, "the lapsed lease to be reaped", func() error {
		_, err := n.queue.Reap(t.Context())
		if got := n.trail(id); err != nil || got.State != "pending" {
			return fmt.Errorf("%s, %v", got.State, err)
		}
		return nil
	})
	claim := answered[struct {
		Prior []struct{ Died bool } `json:"prior_attempts"`
		Order struct {
			Lane         string `json:"lane"`
			Subject      string `json:"subject"`
			AuthorizedBy struct {
				RuleID string `json:"rule_id"`
			} `json:"authorized_by"`
		} `json:"work_order"`
		EventID string `json:"event_id"`
	}](t, n.call(w.vended, "claim", map[string]any{"id": id, "claimant": "second"}))
	if !claim.Prior[0].Died || claim.Order.Lane != "default" || claim.Order.Subject != "acme/web#12" || claim.Order.AuthorizedBy.RuleID != "lane-s" {
		t.Errorf("the second claim is handed %+v", claim)
	}
	answered[any](t, n.call(w.vended, "complete", map[string]any{"id": id, "summary": "a session expired too early"}))

	raw, _ := typeid.Todo.Parse(id)
	todo, err := n.queue.HumanTodo(t.Context(), w.owner.id, raw)
	if err != nil {
		t.Fatal(err)
	}
	events := intake.NewStore(intake.Config{Pool: n.db.Pool, Queue: n.queue, Settings: settings.NewReader(n.db.Pool, zap.NewNop())})
	event, err := events.EventOfTodo(t.Context(), w.owner.id, raw)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, e := range timeline.Merge(event, &todo.Detail, todo.Activity, 500, 0).Entries {
		switch {
		case e.Attempt != nil:
			for _, item := range e.Items {
				told = append(told, fmt.Sprintf("attempt %d %s", e.Attempt.Seq, item.Kind))
			}
			told = append(told, fmt.Sprintf("attempt %d %s, died %v", e.Attempt.Seq, *e.Attempt.Outcome, e.Attempt.Died))
		case e.Kind == timeline.KindRouted:
			told = append(told, "routed by "+e.Route.By())
		default:
			told = append(told, string(e.Kind))
		}
	}
	want := []string{"received", "verified", "routed by lane-s", "created",
		"attempt 1 claimed", "attempt 1 note", "attempt 1 note", "attempt 1 ended", "attempt 1 reaped, died true",
		"attempt 2 claimed", "attempt 2 ended", "attempt 2 completed, died false"}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
	if event.Trust != "signed" || !event.Verified || event.Disposition != intake.Routed || string(event.Body) != body || event.Headers["x-hub-signature-256"] != "[REDACTED]" {
		t.Errorf("the source event is %+v", event)
	}
	if stranger, err := events.EventOfTodo(t.Context(), n.her.owner.id, raw); err != nil || stranger != nil {
		t.Errorf("another human reads the event: %v %v", stranger, err)
	}
	if log := n.output.String(); strings.Contains(log, hook.URL[strings.LastIndex(hook.URL, "/")+1:]) || strings.Contains(log, hook.Secret) {
		t.Error("the address or the secret is in the log")
	}
}
