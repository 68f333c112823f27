package oauth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/secret"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// tokens is the answer of RFC 6749 section 5.1.
type tokens struct {
	AccessToken  string `json:"access_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int    `json:"expires_in"` // seconds
	RefreshToken string `json:"refresh_token"`
	Scope        string `json:"scope"`
}

// token exchanges a code, or a refresh token, for tokens.
func (s *Server) token(w http.ResponseWriter, r *http.Request) {
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
	var issued *tokens
	switch form.Get("grant_type") {
	case "authorization_code":
		issued, err = s.redeem(r.Context(), client, form)
	case "refresh_token":
		issued, err = s.refresh(r.Context(), client, form)
	default:
		err = refused("unsupported_grant_type", "grant_type must be authorization_code or refresh_token")
	}
	if err != nil {
		s.fail(w, err)
		return
	}
	answer(w, http.StatusOK, issued)
}

// parameterForm reads a body in which every parameter stands once (RFC 6749 section 3.2).
func parameterForm(r *http.Request) (url.Values, error) {
	if err := r.ParseForm(); err != nil {
		return nil, errForm
	}
	for _, values := range r.PostForm {
		if len(values) > 1 {
			return nil, errForm
		}
	}
	return r.PostForm, nil
}

// caller is the client that says it calls. Public clients prove nothing here: the code's verifier and the token
// itself do. Some send their id as a user name without a password.
func (s *Server) caller(r *http.Request, form url.Values) (client uuid.UUID, err error) {
	spelled := form.Get("client_id")
	if user, _, ok := r.BasicAuth(); ok && spelled == "" {
		spelled = user
	}
	client, ok := typeid.Client.Parse(spelled)
	if !ok {
		return client, errClient
	}
	err = s.Pool.QueryRow(r.Context(), `SELECT EXISTS (SELECT FROM oauth_clients WHERE id = $1)`, client).Scan(&ok)
	if err == nil && !ok {
		err = errClient
	}
	return client, err
}

// granted is a grant as it is looked at under its lock, with the endpoint it is for.
type granted struct {
	id, client, endpoint uuid.UUID
	slug                 string
	spent, expired       bool // the code or the refresh token that was presented
	alive                bool // the endpoint
}

// redeem spends a code. A code that comes a second time was stolen, whoever comes: what was issued for it dies with
// the grant (RFC 9700 section 2.1.1).
func (s *Server) redeem(ctx context.Context, client uuid.UUID, form url.Values) (*tokens, error) {
	var out *tokens
	err := postgres.InTx(ctx, s.Pool, func(tx pgx.Tx) error {
		out = nil
		var g granted
		var redirect, challenge string
		err := tx.QueryRow(ctx, `
			WITH clock AS MATERIALIZED (SELECT sb_now() AS now)
			SELECT g.id, g.client_id, g.endpoint_id, e.slug, g.redeemed_at IS NOT NULL, g.code_expires_at <= now, `+liveEndpoint+`,
				g.redirect_uri, g.challenge
			FROM clock, oauth_grants g JOIN endpoints e ON e.id = g.endpoint_id
			WHERE g.code_hash = $1 FOR UPDATE OF g`, secret.Hash(form.Get("code"))).Scan(
			&g.id, &g.client, &g.endpoint, &g.slug, &g.spent, &g.expired, &g.alive, &redirect, &challenge)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return nil
		case err != nil:
			return err
		case g.spent:
			return endGrant(ctx, tx, g.id)
		case g.expired, !g.alive, g.client != client, !verified(challenge, form.Get("code_verifier")):
			return nil
		case form.Has("redirect_uri") && form.Get("redirect_uri") != redirect:
			return nil
		}
		if err := s.checkResource(form, &g); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE oauth_grants SET redeemed_at = sb_now() WHERE id = $1`, g.id); err != nil {
			return err
		}
		out, err = issue(ctx, tx, g.id)
		return err
	})
	return outcome(out, err)
}

