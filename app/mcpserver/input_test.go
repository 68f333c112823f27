package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/mcpserver"
)

// canary stands in bad values: no refusal may quote it.
const canary = "CANARY"

// queueTools are the tools that work the queue, with the names and schemas of their arguments.
func queueTools(t *testing.T) map[string]map[string]argument {
	t.Helper()
	tools := map[string]map[string]argument{}
	for _, tool := range mcpserver.Tools() {
		if slices.Contains(queueVerbs, tool.Name) {
			tools[tool.Name] = argumentsOf(t, tool)
		}
	}
	return tools
}

var queueVerbs = append(slices.Clone(identity.DrainVerbs), identity.VerbGetDefaultLease, identity.VerbSetDefaultLease)

type argument struct {
	Type             any
	Minimum, Maximum *int
}

func argumentsOf(t *testing.T, tool *mcp.Tool) map[string]argument {
	t.Helper()
	text, err := json.Marshal(tool.InputSchema)
	if err != nil {
		t.Fatal(err)
	}
	var schema struct{ Properties map[string]argument }
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	return schema.Properties
}

// is reports whether the argument is of this type alone; one that can also be null counts.
func (a argument) is(name string) bool {
	list, _ := a.Type.([]any)
	return a.Type == name || len(list) == 2 && list[0] == name && list[1] == "null"
}

// Texts have rules of their own: what of them is refused by name, beyond other types.
var badTexts = map[string][]string{
	"id":          {`null`, `"a\u0000"`, "\"a\xff\""},
	"lease_token": {`"a\u0000"`, "\"a\xff\""},
	"queue":       {`"a\u0000"`, "\"a\xff\""},
	"state":       {`"a\u0000"`, "\"a\xff\"", `"` + canary + `"`, `"PENDING"`, `" pending"`},
	"cursor":      {`"a\u0000"`, "\"a\xff\"", `"` + canary + `"`, `"td_` + canary + `"`, `"` + strings.Repeat(canary, 200) + `"`},
	"request_id":  {`"a\u0000"`, "\"a\xff\"", `" "`, `"` + strings.Repeat(canary, 11) + `"`},
	"artifact": {`"a\u0000"`, "\"https://x/\xff\"", `"` + canary + `"`, `"http://` + canary + `"`, `"https://"`, `"mcp://cairn/"`, `"mcp://cairn/a/b"`,
		`"javascript:` + canary + `"`, `"https://x/` + strings.Repeat(canary, 90) + `"`},
	// Cut and cleaned, never refused.
	"claimant": {}, "summary": {}, "note": {},
}

// bad are values that the argument must refuse.
func (a argument) bad(t *testing.T, name string) []string {
	t.Helper()
	const object, list = `{"` + canary + `":1}`, `["` + canary + `"]`
	switch {
	case a.is("boolean"):
		return []string{`1`, `0`, `"` + canary + `"`, `"TRUE"`, `"tru\u0000e"`, "\"\xff\"", object, list}
	case a.is("integer"):
		values := []string{`true`, `1.5`, `"` + canary + `"`, `"0x10"`, `"NaN"`, `"1\u0000"`, "\"\xff\"", object, list, `-1e300`,
			`-99999999999999999999`, fmt.Sprint(*a.Minimum - 1)}
		if name != "limit" && name != "attempts_limit" { // where more means the maximum
			values = append(values, fmt.Sprint(*a.Maximum+1), `1e300`, `99999999999999999999`, `"4294967301"`)
		}
		return values
	case a.is("string"):
		more, known := badTexts[name]
		if !known {
			t.Errorf("what is a bad value of %s?", name)
		}
		return append([]string{`7`, `true`, object, list}, more...)
	default: // any JSON
		return []string{`"` + canary + `\u0000"`, `{"\u0000":1}`, "\"\xff\"", strings.Repeat("[", 600) + strings.Repeat("]", 600), `1e999`}
	}
}

