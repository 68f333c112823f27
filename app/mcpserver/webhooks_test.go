package mcpserver_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/intake"
	"github.com/switchboard-otel/switchboard/app/mcpserver"
	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/ratelimit"
	"github.com/switchboard-otel/switchboard/app/settings"
)

// An agent that was granted the verbs makes a webhook, writes its rules, tries them, and reads what came; what it
// was not granted by name it cannot do.
func TestWebhookVerbs_AnAgentTakesDeliveriesIn(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	live := settings.NewReader(db.Pool, zap.NewNop())
	todos := queue.NewStore(db.Pool, live)
	people := identity.NewStore(db.Pool, todos)
	unlimited := ratelimit.New(1e6, 1e6)
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	store := intake.NewStore(intake.Config{Pool: db.Pool, Queue: todos, Settings: live, BaseURL: srv.URL})
	address := func(r *http.Request) string { return r.RemoteAddr }
	mux.Handle(intake.AddressPrefix, &intake.Handler{Intake: store, Settings: live, PreAuth: unlimited, PerWebhook: unlimited, ClientAddress: address, Log: zap.NewNop()})
	mux.Handle("/mcp/", mcpserver.New(mcpserver.Config{Identity: people, Queue: todos, Intake: store, BaseURL: srv.URL, Version: "1", Log: zap.NewNop(),
		PreAuth: unlimited, PerEndpoint: unlimited, ClientAddress: address}))
	human, err := people.LocalOwner(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b := &bundle{DB: db, url: srv.URL, identity: people, queue: todos, human: human}

	plain := b.connect(t, b.vend(t, identity.VendParams{Name: "plain"}))
	tools, err := plain.ListTools(t.Context(), nil)
	if err != nil || slices.ContainsFunc(tools.Tools, func(tool *mcp.Tool) bool { return strings.Contains(tool.Name, "webhook") }) {
		t.Errorf("an endpoint without them is shown verbs of webhooks: %v", err)
	}
	if _, refusal := call(t, plain, "create_webhook", map[string]any{"source_type": "generic"}); !strings.HasPrefix(refusal, "forbidden: ") {
		t.Errorf("create_webhook without its grant: %q", refusal)
	}

	s := b.connect(t, b.vend(t, identity.VendParams{Name: "relay", Queues: []string{"small", "large"}, Verbs: identity.Verbs}))
	if _, refusal := call(t, s, "create_webhook", map[string]any{"source_type": "github"}); !strings.Contains(refusal, "SWITCHBOARD_SECRET_ENCRYPTION_KEY") {
		t.Errorf("a signed webhook without the key: %q", refusal)
	}
	made := must(t, s, "create_webhook", map[string]any{"source_type": "generic"})
	id := made["id"]
	if list := must(t, s, "list_webhooks", nil)["webhooks"].([]any); len(list) != 1 || list[0].(map[string]any)["url"] != nil {
		t.Errorf("listed %v", list)
	}
	rules := []any{map[string]any{"id": "big", "expr": ".payload.size > $params.limit", "action": map[string]any{"queue": "large"}}}
	must(t, s, "set_webhook_rules", map[string]any{"webhook_id": id, "rules": rules, "params": map[string]any{"limit": 10}})
	if tried := must(t, s, "test_webhook_rules", map[string]any{"webhook_id": id, "payload": map[string]any{"size": 11}}); tried["queue"] != "large" {
		t.Errorf("tried %v", tried)
	}
	res, err := http.Post(made["url"].(string), "application/json", strings.NewReader(`{"title":"Disk full","size":11}`))
	if err != nil || res.StatusCode != http.StatusAccepted {
		t.Fatal(res, err)
	}
	_ = res.Body.Close()
	todo := must(t, s, "claim_next", nil)["todo"].(map[string]any)
	if todo["queue"] != "large" || todo["source"] != "generic" {
		t.Errorf("claimed %v", todo)
	}
	events := must(t, s, "list_webhook_events", map[string]any{"webhook_id": id})["events"].([]any)
	if len(events) != 1 || events[0].(map[string]any)["id"] != todo["event_id"] {
		t.Errorf("events %v", events)
	}
	event := must(t, s, "get_webhook_event", map[string]any{"event_id": todo["event_id"]})
	if event["payload"].(map[string]any)["size"] != 11.0 || event["source_ip"] != nil {
		t.Errorf("event %v", event)
	}
	if got := must(t, s, "set_webhook_rules", map[string]any{"webhook_id": id, "rules": []any{}}); got["params"] == nil {
		t.Error("params that were not sent are gone")
	}
	if got := must(t, s, "set_webhook_rules", map[string]any{"webhook_id": id, "rules": []any{}, "params": nil}); got["params"] != nil {
		t.Error("null does not clear the params")
	}
	if got := must(t, s, "rotate_webhook", map[string]any{"webhook_id": id, "overlap_seconds": "0"}); got["url"] == made["url"] || got["url"] == nil {
		t.Errorf("rotated %v", got)
	}
	must(t, s, "delete_webhook", map[string]any{"webhook_id": id})
	if _, refusal := call(t, s, "list_webhook_rules", map[string]any{"webhook_id": id}); refusal != "not_found: no such webhook" {
		t.Errorf("after it was deleted: %q", refusal)
	}
}
