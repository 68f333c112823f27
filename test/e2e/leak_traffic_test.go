package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/switchboard-otel/switchboard/app/mcpserver"
)

// traffic sends canaries by every way in, and overhears the server meanwhile.
type traffic struct {
	*overheard
	t       *testing.T
	secrets secrets
	human   person
	vended  vended
}

func newTraffic(t *testing.T, c *collector) *traffic {
	t.Helper()
	r := &traffic{overheard: overhear(t, c), t: t, secrets: secrets{}}
	r.human.token = r.secrets.token("personal token", cliToken(t, c))
	link := made[struct {
		URL string `json:"url"`
	}](c, r.human, "/login-links", nil).URL
	r.secrets.token("one-time link", link[strings.LastIndex(link, "/")+1:])
	r.human.cookie = c.signIn(link)
	_, session, _ := strings.Cut(r.human.cookie, "=")
	r.secrets["session"] = session[:20]
	r.secrets["metrics token"] = metricsToken
	r.vended = c.vendAll(r.human, "bot")
	r.secrets.token("credential", r.vended.Token)
	return r
}

// heard looks at the sessions once more before an answer is used.
func (r *traffic) heard(res reply) reply {
	r.t.Helper()
	r.now()
	return res
}

// well is heard for requests with which the server must cope: whatever they are, nothing breaks.
func (r *traffic) well(res reply) reply {
	r.t.Helper()
	if res.status >= 500 || strings.Contains(res.body, `"text":"internal:`) {
		r.t.Errorf("a bad request is answered %d %s", res.status, excerpt(res.body))
	}
	return r.heard(res)
}

func (r *traffic) push(more map[string]any) (id string) {
	r.t.Helper()
	body := map[string]any{"title": "traffic", "max_attempts": 1000}
	for name, value := range more {
		body[name] = value
	}
	id = r.c.pushAs(r.human, r.vended, body)
	r.now()
	return id
}

func (r *traffic) claim(id string, more map[string]any) (lease, traceparent string) {
	r.t.Helper()
	args := map[string]any{"id": id}
	for name, value := range more {
		args[name] = value
	}
	got := answered[struct {
		LeaseToken  string `json:"lease_token"`
		Traceparent string `json:"traceparent"`
	}](r.t, r.heard(r.c.call(r.vended, "claim", args)))
	if got.LeaseToken != "" {
		r.secrets.token("lease token "+id, got.LeaseToken)
	}
	return got.LeaseToken, got.Traceparent
}

// written are the texts of one todo, one of each kind.
func (r *traffic) written() (push, claim, report map[string]any) {
	s := r.secrets
	return map[string]any{"title": s.canary("title"), "kind": s.canary("kind"), "payload": map[string]string{s.canary("payload key"): s.canary("payload")},
			"idempotency_key": s.canary("idempotency key")},
		map[string]any{"claimant": s.canary("claimant"), "require_fence": true, "request_id": s.canary("request id")},
		map[string]any{"summary": s.canary("summary"), "artifact": "https://example.com/" + s.canary("artifact"),
			"result": map[string]string{s.canary("result key"): s.canary("result")}}
}

// spans is a batch of which every text is a canary.
func (r *traffic) spans(trace pcommon.TraceID) ptrace.Traces {
	s := r.secrets
	traces := batch(trace, 2, "")
	rs := traces.ResourceSpans().At(0)
	rs.Resource().Attributes().PutStr("service.name", s.canary("service name"))
	rs.Resource().Attributes().PutStr("dropped", s.canary("resource attribute"))
	for _, span := range rs.ScopeSpans().At(0).Spans().All() {
		span.SetName(s.canary("span name"))
		span.Status().SetCode(ptrace.StatusCodeError)
		span.Status().SetMessage(s.canary("status message"))
		span.Attributes().PutStr("switchboard.text", s.canary("attribute value"))
		span.Attributes().PutStr("switchboard."+s.canary("attribute key"), "x")
		span.Attributes().PutStr("gen_ai.tool.name", s.canary("tool"))
		span.Attributes().PutStr("gen_ai.input.messages", s.canary("dropped attribute"))
		span.TraceState().FromRaw(s.canary("trace state") + "=1")
		span.Events().AppendEmpty().SetName(s.canary("event"))
	}
	return traces
}

