package switchboardreceiver

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/http"

	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/receiverhelper"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/ingest"
	"github.com/switchboard-otel/switchboard/app/ledger"
	"github.com/switchboard-otel/switchboard/app/postgres"
)

// handler answers every request below /otlp/, each exactly once.
type handler struct {
	owner  owner
	next   consumer.Traces
	report *receiverhelper.ObsReport
	memory *memory
	log    *zap.Logger
}

// request is one request on its way.
type request struct {
	*http.Request
	w        http.ResponseWriter
	address  string
	encoding encoding
	spans    int   // known once the body is decoded
	cause    error // why the answer is a failure of ours, for the log
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	enc, _ := encodingOf(r.Header)
	req := &request{Request: r, w: w, address: h.owner.ClientAddress(r), encoding: enc}
	h.finish(req, h.answer(req))
}

// refuse answers a request that must not be looked at.
func (h *handler) refuse(w http.ResponseWriter, r *http.Request, refused *refusal) {
	enc, _ := encodingOf(r.Header)
	h.finish(&request{Request: r, w: w, encoding: enc}, refused.answer(enc))
}

// finish writes the answer, counts it, and logs what REQ-24 allows: never a path, a header or an error's text, which
// can hold a credential or an attribute's value.
func (h *handler) finish(r *request, a answer) {
	id := rand.Text()
	h.owner.Telemetry().OTLP.Request(a.status)
	if entry := h.log.Check(logLevel(a.status), "otlp request"); entry != nil {
		fields := []zap.Field{
			zap.String("request_id", id),
			zap.Int("spans", r.spans),
			zap.Stringer("encoding", r.encoding),
			zap.Int("status", a.status),
		}
		if r.cause != nil {
			fields = append(fields, postgres.Field(r.cause))
		}
		entry.Write(fields...)
	}
	a.write(r.w, r.encoding, id)
}

// logLevel keeps quiet about what anybody can cause without a credential and about what a retry storm repeats.
func logLevel(status int) zapcore.Level {
	switch {
	case status == http.StatusServiceUnavailable:
		return zap.WarnLevel
	case status >= http.StatusInternalServerError:
		return zap.ErrorLevel
	case status == http.StatusOK, status == http.StatusUnauthorized, status == http.StatusNotFound, status == http.StatusTooManyRequests:
		return zap.DebugLevel
	default:
		return zap.InfoLevel
	}
}

func (h *handler) answer(r *request) answer {
	endpoint, signal, refused := h.admit(r)
	if refused != nil {
		return refused.answer(r.encoding)
	}
	limits := h.owner.Settings().Values(r.Context())
	body, refused := h.receive(r, endpoint.ID, limits)
	if refused != nil {
		return refused.answer(r.encoding)
	}
	spans, free, answered := h.decode(r, signal, body, limits)
	if answered != nil {
		return *answered
	}
	defer free()
	return h.store(r, endpoint, spans)
}

// admit decides everything that is decided before the body is touched, in the order of decisions.md 1, and returns
// whose request it is and what it exports.
func (h *handler) admit(r *request) (*identity.Endpoint, signal, *refusal) {
	if !h.owner.OTLPEnabled() {
		return nil, 0, refusedDisabled
	}
	preAuth, perEndpoint := h.owner.OTLPLimiters()
	if ok, retryAfter := preAuth.Allow(r.address); !ok {
		return nil, 0, refusedRate(retryAfter)
	}
	endpoint, refused := h.authenticate(r)
	if refused != nil {
		return nil, 0, refused
	}
	route := parseRoute(r.URL.EscapedPath())
	switch {
	case route.endpoint == "":
		return nil, 0, refusedPath
	case !endpoint.Matches(route.endpoint):
		return nil, 0, refusedEndpoint
	case !endpoint.Grants(identity.VerbHeartbeat):
		return nil, 0, refusedGrant
	case route.signal == unknownSignal:
		return nil, 0, refusedPath
	case r.Method != http.MethodPost:
		return nil, 0, refusedMethod
	}
	if ok, retryAfter := perEndpoint.Allow(endpoint.ID.String()); !ok {
		return nil, 0, refusedRate(retryAfter)
	}
	return endpoint, route.signal, nil
}

func (h *handler) authenticate(r *request) (*identity.Endpoint, *refusal) {
	token, ok := ingest.Bearer(r.Header.Values("Authorization"))
	if !ok {
		return nil, refusedCredential
	}
	endpoint, err := h.owner.ResolveCredential(r.Context(), token)
	switch {
	case err == nil:
		return endpoint, nil
	case errors.Is(err, identity.ErrUnauthenticated):
		return nil, refusedCredential
	case postgres.Unavailable(err):
		r.cause = err
		return nil, refusedUnavailable
	default:
		r.cause = err
		return nil, refusedInternal
	}
}

// store hands the spans to the pipeline and answers from the ledger: when the exporter has committed, whatever else
// failed, the ledger is the truth; an error without a commit is worth a retry unless it is permanent; neither means
// that the operator's own processors took every span out (decisions.md 3 and 13).
func (h *handler) store(r *request, endpoint *identity.Endpoint, td ptrace.Traces) answer {
	ctx, account := ledger.NewContext(r.identified(endpoint))
	ctx = h.report.StartTracesOp(ctx)
	err := h.next.ConsumeTraces(ctx, td)
	h.report.EndTracesOp(ctx, r.encoding.String(), r.spans, err)

	settled := account.Account()
	r.cause = err
	switch {
	case err == nil || settled.Committed:
	case consumererror.IsPermanent(err) && !settled.Unavailable:
		return refusedInternal.answer(r.encoding)
	default:
		return refusedUnavailable.answer(r.encoding)
	}
	result := outcomeOf(r.spans, settled)
	otlp := h.owner.Telemetry().OTLP
	otlp.Accepted(result.stored)
	otlp.Rejected(result.rejected)
	otlp.Filtered(result.filtered)
	return result.answer(r.encoding)
}

// identified returns the request's context with the endpoint in the place where stages look for it (decisions.md 15).
func (r *request) identified(endpoint *identity.Endpoint) context.Context {
	info := client.FromContext(r.Context())
	info.Auth = ingest.NewAuthData(endpoint.ID)
	info.Addr = &net.IPAddr{IP: net.ParseIP(r.address)}
	return client.NewContext(r.Context(), info)
}
