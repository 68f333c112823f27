package doctor

import (
	"crypto/rand"
	"encoding/hex"
	"time"

	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// request is an export of one span, in a trace of its own. The todo is named on the resource, where agents have it
// from OTEL_RESOURCE_ATTRIBUTES. An SDK would add what that variable says here, and with it perhaps a todo.
func request(todo, version string, now time.Time) (body []byte, traceID string) {
	ids := make([]byte, 24)
	_, _ = rand.Read(ids) // never fails: it ends the process when the system has no randomness
	attributes := []*common.KeyValue{text("service.name", "switchboard-doctor"), text("service.version", version)}
	if todo != "" {
		attributes = append(attributes, text("switchboard.todo.id", todo))
	}
	body, err := proto.Marshal(&collectortrace.ExportTraceServiceRequest{ResourceSpans: []*trace.ResourceSpans{{
		Resource: &resource.Resource{Attributes: attributes},
		ScopeSpans: []*trace.ScopeSpans{{
			Scope: &common.InstrumentationScope{Name: "switchboard-doctor", Version: version},
			Spans: []*trace.Span{{
				TraceId:           ids[:16],
				SpanId:            ids[16:],
				Name:              SpanName,
				Kind:              trace.Span_SPAN_KIND_INTERNAL,
				StartTimeUnixNano: uint64(now.Add(-time.Millisecond).UnixNano()),
				EndTimeUnixNano:   uint64(now.UnixNano()),
			}},
		}},
	}}})
	if err != nil {
		panic(err) // every text in it is ours, or an id that was read before
	}
	return body, hex.EncodeToString(ids[:16])
}

func text(key, value string) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: value}}}
}
