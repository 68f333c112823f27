package identity

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Defaults are what a human may change of an endpoint that was vended. 0 means the server's own.
type Defaults struct {
	LeaseTTLSeconds, MaxAttempts int
	RequireFence                 bool
}

// Defaults returns the endpoint's.
func (e *Endpoint) Defaults() Defaults {
	d := Defaults{RequireFence: e.RequireFence}
	if e.DefaultLeaseTTLSeconds != nil {
		d.LeaseTTLSeconds = *e.DefaultLeaseTTLSeconds
	}
	if e.DefaultMaxAttempts != nil {
		d.MaxAttempts = *e.DefaultMaxAttempts
	}
	return d
}

// Standing returns, for each credential that still stands, the defaults of its endpoint. A credential is named by its
// hash (secret.Hash) and may be an endpoint's own or the access token of an OAuth client; it ends with a rotation, with
// its time, with its grant and with its endpoint, as in ResolveCredential.
func (s *Store) Standing(ctx context.Context, credentials [][]byte) (map[string]Defaults, error) {
	rows, err := s.pool.Query(ctx, `
		WITH clock AS MATERIALIZED (SELECT sb_now() AS now),
		presented AS (
			SELECT token_hash, endpoint_id, expires_at FROM credentials WHERE token_hash = ANY($1)
			UNION ALL
			SELECT t.token_hash, g.endpoint_id, t.expires_at
			FROM oauth_access_tokens t JOIN oauth_grants g ON g.id = t.grant_id WHERE t.token_hash = ANY($1)
		)
		SELECT p.token_hash, coalesce(e.default_lease_ttl_seconds, 0), coalesce(e.default_max_attempts, 0), e.require_fence
		FROM clock, presented p JOIN endpoints e ON e.id = p.endpoint_id
		WHERE (p.expires_at IS NULL OR p.expires_at > clock.now)
		  AND (e.expires_at IS NULL OR e.expires_at > clock.now)
		  AND e.revoked_at IS NULL`, credentials)
	if err != nil {
		return nil, err
	}
	standing := map[string]Defaults{}
	var hash []byte
	var d Defaults
	_, err = pgx.ForEachRow(rows, []any{&hash, &d.LeaseTTLSeconds, &d.MaxAttempts, &d.RequireFence}, func() error {
		standing[string(hash)] = d
		return nil
	})
	return standing, err
}
