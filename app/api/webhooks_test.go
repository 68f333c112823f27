package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"

	"github.com/switchboard-otel/switchboard/app/intake"
)

// shown is what the tests read of a new webhook.
type shown struct {
	ID, URL, Secret string
	Endpoint        string
	TargetQueue     string `json:"target_queue"`
	RulesVersion    int    `json:"rules_version"`
}

func (f *fixture) webhook(t *testing.T, p *person, ref, body string) shown {
	t.Helper()
	var s shown
	f.do(t, p, "POST", "/endpoints/"+ref+"/webhooks", body).into(t, http.StatusCreated, &s)
	return s
}

// deliver sends a body to a webhook's address, signed as GitHub signs when there is a secret.
func (f *fixture) deliver(t *testing.T, to shown, id, body string) *intake.Receipt {
	t.Helper()
	target, err := f.Intake.Resolve(t.Context(), strings.TrimPrefix(to.URL, baseURL+intake.AddressPrefix))
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{"Content-Type": {"application/json"}, "X-Github-Event": {"issues"}, "X-Github-Delivery": {id}, "X-Delivery-Id": {id}}
	mac := hmac.New(sha256.New, []byte(to.Secret))
	mac.Write([]byte(body))
	header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	receipt, err := f.Intake.Deliver(t.Context(), target, intake.Delivery{Header: header, Body: []byte(body), SourceIP: "192.0.2.1"})
	if err != nil {
		t.Fatal(err)
	}
	return receipt
}

// delivered makes a webhook of an endpoint with one event, and returns their ids.
func (f *fixture) delivered(t *testing.T, ref string) (webhook, event string) {
	t.Helper()
	w := f.webhook(t, &f.alice, ref, `{"source_type":"github"}`)
	f.deliver(t, w, "d-1", `{"action":"opened","issue":{"number":7,"title":"alices secret issue"}}`)
	var list struct{ Events []struct{ ID string } }
	f.do(t, &f.alice, "GET", "/events?webhook="+w.ID, "").into(t, http.StatusOK, &list)
	if len(list.Events) != 1 {
		t.Fatalf("%d events", len(list.Events))
	}
	return w.ID, list.Events[0].ID
}

func TestWebhooks_FromTheAddressToTheTodosEvent(t *testing.T) {
	f := setup(t)
	v := f.vend(t, &f.alice, `{"name":"bot","queues":["lane-s","lane-m"],"webhooks_max":2,"webhook_sources":["github","generic"]}`)
	w := f.webhook(t, &f.alice, v.Slug, `{"source_type":"github"}`)
	if w.TargetQueue != "lane-s" || w.Endpoint != v.Slug || !strings.HasPrefix(w.Secret, "whsec_") || !strings.HasPrefix(w.URL, baseURL+"/webhooks/w/") {
		t.Errorf("made %+v", w)
	}
	f.do(t, &f.alice, "POST", "/endpoints/"+v.Slug+"/webhooks", `{"source_type":"slack"}`).refused(t, http.StatusForbidden, "forbidden")
	f.webhook(t, &f.alice, v.Slug, `{"source_type":"generic","target_queue":"lane-m"}`)
	f.do(t, &f.alice, "POST", "/endpoints/"+v.Slug+"/webhooks", `{"source_type":"generic"}`).refused(t, http.StatusConflict, "conflict")

	receipt := f.deliver(t, w, "d-1", `{"action":"opened","issue":{"number":7,"title":"Login fails"},"repository":{"full_name":"acme/web"}}`)
	if receipt.Created != 1 || receipt.Todos[0].Queue != "lane-s" {
		t.Fatalf("receipt %+v", receipt)
	}
	var todo struct {
		Source, Kind, Title string
		EventID             string `json:"event_id"`
		Routing             struct{ Stage string }
		Event               struct {
			ID, Disposition string
			Headers         map[string]string
			Payload         struct{ Action string }
		}
	}
	f.do(t, &f.alice, "GET", "/todos/"+receipt.Todos[0].ID.String(), "").into(t, http.StatusOK, &todo)
	if todo.Source != "github" || todo.Kind != "issues.opened" || todo.Title != "issues.opened acme/web#7: Login fails" || todo.Routing.Stage != "default" {
		t.Errorf("todo %+v", todo)
	}
	if todo.Event.ID != todo.EventID || todo.Event.Payload.Action != "opened" || todo.Event.Headers["x-hub-signature-256"] != "[REDACTED]" {
		t.Errorf("event %+v", todo.Event)
	}
	if body := f.do(t, &f.alice, "GET", "/events/"+todo.EventID, "").body; strings.Contains(body, "192.0.2.1") || strings.Contains(body, "source_ip") {
		t.Errorf("where it came from is shown: %s", body)
	}
}

