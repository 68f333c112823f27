package intake

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/ratelimit"
	"github.com/switchboard-otel/switchboard/app/settings"
	"github.com/switchboard-otel/switchboard/app/webhook"
)

// tokenLength is that of an address's token; what is longer or shorter is unknown without a look.
const tokenLength = 22

// Handler serves the addresses of webhooks.
type Handler struct {
	Intake        *Store
	Settings      *settings.Reader
	PreAuth       *ratelimit.Limiter         // per client address
	PerWebhook    *ratelimit.Limiter         // per webhook
	ClientAddress func(*http.Request) string // what PreAuth counts by, and what an event keeps
	Log           *zap.Logger                // never sees an address: its token is a secret

	bodies bodies
}

// answer is what a delivery that is not stored gets. Its sentences are fixed.
type answer struct {
	status  int
	message string
	code    fault.Code
}

var (
	answerUnknown   = answer{http.StatusNotFound, "no such webhook", fault.NotFound}
	answerMethod    = answer{http.StatusMethodNotAllowed, "deliveries are sent with POST", fault.Invalid}
	answerTooMany   = answer{http.StatusTooManyRequests, "too many deliveries; wait and send it again", fault.RateLimited}
	answerTooLarge  = answer{http.StatusRequestEntityTooLarge, "the body is larger than this server takes", fault.Invalid}
	answerBroken    = answer{http.StatusBadRequest, "the body ended early", fault.Invalid}
	answerBusy      = answer{http.StatusServiceUnavailable, "nothing could take the delivery now; send it again", fault.Unavailable}
	answerStore     = answer{http.StatusServiceUnavailable, "the store cannot take the delivery now; send it again", fault.Unavailable}
	answerInternal  = answer{http.StatusInternalServerError, "something went wrong on the server; its log has the request id", fault.Internal}
	answerUnsigned  = answer{http.StatusUnauthorized, "the delivery carries no signature", "unauthenticated"}
	answerMalformed = answer{http.StatusUnauthorized, "the delivery's signature is not of its form", "unauthenticated"}
	answerForged    = answer{http.StatusUnauthorized, "the delivery's signature does not match", "unauthenticated"}
	answerStale     = answer{http.StatusUnauthorized, "the delivery was signed too long ago, or ahead of time", "unauthenticated"}
)

// ServeHTTP takes a delivery: who may deliver and how much is decided before the body is read, and whether it is
// genuine before anything in it is looked at. 202 means stored; the same again gets the same todo.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	client := h.ClientAddress(r)
	if ok, after := h.PreAuth.Allow(client); !ok {
		tooMany(w, after)
		return
	}
	t, err := h.resolve(r)
	switch {
	case errors.Is(err, ErrWebhookNotFound):
		refuse(w, answerUnknown)
		return
	case err != nil:
		h.fail(w, r, err)
		return
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		refuse(w, answerMethod)
		return
	}
	if ok, after := h.PerWebhook.Allow(t.ID.String()); !ok {
		h.Intake.metrics.Delivery(t.Source, webhook.RateLimited)
		tooMany(w, after)
		return
	}
	limit := int64(h.Settings.Values(r.Context())[settings.WebhookMaxBodyBytes])
	size := limit
	if r.ContentLength >= 0 {
		size = min(r.ContentLength, limit)
	}
	if !h.bodies.hold(t.ID.UUID(), size, limit) {
		w.Header().Set("Retry-After", "1")
		refuse(w, answerBusy)
		return
	}
	defer h.bodies.release(t.ID.UUID(), size)
	body, refused := h.read(w, r, limit, t.Source)
	if refused != nil {
		refuse(w, *refused)
		return
	}
	h.deliver(w, r, t, Delivery{Header: r.Header, Body: body, SourceIP: client})
}

// resolve reads the token out of the path. A slash behind it is none of it.
func (h *Handler) resolve(r *http.Request) (*Target, error) {
	token := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, AddressPrefix), "/")
	if len(token) != tokenLength {
		return nil, ErrWebhookNotFound
	}
	return h.Intake.Resolve(r.Context(), token)
}

// read reads a body within the cap. Content-Length is believed only when it is too large.
func (h *Handler) read(w http.ResponseWriter, r *http.Request, limit int64, source webhook.Source) ([]byte, *answer) {
	var body bytes.Buffer
	err := error(&http.MaxBytesError{Limit: limit})
	if r.ContentLength <= limit {
		if r.ContentLength > 0 {
			body.Grow(int(r.ContentLength) + bytes.MinRead)
		}
		_, err = body.ReadFrom(http.MaxBytesReader(w, r.Body, limit))
	}
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		h.Intake.metrics.Delivery(source, webhook.TooLarge)
		return nil, &answerTooLarge
	case err != nil:
		h.Intake.metrics.Delivery(source, webhook.Malformed)
		return nil, &answerBroken
	}
	return body.Bytes(), nil
}

func (h *Handler) deliver(w http.ResponseWriter, r *http.Request, t *Target, d Delivery) {
	receipt, err := h.Intake.Deliver(r.Context(), t, d)
	var refused *Refused
	switch {
	case errors.As(err, &refused):
		refuse(w, refusedAs(refused.Verdict))
	case errors.Is(err, ErrWebhookNotFound):
		refuse(w, answerUnknown)
	case err != nil:
		h.fail(w, r, err)
	case receipt.Challenge != nil:
		write(w, http.StatusOK, map[string]string{"challenge": *receipt.Challenge})
	default:
		write(w, http.StatusAccepted, receipt)
	}
}

func refusedAs(v webhook.Verdict) answer {
	switch v {
	case webhook.MissingSignature:
		return answerUnsigned
	case webhook.Stale:
		return answerStale
	case webhook.Malformed:
		return answerMalformed
	default:
		return answerForged
	}
}

// fail answers what is no fault of the producer. 503 asks it to send again: nothing is stored, or all of it is and
// the repeat finds that.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // nobody waits for an answer any more
	}
	request := uuid.NewString()
	w.Header().Set("X-Request-Id", request)
	h.Log.Error("a delivery could not be stored", postgres.Field(err), zap.String("request_id", request))
	if postgres.Unavailable(err) {
		w.Header().Set("Retry-After", "1")
		refuse(w, answerStore)
		return
	}
	if errors.Is(err, errSealed) {
		h.Log.Error(errSealed.Error(), zap.String("request_id", request))
		w.Header().Set("Retry-After", "5")
		refuse(w, answerBusy)
		return
	}
	refuse(w, answerInternal)
}

func tooMany(w http.ResponseWriter, after int) {
	w.Header().Set("Retry-After", strconv.Itoa(after))
	refuse(w, answerTooMany)
}

func refuse(w http.ResponseWriter, a answer) {
	write(w, a.status, struct {
		Error string `json:"error"`
		Code  string `json:"code"`
	}{a.message, string(a.code)})
}

func write(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be written as JSON","code":"internal"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.Copy(w, bytes.NewReader(append(text, '\n')))
}
