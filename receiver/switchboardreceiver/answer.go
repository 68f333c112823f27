package switchboardreceiver

import (
	"net/http"
	"strconv"

	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/switchboard-otel/switchboard/app/ledger"
)

const (
	messageFiltered   = "some spans were filtered by this server's configuration"
	messageTracesOnly = "only traces are stored here"
)

// answer is what a request gets.
type answer struct {
	status int
	body   []byte
	header map[string]string
}

func (r *refusal) answer(enc encoding) answer {
	return answer{status: r.status, body: r.body(enc), header: r.header}
}

func (a answer) write(w http.ResponseWriter, enc encoding, requestID string) {
	h := w.Header()
	for name, value := range a.header {
		h.Set(name, value)
	}
	h.Set("Content-Type", enc.mediaType())
	h.Set("Content-Length", strconv.Itoa(len(a.body)))
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Request-Id", requestID)
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // the caller has gone; there is nobody to tell
}

// exportResponse is the response message of any signal.
type exportResponse interface {
	MarshalProto() ([]byte, error)
	MarshalJSON() ([]byte, error)
}

func success(enc encoding, response exportResponse) answer {
	if enc == protobufEncoding {
		return answer{status: http.StatusOK, body: must(response.MarshalProto())}
	}
	return answer{status: http.StatusOK, body: must(response.MarshalJSON())}
}

// fullSuccess is an empty response. pdata's own would hold an empty partial_success, which the protocol wants unset
// and some exporters report as a failure.
func fullSuccess(enc encoding) answer {
	if enc == protobufEncoding {
		return answer{status: http.StatusOK}
	}
	return answer{status: http.StatusOK, body: []byte("{}")}
}

// outcome is what became of the spans of one request.
type outcome struct {
	stored   int
	rejected map[ledger.Reason]int
	filtered int // removed by the operator's configuration; not a rejection (decisions.md 13)
}

// outcomeOf settles the account of a request of total spans. Those that nobody accounts for were removed by a
// processor of the operator's.
func outcomeOf(total int, account ledger.Account) outcome {
	return outcome{
		stored:   account.Stored,
		rejected: account.Rejected,
		filtered: max(account.Filtered, total-account.Stored-account.RejectedTotal()-account.Twins),
	}
}

// answer is the ExportTraceServiceResponse, with a partial success when not every span was stored.
func (o outcome) answer(enc encoding) answer {
	rejected, message := 0, ""
	for _, reason := range ledger.Reasons {
		n := o.rejected[reason]
		switch {
		case n == 0:
		case message == "":
			message = "rejected spans: " + string(reason)
		default:
			message += ", " + string(reason)
		}
		rejected += n
	}
	if message == "" && o.filtered > 0 {
		message = messageFiltered
	}
	if message == "" {
		return fullSuccess(enc)
	}
	response := ptraceotlp.NewExportResponse()
	response.PartialSuccess().SetRejectedSpans(int64(rejected))
	response.PartialSuccess().SetErrorMessage(message)
	return success(enc, response)
}

// logsAnswer tells an exporter of log records that none was stored. Agents send all signals to one base, and a refusal
// would be noise in somebody's terminal for as long as they run (decisions.md 4).
func logsAnswer(enc encoding, records int) answer {
	if records == 0 {
		return fullSuccess(enc)
	}
	response := plogotlp.NewExportResponse()
	response.PartialSuccess().SetRejectedLogRecords(int64(records))
	response.PartialSuccess().SetErrorMessage(messageTracesOnly)
	return success(enc, response)
}

// metricsAnswer is the same for data points.
func metricsAnswer(enc encoding, points int) answer {
	if points == 0 {
		return fullSuccess(enc)
	}
	response := pmetricotlp.NewExportResponse()
	response.PartialSuccess().SetRejectedDataPoints(int64(points))
	response.PartialSuccess().SetErrorMessage(messageTracesOnly)
	return success(enc, response)
}