// work is what goes well: every verb, route, page and encoding. All that it writes is stored, so it was really sent.
func (r *traffic) work() {
	push, claim, report := r.written()
	var id string
	for _, verb := range []string{"release", "fail", "complete"} {
		push["idempotency_key"] = r.secrets.canary("idempotency key") + verb
		id = r.push(push)
		lease, traceparent := r.claim(id, claim)
		for _, encoding := range []string{"protobuf", "json+gzip"} {
			if res := r.heard(export(r.t, r.vended, encoding, r.spans(traceOf(r.t, traceparent)))); res.status != http.StatusOK {
				r.t.Fatalf("spans are answered %d %s", res.status, res.body)
			}
		}
		lease, _ = r.claim(id, claim) // repeated: the earlier token stops matching
		answered[any](r.t, r.heard(r.c.call(r.vended, "heartbeat", map[string]any{"id": id, "lease_token": lease, "note": r.secrets.canary("note")})))
		args := map[string]any{"id": id, "lease_token": lease}
		for name, value := range report {
			args[name] = value
		}
		answered[any](r.t, r.heard(r.c.call(r.vended, verb, args)))
	}
	for _, verb := range []string{"list_todos", "get_todo", "get_default_lease", "set_default_lease", "claim_next"} {
		answered[any](r.t, r.heard(r.c.call(r.vended, verb, map[string]any{"id": id, "queue": "idle"})))
	}
	stored := r.heard(r.c.api(r.human, http.MethodGet, "/todos/"+id, nil)).body
	for what, text := range r.secrets {
		switch what {
		case "idempotency key", "request id", "resource attribute", "dropped attribute", "trace state", "event", "metrics token", "session":
			continue // kept nowhere, or never shown
		}
		if strings.HasPrefix(text, "canary-") && !strings.Contains(stored, text) {
			r.t.Errorf("the %s was not stored, so its canary proves nothing", what)
		}
	}
	mine := r.push(push)
	for _, step := range []string{"claim", "extend", "release", "claim", "fail", "retry", "claim", "complete", "cancel"} {
		r.well(r.c.api(r.human, http.MethodPost, "/todos/"+mine+"/"+step, report))
	}
	rotated := made[vended](r.c, r.human, "/endpoints/"+r.vended.Slug+"/rotate", map[string]any{"overlap_seconds": 0})
	r.vended.Token = r.secrets.token("rotated credential", rotated.Token)
	for _, path := range []string{"/", "/todos", "/todos/" + id, "/todos/" + mine, "/todos?q=" + r.secrets.canary("search")} {
		r.well(request(r.t, http.MethodGet, r.c.url+path, nil, "Cookie", r.human.cookie))
	}
	r.well(request(r.t, http.MethodGet, r.c.url+"/metrics", nil, "Authorization", "Bearer "+metricsToken))
}

// wrong are values of every wrong shape, each with a canary.
func wrong(canary string) []any {
	return []any{map[string]any{canary: canary}, []any{canary, 1}, canary, canary + "\x00", strings.Repeat(canary+" ", 200), "https://" + canary + "/\x7f"}
}

// badVerbs sends every verb every argument in every wrong shape.
func (r *traffic) badVerbs() {
	canary := r.secrets.canary("argument")
	for _, tool := range mcpserver.Tools() {
		var schema struct {
			Properties map[string]any `json:"properties"`
		}
		text, err := json.Marshal(tool.InputSchema)
		if err == nil {
			err = json.Unmarshal(text, &schema)
		}
		if err != nil {
			r.t.Fatal(err)
		}
		for argument := range schema.Properties {
			for _, value := range wrong(canary) {
				args := map[string]any{}
				if takesID(tool) {
					args["id"] = r.push(nil)
					if tool.Name != "claim" && tool.Name != "get_todo" {
						r.claim(args["id"].(string), nil)
					}
				}
				args[argument] = value
				r.well(r.c.call(r.vended, tool.Name, args))
			}
		}
	}
}