func TestWebhookRules_AreTriedBeforeTheyAreSaved(t *testing.T) {
	f := setup(t)
	v := f.vend(t, &f.alice, `{"name":"bot","queues":["lane-s","lane-m"]}`)
	w := f.webhook(t, &f.alice, v.Slug, `{"source_type":"github"}`)
	f.deliver(t, w, "d-1", `{"action":"opened","issue":{"number":7,"title":"a","labels":["big"]}}`)
	rules := "/webhooks/" + w.ID + "/rules"
	var saved struct {
		Version int
		Params  any
	}
	f.do(t, &f.alice, "PUT", rules, `{"rules":[{"id":"big","name":"Big ones","expr":".payload.issue.labels | any(. == $params.label)","action":{"queue":"lane-m","work_order":true}}],"params":{"label":"big"}}`).
		into(t, http.StatusOK, &saved)
	if saved.Version != 1 {
		t.Errorf("version %d", saved.Version)
	}
	f.do(t, &f.alice, "PUT", rules, `{"rules":[{"id":"x","expr":".payload.issue.title | keys","action":{"drop":true}}]}`).refused(t, http.StatusBadRequest, "invalid")
	f.do(t, &f.alice, "PUT", rules, `{"rules":[{"id":"x","expr":"env","action":{"drop":true}}]}`).refused(t, http.StatusBadRequest, "invalid")
	f.do(t, &f.alice, "PUT", rules, `{"rules":[{"id":"x","expr":"true","action":{"queue":"elsewhere"}}]}`).refused(t, http.StatusForbidden, "forbidden")
	f.do(t, &f.alice, "PUT", rules, `{"rules":[{"id":"x","expr":"true","action":{"quee":"lane-m"}}]}`).refused(t, http.StatusBadRequest, "invalid")

	receipt := f.deliver(t, w, "d-2", `{"action":"opened","issue":{"number":8,"title":"b","labels":["big"]}}`)
	if receipt.Todos[0].Queue != "lane-m" {
		t.Errorf("receipt %+v", receipt)
	}
	var todo struct {
		WorkOrder struct {
			Version      int
			Lane         string
			AuthorizedBy struct {
				Stage    string
				RuleID   string `json:"rule_id"`
				RuleName string `json:"rule_name"`
			} `json:"authorized_by"`
		} `json:"work_order"`
	}
	f.do(t, &f.alice, "GET", "/todos/"+receipt.Todos[0].ID.String()+"?include=event", "").into(t, http.StatusOK, &todo)
	if o := todo.WorkOrder; o.Version != 1 || o.Lane != "lane-m" || o.AuthorizedBy.RuleID != "big" || o.AuthorizedBy.RuleName != "Big ones" {
		t.Errorf("work order %+v", o)
	}
	// Absent params are kept, null clears them.
	f.do(t, &f.alice, "PUT", rules, `{"rules":[]}`).into(t, http.StatusOK, &saved)
	if saved.Params == nil {
		t.Error("params that were not sent are gone")
	}
	f.do(t, &f.alice, "PUT", rules, `{"rules":[],"params":null}`).into(t, http.StatusOK, &saved)
	if saved.Params != nil || saved.Version != 3 {
		t.Errorf("saved %+v", saved)
	}
	var tried struct {
		Disposition string
		Queue       string
	}
	f.do(t, &f.alice, "POST", rules+"/test", `{"payload":{"n":1},"rules":[{"id":"n","expr":".payload.n == 1","action":{"queue":"lane-m"}}]}`).into(t, http.StatusOK, &tried)
	if tried.Disposition != "routed" || tried.Queue != "lane-m" {
		t.Errorf("tried %+v", tried)
	}
}

func TestQuarantine_IsLeftByItsHumanAlone(t *testing.T) {
	f := setup(t)
	v := f.vend(t, &f.alice, `{"name":"bot","queues":["lane-s"]}`)
	w := f.webhook(t, &f.alice, v.Slug, `{"source_type":"generic"}`)
	f.do(t, &f.alice, "PUT", "/webhooks/"+w.ID+"/rules", `{"rules":[{"id":"bad","expr":".payload.a | keys","action":{"queue":"lane-s"}}]}`).into(t, http.StatusOK, &struct{}{})
	wait := func(id string) string {
		receipt := f.deliver(t, w, id, `{"a":7}`)
		if receipt.Todos[0].Queue != "quarantine" {
			t.Fatalf("receipt %+v", receipt)
		}
		return receipt.Todos[0].ID.String()
	}
	var todo struct{ ID, State, Queue string }
	first, second := wait("1"), wait("2")
	for _, action := range []string{"claim", "cancel", "retry"} {
		f.do(t, &f.alice, "POST", "/todos/"+first+"/"+action, "").refused(t, http.StatusConflict, "conflict")
	}
	f.do(t, &f.alice, "POST", "/todos/"+first+"/quarantine/release", `{"queue":"elsewhere"}`).refused(t, http.StatusBadRequest, "invalid")
	f.do(t, &f.alice, "POST", "/todos/"+first+"/quarantine/release", `{"queue":"lane-s"}`).into(t, http.StatusOK, &todo)
	if todo.Queue != "lane-s" || todo.State != "pending" {
		t.Errorf("released %+v", todo)
	}
	f.do(t, &f.alice, "POST", "/todos/"+first+"/quarantine/release", `{"queue":"lane-s"}`).refused(t, http.StatusConflict, "conflict")
	f.do(t, &f.alice, "POST", "/todos/"+second+"/quarantine/discard", `{"reason":" "}`).refused(t, http.StatusBadRequest, "invalid")
	f.do(t, &f.alice, "POST", "/todos/"+second+"/quarantine/discard", `{"reason":"a test of the sender"}`).into(t, http.StatusOK, &todo)
	if todo.State != "rejected" {
		t.Errorf("discarded %+v", todo)
	}
	f.do(t, &f.alice, "POST", "/todos/"+second+"/again", `{"queue":"elsewhere"}`).refused(t, http.StatusBadRequest, "invalid")
	f.do(t, &f.alice, "POST", "/todos/"+second+"/again", `{}`).into(t, http.StatusCreated, &todo)
	if todo.ID == second || todo.Queue != "lane-s" {
		t.Errorf("again %+v", todo)
	}
	if again := f.deliver(t, w, "2", `{"a":7}`); again.Created != 0 || again.Todos[0].ID.String() != second {
		t.Errorf("a redelivery after a run again: %+v", again)
	}
}
