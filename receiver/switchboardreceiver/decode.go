package switchboardreceiver

import (
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"

	"github.com/switchboard-otel/switchboard/app/settings"
)

// read returns the body, unpacked and fit to be decoded, with its weight. It refuses what is too large: on the wire,
// unpacked, or once it is decoded.
func (r *request) read(s signal, limits settings.Values) (body []byte, w weight, refused *refusal) {
	if _, ok := encodingOf(r.Header); !ok {
		return nil, w, refusedType
	}
	compressed, ok := gzipped(r.Header)
	if !ok {
		return nil, w, refusedCoding
	}
	limit := int64(limits[settings.OTLPMaxRequestBytes])
	body, refused = readBody(r.w, r.Request, compressed, limit)
	if refused != nil {
		return nil, w, refused
	}
	if r.encoding == protobufEncoding {
		w, ok = weighProtobuf(body, s)
	} else {
		body, w, ok = prepareJSON(body)
	}
	switch most := limits[settings.OTLPMaxSpansPerRequest]; {
	case !ok:
		return nil, w, refusedDecode
	case w.bytes <= decodedPerByte*limit:
		return body, w, nil
	case s == traces && w.items > most:
		return nil, w, refusedSpans(most)
	default:
		return nil, w, refusedSize
	}
}

// exportRequest is the request message of any signal.
type exportRequest interface {
	UnmarshalProto([]byte) error
	UnmarshalJSON([]byte) error
}

// decode reads a body into export. The decoder's error quotes the body, so it goes nowhere.
func (r *request) decode(export exportRequest, body []byte) bool {
	if r.encoding == protobufEncoding {
		return export.UnmarshalProto(body) == nil
	}
	return export.UnmarshalJSON(body) == nil
}

// countLogs answers log records, which are not stored. In protobuf the weight has counted them.
func (r *request) countLogs(body []byte, w weight) answer {
	if r.encoding == protobufEncoding {
		return logsAnswer(r.encoding, w.items)
	}
	export := plogotlp.NewExportRequest()
	if !r.decode(export, body) {
		return refusedDecode.answer(r.encoding)
	}
	return logsAnswer(r.encoding, export.Logs().LogRecordCount())
}

// countMetrics is the same for data points.
func (r *request) countMetrics(body []byte, w weight) answer {
	if r.encoding == protobufEncoding {
		return metricsAnswer(r.encoding, w.items)
	}
	export := pmetricotlp.NewExportRequest()
	if !r.decode(export, body) {
		return refusedDecode.answer(r.encoding)
	}
	return metricsAnswer(r.encoding, export.Metrics().DataPointCount())
}
