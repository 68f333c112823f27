package switchboardreceiver

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

const (
	wrappedBefore = `{"resourceSpans":[{"scopeSpans":[{"spans":[`
	wrappedAfter  = `]}]}]}`
)

// decoded posts a JSON body and returns the spans that the pipeline got.
func decoded(t *testing.T, body string) (int, ptrace.Traces) {
	t.Helper()
	got := ptrace.NewTraces()
	b := start(t, newFakeOwner(t), sink(copyTo(got)))
	return b.do(post(tracesPath, "application/json", []byte(body))).StatusCode, got
}

func spansOf(td ptrace.Traces) ptrace.SpanSlice {
	return td.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
}

func TestJSON_DocumentsThatAreNoSingleObjectAreRefused(t *testing.T) {
	for name, body := range map[string]string{
		"empty":                  "",
		"space":                  " \r\n\t",
		"only a byte-order mark": "\xef\xbb\xbf",
		"null":                   "null",
		"an array":               "[]",
		"a number":               "1",
		"a string":               `"{}"`,
		"text behind":            `{} x`,
		"a document behind":      `{}{}`,
		"a bracket behind":       `{}}`,
		"a comma behind":         `{},`,
		"a nought byte behind":   "{}\x00",
		"not closed":             `{"resourceSpans":[`,
		"closed by another":      `{"resourceSpans":[}]`,
		"never opened":           `{"resourceSpans":]}`,
		"an open string":         `{"resourceSpans`,
		"an open escape":         `{"resourceSpans\"`,
		"a member without name":  `{"":1,"resourceSpans":[]}`,
		"a span without name":    wrappedBefore + `{"":1}` + wrappedAfter,
		"no colon":               `{"resourceSpans"[]}`,
		"UTF-16":                 "\xff\xfe{\x00}\x00",
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, newFakeOwner(t), untouched(t))
			response := b.do(post(tracesPath, "application/json", []byte(body)))
			if got := bodyOf(t, response); response.StatusCode != http.StatusBadRequest || got != `{"code":3,"message":"otlp-decode-failed"}` {
				t.Errorf("%d %s", response.StatusCode, got)
			}
		})
	}
}

func TestJSON_EmptyRequestsAreSuccesses(t *testing.T) {
	for _, body := range []string{
		`{}`, ` {} `, "\xef\xbb\xbf{}", `{"resourceSpans":[]}`, `{"resourceSpans":null}`, `{"unknown":{"a":[1,"}",null]}}`,
		`{"\"x":null}`, `{"\\x":null}`, `{"\u0041":null,"resourceSpans":[]}`,
		`{"resourceSpans":[{}]}`, `{"resourceSpans":[{"scopeSpans":[{"spans":[]}]}]}`, `{"resource_spans":[]}`,
	} {
		b := start(t, newFakeOwner(t), untouched(t))
		response := b.do(post(tracesPath, "application/json", []byte(body)))
		if got := bodyOf(t, response); response.StatusCode != http.StatusOK || got != "{}" {
			t.Errorf("%s: %d %s", body, response.StatusCode, got)
		}
	}
}

// ProtoJSON allows null for every field, and means that it is absent.
func TestJSON_NullIsAnAbsentField(t *testing.T) {
	status, td := decoded(t, wrappedBefore+`{
		"traceId": "0102030405060708090a0b0c0d0e0f10", "spanId" : "0102030405060708", "parentSpanId":null,
		"name":null, "kind" : null, "startTimeUnixNano":null, "endTimeUnixNano"
		: null, "traceState":null, "flags":null, "droppedAttributesCount":null, "events":null, "links":null, "status":null,
		"attributes":[
			{"key":"n","value":null}, {"key":"i","value":{"intValue":null}}, {"key":"b","value":{"boolValue":null}},
			{"key":"d","value":{"doubleValue":null}}, {"key":"a","value":{"arrayValue":{"values":[null,{"stringValue":"null"}]}}},
			{"key":"said","value":{"stringValue":"\"a\":null"}}
		]}`+wrappedAfter)
	if status != http.StatusOK {
		t.Fatalf("status %d, want 200", status)
	}
	span := spansOf(td).At(0)
	if !span.ParentSpanID().IsEmpty() || span.Kind() != ptrace.SpanKindUnspecified || span.StartTimestamp() != 0 {
		t.Errorf("null has a value in %v", span)
	}
	for _, key := range []string{"n", "i", "b", "d"} {
		if v, ok := span.Attributes().Get(key); !ok || v.Type() != pcommon.ValueTypeEmpty {
			t.Errorf("attribute %s is %v, want an empty value", key, v.AsString())
		}
	}
	if v, _ := span.Attributes().Get("said"); v.Str() != `"a":null` {
		t.Errorf("a text that looks like a member became %q", v.Str())
	}
	if v, _ := span.Attributes().Get("a"); v.AsString() != `[null,"null"]` {
		t.Errorf("an array with null became %s", v.AsString())
	}
}

