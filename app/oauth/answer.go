package oauth

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/postgres"
)

// maxBody caps what a client may send, in bytes.
const maxBody = 16 << 10

// refusal is an error of RFC 6749 section 5.2 and of RFC 7591 section 3.2.2. Its description is fixed: nothing of the
// request is in it.
type refusal struct {
	status      int
	Code        string `json:"error"`
	Description string `json:"error_description"`
}

func (r *refusal) Error() string { return r.Code + ": " + r.Description }

func refused(code, description string) *refusal {
	return &refusal{http.StatusBadRequest, code, description}
}

// The refusals that several places give.
var (
	errClient   = &refusal{http.StatusUnauthorized, "invalid_client", "this client is not registered here; register again"}
	errGrant    = refused("invalid_grant", "this code or token is unknown, used, expired or revoked; ask the human again")
	errResource = refused("invalid_target", "resource must be the address of one endpoint of this server, and the one that was allowed")
	errForm     = refused("invalid_request", "the body must be a form of at most 16 KiB, with each parameter once")
)

func answer(w http.ResponseWriter, status int, v any) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// fail answers an error. Only a refusal says why.
func (s *Server) fail(w http.ResponseWriter, err error) {
	if r, ok := err.(*refusal); ok {
		answer(w, r.status, r)
		return
	}
	if postgres.Unavailable(err) {
		w.Header().Set("Retry-After", "1")
		answer(w, http.StatusServiceUnavailable, &refusal{Code: "temporarily_unavailable", Description: "the store cannot be reached; try again"})
		return
	}
	request := uuid.NewString()
	s.Log.Error("an oauth request failed", zap.String("request_id", request), postgres.Field(err))
	w.Header().Set("X-Request-Id", request)
	answer(w, http.StatusInternalServerError, &refusal{Code: "server_error", Description: "something went wrong on the server; its log has the request id"})
}

// limited slows down a client address, and bounds bodies.
func (s *Server) limited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ok, after := s.PreAuth.Allow(s.ClientAddress(r))
		if ok && r.URL.Path == registerPath {
			ok, after = s.Registrations.Allow(s.ClientAddress(r))
		}
		if !ok {
			w.Header().Set("Retry-After", strconv.Itoa(after))
			answer(w, http.StatusTooManyRequests, &refusal{Code: "temporarily_unavailable", Description: "too many requests; wait and try again"})
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		next.ServeHTTP(w, r)
	})
}
