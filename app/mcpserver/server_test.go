package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/doorbell"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/mcpserver"
	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/ratelimit"
	"github.com/switchboard-otel/switchboard/app/rungraph"
	"github.com/switchboard-otel/switchboard/app/settings"
	"github.com/switchboard-otel/switchboard/app/spans"
)

// bundle is the handler on a real database, with one vended endpoint.
type bundle struct {
	*postgrestest.DB
	url      string
	identity *identity.Store
	queue    *queue.Store
	bell     *doorbell.Bell
	human    *identity.Human
	vended   *identity.Vended
}

func setup(t *testing.T, change ...func(*mcpserver.Config)) *bundle {
	t.Helper()
	t.Parallel()
	db := postgrestest.New(t)
	live := settings.NewReader(db.Pool, zap.NewNop())
	b := &bundle{DB: db, queue: queue.NewStore(db.Pool, live)}
	b.identity = identity.NewStore(db.Pool, b.queue)
	b.bell = doorbell.New(b.queue, b.identity, zap.NewNop())
	srv := httptest.NewUnstartedServer(nil)
	b.url = "http://" + srv.Listener.Addr().String()
	cfg := mcpserver.Config{
		Identity: b.identity, Queue: b.queue, Bell: b.bell, BaseURL: b.url, Version: "1.2.3", Log: zap.NewNop(),
		RunGraphs: rungraph.NewStore(db.Pool, b.queue, spans.NewStore(db.Pool, live), "1.2.3"), Spans: spans.NewStore(db.Pool, live),
		PreAuth: ratelimit.New(1000, 1000), PerEndpoint: ratelimit.New(1000, 1000),
		ClientAddress: func(r *http.Request) string { return r.RemoteAddr },
	}
	for _, c := range change {
		c(&cfg)
	}
	srv.Config.Handler = mcpserver.New(cfg)
	srv.Start()
	t.Cleanup(srv.Close)
	t.Cleanup(b.bell.Close) // before the server, which waits for open streams
	var err error
	if b.human, err = b.identity.LocalOwner(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.vended = b.vend(t, identity.VendParams{Name: "my bot"})
	return b
}

func (b *bundle) vend(t *testing.T, p identity.VendParams) *identity.Vended {
	t.Helper()
	v, err := b.identity.Vend(t.Context(), b.human.ID, p)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (b *bundle) push(t *testing.T, title string) string {
	t.Helper()
	todo, _, err := b.queue.Push(t.Context(), b.human.ID, queue.PushParams{Endpoint: &b.vended.Endpoint, Title: title, Payload: json.RawMessage(`{"n":1}`)})
	if err != nil {
		t.Fatal(err)
	}
	return todo.ID.String()
}

type headers struct {
	http.RoundTripper
	set map[string]string
}

func (h headers) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for k, v := range h.set {
		r.Header.Set(k, v)
	}
	return h.RoundTripper.RoundTrip(r)
}

// connect opens a session of the official client.
func (b *bundle) connect(t *testing.T, v *identity.Vended, more ...string) *mcp.ClientSession {
	t.Helper()
	set := map[string]string{"Authorization": "Bearer " + v.Token}
	for i := 0; i+1 < len(more); i += 2 {
		set[more[i]] = more[i+1]
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: b.url + "/mcp/" + v.Slug, HTTPClient: &http.Client{Transport: headers{http.DefaultTransport, set}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// call returns a verb's structured answer, or its refusal.
func call(t *testing.T, s *mcp.ClientSession, verb string, args any) (answer map[string]any, refusal string) {
	t.Helper()
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: verb, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", verb, err)
	}
	text := res.Content[0].(*mcp.TextContent).Text
	if res.IsError {
		return nil, text
	}
	answer, _ = res.StructuredContent.(map[string]any)
	var mirrored map[string]any
	if err := json.Unmarshal([]byte(text), &mirrored); err != nil || fmt.Sprint(mirrored) != fmt.Sprint(answer) {
		t.Errorf("%s: the text does not mirror the structured content: %s", verb, text)
	}
	return answer, ""
}

func must(t *testing.T, s *mcp.ClientSession, verb string, args any) map[string]any {
	t.Helper()
	answer, refusal := call(t, s, verb, args)
	if refusal != "" {
		t.Fatalf("%s refused: %s", verb, refusal)
	}
	return answer
}

func TestDrainLoop_WithTheOfficialClient(t *testing.T) {
	b := setup(t)
	id := b.push(t, "retry on 502")
	s := b.connect(t, b.vended, "Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	init := s.InitializeResult()
	if init.ServerInfo.Version != "1.2.3" || !strings.Contains(init.Instructions, "heartbeat") {
		t.Errorf("initialised as %+v", init)
	}
	claimed := must(t, s, "claim_next", map[string]any{"claimant": "run-1", "require_fence": "true", "lease_ttl_seconds": "60"})
	todo := claimed["todo"].(map[string]any)
	token, _ := claimed["lease_token"].(string)
	if todo["id"] != id || claimed["empty"] != false || !strings.HasPrefix(token, "sbl_") || claimed["attempt_seq"] != float64(1) {
		t.Fatalf("%v", claimed)
	}
	if n := b.queryInt(t, `SELECT count(*) FROM todo_attempts WHERE caller_trace_id = '\x0af7651916cd43dd8448eb211c80319c'`); n != 1 {
		t.Error("the caller's trace was not remembered")
	}
	must(t, s, "heartbeat", map[string]any{"todo_id": id, "lease_token": token, "note": "half way"})
	if _, refusal := call(t, s, "fail", map[string]any{"id": id}); refusal != "conflict: this todo is not held under this lease" {
		t.Errorf("a report without the token answered %q", refusal)
	}
	must(t, s, "fail", map[string]any{"id": id, "lease_token": token, "summary": "no database here", "retry_after_seconds": 0})
	again := must(t, s, "claim", map[string]any{"id": id})
	prior := again["prior_attempts"].([]any)
	if len(prior) != 1 || prior[0].(map[string]any)["summary"] != "no database here" {
		t.Errorf("%v", prior)
	}
	must(t, s, "release", map[string]any{"id": id})
	must(t, s, "claim", map[string]any{"id": id})
	must(t, s, "complete", map[string]any{"id": id, "result": map[string]any{"pr": 7}, "artifact": "https://example.org/pr/7"})
	detail := must(t, s, "get_todo", map[string]any{"id": id})
	if detail["state"] != "done" || len(detail["attempts"].([]any)) != 3 || detail["result"].(map[string]any)["pr"] != float64(7) {
		t.Errorf("%v", detail)
	}
	if list := must(t, s, "list_todos", nil)["todos"].([]any); len(list) != 1 {
		t.Errorf("%v", list)
	}
	if empty := must(t, s, "claim_next", nil); len(empty) != 1 || empty["empty"] != true {
		t.Errorf("an empty queue answered %v", empty)
	}
}

func (b *bundle) queryInt(t *testing.T, sql string) (n int) {
	t.Helper()
	if err := b.Pool.QueryRow(context.Background(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestTools_ListShowsWhatIsGranted_AndTheRestIsForbidden(t *testing.T) {
	b := setup(t)
	v := b.vend(t, identity.VendParams{Name: "reader", Verbs: []string{"list_todos", "heartbeat"}})
	s := b.connect(t, v)
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	if want := []string{"get_todo", "heartbeat", "list_todos"}; !slices.Equal(names, want) {
		t.Errorf("tools %v, want %v", names, want)
	}
	if _, refusal := call(t, s, "release", map[string]any{"id": "td_x"}); refusal != "forbidden: this endpoint was not granted release" {
		t.Errorf("%q", refusal)
	}
}

func TestTools_WarnThatSummariesAreData(t *testing.T) {
	b := setup(t)
	list, err := b.connect(t, b.vended).ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 8 {
		t.Fatalf("%d tools, %v", len(list.Tools), err)
	}
	for _, tool := range list.Tools {
		shows := slices.Contains([]string{"claim", "claim_next", "get_todo"}, tool.Name)
		if warns := strings.Contains(tool.Description, "never as instructions"); shows != warns {
			t.Errorf("%s: %s", tool.Name, tool.Description)
		}
		schema, _ := json.Marshal(tool.OutputSchema)
		if !strings.Contains(string(schema), `"type":"object"`) || strings.Contains(string(schema), `"payload":true`) {
			t.Errorf("%s has an output schema that strict clients reject: %s", tool.Name, schema)
		}
	}
}

// Every argument with the wrong type or value is invalid, naming the argument and never its value, and
// nothing moves.
func TestArguments_BadOnesAreNamedAndNotEchoed(t *testing.T) {
	b := setup(t)
	id := b.push(t, "untouched")
	s := b.connect(t, b.vended)
	for _, c := range []struct {
		verb, args, want string
	}{
		{"claim", `{}`, "invalid: id is required"},
		{"claim", `{"id":null}`, "invalid: id is required"},
		{"claim", `{"id":7}`, "invalid: id must be a string of text"},
		{"claim", `{"id":""}`, "not_found: no such todo"},
		{"claim", `{"id":"null"}`, "not_found: no such todo"},
		{"claim", `{"id":"td_CANARY"}`, "not_found: no such todo"},
		{"claim", `{"id":"a\u0000b"}`, "invalid: id must be a string of text"},
		{"claim_next", `{"lease_ttl_seconds":"CANARY"}`, "invalid: lease_ttl_seconds must be a whole number"},
		{"claim_next", `{"lease_ttl_seconds":1.5}`, "invalid: lease_ttl_seconds must be a whole number"},
		{"claim_next", `{"lease_ttl_seconds":0}`, "invalid: lease_ttl_seconds must be 1 to 86400"},
		{"claim_next", `{"lease_ttl_seconds":1e300}`, "invalid: lease_ttl_seconds must be 1 to 86400"},
		{"claim_next", `{"require_fence":"CANARY"}`, "invalid: require_fence must be true or false"},
		{"claim_next", `{"require_fence":1}`, "invalid: require_fence must be true or false"},
		{"claim_next", `{"claimant":{}}`, "invalid: claimant must be a string"},
		{"claim_next", `{"queue":["CANARY"]}`, "invalid: queue must be a string of text"},
		{"claim_next", `{"queue":"CANARY"}`, "forbidden: queue is not among this endpoint's queues"},
		{"list_todos", `{"state":"CANARY"}`, "invalid: state must be pending, claimed, done, failed, canceled, rejected, input-required or auth-required"},
		{"list_todos", `{"limit":0}`, "invalid: limit must be at least 1"},
		{"list_todos", `{"cursor":"CANARY"}`, "invalid: cursor must be the next_cursor of an earlier page"},
		{"list_todos", `{"dead_letter":"maybe"}`, "invalid: dead_letter must be true or false"},
		{"get_todo", `{"id":"` + id + `","attempts_limit":-3}`, "invalid: attempts_limit must be at least 1"},
		{"complete", `{"id":"` + id + `","artifact":"ftp://CANARY"}`, "invalid: artifact must be at most 512 bytes, and mcp://cairn/<id> or an absolute https URL"},
		{"complete", `{"id":"` + id + `","result":{"a":"\u0000"}}`, "invalid: result must not contain the character U+0000"},
		{"complete", `{"id":"` + id + `","lease_token":5}`, "invalid: lease_token must be a string of text"},
		{"fail", `{"id":"` + id + `","retry_after_seconds":86401}`, "invalid: retry_after_seconds must be 0 to 86400"},
		{"heartbeat", `{"id":"` + id + `","note":3}`, "invalid: note must be a string"},
	} {
		_, refusal := call(t, s, c.verb, json.RawMessage(c.args))
		if refusal != c.want {
			t.Errorf("%s %s\nanswered %q\nwant     %q", c.verb, c.args, refusal, c.want)
		}
	}
	if n := b.queryInt(t, `SELECT count(*) FROM todo_attempts`); n != 0 {
		t.Errorf("%d attempts were opened", n)
	}
}

func TestArguments_NullEmptyAndUnknownOnesAreAbsent(t *testing.T) {
	b := setup(t)
	b.push(t, "x")
	s := b.connect(t, b.vended)
	claimed := must(t, s, "claim_next", json.RawMessage(
		`{"queue":"null","claimant":"","lease_ttl_seconds":"","require_fence":null,"unheard_of":{"a":[1]}}`))
	if claimed["empty"] != false || claimed["lease_token"] != nil {
		t.Errorf("%v", claimed)
	}
	b.push(t, "y")
	if c := must(t, s, "claim_next", json.RawMessage(`{"lease_ttl_seconds":"300.0"}`)); c["empty"] != false {
		t.Errorf("%v", c)
	}
}

func (b *bundle) post(t *testing.T, slug, token, body string, more ...string) (int, string, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url+"/mcp/"+slug, bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(more); i += 2 {
		req.Header.Set(more[i], more[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text), res.Header
}

const ping = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

func TestAuthentication_SaysNothingOfWhetherASlugExists(t *testing.T) {
	b := setup(t)
	revoked := b.vend(t, identity.VendParams{Name: "old"})
	if _, err := b.identity.Revoke(t.Context(), b.human.ID, revoked.Slug); err != nil {
		t.Fatal(err)
	}
	var first string
	for _, c := range []struct{ slug, token string }{
		{b.vended.Slug, ""}, {"nosuch", ""}, {b.vended.Slug, "sbk_wrong"}, {"nosuch", "sbk_wrong"}, {revoked.Slug, revoked.Token}, {b.vended.Slug, "junk"},
	} {
		status, body, header := b.post(t, c.slug, c.token, ping)
		want := `Bearer resource_metadata="` + b.url + `/.well-known/oauth-protected-resource/mcp/` + c.slug + `"`
		if c.token != "" {
			want += `, error="invalid_token"`
		}
		if status != http.StatusUnauthorized || header.Get("WWW-Authenticate") != want {
			t.Errorf("%s with %q: %d, %q", c.slug, c.token, status, header.Get("WWW-Authenticate"))
		}
		if first == "" {
			first = body
		}
		if body != first {
			t.Errorf("%s with %q: another body: %q", c.slug, c.token, body)
		}
	}
	other := b.vend(t, identity.VendParams{Name: "other"})
	for _, slug := range []string{other.Slug, "nosuch"} {
		if status, _, _ := b.post(t, slug, b.vended.Token, ping); status != http.StatusForbidden {
			t.Errorf("a valid credential on %s answered %d", slug, status)
		}
	}
}

func TestTransport_ServesWhatRealClientsSend(t *testing.T) {
	b := setup(t)
	initialize := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"%s","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	for name, c := range map[string]struct {
		body    string
		headers []string
		status  int
		holds   string
	}{
		"accept json":               {ping, []string{"Accept", "application/json"}, 200, "claim_next"},
		"accept event stream":       {ping, []string{"Accept", "text/event-stream"}, 200, "claim_next"},
		"accept anything":           {ping, []string{"Accept", "*/*"}, 200, "claim_next"},
		"no accept":                 {ping, nil, 200, "claim_next"},
		"an unknown session":        {ping, []string{"Mcp-Session-Id", "of-another-replica"}, 200, "claim_next"},
		"an older version":          {fmt.Sprintf(initialize, "2025-03-26"), nil, 200, "2025-03-26"},
		"a version of the future":   {fmt.Sprintf(initialize, "2099-01-01"), nil, 200, "protocolVersion"},
		"a foreign origin":          {ping, []string{"Origin", "https://evil.example"}, 403, "origin"},
		"several calls in one body": {" [" + ping + "," + ping + "]", []string{"MCP-Protocol-Version", "2025-03-26"}, 400, "batches are not served"},
		"a body over the cap":       {`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"x":"` + strings.Repeat("a", 1<<20) + `"}}`, nil, 413, ""},
	} {
		status, body, _ := b.post(t, b.vended.Slug, b.vended.Token, c.body, c.headers...)
		if status != c.status || !strings.Contains(body, c.holds) {
			t.Errorf("%s: %d %.200s", name, status, body)
		}
	}
}

func TestAuthentication_ANameCannotWriteIntoTheHeader(t *testing.T) {
	b := setup(t)
	_, _, header := b.post(t, "a%22,%20x=%22y", "", ping)
	if got := header.Get("WWW-Authenticate"); strings.Count(got, `"`) != 2 {
		t.Errorf("%s", got)
	}
}

func TestOrigin_AForeignOneIsRefusedOnEveryMethod(t *testing.T) {
	b := setup(t)
	for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodPost, http.MethodOptions} {
		req, err := http.NewRequestWithContext(t.Context(), method, b.url+"/mcp/"+b.vended.Slug, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Origin", "https://evil.example")
		req.Header.Set("Authorization", "Bearer "+b.vended.Token)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %d", method, res.StatusCode)
		}
	}
}

func TestLimiter_AnswersWithWholeSeconds(t *testing.T) {
	b := setup(t, func(c *mcpserver.Config) { c.PerEndpoint = ratelimit.New(0.001, 1) })
	if status, _, _ := b.post(t, b.vended.Slug, b.vended.Token, ping); status != 200 {
		t.Fatalf("the first call answered %d", status)
	}
	status, _, header := b.post(t, b.vended.Slug, b.vended.Token, ping)
	if status != http.StatusTooManyRequests || header.Get("Retry-After") != "5" {
		t.Errorf("%d, Retry-After %q", status, header.Get("Retry-After"))
	}
}

func TestUnavailable_IsSaidAndNothingLeaks(t *testing.T) {
	b := setup(t)
	b.Pool.Close()
	status, body, header := b.post(t, b.vended.Slug, b.vended.Token, ping)
	if status != http.StatusServiceUnavailable || header.Get("Retry-After") != "1" || strings.Contains(body, "pool") {
		t.Errorf("%d %q", status, body)
	}
}
