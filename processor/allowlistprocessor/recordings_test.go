package allowlistprocessor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/switchboard-otel/switchboard/app/spans"
	"github.com/switchboard-otel/switchboard/internal/toggle"
)

// Real agents put prompts, tool input and output under many keys, on spans and on resources. In the recordings
// all content reads CANARY[...].
func TestProcessor_REQ6_NoContentOfARealAgentIsKeptByDefault(t *testing.T) {
	for _, recording := range recordings(t) {
		out := through(t, &Config{}, recording)
		wire, err := (&ptrace.JSONMarshaler{}).MarshalTraces(out)
		if err != nil {
			t.Fatal(err)
		}
		if at := strings.Index(string(wire), "CANARY"); at >= 0 {
			t.Errorf("kept content: %.200s", wire[max(0, at-100):])
		}
	}
}

func TestProcessor_REQ6_WithToolInputAndOutputNothingBeyondItsGroupIsKept(t *testing.T) {
	kept := 0
	for _, recording := range recordings(t) {
		out := through(t, &Config{KeepToolIO: toggle.On}, recording)
		for _, resource := range out.ResourceSpans().All() {
			for _, scope := range resource.ScopeSpans().All() {
				for _, span := range scope.Spans().All() {
					for key, v := range span.Attributes().All() {
						text, _ := spans.Text(v, 1<<20)
						if !strings.Contains(text, "CANARY") {
							continue
						}
						kept++
						if !spans.IsToolIO(key) {
							t.Errorf("kept content under %s", key)
						}
					}
				}
			}
		}
	}
	if kept == 0 {
		t.Error("no tool input or output was kept at all")
	}
}

// recordings returns the requests of the recordings, each fresh.
func recordings(t *testing.T) (all []ptrace.Traces) {
	t.Helper()
	files, err := filepath.Glob("testdata/recordings/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		requests := []json.RawMessage{body}
		if body[0] == '[' {
			if err := json.Unmarshal(body, &requests); err != nil {
				t.Fatal(err)
			}
		}
		for _, request := range requests {
			td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(request)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			all = append(all, td)
		}
	}
	return all
}
