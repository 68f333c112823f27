package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/switchboard-otel/switchboard/app/rungraph"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// snapshot is a digest of every row that a request might change or make.
func (f *fixture) snapshot(t *testing.T) map[string]string {
	t.Helper()
	digests := map[string]string{}
	for _, table := range []string{"agents", "endpoints", "credentials", "todos", "todo_attempts", "todo_activity", "todo_trace_bindings", "login_links",
		"webhooks", "webhook_rules", "events", "rungraph_documents"} {
		var digest string
		err := f.db.Pool.QueryRow(t.Context(), `SELECT coalesce(md5(string_agg(r::text, ';' ORDER BY r::text)), '') FROM `+table+` r`).Scan(&digest)
		if err != nil {
			t.Fatal(err)
		}
		digests[table] = digest
	}
	return digests
}

// sameAnswer compares all that a caller sees but the time.
func sameAnswer(a, b reply) string {
	a.header.Del("Date")
	b.header.Del("Date")
	return cmp.Diff(a, b, cmp.AllowUnexported(reply{}))
}

// Every route of the table, with everything of alice's that a route can name: to bob it is what does not exist.
func TestScope_ForeignIsUnknownOnEveryRouteByteForByte(t *testing.T) {
	f := setup(t)
	active := f.vend(t, &f.alice, `{"name":"alices secret agent"}`)
	revoked := f.vend(t, &f.alice, `{"name":"alices secret agent"}`)
	f.do(t, &f.alice, "POST", "/endpoints/"+revoked.Slug+"/revoke", "")
	foreign := map[string][]string{"{ref}": {active.Slug, active.ID, revoked.Slug, revoked.ID}}
	for _, state := range []string{"pending", "mine", "agent's", "agent's, fenced", "retry scheduled", "dead letter", "done", "revoked"} {
		foreign["{id}"] = append(foreign["{id}"], f.state(t, state))
	}
	webhook, event := f.delivered(t, active.Slug)
	foreign["{webhook}"], foreign["{event}"] = []string{webhook}, []string{event}
	foreign["{document}"] = []string{f.kept(t, &f.alice)}
	unknown := map[string]string{"{ref}": "nobody-x2x2", "{id}": typeid.Todo.Format(typeid.New()),
		"{webhook}": typeid.Webhook.Format(typeid.New()), "{event}": typeid.Event.Format(typeid.New()),
		"{document}": rungraph.ID(typeid.New()).String()}
	never := map[string][]string{
		"{ref}": {"ep_", "%00", "a%2Fb", strings.Repeat("x", 3000), "%ff", strings.ToUpper(active.Slug)},
		"{id}":  {"td_", "x", "%00", "%ff", "a%2Fb", strings.Repeat("9", 5000), strings.ToUpper(foreign["{id}"][0])},

		"{webhook}": {"wh_", "x", "%00", "%ff", strings.ToUpper(webhook)},
		"{event}":   {"ev_", "x", "%00", "%ff", strings.ToUpper(event)},

		"{document}": {"rg_", "x", "%00", "%ff", strings.ToUpper(foreign["{document}"][0])},
	}
	bodies := []string{
		"", `{"title":"t","summary":"s","retry":false,"overlap_seconds":60,"default_max_attempts":2,"source_type":"generic","rules":[],"payload":{},"queue":"default","reason":"r"}`,
		`{"title":7,"summary":7,"artifact":7,"via":7,"overlap_seconds":-1,"default_max_attempts":0,"source_type":7,"rules":7,"queue":7,"reason":7}`, `{`,
	}
	before := f.snapshot(t)
	for _, r := range (&server{}).routes() {
		for parameter, others := range foreign {
			if !strings.Contains(r.path, parameter) {
				continue
			}
			for _, body := range bodies {
				want := f.do(t, &f.bob, r.method, strings.Replace(r.path, parameter, unknown[parameter], 1), body)
				if body == bodies[1] {
					want.refused(t, http.StatusNotFound, "not_found")
				}
				for _, other := range append(others, never[parameter]...) {
					got := f.do(t, &f.bob, r.method, strings.Replace(r.path, parameter, other, 1), body)
					if diff := sameAnswer(want, got); diff != "" {
						t.Errorf("%s %s of %.40s with %s is not as unknown: %s", r.method, r.path, other, body, diff)
					}
				}
			}
		}
	}
	for _, query := range []string{"/todos?endpoint=", "/todos?q=", "/todos?cursor=", "/events?webhook=", "/events?cursor="} {
		for parameter, others := range foreign {
			want := f.do(t, &f.bob, "GET", query+unknown[parameter], "")
			for _, other := range others {
				if diff := sameAnswer(want, f.do(t, &f.bob, "GET", query+other, "")); diff != "" {
					t.Errorf("%s%s is not as unknown: %s", query, other, diff)
				}
			}
		}
	}
	if diff := cmp.Diff(before, f.snapshot(t)); diff != "" {
		t.Errorf("bob changed what is alice's: %s", diff)
	}
}

// The routes that name nothing answer bob as if alice were not there.
func TestScope_ListsHoldNothingForeign(t *testing.T) {
	f := setup(t)
	calls := map[string]string{
		"GET /status": "", "GET /endpoints": "", "GET /todos": "", "GET /todos?dead_letter=true": "", "POST /todos/retry": `{"dead_letter":true}`,
		"GET /webhooks": "", "GET /events": "", "GET /rungraph": "",
	}
	ask := func() map[string]string {
		answers := map[string]string{}
		for call, body := range calls {
			method, path, _ := strings.Cut(call, " ")
			answers[call] = f.do(t, &f.bob, method, path, body).body
		}
		return answers
	}
	alone := ask()
	for _, state := range []string{"pending", "agent's", "dead letter", "done", "revoked"} {
		f.state(t, state)
	}
	f.delivered(t, f.vend(t, &f.alice, `{"name":"alices secret agent"}`).Slug)
	f.kept(t, &f.alice)
	if diff := cmp.Diff(alone, ask()); diff != "" {
		t.Errorf("bob sees that alice is there: %s", diff)
	}
}
