package board

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/switchboard-otel/switchboard/app/spans"
	"github.com/switchboard-otel/switchboard/app/trail"
)

// recorded reads what a real agent sent, as the store would hold it.
func recorded(t *testing.T, file string) (all []spans.Span) {
	t.Helper()
	body := must(os.ReadFile(file))(t)
	if strings.HasSuffix(file, ".gz") {
		body = must(io.ReadAll(must(gzip.NewReader(bytes.NewReader(body)))(t)))(t)
	}
	list := []json.RawMessage{body}
	if body[0] == '[' {
		if err := json.Unmarshal(body, &list); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[spans.Key]bool{}
	for _, one := range list {
		td := must((&ptrace.JSONUnmarshaler{}).UnmarshalTraces(one))(t)
		spans.Standardize(td)
		for _, resource := range td.ResourceSpans().All() {
			service := ""
			if v, ok := resource.Resource().Attributes().Get("service.name"); ok {
				service = v.AsString()
			}
			for _, scope := range resource.ScopeSpans().All() {
				for _, sp := range scope.Spans().All() {
					s := spans.Span{TraceID: sp.TraceID(), SpanID: sp.SpanID(), ParentSpanID: sp.ParentSpanID(), Name: sp.Name(), ServiceName: service,
						StatusCode: strings.ToLower(sp.Status().Code().String()), StartAt: sp.StartTimestamp().AsTime(), EndAt: sp.EndTimestamp().AsTime()}
					s.Category, s.Tool, _ = spans.Classify(sp.Attributes(), sp.Kind())
					s.Attributes = must(json.Marshal(sp.Attributes().AsRaw()))(t)
					if !seen[s.Key()] {
						seen[s.Key()] = true
						all = append(all, s)
					}
				}
			}
		}
	}
	return all
}

// seenRows writes the rows of a waterfall as a human sees them at first: what is folded is one line.
func seenRows(w trail.Waterfall) string {
	var out strings.Builder
	for _, r := range w.Rows {
		indent := strings.Repeat("  ", r.Indent())
		switch {
		case r.Fold != nil:
			fmt.Fprintf(&out, "%s... %s of plumbing folded, %s\n", indent, counted(r.Fold.Spans, "span", "spans"), counted(r.Fold.Errors, "error", "errors"))
		case r.Plumbing:
		case r.Span == nil:
			fmt.Fprintf(&out, "%s(a parent that was not received)\n", indent)
		default:
			line := []string{rowCategory(r).Name + ":", spanName(r.Span)}
			if tellsTool(r.Span) {
				line = append(line, "["+r.Span.Tool+"]")
			} else if model := tellsModel(r.Span); model != "" {
				line = append(line, "["+model+"]")
			}
			if r.Span.StatusCode == "error" {
				line = append(line, "error")
			}
			fmt.Fprintf(&out, "%s%s\n", indent, strings.Join(line, " "))
		}
	}
	return out.String()
}

// What real agents sent looks as a person would expect: a tool's row says the tool, a model's the model, and an agent's
// own machinery is folded.
func TestRecordings_LookAsAPersonWouldExpect(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	files, err := filepath.Glob(filepath.Join("..", "dialect", "testdata", "recordings", "*.json*"))
	if err != nil || len(files) == 0 {
		t.Fatal("no recordings", err)
	}
	for _, file := range files {
		w := trail.Layout(recorded(t, file), trail.Origin{}, 500)
		rows := seenRows(w)
		fmt.Fprintf(&got, "== %s, %s\n%s\n", filepath.Base(file), counted(w.Total, "span", "spans"), rows)
		for _, r := range w.Rows {
			if r.Span == nil || r.Plumbing {
				continue
			}
			line := spanName(r.Span) + " " + r.Span.Tool + " " + tellsModel(r.Span)
			if r.Span.Category == trail.CategoryTool && r.Span.Tool != "" && !strings.Contains(line, r.Span.Tool) {
				t.Errorf("%s: a tool's row does not say %s", filepath.Base(file), r.Span.Tool)
			}
		}
		if strings.Count(rows, "\n") > 60 {
			t.Errorf("%s: %d rows are seen at first", filepath.Base(file), strings.Count(rows, "\n"))
		}
	}
	golden := filepath.Join("testdata", "golden", "recordings.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(must(os.ReadFile(golden))(t)), got.String()); diff != "" {
		t.Errorf("%s (-want +got), write it anew with -update if this is meant:\n%s", golden, diff)
	}
}
