package switchboardreceiver

import (
	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/switchboard-otel/switchboard/app/settings"
)

// receive reads the body of a request of an endpoint.
func (h *handler) receive(r *request, endpoint uuid.UUID, limits settings.Values) (*chunks, *refusal) {
	if _, ok := encodingOf(r.Header); !ok {
		return nil, refusedType
	}
	compressed, ok := gzipped(r.Header)
	if !ok {
		return nil, refusedCoding
	}
	received := &chunks{among: &h.memory.bodies, of: endpoint}
	if refused := readBody(r.w, r.Request, received, compressed, int64(limits[settings.OTLPMaxRequestBytes])); refused != nil {
		received.release()
		return nil, refused
	}
	return received, nil
}

// decode turns the body into spans, for which it has taken room that free gives back. Everything that needs no store is
// answered here.
func (h *handler) decode(r *request, s signal, received *chunks, limits settings.Values) (td ptrace.Traces, free func(), answered *answer) {
	body, leave, ok := h.memory.desk(r.Context(), received)
	if !ok {
		return td, nil, r.refused(refusedUnavailable)
	}
	defer leave()
	body, weight, refused := r.weigh(s, body, limits)
	if refused != nil {
		return td, nil, r.refused(refused)
	}
	if free, ok = h.memory.take(r.Context(), weight.bytes); !ok {
		return td, nil, r.refused(refusedUnavailable)
	}
	switch s {
	case logs:
		answered = r.countLogs(body, weight)
	case metrics:
		answered = r.countMetrics(body, weight)
	default:
		td, answered = r.decodeTraces(body, limits)
	}
	if answered != nil {
		free()
	}
	return td, free, answered
}

// weigh makes the body fit to be decoded, and refuses one that would take too much memory.
func (r *request) weigh(s signal, body []byte, limits settings.Values) ([]byte, weight, *refusal) {
	var (
		w  weight
		ok bool
	)
	if r.encoding == protobufEncoding {
		w, ok = weighProtobuf(body, s)
	} else {
		body, w, ok = prepareJSON(body)
	}
	switch most := limits[settings.OTLPMaxSpansPerRequest]; {
	case !ok:
		return nil, w, refusedDecode
	case w.bytes <= decodedPerByte*int64(limits[settings.OTLPMaxRequestBytes]):
		return body, w, nil
	case s == traces && w.items > most:
		return nil, w, refusedSpans(most)
	default:
		return nil, w, refusedSize
	}
}

func (r *request) decodeTraces(body []byte, limits settings.Values) (td ptrace.Traces, answered *answer) {
	export := ptraceotlp.NewExportRequest()
	if !r.unmarshal(export, body) {
		return td, r.refused(refusedDecode)
	}
	td = export.Traces()
	r.spans = td.SpanCount()
	if limit := limits[settings.OTLPMaxSpansPerRequest]; r.spans > limit {
		return td, r.refused(refusedSpans(limit))
	}
	if r.spans == 0 {
		nothing := fullSuccess(r.encoding)
		return td, &nothing
	}
	return td, nil
}

// countLogs answers log records, which are not stored. In protobuf the weight has counted them.
func (r *request) countLogs(body []byte, w weight) *answer {
	if r.encoding != protobufEncoding {
		export := plogotlp.NewExportRequest()
		if !r.unmarshal(export, body) {
			return r.refused(refusedDecode)
		}
		w.items = export.Logs().LogRecordCount()
	}
	told := logsAnswer(r.encoding, w.items)
	return &told
}

// countMetrics is the same for data points.
func (r *request) countMetrics(body []byte, w weight) *answer {
	if r.encoding != protobufEncoding {
		export := pmetricotlp.NewExportRequest()
		if !r.unmarshal(export, body) {
			return r.refused(refusedDecode)
		}
		w.items = export.Metrics().DataPointCount()
	}
	told := metricsAnswer(r.encoding, w.items)
	return &told
}

// exportRequest is the request message of any signal.
type exportRequest interface {
	UnmarshalProto([]byte) error
	UnmarshalJSON([]byte) error
}

// unmarshal reads a body into export. The decoder's error quotes the body, so it goes nowhere.
func (r *request) unmarshal(export exportRequest, body []byte) bool {
	if r.encoding == protobufEncoding {
		return export.UnmarshalProto(body) == nil
	}
	return export.UnmarshalJSON(body) == nil
}

func (r *request) refused(why *refusal) *answer {
	told := why.answer(r.encoding)
	return &told
}
