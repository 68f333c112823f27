package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
)

// rpcOf is a JSON-RPC call.
func rpcOf(method string, params any) []byte {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": "1", "method": method, "params": params})
	if err != nil {
		panic(err) // of what this file writes
	}
	return body
}

// ask sends an endpoint's agent's call.
func (v *viewer) ask(w *tenant, way string, body []byte) reply {
	return request(v.t, http.MethodPost, v.url+way+w.Slug, body, "Authorization", "Bearer "+w.Token, "Content-Type", "application/json")
}

// tasks asks each method of A2A for the tasks of others, then for one of its own.
func (v *viewer) tasks() {
	w := v.as
	said := func(task string) map[string]any {
		m := map[string]any{"messageId": "m-" + w.mark, "role": "ROLE_USER", "parts": []any{map[string]any{"text": w.mark + " message"}}}
		if task != "" {
			m["taskId"] = task
		}
		return map[string]any{"message": m}
	}
	methods := map[string]func(task string) any{
		"GetTask":              func(task string) any { return map[string]any{"id": task} },
		"CancelTask":           func(task string) any { return map[string]any{"id": task} },
		"SubscribeToTask":      func(task string) any { return map[string]any{"id": task} },
		"SendMessage":          func(task string) any { return said(task) },
		"SendStreamingMessage": func(task string) any { return said(task) },
	}
	for _, other := range v.others {
		for _, id := range other.todos {
			for method, params := range methods {
				res := v.same(method, id, func(id string) reply { return v.ask(w, "/a2a/", rpcOf(method, params(id))) })
				if !strings.Contains(res.body, `"message":"not_found: no such todo"`) {
					v.t.Errorf("%s of a foreign task answers %s", method, res.body)
				}
			}
			v.same("a context", id, func(id string) reply { return v.ask(w, "/a2a/", rpcOf("ListTasks", map[string]any{"contextId": id})) })
			v.same("a page", id, func(id string) reply { return v.ask(w, "/a2a/", rpcOf("ListTasks", map[string]any{"pageToken": id})) })
		}
	}
	v.clean("ListTasks", v.ask(w, "/a2a/", rpcOf("ListTasks", map[string]any{"historyLength": 9, "includeArtifacts": true})))
	var sent struct {
		Result struct{ Task struct{ ID string } }
	}
	res := v.ask(w, "/a2a/", rpcOf("SendMessage", said("")))
	if err := json.Unmarshal([]byte(res.body), &sent); err != nil || sent.Result.Task.ID == "" {
		v.t.Fatalf("work of its own is answered %s, %v", res.body, err)
	}
	for _, method := range []string{"GetTask", "CancelTask"} {
		if res := v.ask(w, "/a2a/", rpcOf(method, methods[method](sent.Result.Task.ID))); !strings.Contains(res.body, "m-"+w.mark) {
			v.t.Errorf("%s of its own answers %s", method, res.body)
		}
	}
}

// resources reads what MCP shows besides verbs, of others and of its own.
func (v *viewer) resources() {
	w := v.as
	read := func(uri string) reply {
		return v.ask(w, "/mcp/", rpcOf("resources/read", map[string]any{"uri": uri}))
	}
	for _, tail := range []string{"/a2ui", "/rungraph"} {
		for _, other := range v.others {
			for _, id := range other.todos {
				v.same("the resource "+tail, id, func(id string) reply { return read("switchboard://todo/" + id + tail) })
			}
		}
		for _, id := range w.todos {
			res := read("switchboard://todo/" + id + tail)
			if !strings.Contains(res.body, `"contents"`) {
				v.t.Errorf("its own %s answers %s", tail, res.body)
			}
			v.clean("its own "+tail, res)
			if strings.Contains(tail, "a2ui") && strings.Contains(res.body, w.mark+" payload") {
				v.t.Error("a surface shows a payload (REQ-17)")
			}
		}
	}
	v.same("a queue", "foreign", func(name string) reply { return read("switchboard://queue/" + name + "/a2ui") })
	if res := read("switchboard://queue/default/a2ui"); !strings.Contains(res.body, `"contents"`) {
		v.t.Errorf("its own queue answers %s", res.body)
	}
}
