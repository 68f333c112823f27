package e2e

import (
	"html"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/switchboard-otel/switchboard/app/mcpserver"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// unknownLike makes a name of the same form that nothing has.
func unknownLike(name string) string {
	tail := "0000"
	if strings.HasSuffix(name, tail) {
		tail = "1111"
	}
	return name[:len(name)-len(tail)] + tail
}

// volatile is what differs between any two answers: how long the database took, when a cookie ends, and the random
// name of an event in a stream.
var volatile = regexp.MustCompile(` in \d+ ms|Expires=[^;]+|(?m:^id: [0-9a-f-]{36}$)`)

// comparable is an answer without what differs between any two, and without the name that was asked for.
func comparable(res reply, asked string) reply {
	clean := func(s string) string {
		for _, spelling := range []string{asked, url.QueryEscape(asked), html.EscapeString(asked)} {
			s = strings.ReplaceAll(s, spelling, "{asked}")
		}
		return volatile.ReplaceAllString(s, "")
	}
	header := http.Header{}
	for name, values := range res.header {
		if name == "Date" || name == "X-Request-Id" {
			continue
		}
		for _, value := range values {
			header.Add(name, clean(value))
		}
	}
	return reply{res.status, header, clean(res.body)}
}

// viewer is somebody who asks, with the tenants of whom they may see nothing.
type viewer struct {
	*neighbours
	name    string
	as      *tenant // nil: nobody's human or agent
	others  []*tenant
	answers int
}

// same asks for a foreign name and for unknown ones, and wants answers that no byte tells apart. A page's clock may
// move between two of them; what really differs does so each time.
func (v *viewer) same(what, foreign string, ask func(name string) reply) reply {
	v.t.Helper()
	var got, want reply
	for range 5 {
		got, want = comparable(ask(foreign), foreign), comparable(ask(unknownLike(foreign)), unknownLike(foreign))
		if reflect.DeepEqual(got, want) {
			break
		}
	}
	if !reflect.DeepEqual(got, want) {
		v.t.Errorf("%s can tell foreign from unknown by %s of %s:\nforeign %d %v\n%s\nunknown %d %v\n%s",
			v.name, what, foreign, got.status, got.header, excerpt(got.body), want.status, want.header, excerpt(want.body))
	}
	v.clean(what, got)
	return got
}

// clean wants an answer that holds nothing of the others.
func (v *viewer) clean(what string, res reply) {
	v.t.Helper()
	v.answers++
	text := res.body
	for name, values := range res.header {
		text += "\n" + name + ": " + strings.Join(values, ", ")
	}
	for _, w := range v.others {
		secrets := w.secrets()
		if v.as == nil || v.as.owner.id != w.owner.id {
			secrets = append(secrets, typeid.Human.Format(w.owner.id))
		}
		for _, secret := range secrets {
			if at := strings.Index(text, secret); at >= 0 {
				v.t.Errorf("%s sees %q of somebody else by %s:\n%s", v.name, secret, what, excerpt(text[max(0, at-200):]))
			}
		}
	}
}

// excerpt keeps a failure readable.
func excerpt(text string) string { return text[:min(len(text), 600)] }

// untouched runs do, and wants the others to have after it exactly what they had before.
func (v *viewer) untouched(do func()) {
	v.t.Helper()
	before := make([]string, len(v.others))
	for i, w := range v.others {
		before[i] = v.rows(w)
	}
	do()
	for i, w := range v.others {
		if after := v.rows(w); after != before[i] {
			v.t.Errorf("%s changed what belongs to %s:\nbefore %s\nafter  %s", v.name, w.mark, before[i], after)
		}
	}
}

// REQ-18 and queue.md section 1: what belongs to somebody else and what never existed are one answer, to the byte,
// on every verb, route and page; nothing of it appears, and nothing of it changes. The lists of verbs, routes and
// pages are the product's own, so that a new one is in the matrix as soon as it exists.
func TestIsolation_ForeignAndUnknownAreOneAnswerEverywhere(t *testing.T) {
	t.Parallel()
	n := startNeighbours(t)
	for _, part := range []struct {
		name   string
		as     *tenant
		others []*tenant
		run    func(*viewer)
	}{
		{"an agent, by every verb", n.mine, []*tenant{n.also, n.her}, (*viewer).verbs},
		{"an agent, by every address", n.mine, []*tenant{n.also, n.her}, (*viewer).addresses},
		{"an agent, over A2A", n.mine, []*tenant{n.also, n.her}, (*viewer).tasks},
		{"an agent, by every resource", n.mine, []*tenant{n.also, n.her}, (*viewer).resources},
		{"an agent, by its spans", n.mine, []*tenant{n.also, n.her}, (*viewer).spans},
		{"a human, by every page", n.mine, []*tenant{n.her}, (*viewer).pages},
		{"the other human, by every page", n.her, []*tenant{n.mine, n.also}, (*viewer).pages},
		{"a human, by every route", n.mine, []*tenant{n.her}, (*viewer).routes},
		{"the other human, by every route", n.her, []*tenant{n.mine, n.also}, (*viewer).routes},
		{"the operator, by metrics and health", nil, []*tenant{n.mine, n.also, n.her}, (*viewer).operator},
	} {
		v := &viewer{neighbours: n, name: part.name, as: part.as, others: part.others}
		v.untouched(func() { part.run(v) })
		if v.answers == 0 {
			t.Errorf("%s: nothing was asked", v.name)
		}
		t.Logf("%s: %d answers", v.name, v.answers)
	}
	(&viewer{neighbours: n, name: "whoever reads the log", others: []*tenant{n.mine, n.also, n.her}}).
		clean("the log", reply{body: n.output.String()})
}

// verbs calls every verb on every todo of others, and on one of its own in a queue that it was not granted.
func (v *viewer) verbs() {
	w := v.as
	hidden := v.pushAs(w.owner, w.vended, map[string]any{"title": "hidden"})
	if _, err := v.db.Pool.Exec(v.t.Context(), `UPDATE todos SET queue = 'quarantine' WHERE title = 'hidden'`); err != nil {
		v.t.Fatal(err)
	}
	const notFound = `"text":"not_found: no such todo"`
	for _, tool := range mcpserver.Tools() {
		switch {
		case takesID(tool):
			tokens := []string{"", w.leases[0]}
			ids := []string{hidden}
			for _, other := range v.others {
				tokens = append(tokens, other.leases...)
				for _, id := range other.todos {
					ids = append(ids, id)
				}
			}
			for _, id := range ids {
				for _, token := range tokens {
					for _, argument := range []string{"id", "todo_id"} {
						res := v.same(tool.Name, id, func(id string) reply {
							return v.call(w.vended, tool.Name, withToken(map[string]any{argument: id}, token))
						})
						if !strings.Contains(res.body, notFound) {
							v.t.Errorf("%s of a foreign todo answers %s", tool.Name, res.body)
						}
					}
				}
			}
			for _, id := range []string{"x", "td_x", strings.ToUpper(hidden), v.others[0].ID} {
				if res := v.call(w.vended, tool.Name, map[string]any{"id": id}); !strings.Contains(res.body, notFound) {
					v.t.Errorf("%s of what is no id answers %s", tool.Name, res.body)
				}
			}
			v.own(tool.Name)
		case tool.Name == "list_todos":
			v.clean("list_todos", v.call(w.vended, tool.Name, map[string]any{"limit": 200}))
			for _, other := range v.others {
				for _, id := range other.todos {
					v.same("a cursor", id, func(id string) reply { return v.call(w.vended, tool.Name, map[string]any{"cursor": id}) })
				}
			}
		case tool.Name == "claim_next": // nothing of its own is in this queue
			answered[any](v.t, v.call(w.vended, "claim", map[string]any{"id": w.todos["idle"]}))
			for _, other := range v.others {
				res := v.same("a request id", other.asked, func(id string) reply {
					return v.call(w.vended, tool.Name, map[string]any{"queue": "idle", "request_id": id})
				})
				if !strings.Contains(res.body, `"empty":true`) {
					v.t.Errorf("the request id of somebody else's attempt answers %s", res.body)
				}
			}
		case tool.Name == "get_default_lease", tool.Name == "set_default_lease":
			v.clean(tool.Name, v.call(w.vended, tool.Name, map[string]any{"default_lease_ttl_seconds": 77}))
		case strings.Contains(tool.Name, "webhook"):
			v.webhookVerb(tool.Name)
		default:
			v.t.Errorf("this matrix does not know how %s could see something foreign", tool.Name)
		}
	}
}

// own calls a verb on a todo of the caller's own: had the verb refused everything, the matrix would prove nothing.
func (v *viewer) own(verb string) {
	w := v.as
	id := v.pushAs(w.owner, w.vended, map[string]any{"title": "own"})
	if verb != "claim" && verb != "get_todo" {
		answered[any](v.t, v.call(w.vended, "claim", map[string]any{"id": id}))
	}
	res := v.call(w.vended, verb, map[string]any{"id": id})
	answered[any](v.t, res)
	v.clean(verb+" of its own todo", res)
}

// webhookVerb asks a verb of webhooks, rules and events for those of others, then for the caller's own.
func (v *viewer) webhookVerb(verb string) {
	w := v.as
	own := answered[struct{ ID string }](v.t, v.call(w.vended, "create_webhook", map[string]any{"source_type": "generic"}))
	with := func(argument, id string) map[string]any {
		args := map[string]any{"webhook_id": own.ID, "rules": []any{}, "payload": map[string]any{}, "source_type": "generic"}
		args[argument] = id
		return args
	}
	named := map[string]string{"webhook_id": "no such webhook", "event_id": "no such event"}
	if verb == "list_webhook_events" {
		named = map[string]string{"webhook_id": `"events":[]`}
	}
	for _, other := range v.others {
		foreign := map[string]string{"webhook_id": other.webhook, "event_id": other.event}
		for argument, want := range named {
			if takes(v.t, verb, argument) {
				res := v.same(verb+" by "+argument, foreign[argument], func(id string) reply { return v.call(w.vended, verb, with(argument, id)) })
				if !strings.Contains(res.body, want) && !strings.Contains(res.body, strings.ReplaceAll(want, `"`, `\"`)) {
					v.t.Errorf("%s of what is foreign answers %s", verb, res.body)
				}
			}
		}
		if takes(v.t, verb, "cursor") {
			v.same("a cursor of "+verb, other.event, func(id string) reply { return v.call(w.vended, verb, map[string]any{"cursor": id}) })
		}
	}
	args := map[string]any{"webhook_id": own.ID, "rules": []any{}, "payload": map[string]any{}, "source_type": "generic"}
	if verb == "get_webhook_event" {
		args = map[string]any{"event_id": w.event}
	}
	res := v.call(w.vended, verb, args)
	answered[any](v.t, res)
	v.clean(verb+" of its own", res)
	if verb != "delete_webhook" {
		answered[any](v.t, v.call(w.vended, "delete_webhook", map[string]any{"webhook_id": own.ID}))
	}
}

// addresses sends the caller's credential, and none that is valid, to every place that belongs to another endpoint.
func (v *viewer) addresses() {
	for _, other := range v.others {
		for _, ref := range []string{other.Slug, other.ID} {
			for _, token := range []string{"", "Bearer " + v.as.Token, "Bearer sbk_wrong", "Basic x"} {
				for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete, http.MethodPut} {
					for _, path := range []string{"/mcp/%", "/otlp/%/v1/traces", "/otlp/%/v1/logs", "/otlp/%", "/.well-known/oauth-protected-resource/mcp/%",
						"/a2a/%", "/a2a/%/.well-known/agent-card.json"} {
						v.same(method+" "+path, ref, func(ref string) reply {
							return request(v.t, method, v.url+strings.Replace(path, "%", ref, 1), []byte(`{}`), "Authorization", token, "Content-Type", "application/json")
						})
					}
				}
			}
		}
	}
}

