package oauth

import (
	"net/http"

	"github.com/switchboard-otel/switchboard/app/secret"
)

// revoke ends a token (RFC 7009). A refresh token takes its whole grant along; an access token goes alone. The answer
// is the same for a token that never was, so that nobody learns which are.
func (s *Server) revoke(w http.ResponseWriter, r *http.Request) {
	form, err := parameterForm(r)
	if err != nil {
		s.fail(w, err)
		return
	}
	client, err := s.caller(r, form)
	if err != nil {
		s.fail(w, err)
		return
	}
	if form.Get("token") == "" {
		s.fail(w, refused("invalid_request", "token is missing"))
		return
	}
	_, err = s.Pool.Exec(r.Context(), `
		WITH granted AS (
			DELETE FROM oauth_grants g USING oauth_refresh_tokens r
			WHERE r.token_hash = $1 AND r.grant_id = g.id AND g.client_id = $2
		)
		DELETE FROM oauth_access_tokens t USING oauth_grants g
		WHERE t.token_hash = $1 AND t.grant_id = g.id AND g.client_id = $2`, secret.Hash(form.Get("token")), client)
	if err != nil {
		s.fail(w, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
}