// badRoutes sends every operation of the API every argument in every wrong shape.
func (r *traffic) badRoutes() {
	canary := r.secrets.canary("field")
	var document struct {
		Paths map[string]map[string]operation `json:"paths"`
	}
	if err := json.Unmarshal([]byte(r.c.api(r.human, http.MethodGet, "/openapi.json", nil).body), &document); err != nil || len(document.Paths) < 10 {
		r.t.Fatal(len(document.Paths), err)
	}
	for path, operations := range document.Paths {
		for method, o := range operations {
			method = strings.ToUpper(method)
			ask := func(path string, body any) {
				if strings.Contains(path, "{ref}") {
					path = strings.ReplaceAll(path, "{ref}", r.c.vendAll(r.human, "victim").Slug)
				}
				if strings.Contains(path, "{id}") {
					path = strings.ReplaceAll(path, "{id}", r.push(nil))
				}
				r.well(r.c.api(r.human, method, path, body))
			}
			for name := range o.RequestBody.Content["application/json"].Schema.Properties {
				for _, value := range wrong(canary) {
					body := o.body(r.t)
					body[name] = value
					ask(path, body)
				}
			}
			for _, body := range []string{`"` + canary + `"`, `["` + canary + `"]`, `{"title": "` + canary, "{\"title\": \"" + canary + "\xff\"}", canary} {
				ask(path, body)
			}
			ask(path+"?"+canary+"="+canary+"&%zz", nil)
			if strings.Contains(path, "{") {
				ask(strings.NewReplacer("{id}", canary, "{ref}", canary).Replace(path), o.body(r.t))
			}
			for _, p := range o.Parameters {
				if p.In == "query" {
					ask(path+"?"+url.Values{p.Name: {canary + "\x00"}}.Encode(), nil)
				}
			}
		}
	}
}

