package switchboardreceiver

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/protobuf/encoding/protowire"
)

// within is a protobuf message of fields within one another, the innermost of which holds content.
func within(content []byte, fields ...protowire.Number) []byte {
	for i := len(fields) - 1; i >= 0; i-- {
		content = protowire.AppendBytes(protowire.AppendTag(nil, fields[i], protowire.BytesType), content)
	}
	return content
}

// many repeats an empty message until it has so many bytes.
func many(field protowire.Number, size int) []byte {
	one := within(nil, field)
	return bytes.Repeat(one, size/len(one))
}

// bombs are requests made of next to nothing.
func bombs(size int) map[string][]byte {
	list := func(open, element, end string) []byte {
		return []byte(open + strings.Repeat(element+",", size/(len(element)+1)) + element + end)
	}
	const spans, attributes = `{"resourceSpans":[{"scopeSpans":[{"spans":[`, `{"resourceSpans":[{"scopeSpans":[{"spans":[{"attributes":[`
	return map[string][]byte{
		"protobuf resources":         many(1, size),
		"protobuf scopes":            within(many(2, size), 1),
		"protobuf scopes, as 1000":   within(many(1000, size), 1),
		"protobuf spans":             within(many(2, size), 1, 2),
		"protobuf spans, below 1000": within(many(2, size), 1, 1000),
		"protobuf entities":          within(many(3, size), 1, 1),
		"protobuf attributes":        within(many(9, size), 1, 2, 2),
		"protobuf resource keys":     within(many(1, size), 1, 1),
		"protobuf scope keys":        within(many(3, size), 1, 2, 1),
		"protobuf events":            within(many(11, size), 1, 2, 2),
		"protobuf event keys":        within(many(3, size), 1, 2, 2, 11),
		"protobuf links":             within(many(13, size), 1, 2, 2),
		"protobuf link keys":         within(many(4, size), 1, 2, 2, 13),
		"protobuf values":            within(many(1, size), 1, 2, 2, 9, 2, 5),
		"protobuf lists":             within(bytes.Repeat(within(nil, 1, 5), size/4), 1, 2, 2, 9, 2, 5),
		"protobuf key values":        within(many(1, size), 1, 2, 2, 9, 2, 6),
		"protobuf texts":             within(bytes.Repeat(within([]byte("x"), 1, 1), size/5), 1, 2, 2, 9, 2, 5),
		"JSON resources":             list(`{"resourceSpans":[`, `{}`, `]}`),
		"JSON spans":                 list(spans, `{}`, `]}]}]}`),
		"JSON spans that are null":   list(spans, `null`, `]}]}]}`),
		"JSON attributes":            list(attributes, `{}`, `]}]}]}]}`),
		"JSON values":                list(attributes+`{"value":{"arrayValue":{"values":[`, `{"stringValue":""}`, `]}}}]}]}]}]}`),
		"JSON links":                 list(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"links":[`, `{}`, `]}]}]}]}`),
	}
}

func weigh(t *testing.T, name string, body []byte) weight {
	t.Helper()
	var w weight
	ok := false
	if strings.HasPrefix(name, "JSON") {
		_, w, ok = prepareJSON(body)
	} else {
		w, ok = weighProtobuf(body, traces)
	}
	if !ok {
		t.Errorf("%s: no request", name)
	}
	return w
}

// What a request takes when it is decoded is never more than its weight, whatever it is made of.
func TestWeight_IsNotLessThanWhatTheDecoderKeeps(t *testing.T) {
	live := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	for name, body := range bombs(256 << 10) {
		w := weigh(t, name, body)
		export := ptraceotlp.NewExportRequest()
		before := live()
		var err error
		if strings.HasPrefix(name, "JSON") {
			err = export.UnmarshalJSON(body)
		} else {
			err = export.UnmarshalProto(body)
		}
		kept := live() - before
		runtime.KeepAlive(export)
		if err != nil && name != "JSON spans that are null" {
			t.Errorf("%s: %v", name, err)
		}
		if kept > w.bytes-int64(len(body)) { // the body itself is counted too
			t.Errorf("%s: %d bytes of memory for a weight of %d", name, kept, w.bytes)
		}
	}
}

// A body within the cap that would take hundreds of megabytes is refused before it is decoded.
func TestBombs_OfNextToNothingAreRefusedUndecoded(t *testing.T) {
	b := start(t, newFakeOwner(t), untouched(t))
	for name, body := range bombs(defaultCap - 100) {
		if weigh(t, name, body).bytes <= decodedPerByte*defaultCap {
			continue // large, and no bomb
		}
		contentType := protobufMediaType
		if strings.HasPrefix(name, "JSON") {
			contentType = jsonMediaType
		}
		want := http.StatusRequestEntityTooLarge
		if strings.Contains(name, " spans") {
			want = http.StatusBadRequest
		}
		if got := b.do(post(tracesPath, contentType, body)).StatusCode; got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}

// As many spans as a request may have, with more attributes than agents write, are far from the limit.
func TestWeight_OfHonestSpansIsFarBelowTheLimit(t *testing.T) {
	export := exportOf(1000)
	for _, span := range export.Traces().ResourceSpans().At(0).ScopeSpans().At(0).Spans().All() {
		for i := range 40 {
			span.Attributes().PutStr(fmt.Sprintf("gen_ai.%d", i), "x")
		}
		event := span.Events().AppendEmpty()
		event.SetName("exception")
		event.SetTimestamp(pcommon.Timestamp(1))
		span.Links().AppendEmpty().SetTraceID(pcommon.TraceID{1})
	}
	for name, body := range map[string][]byte{"protobuf": must(export.MarshalProto()), "JSON": must(export.MarshalJSON())} {
		w := weigh(t, name, body)
		if w.items != 1000 || w.bytes > decodedPerByte*defaultCap/2 {
			t.Errorf("%s: %d spans weigh %d MiB", name, w.items, w.bytes>>20)
		}
	}
}

// The other signals are never decoded in protobuf, so that their bombs cost nothing.
func TestBombs_OfOtherSignalsAreCounted(t *testing.T) {
	b := start(t, newFakeOwner(t), untouched(t))
	for path, body := range map[string][]byte{
		"logs":    within(many(2, defaultCap-100), 1, 2),
		"metrics": within(many(1, defaultCap-100), 1, 2, 2, 7),
	} {
		response := b.do(post("/otlp/my-bot/v1/"+path, protobufMediaType, body))
		if got := bodyOf(t, response); response.StatusCode != http.StatusOK || !strings.Contains(got, messageTracesOnly) {
			t.Errorf("%s: %d %q", path, response.StatusCode, got)
		}
	}
}

// Requests wait for room, and are told to come again when there is none in time.
func TestMemory_IsGivenBack(t *testing.T) {
	m := newMemory()
	free, ok := m.take(t.Context(), 100*decodedAtOnce)
	if !ok {
		t.Fatal("a request that takes more than all must have all")
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, ok := m.take(gone, 1); ok {
		t.Error("there was room beside all")
	}
	free()
	if free, ok = m.take(t.Context(), decodedAtOnce); !ok {
		t.Error("the room was not given back")
	}
	free()
}

func BenchmarkWeight(b *testing.B) {
	export := exportOf(1000)
	for _, span := range export.Traces().ResourceSpans().At(0).ScopeSpans().At(0).Spans().All() {
		for i := range 12 {
			span.Attributes().PutStr(fmt.Sprintf("gen_ai.request.%d", i), "some value of usual length")
		}
	}
	body := must(export.MarshalProto())
	b.Run("weigh", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			weighProtobuf(body, traces)
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			_ = ptraceotlp.NewExportRequest().UnmarshalProto(body)
		}
	})
}

// Whatever the bytes, no span is decoded that was not counted or weighed.
func FuzzWeight(f *testing.F) {
	for _, body := range bombs(64) {
		f.Add(body)
	}
	f.Add(protobufOf(2))
	f.Add(jsonOf(2))
	f.Fuzz(func(t *testing.T, body []byte) {
		export := ptraceotlp.NewExportRequest()
		if w, ok := weighProtobuf(body, traces); ok && export.UnmarshalProto(body) == nil && export.Traces().SpanCount() > w.items {
			t.Errorf("%d spans, %d counted", export.Traces().SpanCount(), w.items)
		}
		document, w, ok := prepareJSON(bytes.Clone(body))
		if export = ptraceotlp.NewExportRequest(); ok && export.UnmarshalJSON(document) == nil && int64(export.Traces().SpanCount()) > w.bytes/objectBytes {
			t.Errorf("%d spans, weight %d", export.Traces().SpanCount(), w.bytes)
		}
	})
}
