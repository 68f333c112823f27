package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// canary stands in bad values: no refusal may quote it.
const canary = "CANARY"

// argument is one that the document names, with its schema.
type argument struct {
	Types    []string
	Enum     []any
	Min, Max *float64
	Const    any
}

func argumentOf(t *testing.T, d *openAPI, text json.RawMessage) (a argument) {
	t.Helper()
	var schema struct {
		Ref              string `json:"$ref"`
		Type             any
		Enum             []any
		Const            any
		Minimum, Maximum *float64
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	if name, isRef := strings.CutPrefix(schema.Ref, "#/components/schemas/"); isRef {
		return argumentOf(t, d, d.Components.Schemas[name])
	}
	switch kind := schema.Type.(type) {
	case string:
		a.Types = []string{kind}
	case []any:
		for _, k := range kind {
			a.Types = append(a.Types, k.(string))
		}
	}
	a.Enum, a.Const, a.Min, a.Max = schema.Enum, schema.Const, schema.Minimum, schema.Maximum
	return a
}

// bad makes values that the schema refuses, as JSON.
func (a argument) bad() []string {
	const object, list = `{"` + canary + `":1}`, `["` + canary + `"]`
	switch {
	case a.Const != nil:
		return []string{`null`, `""`, `false`, `1`, `"` + canary + `"`, object, list}
	case a.Enum != nil:
		return []string{`7`, `true`, `"` + canary + `"`, `"a\u0000"`, "\"a\xff\"", `"board"`, object, list}
	case slices.Contains(a.Types, "boolean"):
		return []string{`1`, `0`, `"` + canary + `"`, `"TRUE"`, object, list}
	case slices.Contains(a.Types, "integer"):
		values := []string{`true`, `1.5`, `"` + canary + `"`, `"0x10"`, `"NaN"`, object, list, `-1e300`, `-99999999999999999999`, fmt.Sprint(int(*a.Min) - 1)}
		if a.Max != nil {
			values = append(values, fmt.Sprint(int(*a.Max)+1), `1e300`, `99999999999999999999`, `"4294967301"`)
		}
		return values
	case slices.Contains(a.Types, "array"):
		return []string{`7`, `true`, `"` + canary + `"`, object, `[null]`, `[7]`, `["a\u0000"]`, "[\"a\xff\"]"}
	case slices.Contains(a.Types, "string"):
		return []string{`7`, `true`, object, list}
	default: // any JSON
		return []string{`"` + canary + `\u0000"`, `{"\u0000":1}`, "\"\xff\"", strings.Repeat("[", 600) + strings.Repeat("]", 600), `1e999`}
	}
}

// Strings have rules of their own, which the document tells in words.
var badStrings = map[string][]string{
	"name":            {`null`, `""`, `" "`, `"a\u0000"`, `"a\u001b[31m"`, `"` + strings.Repeat(canary, 22) + `"`},
	"agent_kind":      {`"a\u0000"`, `"a\u001b"`, `"` + strings.Repeat(canary, 11) + `"`},
	"title":           {`null`, `""`, `" "`, `"a\u0000"`, `"` + strings.Repeat(canary, 43) + `"`},
	"kind":            {`"a\u0000"`, `"` + strings.Repeat(canary, 11) + `"`},
	"queue":           {`"a\u0000"`, "\"a\xff\""},
	"idempotency_key": {`"a\u0000"`, "\"a\xff\"", `"` + strings.Repeat(canary, 43) + `"`},
	"artifact": {`"a\u0000"`, `"` + canary + `"`, `"http://` + canary + `"`, `"https://"`, `"mcp://cairn/"`, `"mcp://cairn/a/b"`, `"javascript:` + canary + `"`,
		"\"https://x/\xff\"", `"https://x/` + strings.Repeat(canary, 90) + `"`},
	"cursor":  {`"a\u0000"`, `"` + canary + `"`, `"td_` + canary + `"`},
	"summary": {}, // anything that is a string is cut and kept

	"target_queue": {`"a\u0000"`, "\"a\xff\""},
	"secret":       {`"a\u0000"`, `"short"`, `"` + strings.Repeat(canary, 43) + `"`},
	"event_id":     {`"a\u0000"`, "\"a\xff\""},
	"content_type": {`"a\u0000"`, `"` + strings.Repeat(canary, 43) + `"`},
	"reason":       {`null`, `""`, `" "`},
}

// required are the arguments without which a route refuses others first.
var required = map[string]string{"name": `"b"`, "title": `"t"`, "dead_letter": `true`, "source_type": `"github"`, "rules": `[]`,
	"reason": `"r"`}

// Every argument of every body that the document names, with everything it must not be: refused by its name,
// without its value, and nothing is changed.
func TestInput_EveryArgumentOfEveryBodyIsRefusedByNameAndNothingMoves(t *testing.T) {
	f := setup(t)
	d, err := readDocument()
	if err != nil {
		t.Fatal(err)
	}
	v := f.vend(t, &f.alice, `{"name":"bot"}`)
	webhook, event := f.delivered(t, v.Slug)
	paths := strings.NewReplacer("{ref}", v.Slug, "{id}", f.state(t, "mine"), "{webhook}", webhook, "{event}", event)
	before := f.snapshot(t)
	tried := 0
	for path, methods := range d.Paths {
		for method, op := range methods {
			for name, text := range op.RequestBody.Content["application/json"].Schema.Properties {
				a := argumentOf(t, d, text)
				values := a.bad()
				if slices.Contains(a.Types, "string") {
					more, known := badStrings[name]
					if !known {
						t.Errorf("%s: what is a bad value of %s?", path, name)
					}
					values = append(values, more...)
				}
				for _, value := range values {
					tried++
					got := f.do(t, &f.alice, strings.ToUpper(method), paths.Replace(path), bodyWith(op, name, value))
					sentence := got.refused(t, http.StatusBadRequest, "invalid")
					if !strings.HasPrefix(sentence, name+" ") || strings.Contains(got.body, canary) {
						t.Errorf("%s %s with %s %.60s: %q", method, path, name, value, sentence)
					}
				}
			}
		}
	}
	if diff := cmp.Diff(before, f.snapshot(t)); diff != "" || tried < 300 {
		t.Errorf("%d bodies were refused and left %s", tried, diff)
	}
}

func bodyWith(op operation, name, value string) string {
	fields := []string{fmt.Sprintf("%q:%s", name, value)}
	for other := range op.RequestBody.Content["application/json"].Schema.Properties {
		if needed, isRequired := required[other]; isRequired && other != name {
			fields = append(fields, fmt.Sprintf("%q:%s", other, needed))
		}
	}
	return "{" + strings.Join(fields, ",") + "}"
}

// Of an argument that is not required, null, "" and "null" are as good as nothing.
func TestInput_NullAndEmptyAreAbsent(t *testing.T) {
	f := setup(t)
	d, err := readDocument()
	if err != nil {
		t.Fatal(err)
	}
	v := f.vend(t, &f.alice, `{"name":"bot","default_lease_ttl_seconds":600,"default_max_attempts":3,"require_fence":true,"webhooks_max":100}`)
	webhook, event := f.delivered(t, v.Slug)
	for path, methods := range d.Paths {
		for method, op := range methods {
			for name, text := range op.RequestBody.Content["application/json"].Schema.Properties {
				a := argumentOf(t, d, text)
				if _, isRequired := required[name]; isRequired || a.Types == nil && a.Enum == nil {
					continue // any JSON: "" and "null" are values
				}
				for _, value := range []string{`null`, `""`, `"null"`, ` null `} {
					state := map[bool]string{true: "mine", false: "pending"}[strings.HasSuffix(path, "complete") || strings.HasSuffix(path, "fail") ||
						strings.HasSuffix(path, "extend") || strings.HasSuffix(path, "release")]
					switch {
					case strings.HasSuffix(path, "{id}/retry"):
						state = "dead letter"
					case strings.HasSuffix(path, "/again"):
						state = "done"
					case strings.Contains(path, "/quarantine/"):
						state = "quarantine"
					}
					target := strings.NewReplacer("{ref}", v.Slug, "{id}", f.state(t, state), "{webhook}", webhook, "{event}", event).Replace(path)
					body := bodyWith(op, name, value)
					if strings.HasSuffix(path, "/rules/test") && name != "event_id" { // it wants this or a payload
						body = strings.Replace(body, "{", `{"event_id":"`+event+`",`, 1)
					}
					if got := f.do(t, &f.alice, strings.ToUpper(method), target, body); got.status >= 300 && name != "event_id" {
						t.Errorf("%s %s with %s %s: %d %s", method, path, name, value, got.status, got.body)
					}
				}
			}
		}
	}
}

// Whole bodies that are no arguments at all.
func TestInput_EveryRouteRefusesABodyThatIsNoObject(t *testing.T) {
	f := setup(t)
	v := f.vend(t, &f.alice, `{"name":"bot"}`)
	webhook, event := f.delivered(t, v.Slug)
	paths := strings.NewReplacer("{ref}", v.Slug, "{id}", f.state(t, "mine"), "{webhook}", webhook, "{event}", event)
	before := f.snapshot(t)
	d, err := readDocument()
	if err != nil {
		t.Fatal(err)
	}
	for path, methods := range d.Paths {
		for method, op := range methods {
			if op.RequestBody.Content == nil {
				continue
			}
			if path == importPath {
				continue // a document, which has refusals of its own
			}
			for _, body := range []string{`[]`, `"` + canary + `"`, `7`, `{"` + canary + `":1} {}`, `{`, "\ufeff{}", "\x00", strings.Repeat("[", 20000)} {
				sentence := f.do(t, &f.alice, strings.ToUpper(method), paths.Replace(path), body).refused(t, http.StatusBadRequest, "invalid")
				if sentence != "the body must be one JSON object" {
					t.Errorf("%s %s with %.40q: %q", method, path, body, sentence)
				}
			}
			large := `{"x":"` + strings.Repeat("x", maxBody) + `"}`
			f.do(t, &f.alice, strings.ToUpper(method), paths.Replace(path), large).refused(t, http.StatusRequestEntityTooLarge, "invalid")
		}
	}
	if diff := cmp.Diff(before, f.snapshot(t)); diff != "" {
		t.Error(diff)
	}
}

// Every argument of every query that the document names.
func TestInput_EveryArgumentOfEveryQueryIsRefusedByName(t *testing.T) {
	f := setup(t)
	d, err := readDocument()
	if err != nil {
		t.Fatal(err)
	}
	id := f.state(t, "pending")
	values := map[string][]string{"q": {"a\x00"}, "endpoint": {"a\x00"}, "queue": {"a\x00"}, "include": {canary, "attempts,", "a\x00"}, "cursor": {canary, "a\x00"},
		"webhook": {"a\x00"}, "from": {canary, "a\x00", "2026-04-02", "7"}, "to": {canary, "2026-04-02T10:00:00"}}
	paths := strings.NewReplacer("{id}", id, "{queue}", "default")
	for path, methods := range d.Paths {
		for _, p := range methods["get"].Parameters {
			if p.In != "query" {
				continue
			}
			bad := values[p.Name]
			if a := argumentOf(t, d, p.Schema); a.Enum != nil || !slices.Contains(a.Types, "string") {
				for _, value := range a.bad() {
					bad = append(bad, strings.Trim(value, `"`))
				}
				// A query has no types and no null: what is a list or a number in JSON is a text here.
				bad = slices.DeleteFunc(bad, func(s string) bool { return s == "" || s == "null" })
			}
			if len(bad) == 0 {
				t.Errorf("%s: what is a bad value of %s?", path, p.Name)
			}
			for _, value := range bad {
				query := "?" + url.Values{p.Name: {value}}.Encode()
				got := f.do(t, &f.alice, "GET", paths.Replace(path)+query, "")
				sentence := got.refused(t, http.StatusBadRequest, "invalid")
				if !strings.HasPrefix(sentence, p.Name+" ") || strings.Contains(got.body, canary) {
					t.Errorf("%s%s: %q", path, query, sentence)
				}
			}
			for _, value := range []string{"", "null"} {
				target := paths.Replace(path) + "?" + p.Name + "=" + value
				if got := f.do(t, &f.alice, "GET", target, ""); got.status != http.StatusOK {
					t.Errorf("%s: %d %s", target, got.status, got.body)
				}
			}
		}
	}
}
