package switchboardreceiver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
)

// refusal is an answer of 4xx or 5xx: a google.rpc.Status whose message is a fixed sentence, in which nothing of the
// body, the store or the credential can appear (REQ-8, REQ-24; decisions.md 2).
type refusal struct {
	status  int
	code    code.Code
	message string
	header  map[string]string
}

// What can be wrong with a request, in the order in which it is looked at (decisions.md 1).
var (
	refusedStopping   = unavailable("this server is stopping; send the spans again")
	refusedDisabled   = &refusal{status: http.StatusNotFound, code: code.Code_NOT_FOUND, message: "otlp is switched off on this server"}
	refusedCredential = &refusal{
		status: http.StatusUnauthorized, code: code.Code_UNAUTHENTICATED,
		message: "a valid endpoint credential is required as a bearer in the Authorization header",
		header:  map[string]string{"WWW-Authenticate": "Bearer"},
	}
	refusedEndpoint = &refusal{status: http.StatusForbidden, code: code.Code_PERMISSION_DENIED, message: "this credential is not for the endpoint in the path"}
	refusedGrant    = &refusal{status: http.StatusForbidden, code: code.Code_PERMISSION_DENIED, message: "this endpoint is not granted the verb heartbeat, which otlp needs"}
	refusedPath     = &refusal{status: http.StatusNotFound, code: code.Code_NOT_FOUND, message: "nothing is served at this path; send traces to /otlp/{endpoint}/v1/traces"}
	refusedMethod   = &refusal{
		status: http.StatusMethodNotAllowed, code: code.Code_UNIMPLEMENTED,
		message: "only POST is served here",
		header:  map[string]string{"Allow": http.MethodPost},
	}
	refusedType = &refusal{
		status: http.StatusUnsupportedMediaType, code: code.Code_INVALID_ARGUMENT,
		message: "the content type must be " + protobufMediaType + " or " + jsonMediaType,
	}
	refusedCoding = &refusal{
		status: http.StatusUnsupportedMediaType, code: code.Code_INVALID_ARGUMENT,
		message: "the content encoding must be gzip, once, or absent",
		header:  map[string]string{"Accept-Encoding": "gzip"},
	}
	refusedSize   = &refusal{status: http.StatusRequestEntityTooLarge, code: code.Code_INVALID_ARGUMENT, message: "the request is too large; set a smaller batch size in the exporter"}
	refusedDecode = &refusal{status: http.StatusBadRequest, code: code.Code_INVALID_ARGUMENT, message: "otlp-decode-failed"}

	refusedUnavailable = unavailable("the spans cannot be stored at this moment; send them again")
	refusedInternal    = &refusal{status: http.StatusInternalServerError, code: code.Code_INTERNAL, message: "something went wrong on the server; its log has the request id"}
)

// soon is the Retry-After of a condition that may be over at any moment, in seconds.
const soon = 1

func unavailable(message string) *refusal {
	return &refusal{
		status: http.StatusServiceUnavailable, code: code.Code_UNAVAILABLE,
		message: message,
		header:  map[string]string{"Retry-After": strconv.Itoa(soon)},
	}
}

func refusedRate(retryAfter int) *refusal {
	return &refusal{
		status: http.StatusTooManyRequests, code: code.Code_RESOURCE_EXHAUSTED,
		message: "too many requests; wait and send larger batches",
		header:  map[string]string{"Retry-After": strconv.Itoa(retryAfter)},
	}
}

func refusedSpans(limit int) *refusal {
	return &refusal{
		status: http.StatusBadRequest, code: code.Code_INVALID_ARGUMENT,
		message: fmt.Sprintf("a request may hold %d spans; set OTEL_BSP_MAX_EXPORT_BATCH_SIZE, or a collector's send_batch_max_size, to that or less", limit),
	}
}

// body is the google.rpc.Status in the encoding of the request.
func (r *refusal) body(enc encoding) []byte {
	if enc == protobufEncoding {
		return must(proto.Marshal(&status.Status{Code: int32(r.code), Message: r.message}))
	}
	return must(json.Marshal(struct {
		Code    int32  `json:"code"`
		Message string `json:"message"`
	}{int32(r.code), r.message}))
}

// must is for encoding our own numbers and fixed sentences, which cannot fail.
func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}