// verb sends a call as bytes: a client would repair what is wrong with them. It answers with the refusal, empty when
// there is none.
func (b *bundle) verb(t *testing.T, v *identity.Vended, name, arguments string) (refusal, whole string) {
	t.Helper()
	status, body, _ := b.post(t, v.Slug, v.Token,
		fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, arguments))
	var answer struct {
		Result *struct {
			IsError bool
			Content []struct{ Text string }
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK || answer.Result == nil {
		t.Fatalf("%s with %.80s: %d %.300s", name, arguments, status, body)
	}
	if !answer.Result.IsError {
		return "", body
	}
	return answer.Result.Content[0].Text, body
}

// rows is everything that a verb of the queue could change.
func (b *bundle) rows(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, table := range []string{"todos", "todo_attempts", "todo_activity", "feed_entries", "endpoints"} {
		var text string
		if err := b.Pool.QueryRow(t.Context(), `SELECT coalesce(string_agg(x::text, E'\n' ORDER BY x::text), '') FROM `+table+` x`).Scan(&text); err != nil {
			t.Fatal(err)
		}
		all[table] = text
	}
	return all
}

// with builds the arguments of a call: one value, and the id of a todo where the verb wants one.
func with(arguments map[string]argument, id, name, value string) string {
	text := fmt.Sprintf("{%q:%s", name, value)
	if _, needed := arguments["id"]; needed && name != "id" {
		text += `,"id":"` + id + `"`
	}
	return text + "}"
}

// "Bad input": every argument of every verb with the wrong type, too long, with U+0000 or invalid UTF-8 and out of
// its range is invalid by its name, without its value, and no row changes.
func TestInput_EveryArgumentOfEveryVerbIsRefusedByNameAndNothingMoves(t *testing.T) {
	b := setup(t)
	v := b.vend(t, identity.VendParams{Name: "all", Verbs: identity.Verbs})
	b.vended = v
	held, pending := b.push(t, "held"), b.push(t, "pending")
	if refusal, _ := b.verb(t, v, "claim", `{"id":"`+held+`","lease_ttl_seconds":86400}`); refusal != "" {
		t.Fatal(refusal)
	}
	before, tried := b.rows(t), 0
	for verb, arguments := range queueTools(t) {
		id := held
		if verb == "claim" {
			id = pending
		}
		for name, a := range arguments {
			for _, value := range a.bad(t, name) {
				tried++
				refusal, whole := b.verb(t, v, verb, with(arguments, id, name, value))
				if !strings.HasPrefix(refusal, "invalid: "+name+" ") || strings.Contains(whole, canary) {
					t.Errorf("%s with %s %.60q answered %.200s", verb, name, value, whole)
				}
			}
		}
	}
	if diff := cmp.Diff(before, b.rows(t)); diff != "" || tried < 200 {
		t.Errorf("%d calls were refused and left (-before +after)\n%s", tried, diff)
	}
}

// The documented tolerant readings: null, "" and "null" of an optional argument are as good as nothing; what people
// and models write is cut or cleaned; an id that cannot exist is unknown; a token that cannot match is a conflict.
func TestInput_WhatIsReadTolerantly(t *testing.T) {
	b := setup(t)
	v := b.vend(t, identity.VendParams{Name: "all", Verbs: identity.Verbs})
	b.vended = v
	// hold answers with a todo that the verb can work on.
	hold := func(verb string) string {
		id := b.push(t, verb)
		if slices.Contains([]string{"heartbeat", "complete", "fail", "release"}, verb) {
			if refusal, _ := b.verb(t, v, "claim", `{"id":"`+id+`"}`); refusal != "" {
				t.Fatal(refusal)
			}
		}
		return id
	}
	prose := []string{`"a\u0000b"`, "\"a\xffb\"", `"` + strings.Repeat("é", 3000) + `"`, `" "`}
	for verb, arguments := range queueTools(t) {
		for name, a := range arguments {
			values := []string{`null`, ` null `}
			switch {
			case name == "id":
				for _, value := range []string{`""`, `"null"`, `"` + strings.Repeat(canary, 2000) + `"`} {
					if refusal, _ := b.verb(t, v, verb, `{"id":`+value+`}`); refusal != "not_found: no such todo" {
						t.Errorf("%s with id %.40s: %q", verb, value, refusal)
					}
				}
				continue
			case name == "lease_token":
				for _, value := range []string{`""`, `"null"`, `"` + strings.Repeat(canary, 2000) + `"`} {
					if refusal, _ := b.verb(t, v, verb, with(arguments, hold(verb), name, value)); refusal != "conflict: this todo is not held under this lease" {
						t.Errorf("%s with lease_token %.40s: %q", verb, value, refusal)
					}
				}
			case a.is("string"), a.is("integer"), a.is("boolean"):
				values = append(values, `""`, `"null"`)
			}
			if len(badTexts[name]) == 0 && a.is("string") {
				values = append(values, prose...)
			}
			if name == "limit" || name == "attempts_limit" {
				values = append(values, `1000`, `"7"`, `1e300`)
			}
			for _, value := range values {
				if refusal, _ := b.verb(t, v, verb, with(arguments, hold(verb), name, value)); refusal != "" {
					t.Errorf("%s with %s %.40q: %s", verb, name, value, refusal)
				}
			}
		}
	}
}

// What is no call at all is refused without a word of what was sent: the refusal of parameters would otherwise carry
// lease tokens and results into the logs of clients.
func TestInput_WhatIsNoCallIsNotQuoted(t *testing.T) {
	b := setup(t)
	before := b.rows(t)
	for name, body := range map[string]string{
		"a name that is no string":  `{"jsonrpc":"2.0","id":"i","method":"tools/call","params":{"name":7,"arguments":{"lease_token":"CANARY"}}}`,
		"meta that is no object":    `{"jsonrpc":"2.0","id":"i","method":"tools/call","params":{"name":"complete","arguments":{"lease_token":"CANARY"},"_meta":7}}`,
		"params that are a text":    `{"jsonrpc":"2.0","id":"i","method":"tools/call","params":"CANARY"}`,
		"params that are a list":    `{"jsonrpc":"2.0","id":"i","method":"tools/call","params":["CANARY"]}`,
		"a cursor that is a number": `{"jsonrpc":"2.0","id":"i","method":"tools/list","params":{"cursor":7,"x":"CANARY"}}`,
		"a version as a number":     `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":7,"x":"CANARY"}}`,
		"a completion":              `{"jsonrpc":"2.0","id":"i","method":"completion/complete","params":{"ref":{"type":"CANARY"}}}`,
	} {
		status, answer, header := b.post(t, b.vended.Slug, b.vended.Token, body)
		const want = `{"error":{"code":-32602,"message":"invalid params: they are not of the form that this method takes"},"id":"i","jsonrpc":"2.0"}`
		if status != http.StatusOK || answer != want || header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
	for _, body := range []string{canary, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":"CANARY"`, "{\"x\":\"CANARY\xff\"} {}", "\x00" + canary} {
		if status, answer, _ := b.post(t, b.vended.Slug, b.vended.Token, body); status != http.StatusBadRequest || strings.Contains(answer, canary) {
			t.Errorf("%q: %d %s", body, status, answer)
		}
	}
	if diff := cmp.Diff(before, b.rows(t)); diff != "" {
		t.Error(diff)
	}
	// An answer that merely holds such words is not touched.
	b.push(t, `unmarshaling "x"`)
	if _, whole := b.verb(t, b.vended, "list_todos", `{}`); !strings.Contains(whole, "unmarshaling") {
		t.Errorf("%s", whole)
	}
}