// spans exports into the todos and traces of others: bound to nothing, as with names that nobody has.
func (v *viewer) spans() {
	w := v.as
	for _, encoding := range []string{"protobuf", "json+gzip"} {
		for _, other := range v.others {
			for _, id := range other.todos {
				v.same("a todo's id", id, func(id string) reply { return export(v.t, w.vended, encoding, batch(pcommon.TraceID{9}, 2, id)) })
			}
			for _, trace := range append(other.traces, other.caller) {
				res := v.same("a trace", trace, func(id string) reply {
					return export(v.t, w.vended, encoding, batch(traceOf(v.t, "00-"+id+"-00f067aa0ba902b7-01"), 2, ""))
				})
				if !strings.Contains(res.body, "rejected spans: unbound") {
					v.t.Errorf("spans in somebody else's trace are answered %q", res.body)
				}
			}
		}
	}
}

// operator reads what whoever runs the server can read: totals, and nothing of anybody.
func (v *viewer) operator() {
	for _, path := range []string{"/metrics", "/healthz", "/readyz"} {
		res := request(v.t, http.MethodGet, v.url+path, nil, "Authorization", "Bearer "+metricsToken)
		if res.status != http.StatusOK {
			v.t.Errorf("%s answers %d", path, res.status)
		}
		v.clean(path, res)
	}
}
