package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// deliver posts a body to a webhook's address.
func deliver(t *testing.T, address, id, body string, status int) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Delivery-Id", id)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != status {
		t.Fatalf("delivery %s: %s", id, response.Status)
	}
}

// want fails the test unless the text holds every one of the words.
func want(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%q is not in\n%s", word, text)
		}
	}
}

func TestWebhook_FromItsAddressToTheTodosTrail(t *testing.T) {
	f := setup(t)
	e := f.vend(t, "bot", "-q", "small", "-q", "large", "--webhooks", "2")
	var made webhookDoc
	f.run(t, "--json", "webhook", "create", e.Slug, "generic").json(t, &made)
	want(t, f.run(t, "webhook", "create", e.Slug, "github", "-q", "large").ok(t), "address   "+f.url+"/webhooks/w/", "secret    whsec_", "queue     large")
	f.run(t, "webhook", "create", e.Slug, "github").failed(t, exitFailed, "as many webhooks as it may")
	want(t, f.run(t, "webhook", "list").ok(t), made.ID+"\tgeneric", "none\tnever")

	rules := filepath.Join(t.TempDir(), "rules.json")
	if err := os.WriteFile(rules, []byte(`{"rules":[
		{"id":"bots","expr":".payload.by == \"bot\"","action":{"drop":true}},
		{"id":"big","name":"Big ones","expr":".payload.size > $params.limit","action":{"queue":"large","work_order":true}}],
		"params":{"limit":100}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	want(t, f.run(t, "webhook", "rules", "set", made.ID, "@"+rules).ok(t), "big\tqueue large, work order", "otherwise\tqueue small")
	want(t, f.run(t, "webhook", "rules", "test", made.ID, "--payload", `{"size":101}`).ok(t), "routed to large: rule Big ones, work order", "  no match  bots\n  match     big\n")
	want(t, f.run(t, "webhook", "rules", "test", made.ID, "--payload", `{}`, "--rules", `[{"id":"bad","expr":".payload | tonumber","action":{"drop":true}}]`).ok(t), "in quarantine: a rule failed")
	f.run(t, "webhook", "rules", "test", made.ID).failed(t, exitUsage, "--event")
	f.run(t, "webhook", "rules", "set", made.ID, "7").failed(t, exitUsage, "array")
	f.run(t, "webhook", "rules", "set", made.ID, `[{"id":"x","expr":"env","action":{"drop":true}}]`).failed(t, exitFailed, "rules[0] (x)")

	deliver(t, made.URL, "one", `{"title":"Disk full","size":500}`, http.StatusAccepted)
	deliver(t, made.URL, "two", `{"by":"bot"}`, http.StatusAccepted)
	want(t, f.run(t, "event", "list").ok(t), "routed", "dropped", "generic delivery: Disk full")
	want(t, f.run(t, "event", "list", "--disposition", "dropped").ok(t), "dropped")
	var list struct {
		Todos  []todoDoc
		Events []eventDoc
	}
	f.run(t, "--json", "todo", "list").json(t, &list)
	trail := f.run(t, "todo", "show", list.Todos[0].ID, "--event").ok(t)
	want(t, trail, "received from generic: generic delivery: Disk full", "verified: unguessable address", "routed to large: rule Big ones, work order", "created by generic",
		"Source event", "x-delivery-id: one", `"size": 500`)
	if strings.Contains(trail, made.URL) || strings.Contains(trail, "127.0.0.1:") && strings.Contains(trail, "source_ip") {
		t.Errorf("the trail holds a secret: %s", trail)
	}
	f.run(t, "--json", "event", "list", "--disposition", "routed").json(t, &list)
	want(t, f.run(t, "event", "show", list.Events[0].ID).ok(t), "generic delivery: Disk full", "delivery one")
	want(t, f.run(t, "webhook", "rules", "test", made.ID, "--event", list.Events[0].ID).ok(t), "routed to large")

	var renewed webhookDoc
	f.run(t, "--json", "webhook", "rotate", made.ID, "--overlap", "0s").json(t, &renewed)
	deliver(t, made.URL, "three", `{}`, http.StatusNotFound)
	deliver(t, renewed.URL, "three", `{}`, http.StatusAccepted)
	f.run(t, "webhook", "delete", made.ID).failed(t, exitUsage, "-y")
	f.run(t, "webhook", "delete", made.ID, "-y").ok(t)
	deliver(t, renewed.URL, "four", `{}`, http.StatusNotFound)
}

func TestWebhookSecret_ComesFromAFileAndIsNotShown(t *testing.T) {
	f := setup(t)
	e := f.vend(t, "bot")
	f.run(t, "webhook", "create", e.Slug, "stripe", "--secret", "whsec_onthecommandline").failed(t, exitUsage, "@FILE")
	out := f.runWith(t, Env{Stdin: strings.NewReader("whsec_of_the_dashboard\n")}, "webhook", "create", e.Slug, "stripe", "--secret", "@-").ok(t)
	if strings.Contains(out, "whsec_") {
		t.Errorf("a secret that was given is shown: %s", out)
	}
}

func TestQuarantine_ReleaseDiscardAndAgain(t *testing.T) {
	f := setup(t)
	e := f.vend(t, "bot", "-q", "small")
	var made webhookDoc
	f.run(t, "--json", "webhook", "create", e.Slug, "generic").json(t, &made)
	f.run(t, "webhook", "rules", "set", made.ID, `[{"id":"bad","expr":".payload.n | keys","action":{"drop":true}}]`).ok(t)
	deliver(t, made.URL, "one", `{"n":1}`, http.StatusAccepted)
	deliver(t, made.URL, "two", `{"n":1}`, http.StatusAccepted)
	ids := strings.Split(strings.TrimSpace(f.run(t, "quarantine", "list").ok(t)), "\n")
	if len(ids) != 2 {
		t.Fatalf("in quarantine: %v", ids)
	}
	for i := range ids {
		ids[i], _, _ = strings.Cut(ids[i], "\t")
	}
	f.run(t, "todo", "claim", ids[0]).failed(t, exitFailed, "quarantine")
	f.run(t, "quarantine", "release", ids[0], "-q", "small").ok(t)
	f.run(t, "quarantine", "discard", ids[1]).failed(t, exitUsage, "REASON")
	want(t, f.run(t, "quarantine", "discard", ids[1], "the sender was testing").ok(t), "rejected")
	f.run(t, "todo", "again", ids[0]).failed(t, exitFailed, "still live")
	want(t, f.run(t, "todo", "again", ids[1]).ok(t), "pending")
	want(t, f.run(t, "todo", "show", ids[0]).ok(t), "in quarantine: a rule failed", "you released it from quarantine from the command line, to small")
	want(t, f.run(t, "todo", "show", ids[1]).ok(t), "you discarded it from the command line: the sender was testing", "you ran it again from the command line, as", " td_")
}