// badRequests is what is wrong before a verb, a route or a page is reached.
func (r *traffic) badRequests() {
	canary := r.secrets.canary("request")
	post := func(path, body string, headers ...string) {
		r.well(request(r.t, http.MethodPost, r.c.url+path, []byte(body), headers...))
	}
	bearer := []string{"Authorization", "Bearer " + r.vended.Token, "Content-Type", "application/json"}
	mcp := "/mcp/" + r.vended.Slug
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"` + canary + `"}`,
		`{"jsonrpc":"2.0","id":"` + canary + `","method":"tools/call","params":{"name":"` + canary + `","arguments":{"a":"` + canary + `"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"complete","arguments":"` + canary + `"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"complete","arguments":{"summary":"` + canary,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"complete","arguments":{"id":"x","summary":"` + canary + "\xff" + `"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + canary + `","clientInfo":{"name":"` + canary + `","version":"1"},"capabilities":{}}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"` + canary + `"}}`,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"},"` + canary + `"]`,
		canary,
		`{"note":"` + strings.Repeat(canary, 1<<20/len(canary)+1) + `"}`,
	} {
		post(mcp, body, bearer...)
		post(mcp, body, append(bearer, "Mcp-Session-Id", canary, "Traceparent", canary, "Accept", canary)...)
	}
	part := `[{"text":"` + canary + `"}]`
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"` + canary + `"}`,
		`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":{"` + canary + `":1}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"` + canary + `"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"contextId":"` + canary + `","pageToken":"` + canary + `"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"` + canary + `","role":"ROLE_USER","parts":` + part + `}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"` + canary + `","role":"` + canary + `","parts":` + part + `}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"raw":"` + canary + `!"}]}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":{"id":"` + canary + `"}}`,
		canary,
	} {
		post("/a2a/"+r.vended.Slug, body, bearer...)
		post("/a2a/"+r.vended.Slug, body, append(bearer, "A2A-Version", canary)...)
	}
	post(mcp, canary, "Authorization", "Bearer "+r.vended.Token, "Content-Type", canary)
	post(mcp, canary, append(bearer, "Origin", "https://"+canary)...)
	for _, path := range []string{"/" + canary, "/todos/" + canary, "/todos?before=" + canary, "/todos?%zz" + canary, "/api/v1/" + canary, "/mcp/" + canary, "/a2a/" + canary, "/a2a/" + canary + "/.well-known/agent-card.json",
		"/otlp/" + canary + "/v1/traces", "/static/" + canary, "/login/" + canary, "/login/" + canary + "?next=" + canary} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, canary} {
			r.well(request(r.t, method, r.c.url+path, []byte("form="+canary+"&theme="+canary), "Cookie", r.human.cookie+"; sb_theme="+canary+"; sb_resume="+canary,
				"Content-Type", "application/x-www-form-urlencoded", "User-Agent", canary, "Referer", canary))
		}
	}
	for _, path := range []string{"/theme", "/logout"} {
		post(path, "form="+canary+"&theme="+canary, "Cookie", r.human.cookie, "Content-Type", "application/x-www-form-urlencoded")
		post(path, "form="+canary+"%zz", "Cookie", r.human.cookie, "Content-Type", "application/x-www-form-urlencoded")
	}
}

// badCredentials brings credentials to where they are not valid.
func (r *traffic) badCredentials() {
	wrong := "sbk_" + r.secrets.canary("wrong credential")
	for _, path := range []string{"/mcp/" + r.vended.Slug, "/a2a/" + r.vended.Slug, "/otlp/" + r.vended.Slug + "/v1/traces", "/api/v1/todos", "/metrics", "/todos"} {
		methods := []string{http.MethodGet, http.MethodPost}
		if strings.HasPrefix(path, "/mcp/") { // a GET with the right one is a stream that does not end
			methods[0] = http.MethodDelete
		}
		for _, token := range []string{wrong, r.vended.Token, r.human.token, metricsToken, wrong + "\t" + wrong} {
			for _, header := range []string{"Bearer " + token, "Bearer%20" + token, "Basic " + token, token} {
				for _, method := range methods {
					r.well(request(r.t, method, r.c.url+path+"?token="+token[:8], nil, "Authorization", header, "Cookie", "sb_session="+wrong))
				}
			}
		}
	}
}

// badSpans is what the receiver refuses, whole or in part.
func (r *traffic) badSpans() {
	canary := r.secrets.canary("body")
	whole := protobuf(r.t, r.spans(pcommon.TraceID{7}))
	for _, body := range [][]byte{[]byte(canary), whole[:len(whole)-5], append(bytes.Clone(whole), 0xff), []byte(`{"resourceSpans": "` + canary + `"}`),
		[]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"` + canary + `","traceId":"` + canary + `"}]}]}]}`), bytes.Repeat([]byte(canary), 5<<20/len(canary))} {
		for _, kind := range []string{"application/x-protobuf", "application/json", canary} {
			for _, coding := range []string{"", "gzip", canary} {
				r.well(request(r.t, http.MethodPost, r.vended.OTLPURL+"/v1/traces", body, "Authorization", "Bearer "+r.vended.Token,
					"Content-Type", kind, "Content-Encoding", coding))
			}
		}
	}
	for _, path := range []string{"/v1/logs", "/v1/metrics", "/" + canary} {
		r.well(request(r.t, http.MethodPost, r.vended.OTLPURL+path, whole, "Authorization", "Bearer "+r.vended.Token, "Content-Type", "application/x-protobuf"))
	}
	unbound, invalid := r.spans(pcommon.TraceID{8}), r.spans(pcommon.TraceID{9})
	for _, span := range invalid.ResourceSpans().At(0).ScopeSpans().At(0).Spans().All() {
		span.SetEndTimestamp(0)
		span.Attributes().PutStr("switchboard.todo.id", canary)
	}
	for _, traces := range []ptrace.Traces{unbound, invalid, manySpans(1001)} {
		for _, encoding := range []string{"protobuf", "json+gzip"} {
			r.well(export(r.t, r.vended, encoding, traces))
		}
	}
}
