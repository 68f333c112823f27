package identity

import (
	"context"

	"github.com/google/uuid"
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

// Standing returns the defaults of those among the endpoints that have not ended.
func (s *Store) Standing(ctx context.Context, endpoints []uuid.UUID) (map[uuid.UUID]Defaults, error) {
	rows, err := s.pool.Query(ctx, `
		WITH clock AS MATERIALIZED (SELECT sb_now() AS now)
		SELECT e.id, coalesce(e.default_lease_ttl_seconds, 0), coalesce(e.default_max_attempts, 0), e.require_fence
		FROM endpoints e, clock
		WHERE e.id = ANY($1) AND e.revoked_at IS NULL AND (e.expires_at IS NULL OR e.expires_at > clock.now)`, endpoints)
	if err != nil {
		return nil, err
	}
	standing := map[uuid.UUID]Defaults{}
	var id uuid.UUID
	var d Defaults
	_, err = pgx.ForEachRow(rows, []any{&id, &d.LeaseTTLSeconds, &d.MaxAttempts, &d.RequireFence}, func() error {
		standing[id] = d
		return nil
	})
	return standing, err
}
