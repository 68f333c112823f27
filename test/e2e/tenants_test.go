package e2e

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/mcpserver"
	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/settings"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// person is a human with the two ways in: a personal token and a session of the Board.
type person struct {
	id            uuid.UUID
	token, cookie string
}

// tenant is an endpoint with todos in every standing. Everything that its owner or its agent wrote holds its mark.
type tenant struct {
	vended
	mark   string
	owner  person
	todos  map[string]string // ids by how they stand
	leases []string          // tokens of its fenced attempts
	traces []string          // trace ids of its attempts
	caller string            // the trace in which its agent claimed
	asked  string            // the request id of its open attempt

	webhook, address, event string // what was delivered to it, and where
}

// neighbours is one collector with three endpoints: two of one human, one of another.
type neighbours struct {
	*collector
	db              *postgrestest.DB
	identity        *identity.Store
	queue           *queue.Store
	mine, also, her *tenant
}

// unhurried is the quick start with limits that no test reaches.
func unhurried(t *testing.T) option {
	t.Helper()
	quick, err := os.ReadFile(filepath.Join(root, "configs", "quickstart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	const before, bucket = "    local_login:", "{per_second: 100000, burst: 100000}"
	limits := fmt.Sprintf("    rate_limits: {pre_auth: %[1]s, mcp: %[1]s, otlp: %[1]s, webhooks: %[1]s}\n", bucket)
	text := strings.Replace(string(quick), before, limits+before, 1)
	config := filepath.Join(dataDir(t), "unhurried.yaml")
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return withConfig(config)
}

func startNeighbours(t *testing.T) *neighbours {
	t.Helper()
	db := postgrestest.New(t)
	n := &neighbours{db: db, queue: queue.NewStore(db.Pool, settings.NewReader(db.Pool, zap.NewNop()))}
	n.identity = identity.NewStore(db.Pool, n.queue)
	n.collector = start(t, unhurried(t), withEnv("SWITCHBOARD_DATABASE_URL="+db.URL, "SWITCHBOARD_LOG_LEVEL=debug",
		"SWITCHBOARD_METRICS_TOKEN="+metricsToken, "SWITCHBOARD_A2A=1", "SWITCHBOARD_A2UI=1", "SWITCHBOARD_SECRET_ENCRYPTION_KEY="+strings.Repeat("5e", 32)))
	local, err := n.identity.LocalOwner(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	other := typeid.New()
	if _, err := db.Pool.Exec(t.Context(), `INSERT INTO humans (id, issuer, subject, name) VALUES ($1, 'test', 'other', 'Other')`, other); err != nil {
		t.Fatal(err)
	}
	me, her := n.person(local.ID), n.person(other)
	n.mine, n.also, n.her = n.settle("canarya1", me), n.settle("canarya2", me), n.settle("canaryb1", her)
	return n
}

const metricsToken = "0123456789abcdef0123456789abcdef"

func (n *neighbours) person(id uuid.UUID) person {
	n.t.Helper()
	token, err := n.identity.NewAccessToken(n.t.Context(), id, "test")
	if err != nil {
		n.t.Fatal(err)
	}
	link, err := n.identity.NewLoginLink(n.t.Context(), id)
	if err != nil {
		n.t.Fatal(err)
	}
	return person{id: id, token: token, cookie: n.signIn(n.url + "/login/" + link)}
}

// signIn spends a one-time link and returns the cookie of the session.
func (c *collector) signIn(link string) (cookie string) {
	c.t.Helper()
	spend, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, link, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	res, err := http.DefaultTransport.RoundTrip(spend) // a client would follow the redirect
	if err != nil {
		c.t.Fatal(err)
	}
	_ = res.Body.Close()
	for _, c := range res.Cookies() {
		if c.Name == "sb_session" {
			return c.Name + "=" + c.Value
		}
	}
	c.t.Fatalf("signing in answered %s without a session", res.Status)
	return ""
}

// api calls the human API. A body that is a string is sent as it is.
func (c *collector) api(as person, method, path string, body any) reply {
	c.t.Helper()
	text, isText := body.(string)
	if !isText && body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			c.t.Fatal(err)
		}
		text = string(encoded)
	}
	return request(c.t, method, c.url+"/api/v1"+path, []byte(text), "Authorization", "Bearer "+as.token, "Content-Type", "application/json")
}

// made calls the human API and reads the answer of a success.
func made[T any](c *collector, as person, path string, body any) (answer T) {
	c.t.Helper()
	res := c.api(as, http.MethodPost, path, body)
	if res.status/100 != 2 {
		c.t.Fatalf("%s answered %d %s", path, res.status, res.body)
	}
	if err := json.Unmarshal([]byte(res.body), &answer); err != nil {
		c.t.Fatal(err)
	}
	return answer
}

// vendAll makes an endpoint with every verb.
func (c *collector) vendAll(as person, name string) vended {
	c.t.Helper()
	return made[vended](c, as, "/endpoints", map[string]any{"name": name, "verbs": identity.Verbs, "queues": []string{"default", "idle"}})
}

func (c *collector) pushAs(as person, v vended, body map[string]any) (id string) {
	c.t.Helper()
	pushed := made[struct {
		Todo struct {
			ID string `json:"id"`
		} `json:"todo"`
	}](c, as, "/endpoints/"+v.Slug+"/todos", body)
	return pushed.Todo.ID
}

// settle gives a person an endpoint with a todo in every standing, and a trail.
func (n *neighbours) settle(mark string, owner person) *tenant {
	n.t.Helper()
	t := n.t
	w := &tenant{vended: n.vendAll(owner, mark+" bot"), mark: mark, owner: owner, todos: map[string]string{},
		caller: hex.EncodeToString([]byte((mark + "-caller-trace")[:16])), asked: mark + "-request"}
	push := func(standing, queue string) string {
		w.todos[standing] = n.pushAs(owner, w.vended, map[string]any{"title": mark + " " + standing, "kind": mark + "-kind",
			"queue": queue, "payload": map[string]string{mark: mark}, "idempotency_key": mark + standing, "max_attempts": 3})
		return w.todos[standing]
	}
	claim := func(standing string, more map[string]any) string {
		args := map[string]any{"id": push(standing, "default"), "lease_ttl_seconds": 86400, "claimant": mark + " claimant"}
		for name, value := range more {
			args[name] = value
		}
		got := answered[struct {
			LeaseToken  string `json:"lease_token"`
			Traceparent string `json:"traceparent"`
		}](t, n.call(w.vended, "claim", args, "Traceparent", "00-"+w.caller+"-00f067aa0ba902b7-01"))
		w.traces = append(w.traces, strings.Split(got.Traceparent, "-")[1])
		if got.LeaseToken != "" {
			w.leases = append(w.leases, got.LeaseToken)
		}
		trace := traceOf(t, got.Traceparent)
		spans := batch(trace, 2, "")
		for _, s := range spans.ResourceSpans().At(0).ScopeSpans().At(0).Spans().All() {
			s.SetName(mark + " span")
			s.Attributes().PutStr("switchboard.text", mark+" attribute")
		}
		if res := export(t, w.vended, "protobuf", spans); res.status != http.StatusOK {
			t.Fatalf("spans are answered %d %s", res.status, res.body)
		}
		answered[any](t, n.call(w.vended, "heartbeat", withToken(map[string]any{"id": args["id"], "note": mark + " note"}, got.LeaseToken)))
		return w.todos[standing]
	}
	report := func(standing, verb string, more map[string]any) {
		args := map[string]any{"id": claim(standing, nil), "summary": mark + " summary", "artifact": "https://example.com/" + mark}
		for name, value := range more {
			args[name] = value
		}
		answered[any](t, n.call(w.vended, verb, args))
	}
	n.deliverTo(w)
	push("pending", "default")
	push("idle", "idle")
	claim("held", map[string]any{"request_id": w.asked})
	claim("fenced", map[string]any{"require_fence": true})
	report("done", "complete", map[string]any{"result": map[string]string{mark: mark}})
	report("retry", "fail", map[string]any{"result": mark, "retry_after_seconds": 86400})
	report("dead", "fail", map[string]any{"result": mark, "retry": false})
	report("released", "release", nil)

	endpoint, err := n.identity.Endpoint(t.Context(), owner.id, w.Slug)
	if err != nil {
		t.Fatal(err)
	}
	waiting, _ := typeid.Todo.Parse(claim("waiting", nil))
	if _, err := n.queue.Interrupt(t.Context(), endpoint, waiting, nil, queue.StateInputRequired, nil); err != nil {
		t.Fatal(err)
	}
	taken, _ := typeid.Todo.Parse(push("taken by its human", "default"))
	if _, err := n.queue.Act(t.Context(), owner.id, taken, queue.Act{Action: queue.ActionClaim, Via: queue.ViaBoard}); err != nil {
		t.Fatal(err)
	}
	canceled, _ := typeid.Todo.Parse(push("canceled", "default"))
	if _, err := n.queue.Act(t.Context(), owner.id, canceled, queue.Act{Action: queue.ActionCancel, Via: queue.ViaBoard}); err != nil {
		t.Fatal(err)
	}
	// A human's lease lasts five minutes. The background work must not touch any of this, however long the test takes.
	if _, err := n.db.Pool.Exec(t.Context(), `UPDATE todos SET lease_expires_at = lease_expires_at + interval '1 day'`); err != nil {
		t.Fatal(err)
	}
	return w
}

// deliverTo gives a tenant a webhook with an event and its todo.
func (n *neighbours) deliverTo(w *tenant) {
	n.t.Helper()
	made := made[struct{ ID, URL string }](n.collector, w.owner, "/endpoints/"+w.Slug+"/webhooks", map[string]any{"source_type": "generic"})
	w.webhook, w.address = made.ID, made.URL
	res := request(n.t, http.MethodPost, w.address, []byte(`{"title":"`+w.mark+` delivery"}`), "X-Delivery-Id", w.mark+"-delivery", "Content-Type", "application/json")
	var receipt struct{ Todos []struct{ ID string } }
	if err := json.Unmarshal([]byte(res.body), &receipt); err != nil || res.status != http.StatusAccepted || len(receipt.Todos) != 1 {
		n.t.Fatalf("a delivery is answered %d %s", res.status, res.body)
	}
	w.todos["delivered"] = receipt.Todos[0].ID
	var list struct{ Events []struct{ ID string } }
	if err := json.Unmarshal([]byte(n.api(w.owner, http.MethodGet, "/events?webhook="+w.webhook, nil).body), &list); err != nil || len(list.Events) != 1 {
		n.t.Fatal(list, err)
	}
	w.event = list.Events[0].ID
}

func withToken(args map[string]any, token string) map[string]any {
	if token != "" {
		args["lease_token"] = token
	}
	return args
}

// call sends a verb as bytes and returns the answer as bytes: a client would hide what differs.
func (c *collector) call(v vended, verb string, args map[string]any, headers ...string) reply {
	c.t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		"params": map[string]any{"name": verb, "arguments": args}})
	if err != nil {
		c.t.Fatal(err)
	}
	return request(c.t, http.MethodPost, v.MCPURL, body,
		append(headers, "Authorization", "Bearer "+v.Token, "Content-Type", "application/json")...)
}

