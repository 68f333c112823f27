package spans_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

const recordings = "../dialect/testdata/recordings/"

// recording returns the requests of one recording, in the order in which they were sent.
func recording(t testing.TB, file string) (requests []ptrace.Traces) {
	t.Helper()
	body, err := os.ReadFile(recordings + file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(file, ".gz") {
		r, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if body, err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	list := []json.RawMessage{body}
	if body[0] == '[' {
		if err := json.Unmarshal(body, &list); err != nil {
			t.Fatal(err)
		}
	}
	for _, one := range list {
		td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(one)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		requests = append(requests, td)
	}
	return requests
}

func recordingFiles(t testing.TB) (files []string) {
	t.Helper()
	for _, pattern := range []string{"*.json", "*.json.gz"} {
		found, err := filepath.Glob(recordings + pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("no recordings: %v", err)
		}
		for _, path := range found {
			files = append(files, filepath.Base(path))
		}
	}
	return files
}

// allSpans returns the spans of requests in document order.
func allSpans(requests ...ptrace.Traces) (all []ptrace.Span) {
	for _, td := range requests {
		for _, resource := range td.ResourceSpans().All() {
			for _, scope := range resource.ScopeSpans().All() {
				for _, span := range scope.Spans().All() {
					all = append(all, span)
				}
			}
		}
	}
	return all
}
