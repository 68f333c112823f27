package switchboardreceiver

import "google.golang.org/protobuf/encoding/protowire"

// weight is what can be said of a request before it is decoded.
type weight struct {
	items int   // spans, log records or data points; of a JSON document spans alone
	bytes int64 // of memory that the decoded request takes, about
}

// weighProtobuf weighs a request of a signal. It is false for what is no message, or too deep to be decoded.
func weighProtobuf(message []byte, s signal) (weight, bool) {
	w := weight{bytes: 2 * int64(len(message))} // the body itself, and its texts once more
	return w, w.add(message, requestOf[s], 0)
}

// kind is a kind of message, as far as a request can hold many of it.
type kind uint8

const (
	noKind kind = iota
	tracesRequest
	resourceSpans
	scopeSpans
	span
	event
	link
	resource
	entity
	scope
	keyValue
	anyValue
	array
	list

	logsRequest
	resourceLogs
	scopeLogs
	logRecord
	metricsRequest
	resourceMetrics
	scopeMetrics
	metric
	points
	point
)

var requestOf = map[signal]kind{traces: tracesRequest, logs: logsRequest, metrics: metricsRequest}

// kinds says what one message takes in memory besides its texts (its struct, its slot in a slice that grows, what an
// interface refers to), and which of its fields are messages of a kind. Log records and data points are counted and
// never decoded, so nothing below them matters.
var kinds = [...]struct {
	item   bool
	bytes  int64
	fields [16]kind
}{
	tracesRequest: {fields: [16]kind{1: resourceSpans}},
	resourceSpans: {bytes: 160, fields: [16]kind{1: resource, 2: scopeSpans}},
	scopeSpans:    {bytes: 144, fields: [16]kind{1: scope, 2: span}},
	span:          {item: true, bytes: 256, fields: [16]kind{9: keyValue, 11: event, 13: link}},
	event:         {bytes: 80, fields: [16]kind{3: keyValue}},
	link:          {bytes: 112, fields: [16]kind{4: keyValue}},
	resource:      {fields: [16]kind{1: keyValue, 3: entity}},
	entity:        {bytes: 96},
	scope:         {fields: [16]kind{3: keyValue}},
	keyValue:      {bytes: 64, fields: [16]kind{2: anyValue}},
	anyValue:      {bytes: 32, fields: [16]kind{5: array, 6: list}},
	array:         {bytes: 24, fields: [16]kind{1: anyValue}},
	list:          {bytes: 24, fields: [16]kind{1: keyValue}},

	logsRequest:     {fields: [16]kind{1: resourceLogs}},
	resourceLogs:    {fields: [16]kind{2: scopeLogs}},
	scopeLogs:       {fields: [16]kind{2: logRecord}},
	logRecord:       {item: true},
	metricsRequest:  {fields: [16]kind{1: resourceMetrics}},
	resourceMetrics: {fields: [16]kind{2: scopeMetrics}},
	scopeMetrics:    {fields: [16]kind{2: metric}},
	metric:          {fields: [16]kind{5: points, 7: points, 9: points, 10: points, 11: points}},
	points:          {fields: [16]kind{1: point}},
	point:           {item: true},
}

// deprecatedScopes is a field of resourceSpans, resourceLogs and resourceMetrics that pdata still reads.
const deprecatedScopes = 1000

// of is the kind of the messages in a field, noKind for a field of another type.
func (k kind) of(field uint64) kind {
	switch {
	case field < uint64(len(kinds[k].fields)):
		return kinds[k].fields[field]
	case field == deprecatedScopes && (k == resourceSpans || k == resourceLogs || k == resourceMetrics):
		return kinds[k].fields[2]
	default:
		return noKind
	}
}

// maxMessageDepth is how deep messages may lie in one another: of maxValueDepth values each can be three, a list, its
// entry and the value of that. What is deeper the decoder refuses too.
const maxMessageDepth = 3*maxValueDepth + 10

// add weighs a message of a kind. It takes a tenth of the time that decoding takes (BenchmarkWeight).
func (w *weight) add(message []byte, k kind, depth int) bool {
	if depth > maxMessageDepth {
		return false
	}
	for len(message) > 0 {
		tag, n := varint(message)
		if n < 0 || tag>>3 == 0 || tag>>3 > uint64(protowire.MaxValidNumber) {
			return false
		}
		message = message[n:]
		if tag&7 != uint64(protowire.BytesType) {
			if n = protowire.ConsumeFieldValue(protowire.Number(tag>>3), protowire.Type(tag&7), message); n < 0 {
				return false
			}
			message = message[n:]
			continue
		}
		length, n := varint(message)
		if n < 0 || length > uint64(len(message)-n) {
			return false
		}
		inner := message[n : n+int(length)]
		message = message[n+int(length):]
		of := k.of(tag >> 3)
		if of == noKind {
			continue
		}
		if kinds[of].item {
			w.items++
		}
		w.bytes += kinds[of].bytes
		if of == anyValue && isText(inner) {
			continue
		}
		if !w.add(inner, of, depth+1) {
			return false
		}
	}
	return true
}

// isText reports whether a value is one short text, as most are: there is nothing to weigh in it.
func isText(value []byte) bool {
	const tag = 1<<3 | byte(protowire.BytesType)
	return len(value) >= 2 && value[0] == tag && value[1] < 0x80 && int(value[1]) == len(value)-2
}

// varint reads a number, which mostly has one byte. n is negative when there is none.
func varint(b []byte) (v uint64, n int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	return protowire.ConsumeVarint(b)
}
