package a2a_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/gate"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/ratelimit"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

func rpc(method string, params any) string {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": "1", "method": method, "params": params})
	if err != nil {
		panic(err)
	}
	return string(body)
}

// withTask are the calls that name a task.
func withTask(id string) map[string]string {
	said := map[string]any{"messageId": "m-1", "role": "ROLE_USER", "taskId": id, "parts": []any{map[string]any{"text": "90 days"}}}
	return map[string]string{
		"get":       rpc("GetTask", map[string]any{"id": id}),
		"cancel":    rpc("CancelTask", map[string]any{"id": id}),
		"subscribe": rpc("SubscribeToTask", map[string]any{"id": id}),
		"send":      rpc("SendMessage", map[string]any{"message": said}),
		"stream":    rpc("SendStreamingMessage", map[string]any{"message": said}),
	}
}

// eventless takes the random id of an event out of a stream.
func eventless(answer string) string {
	if _, data, found := strings.Cut(answer, "\ndata: "); found && strings.HasPrefix(answer, "id: ") {
		return data
	}
	return answer
}

// REQ-18: a foreign task, one in a queue that was not granted, one that never was and what is no id are one answer,
// byte for byte, and nothing happens to the task.
func TestIsolation_AForeignTaskIsAnUnknownOne(t *testing.T) {
	b := setup(t)
	mine := send(t, b.client(t, b.vended), message("mine"))
	aside := b.vend(t, b.human.ID, identity.VendParams{Name: "aside", Queues: []string{"a", "b"}, Verbs: asking})
	hidden, _, err := b.queue.Push(t.Context(), b.human.ID, queue.PushParams{Endpoint: &aside.Endpoint, Title: "hidden", Queue: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Pool.Exec(t.Context(), `UPDATE todos SET queue = 'quarantine' WHERE id = $1`, hidden.ID.UUID()); err != nil {
		t.Fatal(err)
	}
	unknown := typeid.Todo.Format(uuid.Must(uuid.NewV7()))
	for _, caller := range []struct {
		by  *identity.Vended
		ids []string
	}{
		{b.secondHuman(t), []string{string(mine.ID)}},
		{b.vend(t, b.human.ID, identity.VendParams{Name: "sibling", Verbs: asking}), []string{string(mine.ID)}},
		{aside, []string{string(mine.ID), hidden.ID.String()}},
	} {
		for name, body := range withTask(unknown) {
			want := eventless(b.post(t, caller.by, body))
			if !strings.Contains(want, `"code":-32001,"message":"not_found: no such todo"`) {
				t.Fatalf("%s of an unknown task: %s", name, want)
			}
			for _, id := range append(caller.ids, "td_", "nope", "") {
				if id == "" && (name == "send" || name == "stream") {
					continue // no task is named: it is new work
				}
				if got := eventless(b.post(t, caller.by, withTask(id)[name])); got != want {
					t.Errorf("%s of %q\n got %s\nwant %s", name, id, got, want)
				}
			}
		}
		for _, context := range caller.ids {
			list, err := b.client(t, caller.by).ListTasks(t.Context(), &sdk.ListTasksRequest{ContextID: context})
			if err != nil || len(list.Tasks) != 0 || list.TotalSize != 0 {
				t.Errorf("a foreign context lists %+v, %v", list, err)
			}
		}
	}
	if steps := b.trail(t, mine.ID); steps != nil {
		t.Errorf("others moved it: %v", steps)
	}
}

// What is wrong is named and never quoted, and nothing is stored.
func TestInput_BadInputIsNamedAndNeverQuoted(t *testing.T) {
	b := setup(t)
	const secret = "hunter2-hunter2"
	said := func(change func(m map[string]any)) map[string]any {
		m := map[string]any{"messageId": "m-1", "role": "ROLE_USER", "parts": []any{map[string]any{"text": secret}}}
		change(m)
		return map[string]any{"message": m}
	}
	set := func(name string, value any) map[string]any { return said(func(m map[string]any) { m[name] = value }) }
	for name, c := range map[string]struct {
		body string
		code int
		says string
	}{
		"no JSON":               {`{"jsonrpc":"2.0","id":1,"method":"` + secret, -32700, "parse error"},
		"two documents":         {rpc("GetTask", map[string]any{"id": secret}) + "{}", -32700, "parse error"},
		"a batch":               {"[" + rpc("GetTask", map[string]any{"id": secret}) + "]", -32602, "invalid params"},
		"no method":             {`{"jsonrpc":"2.0","id":"1"}`, -32600, "invalid request"},
		"another method":        {rpc(secret, nil), -32601, "method not found"},
		"a method of version 0": {rpc("message/send", said(func(map[string]any) {})), -32601, "method not found"},
		"params of a form":      {rpc("GetTask", map[string]any{"id": map[string]any{secret: 1}}), -32602, "invalid params"},
		"a number too long":     {`{"jsonrpc":"2.0","id":"1","method":"GetTask","params":{"id":"x","historyLength":99999999999999999999999}}`, -32602, "invalid params"},
		"no params":             {rpc("SendMessage", nil), -32602, "message is required"},
		"no message":            {rpc("SendMessage", map[string]any{}), -32602, "message is required"},
		"no id":                 {rpc("SendMessage", set("messageId", "")), -32602, "message.messageId must be"},
		"a long id":             {rpc("SendMessage", set("messageId", strings.Repeat(secret, 20))), -32602, "message.messageId must be"},
		"an agent's role":       {rpc("SendMessage", set("role", "ROLE_AGENT")), -32602, "message.role must be"},
		"a long context":        {rpc("SendMessage", set("contextId", strings.Repeat(secret, 20))), -32602, "message.contextId must be"},
		"no parts":              {rpc("SendMessage", set("parts", []any{})), -32602, "message.parts must be"},
		"an empty part":         {rpc("SendMessage", set("parts", []any{map[string]any{}})), -32700, "parse error"},
		"a null part":           {rpc("SendMessage", set("parts", []any{nil})), -32602, ""},
		"bad base64":            {rpc("SendMessage", set("parts", []any{map[string]any{"raw": secret + "!"}})), -32700, "parse error"},
		"NUL":                   {rpc("SendMessage", set("parts", []any{map[string]any{"text": "a\x00b"}})), -32602, "message must not contain"},
		"a negative history":    {rpc("GetTask", map[string]any{"id": "td_", "historyLength": -1}), -32602, "historyLength must be"},
		"another status":        {rpc("ListTasks", map[string]any{"status": secret}), -32602, "status must be"},
		"a large page":          {rpc("ListTasks", map[string]any{"pageSize": 101}), -32602, "pageSize must be"},
		"another cursor":        {rpc("ListTasks", map[string]any{"pageToken": secret}), -32602, "cursor must be"},
		"push with a message":   {rpc("SendMessage", map[string]any{"message": said(func(map[string]any) {})["message"], "configuration": map[string]any{"taskPushNotificationConfig": map[string]any{"url": "https://" + secret}}}), -32003, "push notifications"},
		"push":                  {rpc("CreateTaskPushNotificationConfig", map[string]any{"taskId": secret, "url": "https://" + secret}), -32003, "push notifications"},
		"an extended card":      {rpc("GetExtendedAgentCard", map[string]any{}), -32007, "no extended card"},
	} {
		answer := b.post(t, b.vended, c.body)
		if !strings.Contains(answer, fmt.Sprintf(`"code":%d,`, c.code)) || !strings.Contains(answer, c.says) {
			t.Errorf("%s: %s", name, answer)
		}
		if strings.Contains(answer, secret) || strings.Contains(answer, "9999") || strings.Contains(answer, "timestamp") {
			t.Errorf("%s is quoted: %s", name, answer)
		}
	}
	if n := b.count(t, `SELECT count(*) FROM todos`); n != 0 {
		t.Errorf("%d todos came of it", n)
	}
	large := rpc("SendMessage", set("parts", []any{map[string]any{"text": strings.Repeat("x", 1<<20)}}))
	if res, _ := b.do(t, http.MethodPost, "/a2a/"+b.vended.Slug, b.vended.Token, large); res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a large body is answered %d", res.StatusCode)
	}
}

func (b *bundle) count(t *testing.T, sql string) (n int) {
	t.Helper()
	if err := b.Pool.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// The transport says of a caller what MCP's says, and nothing of whether an endpoint exists.
func TestGate_IsThatOfMCP(t *testing.T) {
	b := setup(t)
	other := b.secondHuman(t)
	call := rpc("ListTasks", map[string]any{})
	for name, c := range map[string]struct {
		ref, token string
		status     int
	}{
		"no bearer":            {b.vended.Slug, "", 401},
		"an unknown bearer":    {b.vended.Slug, "sbk_unknown", 401},
		"an unknown endpoint":  {"nobody-aaaa", "", 401},
		"another's bearer":     {b.vended.Slug, other.Token, 403},
		"nobody's, with one":   {"nobody-aaaa", other.Token, 403},
		"the endpoint by slug": {b.vended.Slug, b.vended.Token, 200},
		"the endpoint by id":   {typeid.Endpoint.Format(b.vended.ID), b.vended.Token, 200},
	} {
		want := map[bool]string{}
		if c.status == 401 {
			want = map[bool]string{true: `Bearer error="invalid_token"`, false: "Bearer"}
		}
		res, body := b.do(t, http.MethodPost, "/a2a/"+c.ref, c.token, call)
		if got := res.Header.Get("WWW-Authenticate"); res.StatusCode != c.status || got != want[c.token != ""] {
			t.Errorf("%s: %d %q %s", name, res.StatusCode, got, body)
		}
	}
	limited := setupLimited(t)
	limited.post(t, limited.vended, call)
	if res, _ := limited.do(t, http.MethodPost, "/a2a/"+limited.vended.Slug, limited.vended.Token, call); res.StatusCode != 429 || res.Header.Get("Retry-After") == "" {
		t.Errorf("over the limit: %d", res.StatusCode)
	}
}

func setupLimited(t *testing.T) *bundle {
	return build(t, func(g *gate.Config) { g.PerEndpoint = ratelimit.New(0.001, 1) })
}

// An endpoint that may not read todos over MCP may not over A2A.
func TestGrants_AreThoseOfTheVerbs(t *testing.T) {
	b := setup(t)
	deaf := b.vend(t, b.human.ID, identity.VendParams{Name: "deaf", Verbs: []string{identity.VerbClaimNext}})
	reads := b.vend(t, b.human.ID, identity.VendParams{Name: "reads", Verbs: []string{identity.VerbGetTodo}})
	for _, body := range withTask(typeid.Todo.Format(uuid.Must(uuid.NewV7()))) {
		if answer := b.post(t, deaf, body); !strings.Contains(answer, `"code":-31403,"message":"forbidden: this endpoint was not granted get_todo"`) {
			t.Error(answer)
		}
	}
	if answer := b.post(t, reads, rpc("ListTasks", map[string]any{})); !strings.Contains(answer, "forbidden: this endpoint was not granted list_todos") {
		t.Error(answer)
	}
	// Asking is a grant of its own.
	drain := b.vend(t, b.human.ID, identity.VendParams{Name: "drain"})
	if drain.Grants(identity.VerbRequestInput) || drain.Grants(identity.VerbRequestAuth) {
		t.Error("an endpoint may ask by default")
	}
}

func TestVersion_AnotherOneIsRefused(t *testing.T) {
	b := setup(t)
	for version, refused := range map[string]bool{"": false, "1.0": false, "0.3": true, "2.0": true} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url+"/a2a/"+b.vended.Slug, strings.NewReader(rpc("ListTasks", map[string]any{})))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+b.vended.Token)
		r.Header.Set("A2A-Version", version)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var answer struct{ Error *struct{ Code int } }
		err = errors.Join(json.NewDecoder(res.Body).Decode(&answer), res.Body.Close())
		if err != nil || refused != (answer.Error != nil && answer.Error.Code == -32009) {
			t.Errorf("version %q: %+v, %v", version, answer.Error, err)
		}
	}
}
