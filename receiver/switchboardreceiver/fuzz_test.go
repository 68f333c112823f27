package switchboardreceiver

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

// FuzzHandler sends any body in either encoding through the real handler. Whatever comes, the process lives, the answer
// is one of four and can be read in the request's encoding, and what was accepted in one encoding is accepted in the
// other with the same spans (REQ-2, "Encoding parity").
func FuzzHandler(f *testing.F) {
	for _, body := range [][]byte{
		jsonOf(2), []byte(`{}`), []byte(wrappedBefore + `{"traceId":null,"kind":"SPAN_KIND_CLIENT","attributes":[{"key":"a","value":{"arrayValue":{"values":[null,{"kvlistValue":{"values":[{"key":"k"}]}}]}}}]}` + wrappedAfter),
		[]byte("\xef\xbb\xbf{\"\\u0072esourceSpans\":[{}]}"), []byte(`{"resourceSpans":]}`), []byte(`{"":{}}`), []byte(`{} {}`),
	} {
		f.Add(false, false, body)
		f.Add(false, true, gzipOf(body))
	}
	for _, body := range [][]byte{protobufOf(2), {}, {0xff}, []byte("\x0a\x09\x12\x07\x12\x05\x0a\x03abc")} {
		f.Add(true, false, body)
		f.Add(true, true, gzipOf(body))
	}
	f.Fuzz(func(t *testing.T, asProtobuf, packed bool, body []byte) {
		this, other := "application/json", "application/x-protobuf"
		if asProtobuf {
			this, other = other, this
		}
		accepted := send(t, this, packed, body)
		if accepted == nil {
			return
		}
		want := must(accepted.MarshalProto())
		if asProtobuf && !utf8.Valid(want) {
			return // a string that is not UTF-8 has no spelling in JSON
		}
		again := send(t, other, false, marshal(other, *accepted))
		if again == nil || !bytes.Equal(must(again.MarshalProto()), want) {
			t.Errorf("the same spans in %s are not accepted, or not the same", other)
		}
	})
}

func marshal(contentType string, export ptraceotlp.ExportRequest) []byte {
	if contentType == "application/json" {
		return must(export.MarshalJSON())
	}
	return must(export.MarshalProto())
}

// send posts the body and returns what the pipeline got, nil when it got nothing.
func send(t *testing.T, contentType string, packed bool, body []byte) *ptraceotlp.ExportRequest {
	t.Helper()
	got := ptrace.NewTraces()
	request := post(tracesPath, contentType, body)
	if packed {
		request.Header.Set("Content-Encoding", "gzip")
	}
	response := start(t, newFakeOwner(t), copyTo(got)).do(request)
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	switch response.StatusCode {
	case http.StatusOK:
		if contentType == "application/json" && string(answer) != "{}" || contentType != "application/json" && len(answer) > 0 {
			t.Errorf("a full success says %q", answer)
		}
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		if contentType == "application/json" && !json.Valid(answer) {
			t.Errorf("no JSON: %q", answer)
		}
	default:
		t.Errorf("status %d", response.StatusCode)
	}
	if got.SpanCount() == 0 {
		return nil
	}
	export := ptraceotlp.NewExportRequestFromTraces(got)
	return &export
}
