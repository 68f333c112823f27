package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/rungraph"
)

// refusal is the body of every answer that is not a success.
type refusal struct {
	Error string `json:"error"`
	Code  string `json:"code"`
}

// statusOf is queue.md section 3's table.
var statusOf = map[fault.Code]int{
	fault.Invalid:     http.StatusBadRequest,
	fault.Forbidden:   http.StatusForbidden,
	fault.NotFound:    http.StatusNotFound,
	fault.Conflict:    http.StatusConflict,
	fault.RateLimited: http.StatusTooManyRequests,
	fault.Unavailable: http.StatusServiceUnavailable,
	fault.Internal:    http.StatusInternalServerError,
}

// authenticate finds the human who presents the request's token.
func (s *server) authenticate(r *http.Request) (*identity.Human, error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return nil, identity.ErrUnauthenticated
	}
	return s.Identity.ResolveAccessToken(r.Context(), strings.TrimSpace(token))
}

// refuse answers an error in the one vocabulary. What went wrong inside stays in the log, under an id that
// the caller gets too.
func (s *server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, identity.ErrUnauthenticated) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		writeJSON(w, http.StatusUnauthorized, refusal{"a personal access token is needed: Authorization: Bearer sbp_...", "unauthenticated"})
		return
	}
	if errors.Is(err, errTooLarge) {
		writeJSON(w, http.StatusRequestEntityTooLarge, refusal{"the body is larger than 1 MiB", string(fault.Invalid)})
		return
	}
	if errors.Is(err, errDocumentTooLarge) {
		writeJSON(w, http.StatusRequestEntityTooLarge, refusal{rungraph.ErrTooLarge.Message, string(fault.Invalid)})
		return
	}
	f := fault.From(err, postgres.Fault)
	if f.Code == fault.Unavailable {
		w.Header().Set("Retry-After", "1")
	}
	if f == fault.ErrInternal || f == fault.ErrUnavailable {
		id := uuid.NewString()
		w.Header().Set("X-Request-Id", id)
		s.Log.Error("a request of the human API failed", postgres.Field(err),
			zap.String("request_id", id), zap.String("method", r.Method), zap.String("route", r.Pattern))
	}
	writeJSON(w, statusOf[f.Code], refusal{f.Message, string(f.Code)})
}

// verbatim is JSON text that is sent as it is: a document keeps its bytes, so that its hash stays true.
type verbatim []byte

// writeJSON sends a document whole or not at all: an answer that cannot be written must not look like a success.
func writeJSON(w http.ResponseWriter, status int, body any) {
	if doc, isText := body.(verbatim); isText {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write(doc)
		return
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(body) != nil {
		status = http.StatusInternalServerError
		text.Reset()
		text.WriteString(`{"error":"the answer cannot be written as JSON","code":"internal"}` + "\n")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = text.WriteTo(w)
}
