package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
)

// openAPI is as much of the document as the tests read.
type openAPI struct {
	Paths      map[string]map[string]operation
	Components struct {
		Schemas   map[string]json.RawMessage
		Responses map[string]response
	}
}

type operation struct {
	Parameters []struct {
		Name, In string
		Schema   json.RawMessage
	}
	RequestBody struct {
		Content map[string]struct {
			Schema struct{ Properties map[string]json.RawMessage }
		}
	}
	Responses map[string]response
}

type response struct {
	Ref     string `json:"$ref"`
	Content map[string]struct{ Schema json.RawMessage }
}

var readDocument = sync.OnceValues(func() (*openAPI, error) {
	var d openAPI
	return &d, json.Unmarshal(document, &d)
})

func TestDocument_NamesExactlyTheRoutes(t *testing.T) {
	d, err := readDocument()
	if err != nil {
		t.Fatal(err)
	}
	var documented, served []string
	for path, methods := range d.Paths {
		for method := range methods {
			documented = append(documented, strings.ToUpper(method)+" "+path)
		}
	}
	for _, r := range (&server{}).routes() {
		served = append(served, r.method+" "+r.path)
	}
	slices.Sort(documented)
	slices.Sort(served)
	if diff := cmp.Diff(documented, served); diff != "" {
		t.Errorf("documented (-), served (+):\n%s", diff)
	}
}

func TestDocument_EverySchemaIsUsedAndResolves(t *testing.T) {
	d, err := readDocument()
	if err != nil {
		t.Fatal(err)
	}
	for name := range d.Components.Schemas {
		if !strings.Contains(string(document), `"#/components/schemas/`+name+`"`) {
			t.Errorf("schema %s is used by nothing", name)
		}
		if _, err := d.schema(json.RawMessage(fmt.Sprintf(`{"$ref": "#/components/schemas/%s"}`, name))); err != nil {
			t.Errorf("schema %s: %v", name, err)
		}
	}
}

func TestDocument_EveryReferenceResolves(t *testing.T) {
	var d struct {
		Components map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(document, &d); err != nil {
		t.Fatal(err)
	}
	for _, ref := range regexp.MustCompile(`"\$ref": "#/components/(\w+)/(\w+)"`).FindAllSubmatch(document, -1) {
		if d.Components[string(ref[1])][string(ref[2])] == nil {
			t.Errorf("%s leads nowhere", ref[0])
		}
	}
}

// resolved keeps the validators that were made: making one reads the whole document.
var resolved sync.Map

// schema makes a validator for one of the document's schemas; OpenAPI 3.1's are JSON Schema.
func (d *openAPI) schema(of json.RawMessage) (*jsonschema.Resolved, error) {
	if made, found := resolved.Load(string(of)); found {
		return made.(*jsonschema.Resolved), nil
	}
	root := map[string]any{"$defs": d.Components.Schemas, "allOf": []json.RawMessage{of}}
	text, err := json.Marshal(root)
	if err != nil {
		return nil, err
	}
	text = []byte(strings.ReplaceAll(string(text), "#/components/schemas/", "#/$defs/"))
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	made, err := s.Resolve(nil)
	if err == nil {
		resolved.Store(string(of), made)
	}
	return made, err
}

// checkAgainstDocument fails the test when a documented route answers something else than the document says.
func checkAgainstDocument(t *testing.T, method, target string, r reply) {
	t.Helper()
	d, err := readDocument()
	if err != nil {
		t.Fatal(err)
	}
	path, _, _ := strings.Cut(target, "?")
	op, documented := d.find(method, path)
	if !documented || method == "HEAD" {
		return
	}
	promised, found := op.Responses[fmt.Sprint(r.status)]
	if !found {
		t.Errorf("%s %s answered %d, the document names %v", method, path, r.status, slices.Sorted(maps.Keys(op.Responses)))
		return
	}
	if name, isRef := strings.CutPrefix(promised.Ref, "#/components/responses/"); isRef {
		promised = d.Components.Responses[name]
	}
	schema, err := d.schema(promised.Content["application/json"].Schema)
	if err != nil {
		t.Fatal(err)
	}
	var body any
	if err := json.Unmarshal([]byte(r.body), &body); err != nil {
		t.Errorf("%s %s answered no JSON: %v", method, path, err)
		return
	}
	if err := schema.Validate(body); err != nil {
		t.Errorf("%s %s answered %d, which is not as documented: %v\n%s", method, path, r.status, err, r.body)
	}
}

func (d *openAPI) find(method, path string) (operation, bool) {
	parts := strings.Split(path, "/")
	for template, methods := range d.Paths {
		want := strings.Split(template, "/")
		if len(want) != len(parts) {
			continue
		}
		match := true
		for i, w := range want {
			match = match && (strings.HasPrefix(w, "{") || w == parts[i])
		}
		if op, found := methods[strings.ToLower(method)]; match && found {
			return op, true
		}
	}
	return operation{}, false
}
