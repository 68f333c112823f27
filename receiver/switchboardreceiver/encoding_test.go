package switchboardreceiver

import (
	"net/http"
	"testing"
)

func TestContentType_ParametersAndCaseDoNotMatter(t *testing.T) {
	for contentType, want := range map[string]encoding{
		"application/json":                   jsonEncoding,
		"Application/JSON":                   jsonEncoding,
		"application/json; charset=utf-8":    jsonEncoding,
		"application/json;charset":           jsonEncoding,
		" application/json ":                 jsonEncoding,
		"application/x-protobuf":             protobufEncoding,
		"APPLICATION/X-Protobuf; proto=otlp": protobufEncoding,
	} {
		if got, ok := encodingOf(http.Header{"Content-Type": {contentType}}); !ok || got != want {
			t.Errorf("%q: %v %v, want %v", contentType, got, ok, want)
		}
	}
	for _, contentType := range []string{"", "text/plain", "application/protobuf", "application/jsonl", "json", "application/json, text/plain", "/", ";"} {
		if got, ok := encodingOf(http.Header{"Content-Type": {contentType}}); ok || got != jsonEncoding {
			t.Errorf("%q: %v %v, want a refusal in JSON", contentType, got, ok)
		}
	}
}

func TestContentEncoding_IsGzipOnceOrNothing(t *testing.T) {
	for _, tc := range []struct {
		lines          []string
		compressed, ok bool
	}{
		{nil, false, true},
		{[]string{""}, false, true},
		{[]string{"identity"}, false, true},
		{[]string{"gzip"}, true, true},
		{[]string{"GZip"}, true, true},
		{[]string{"x-gzip"}, true, true},
		{[]string{"identity, gzip"}, true, true},
		{[]string{"gzip, gzip"}, false, false},
		{[]string{"gzip", "gzip"}, false, false},
		{[]string{"gzip, zstd"}, false, false},
		{[]string{"deflate"}, false, false},
		{[]string{"zstd"}, false, false},
	} {
		compressed, ok := gzipped(http.Header{"Content-Encoding": tc.lines})
		if compressed != tc.compressed || ok != tc.ok {
			t.Errorf("%q: %v %v, want %v %v", tc.lines, compressed, ok, tc.compressed, tc.ok)
		}
	}
}
