package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/switchboard-otel/switchboard/app/identity"
)

// get_default_lease and set_default_lease: an agent reads and changes what its own claims get when they say nothing,
// null returns to the server's, and what was claimed before keeps its lease.
func TestDefaultLease_IsReadAndChangedByItsOwnEndpoint(t *testing.T) {
	b := setup(t)
	verbs := append([]string{identity.VerbGetDefaultLease, identity.VerbSetDefaultLease}, identity.DrainVerbs...)
	b.vended = b.vend(t, identity.VendParams{Name: "own lease", Verbs: verbs})
	other := b.vend(t, identity.VendParams{Name: "another", Verbs: verbs})
	s, elsewhere := b.connect(t, b.vended), b.connect(t, other)
	for _, c := range []struct {
		set  string
		want any
		ttl  int
	}{{"", nil, 300}, {`600`, 600.0, 600}, {`"86400"`, 86400.0, 86400}, {`60`, 60.0, 60}, {`null`, nil, 300}} {
		if c.set != "" {
			got := must(t, s, "set_default_lease", json.RawMessage(`{"default_lease_ttl_seconds":`+c.set+`}`))
			if got["default_lease_ttl_seconds"] != c.want || got["server_default_lease_ttl_seconds"] != 300.0 {
				t.Errorf("set to %s: %v", c.set, got)
			}
		}
		if got := must(t, s, "get_default_lease", nil); got["default_lease_ttl_seconds"] != c.want || got["server_default_lease_ttl_seconds"] != 300.0 {
			t.Errorf("after %s: %v", c.set, got)
		}
		id := b.push(t, "leased")
		claimed := must(t, s, "claim", map[string]any{"id": id})
		ends, err := time.Parse(time.RFC3339, fmt.Sprint(claimed["lease_expires_at"]))
		if err != nil {
			t.Fatal(err)
		}
		detail := must(t, s, "get_todo", map[string]any{"id": id})
		began, err := time.Parse(time.RFC3339, fmt.Sprint(detail["attempts"].([]any)[0].(map[string]any)["claimed_at"]))
		if err != nil || ends.Sub(began) != time.Duration(c.ttl)*time.Second {
			t.Errorf("after %s a claim lasts %v, %v", c.set, ends.Sub(began), err)
		}
	}
	if got := must(t, elsewhere, "get_default_lease", nil); got["default_lease_ttl_seconds"] != nil {
		t.Errorf("another endpoint's lease is %v", got)
	}
	// By name only: the eight drain verbs bring neither.
	plain := b.connect(t, b.vend(t, identity.VendParams{Name: "plain"}))
	for _, verb := range []string{"get_default_lease", "set_default_lease"} {
		if _, refusal := call(t, plain, verb, nil); refusal != "forbidden: this endpoint was not granted "+verb {
			t.Errorf("%s: %q", verb, refusal)
		}
	}
}

// queue.md section 3: server/discover is answered, or refused so that a client falls back to initialize; and a
// cancellation of a call that was answered undoes nothing.
func TestTransport_DiscoverFallsBackAndACancelledCallStands(t *testing.T) {
	b := setup(t)
	id := b.push(t, "kept")
	post := func(body string, headers ...string) string {
		t.Helper()
		status, answer, _ := b.post(t, b.vended.Slug, b.vended.Token, body, headers...)
		if status >= 500 {
			t.Fatalf("%d %s", status, answer)
		}
		return answer
	}
	for version, discovered := range map[string]string{
		"":           `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}}`,
		"2025-06-18": `{"jsonrpc":"2.0","id":1,"method":"server/discover"}`,
		"2026-07-28": `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
	} {
		var headers []string
		if version != "" {
			headers = []string{"MCP-Protocol-Version", version, "Mcp-Method", "server/discover"}
		}
		answer := post(discovered, headers...)
		if !strings.Contains(answer, `"error":{"code":-32601`) && !strings.Contains(answer, `"supportedVersions"`) {
			t.Errorf("server/discover in %q answers %s", version, answer)
		}
	}
	if refusal, _ := b.verb(t, b.vended, "claim", `{"id":"`+id+`"}`); refusal != "" {
		t.Fatal(refusal)
	}
	post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"too late"}}`)
	if n := b.queryInt(t, `SELECT count(*) FROM todos t JOIN todo_attempts a ON a.todo_id = t.id WHERE t.state = 'claimed' AND a.ended_at IS NULL`); n != 1 {
		t.Error("the cancellation undid the claim")
	}
	if refusal, _ := b.verb(t, b.vended, "complete", `{"id":"`+id+`"}`); refusal != "" {
		t.Error(refusal)
	}
}
