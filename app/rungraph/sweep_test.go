package rungraph

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// malformed are values of every wrong kind.
var malformed = []string{`{"a":{"b":1}}`, `[[1]]`, `null`, `true`, `-1`, `"\ud800"`, `[]`, `{}`, `1e999`}

// paths lists where a document has values, as edited takes them.
func paths(tree any, at string) (all []string) {
	below := func(name string) string { return strings.TrimPrefix(at+"/"+name, "/") }
	switch in := tree.(type) {
	case map[string]any:
		for name, v := range in {
			all = append(append(all, below(name)), paths(v, below(name))...)
		}
	case []any:
		for i, v := range in {
			name := fmt.Sprint(i)
			all = append(append(all, below(name)), paths(v, below(name))...)
		}
	}
	return all
}

// A malformed value anywhere is answered: with findings that name paths into the document, or with none where the format
// lets anything stand.
func TestValidate_AnswersAMalformedValueAnywhere(t *testing.T) {
	doc := full(t)
	var tree any
	if err := json.Unmarshal(doc, &tree); err != nil {
		t.Fatal(err)
	}
	all := paths(tree, "")
	if len(all) < 300 {
		t.Fatalf("only %d places", len(all))
	}
	for _, at := range all {
		for _, value := range malformed {
			r := validate(t, edited(t, doc, at, value))
			for _, f := range r.Findings {
				if !strings.HasPrefix(f.Path, "$") || f.Message == "" || f.Level != levelOf(f.Code) {
					t.Errorf("%s=%s: %+v", at, value, f)
				}
			}
		}
	}
}

// FuzzValidate holds the check to its promise for any bytes: it answers, alike each time, and the counts agree.
func FuzzValidate(f *testing.F) {
	documents, err := filepath.Glob("testdata/*.ocp.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range documents {
		doc, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(doc)
	}
	for _, o := range others {
		if len(o.doc) < 1<<12 {
			f.Add([]byte(o.doc))
		}
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		r, again := validate(t, doc), validate(t, doc)
		if fmt.Sprint(r.Codes()) != fmt.Sprint(again.Codes()) || r.OK() != again.OK() {
			t.Errorf("%v, then %v", r.Codes(), again.Codes())
		}
		if r.LeftOff() < 0 || len(r.Findings) > maxPerCode*len(codes) || (len(r.Codes()) == 0) != (r.Errors+r.Warnings == 0) {
			t.Errorf("%d errors, %d warnings, %d kept", r.Errors, r.Warnings, len(r.Findings))
		}
	})
}

// large is a document of at least n bytes: attempts as an agent leaves them, and edges between them.
func large(n int) []byte {
	var b strings.Builder
	b.Grow(n + 1<<20)
	b.WriteString(`{"ocp":"0.3","producer":{"name":"x","capabilities":{}},"privacy":{"profile":"full"},"run":{"id":"r"},"nodes":[`)
	count := n / 700
	for i := range count {
		fmt.Fprintf(&b, `{"id":"node-%d","kind":"task","state":"done","labels":{"queue":"default"}},`, i)
	}
	b.WriteString(`{"id":"last","kind":"task"}],"attempts":[`)
	for i := range count {
		fmt.Fprintf(&b, `{"id":"node-%d.a1","node":"node-%d","n":1,"status":"done","actor":"agent","cause":{"type":"initial"},`+
			`"started_at":"2026-04-02T10:00:00Z","ended_at":"2026-04-02T10:40:00Z","outcome":{"result":"done","evidence":"reported"},`+
			`"cost":{"input_tokens":1200,"cached_input_tokens":800,"output_tokens":90,"requests":3,"basis":"measured"},`+
			`"ext":{"com.example.notes":["one","two","three"]}},`, i, i)
	}
	b.WriteString(`{"id":"last.a1","node":"last","status":"queued"}],"edges":[`)
	for i := range count {
		fmt.Fprintf(&b, `{"from":"node-%d","to":"last","tier":"verified","evidence":"the order in which they were claimed"},`, i)
	}
	for b.Len() < n {
		b.WriteString(`{"from":"last","to":"ghost","tier":"verified"},`)
	}
	b.WriteString(`{"from":"last","to":"ghost","tier":"verified"}]}`)
	return []byte(b.String())
}

// A document of 50 MB is checked within 1 GiB. HeapSys is the most the heap ever was, other tests included.
func TestValidate_ChecksFiftyMegabytesWithinAGibibyte(t *testing.T) {
	doc := large(50e6)
	heard := 0
	r, err := Validate(context.Background(), doc, func(int, int) { heard++ })
	if err != nil || r.OK() || strings.Join(r.Codes(), " ") != "E111" {
		t.Fatalf("%v %v", r.Codes(), err)
	}
	if heard < 50 {
		t.Errorf("it told %d times how far it was", heard)
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	t.Logf("heap at most %d MiB", memory.HeapSys>>20)
	if memory.HeapSys > 1<<30 {
		t.Errorf("the heap grew to %d MiB", memory.HeapSys>>20)
	}
}