// refresh exchanges a refresh token for the next pair. One that comes a second time means that two hold it, and nobody
// knows which is the thief: the grant ends for both.
func (s *Server) refresh(ctx context.Context, client uuid.UUID, form url.Values) (*tokens, error) {
	var out *tokens
	err := postgres.InTx(ctx, s.Pool, func(tx pgx.Tx) error {
		out = nil
		var g granted
		hash := secret.Hash(form.Get("refresh_token"))
		err := tx.QueryRow(ctx, `
			WITH clock AS MATERIALIZED (SELECT sb_now() AS now)
			SELECT g.id, g.client_id, g.endpoint_id, e.slug, r.used_at IS NOT NULL, r.expires_at <= now, `+liveEndpoint+`
			FROM clock, oauth_refresh_tokens r JOIN oauth_grants g ON g.id = r.grant_id JOIN endpoints e ON e.id = g.endpoint_id
			WHERE r.token_hash = $1 FOR UPDATE OF r`, hash).Scan(
			&g.id, &g.client, &g.endpoint, &g.slug, &g.spent, &g.expired, &g.alive)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return nil
		case err != nil:
			return err
		case g.spent:
			return endGrant(ctx, tx, g.id)
		case g.expired, !g.alive, g.client != client:
			return nil
		}
		if err := s.checkResource(form, &g); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE oauth_refresh_tokens SET used_at = sb_now() WHERE token_hash = $1`, hash); err != nil {
			return err
		}
		out, err = issue(ctx, tx, g.id)
		return err
	})
	return outcome(out, err)
}

// liveEndpoint is the condition that an endpoint still works.
const liveEndpoint = `e.revoked_at IS NULL AND (e.expires_at IS NULL OR e.expires_at > now)`

// outcome is what is known after the commit: no tokens and no error is a refusal that may have ended a grant.
func outcome(out *tokens, err error) (*tokens, error) {
	if err == nil && out == nil {
		return nil, errGrant
	}
	return out, err
}

// verified reports whether a verifier is the one that a challenge was made of (RFC 7636 section 4.6).
func verified(challenge, verifier string) bool {
	sum := sha256.Sum256([]byte(verifier))
	made := base64.RawURLEncoding.EncodeToString(sum[:])
	return subtle.ConstantTimeCompare([]byte(made), []byte(challenge)) == 1
}

// checkResource refuses a request that names another resource than the one that was allowed (RFC 8707 section 2.2).
func (s *Server) checkResource(form url.Values, g *granted) error {
	if !form.Has("resource") {
		return nil
	}
	ref, ok := s.endpointOf(form.Get("resource"))
	if !ok || ref != g.slug && ref != typeid.Endpoint.Format(g.endpoint) {
		return errResource
	}
	return nil
}

// issue makes a pair of tokens for a grant. Only their hashes are kept.
func issue(ctx context.Context, tx pgx.Tx, grant uuid.UUID) (*tokens, error) {
	t := &tokens{AccessToken: secret.New(secret.Access), TokenType: "Bearer", ExpiresIn: int(accessLifetime / time.Second),
		RefreshToken: secret.New(secret.Refresh), Scope: scope}
	_, err := tx.Exec(ctx, `
		WITH clock AS MATERIALIZED (SELECT sb_now() AS now),
		access AS (INSERT INTO oauth_access_tokens (token_hash, grant_id, expires_at) SELECT $2, $1, now + $4 FROM clock),
		refresh AS (INSERT INTO oauth_refresh_tokens (token_hash, grant_id, expires_at) SELECT $3, $1, now + $5 FROM clock)
		UPDATE oauth_grants SET used_at = now FROM clock WHERE id = $1`,
		grant, secret.Hash(t.AccessToken), secret.Hash(t.RefreshToken), accessLifetime, refreshLifetime)
	return t, err
}

func endGrant(ctx context.Context, tx pgx.Tx, grant uuid.UUID) error {
	_, err := tx.Exec(ctx, `DELETE FROM oauth_grants WHERE id = $1`, grant)
	return err
}