func TestJSON_SpellingsOfNumbersEnumsAndIDs(t *testing.T) {
	const ids = `"traceId":"0102030405060708090A0b0c0d0e0f10","spanId":"010203040506070A",`
	for name, tc := range map[string]struct {
		span string
		want func(ptrace.Span) bool
	}{
		"64 bits as text":   {`"startTimeUnixNano":"18446744073709551615"`, func(s ptrace.Span) bool { return s.StartTimestamp() == 1<<64-1 }},
		"64 bits as number": {`"startTimeUnixNano":1790000000123456789`, func(s ptrace.Span) bool { return s.StartTimestamp() == 1790000000123456789 }},
		"enum by number":    {`"kind":3`, func(s ptrace.Span) bool { return s.Kind() == ptrace.SpanKindClient }},
		"enum by name":      {`"kind":"SPAN_KIND_CLIENT"`, func(s ptrace.Span) bool { return s.Kind() == ptrace.SpanKindClient }},
		"unknown enum":      {`"kind":77`, func(s ptrace.Span) bool { return s.Kind() == 77 }},
		"hex in any case":   {`"name":"x"`, func(s ptrace.Span) bool { return s.SpanID() == pcommon.SpanID{1, 2, 3, 4, 5, 6, 7, 10} }},
		"snake case":        {`"start_time_unix_nano":"5"`, func(s ptrace.Span) bool { return s.StartTimestamp() == 5 }},
		"unknown fields":    {`"unknown":{"deep":[[[{"x":null}]]]},"name":"y"`, func(s ptrace.Span) bool { return s.Name() == "y" }},
		"a field twice":     {`"name":"a","name":"b"`, func(s ptrace.Span) bool { return s.Name() == "b" }},
		"an empty id":       {`"parentSpanId":""`, func(s ptrace.Span) bool { return s.ParentSpanID().IsEmpty() }},
		"an escaped name":   {`"n\u0061me":"z"`, func(s ptrace.Span) bool { return s.Name() == "z" }},
		"brackets in text":  {`"name":"\\\"]}[{\"\\","kind":2`, func(s ptrace.Span) bool { return s.Name() == `\"]}[{"\` && s.Kind() == ptrace.SpanKindServer }},
		"exact integers":    {`"attributes":[{"key":"i","value":{"intValue":"-9223372036854775808"}}]`, func(s ptrace.Span) bool { v, _ := s.Attributes().Get("i"); return v.Int() == -1<<63 }},
	} {
		t.Run(name, func(t *testing.T) {
			status, td := decoded(t, wrappedBefore+`{`+ids+tc.span+`}`+wrappedAfter)
			if status != http.StatusOK || !tc.want(spansOf(td).At(0)) {
				t.Errorf("status %d, spans %v", status, td)
			}
		})
	}
}

func TestJSON_ValuesThatAreNotOfTheirFieldAreUndecodable(t *testing.T) {
	for _, span := range []string{
		`"startTimeUnixNano":1.5`, `"startTimeUnixNano":"1.5"`, `"startTimeUnixNano":1e18`, `"startTimeUnixNano":-1`,
		`"startTimeUnixNano":"2026-11-30T00:00:00Z"`, `"startTimeUnixNano":"18446744073709551616"`, `"startTimeUnixNano":true`,
		`"kind":"CLIENT"`, `"kind":[]`, `"name":7`, `"attributes":{}`, `"attributes":[7]`,
		`"traceId":"AQIDBAUGBwgJCgsMDQ4PEA=="`, `"traceId":"0102"`, `"spanId":"xx02030405060708"`, `"spanId":7`,
	} {
		if status, _ := decoded(t, wrappedBefore+`{`+span+`}`+wrappedAfter); status != http.StatusBadRequest {
			t.Errorf("%s: %d, want 400", span, status)
		}
	}
}

// An id of another length than the protocol's has no place in the data model; both encodings refuse the request.
func TestIDsOfWrongLength_AreUndecodableInBothEncodings(t *testing.T) {
	asProtobuf := "\x0a\x09\x12\x07\x12\x05\x0a\x03abc" // resource_spans { scope_spans { spans { trace_id: "abc" } } }
	for contentType, body := range map[string]string{
		"application/json":       wrappedBefore + `{"traceId":"616263"}` + wrappedAfter,
		"application/x-protobuf": asProtobuf,
	} {
		b := start(t, newFakeOwner(t), untouched(t))
		if got := b.do(post(tracesPath, contentType, []byte(body))).StatusCode; got != http.StatusBadRequest {
			t.Errorf("%s: %d, want 400", contentType, got)
		}
	}
}

// nested is a span whose attribute, event and resource attributes hold values that lie depth deep.
func nested(depth int, grow func(pcommon.Value) pcommon.Value, where func(ptrace.ResourceSpans) pcommon.Map) ptraceotlp.ExportRequest {
	export := exportOf(1)
	export.Traces().ResourceSpans().At(0).Resource().Attributes().PutStr("service.name", "shallow")
	value := where(export.Traces().ResourceSpans().At(0)).PutEmpty("deep")
	for range depth {
		value = grow(value)
	}
	return export
}

func TestNesting_TheEncodingsAgreeOnHowDeepAValueMayBe(t *testing.T) {
	shapes := map[string]func(pcommon.Value) pcommon.Value{
		"arrays": func(v pcommon.Value) pcommon.Value { return v.SetEmptySlice().AppendEmpty() },
		"maps":   func(v pcommon.Value) pcommon.Value { return v.SetEmptyMap().PutEmpty("attributes") },
	}
	places := map[string]func(ptrace.ResourceSpans) pcommon.Map{
		"resource": func(rs ptrace.ResourceSpans) pcommon.Map { return rs.Resource().Attributes() },
		"scope":    func(rs ptrace.ResourceSpans) pcommon.Map { return rs.ScopeSpans().At(0).Scope().Attributes() },
		"span":     func(rs ptrace.ResourceSpans) pcommon.Map { return rs.ScopeSpans().At(0).Spans().At(0).Attributes() },
		"event": func(rs ptrace.ResourceSpans) pcommon.Map {
			return rs.ScopeSpans().At(0).Spans().At(0).Events().AppendEmpty().Attributes()
		},
		"link": func(rs ptrace.ResourceSpans) pcommon.Map {
			return rs.ScopeSpans().At(0).Spans().At(0).Links().AppendEmpty().Attributes()
		},
	}
	b := start(t, newFakeOwner(t), sink(storeAll))
	for shape, grow := range shapes {
		for place, where := range places {
			deepest := map[string]int{}
			for depth := range 60 {
				export := nested(depth, grow, where)
				for contentType, body := range map[string][]byte{
					"application/json":       must(export.MarshalJSON()),
					"application/x-protobuf": must(export.MarshalProto()),
				} {
					if b.do(post(tracesPath, contentType, body)).StatusCode == http.StatusOK {
						deepest[contentType] = depth
					}
				}
			}
			asJSON, asProtobuf := deepest["application/json"], deepest["application/x-protobuf"]
			if asJSON != asProtobuf || asJSON < 32 || asJSON == 59 {
				t.Errorf("%s in a %s: %d deep in JSON, %d in protobuf; want the same, at least 32 (decisions.md 23)", shape, place, asJSON, asProtobuf)
			}
		}
	}
}

// A decoder that recursed into these would end the process, which no handler can recover from.
func TestNesting_MegabytesOfBracketsAreRefused(t *testing.T) {
	const opened = 100_000
	b := start(t, newFakeOwner(t), untouched(t))
	for name, body := range map[string]string{
		"values":         wrappedBefore + `{"attributes":[{"value":` + strings.Repeat(`{"arrayValue":{"values":[`, opened),
		"escaped values": wrappedBefore + `{"\u0061ttributes":[{"value":` + strings.Repeat(`{"arrayValue":{"values":[`, opened),
		"unknown":        `{"x":` + strings.Repeat(`{"x":`, opened),
		"arrays":         `{"x":` + strings.Repeat(`[`, opened),
		// pdata takes a bracket that closes nothing for an empty element; whoever only counted would see no depth here.
		"brackets that close nothing": wrappedBefore + `{"attributes":[{"value":` + strings.Repeat(`{"arrayValue":{"values":[},},},`, opened) + `{}}]}` + wrappedAfter,
	} {
		if _, _, ok := prepareJSON([]byte(body)); ok {
			t.Errorf("%s: would reach the decoder", name)
		}
		if got := b.do(post(tracesPath, "application/json", []byte(body))).StatusCode; got != http.StatusBadRequest {
			t.Errorf("%s: %d, want 400", name, got)
		}
	}
}

func BenchmarkPrepareJSON(b *testing.B) {
	for _, spans := range []int{100, 1000} {
		doc := jsonOf(spans)
		b.Run(fmt.Sprintf("prepare/%d", spans), func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			for b.Loop() {
				prepareJSON(doc)
			}
		})
		b.Run(fmt.Sprintf("decode/%d", spans), func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			for b.Loop() {
				_ = ptraceotlp.NewExportRequest().UnmarshalJSON(doc)
			}
		})
	}
}