// answered reads what a verb answered, which was no refusal.
func answered[T any](t *testing.T, res reply) (answer T) {
	t.Helper()
	var call struct {
		Result struct {
			IsError    bool            `json:"isError"`
			Structured json.RawMessage `json:"structuredContent"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(res.body), &call); err != nil || call.Result.IsError || res.status != http.StatusOK {
		t.Fatalf("a verb answered %d %s", res.status, res.body)
	}
	if err := json.Unmarshal(call.Result.Structured, &answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

// secrets is everything of a tenant that nobody else may see. Its owner's id is not among it: an agent sees by whom one of
// its own todos is held.
func (w *tenant) secrets() []string {
	all := []string{w.mark, w.ID, w.Slug, w.Token, w.owner.token, w.owner.cookie, w.webhook, w.event,
		w.address[strings.LastIndex(w.address, "/")+1:]}
	for _, id := range w.todos {
		all = append(all, id)
	}
	return append(append(all, w.leases...), w.traces...)
}

// rows is everything the database holds of a tenant, as text.
func (n *neighbours) rows(w *tenant) string {
	n.t.Helper()
	id, _ := typeid.Endpoint.Parse(w.ID)
	const ofTodos = "x.todo_id IN (SELECT t.id FROM todos t WHERE t.endpoint_id = $1)"
	var all strings.Builder
	for _, part := range []struct{ table, of string }{
		{"endpoints", "x.id = $1"}, {"credentials", "x.endpoint_id = $1"}, {"todos", "x.endpoint_id = $1"},
		{"todo_trace_bindings", "x.endpoint_id = $1"}, {"todo_attempts", ofTodos}, {"todo_activity", ofTodos},
		{"todo_spans", ofTodos}, {"todo_span_counts", ofTodos}, {"webhooks", "x.endpoint_id = $1"}, {"events", "x.endpoint_id = $1"},
		{"webhook_rules", "x.webhook_id IN (SELECT w.id FROM webhooks w WHERE w.endpoint_id = $1)"},
	} {
		var text string
		err := n.db.Pool.QueryRow(n.t.Context(),
			`SELECT coalesce(string_agg(x::text, E'\n' ORDER BY x::text), '') FROM `+part.table+` x WHERE `+part.of, id).Scan(&text)
		if err != nil {
			n.t.Fatal(err)
		}
		fmt.Fprintf(&all, "%s\n%s\n", part.table, text)
	}
	return all.String()
}

// takesID reports whether a verb names a todo.
func takesID(tool *mcp.Tool) bool { return takesArgument(tool, "id") }

// takes reports whether a verb has an argument.
func takes(t *testing.T, verb, argument string) bool {
	t.Helper()
	for _, tool := range mcpserver.Tools() {
		if tool.Name == verb {
			return takesArgument(tool, argument)
		}
	}
	t.Fatalf("no verb %s", verb)
	return false
}

func takesArgument(tool *mcp.Tool, argument string) bool {
	var s struct {
		Properties map[string]any `json:"properties"`
	}
	text, _ := json.Marshal(tool.InputSchema)
	_ = json.Unmarshal(text, &s)
	_, takes := s.Properties[argument]
	return takes
}
