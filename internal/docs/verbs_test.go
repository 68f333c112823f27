package docs

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/mcpserver"
)

//go:generate go test . -run TestVerbs_ThePageIsWhatTheToolSchemasSay -update

var update = flag.Bool("update", false, "write the generated part of docs/reference/verbs.md again")

const (
	verbsPage      = "docs/reference/verbs.md"
	generatedBegin = "<!-- generated from the tool schemas: go generate ./internal/docs -->\n"
	generatedEnd   = "<!-- end of what is generated -->\n"
)

// The reference of the verbs cannot drift from the schemas that clients see: it is made from them.
func TestVerbs_ThePageIsWhatTheToolSchemasSay(t *testing.T) {
	page := read(t, verbsPage)
	before, rest, found := strings.Cut(page, generatedBegin)
	_, after, closed := strings.Cut(rest, generatedEnd)
	if !found || !closed {
		t.Fatalf("%s does not mark what is generated", verbsPage)
	}
	want := before + generatedBegin + "\n" + reference(t) + generatedEnd + after
	if *update {
		if err := os.WriteFile(path(verbsPage), []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if page != want {
		t.Errorf("%s is stale: run go generate ./internal/docs", verbsPage)
	}
}

// A client reads of every argument what it is for, and of every field of an answer what it says, and the page with it.
func TestVerbs_EveryArgumentSaysWhatItIsFor(t *testing.T) {
	for _, tool := range mcpserver.Tools() {
		if tool.Description == "" {
			t.Errorf("%s has no description", tool.Name)
		}
		wantDescribed(t, tool.Name+": the argument", schemaOf(t, tool.InputSchema))
		wantDescribed(t, tool.Name+": the answer's", schemaOf(t, tool.OutputSchema))
	}
}

func wantDescribed(t *testing.T, where string, of schema) {
	t.Helper()
	for name, p := range of.Properties {
		if strings.Trim(p.Description, " .") == "" {
			t.Errorf("%s %s has no description", where, name)
		}
		wantDescribed(t, where+" "+name+".", p)
		if p.Items != nil {
			wantDescribed(t, where+" "+name+"[].", *p.Items)
		}
	}
}

// schema is the part of JSON Schema that the tools use.
type schema struct {
	Type        types             `json:"type"`
	Description string            `json:"description"`
	Properties  map[string]schema `json:"properties"`
	Items       *schema           `json:"items"`
	Required    []string          `json:"required"`
	Minimum     *int              `json:"minimum"`
	Maximum     *int              `json:"maximum"`
}

// types are the names of one type or of several.
type types []string

func (n *types) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*n = types{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(n))
}

func schemaOf(t *testing.T, from any) (s schema) {
	t.Helper()
	text, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// shape is an object that several answers hold. It is described once.
type shape struct {
	title, intro string
	schema       schema
}

// reference describes every verb, then what their answers have in common.
func reference(t *testing.T) string {
	tools := map[string]*mcp.Tool{}
	for _, tool := range mcpserver.Tools() {
		tools[tool.Name] = tool
	}
	output := func(verb string) schema { return schemaOf(t, tools[verb].OutputSchema) }
	// The largest first: an answer is described by the largest shape it holds.
	shapes := []shape{
		{"full todo", "A [row](#row), and:", output(identity.VerbClaimNext).Properties["todo"]},
		{"row", "What every verb returns of a todo. A value that is missing is null.", output(identity.VerbComplete)},
		{"attempt", "See [attempts](attempts.md). A value that is missing is null.", *output(identity.VerbGetTodo).Properties["attempts"].Items},
	}
	var b strings.Builder
	for _, tool := range mcpserver.Tools() {
		describe(&b, t, tool, shapes)
	}
	full, row := shapes[0], shapes[1]
	for _, s := range []shape{row, full, shapes[2]} {
		fmt.Fprintf(&b, "## %s\n\n%s\n\n", heading(s.title), s.intro)
		properties := s.schema.Properties
		if s.title == full.title {
			properties = without(properties, row.schema.Properties)
		}
		fields(&b, "Field", properties, nil, shapes)
	}
	return b.String()
}

func describe(b *strings.Builder, t *testing.T, tool *mcp.Tool, shapes []shape) {
	fmt.Fprintf(b, "## %s\n\n%s\n\n", tool.Name, tool.Description)
	grant := "Granted only by name."
	switch {
	case tool.Name == identity.VerbGetTodo:
		grant = "Granted unless an endpoint is vended otherwise; `list_todos` implies it."
	case slices.Contains(identity.DrainVerbs, tool.Name):
		grant = "Granted unless an endpoint is vended otherwise."
	}
	if tool.Annotations.ReadOnlyHint {
		grant += " It changes nothing."
	}
	fmt.Fprintf(b, "%s\n\n", grant)
	if in := schemaOf(t, tool.InputSchema); len(in.Properties) > 0 {
		fields(b, "Argument", in.Properties, in.Required, nil)
	} else {
		b.WriteString("It takes no arguments.\n\n")
	}
	out := schemaOf(t, tool.OutputSchema).Properties
	for _, s := range shapes {
		if holds(out, s.schema.Properties) {
			out = without(out, s.schema.Properties)
			fmt.Fprintf(b, "Answers with a %s", link(s.title))
			if len(out) == 0 {
				b.WriteString(".\n\n")
				return
			}
			b.WriteString(", and:\n\n")
			break
		}
	}
	fields(b, "Answer", out, nil, shapes)
}

// fields writes a table: what is required first, the rest by name.
func fields(b *strings.Builder, head string, properties map[string]schema, required []string, shapes []shape) {
	names := make([]string, 0, len(properties))
	for name := range properties {
		names = append(names, name)
	}
	slices.SortFunc(names, func(x, y string) int {
		if a, z := slices.Contains(required, x), slices.Contains(required, y); a != z {
			if a {
				return -1
			}
			return 1
		}
		return strings.Compare(x, y)
	})
	fmt.Fprintf(b, "| %s | Type | Meaning |\n|---|---|---|\n", head)
	for _, name := range names {
		p := properties[name]
		kind := typeOf(p, shapes)
		if p.Minimum != nil && p.Maximum != nil {
			kind += fmt.Sprintf(", %d to %d", *p.Minimum, *p.Maximum)
		}
		if slices.Contains(required, name) {
			kind += ", required"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", name, kind, strings.ReplaceAll(p.Description, "<id>", "`<id>`"))
	}
	b.WriteString("\n")
}

func typeOf(p schema, shapes []shape) string {
	for _, s := range shapes {
		if sameKeys(p.Properties, s.schema.Properties) {
			return link(s.title)
		}
	}
	if p.Items != nil {
		return "list of " + typeOf(*p.Items, shapes)
	}
	if len(p.Type) > 2 {
		return "any JSON"
	}
	return strings.Join(p.Type, " or ")
}

func holds(properties, part map[string]schema) bool {
	for name := range part {
		if _, found := properties[name]; !found {
			return false
		}
	}
	return true
}

func sameKeys(a, b map[string]schema) bool { return len(a) == len(b) && holds(a, b) }

func without(properties, part map[string]schema) map[string]schema {
	rest := map[string]schema{}
	for name, p := range properties {
		if _, found := part[name]; !found {
			rest[name] = p
		}
	}
	return rest
}

func heading(title string) string { return strings.ToUpper(title[:1]) + title[1:] }

func link(title string) string {
	return "[" + title + "](#" + strings.ReplaceAll(title, " ", "-") + ")"
}
