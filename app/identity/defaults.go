package identity

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/secret"
)

// Change is a new value for something that may also be empty: not set leaves it, set to nil clears it.
type Change[T any] struct {
	Set   bool
	Value *T
}

// DefaultsEdit changes what an endpoint's claims and todos get when they say nothing themselves, and who may see its
// agent card. Queues and verbs are fixed when it is vended.
type DefaultsEdit struct {
	LeaseTTLSeconds Change[int] // 60 to 86400
	MaxAttempts     Change[int] // 1 to 1000
	RequireFence    *bool
	CardPublic      *bool
}

func checkLease(ttl *int) error {
	if ttl != nil && (*ttl < 60 || *ttl > 86400) {
		return fault.InvalidArgument("default_lease_ttl_seconds", "must be 60 to 86400")
	}
	return nil
}

func checkMaxAttempts(n *int) error {
	if n != nil && (*n < 1 || *n > 1000) {
		return fault.InvalidArgument("default_max_attempts", "must be 1 to 1000")
	}
	return nil
}

// EditDefaults changes the defaults of one of a human's endpoints.
func (s *Store) EditDefaults(ctx context.Context, human uuid.UUID, ref string, edit DefaultsEdit) (*Endpoint, error) {
	if err := errors.Join(checkLease(edit.LeaseTTLSeconds.Value), checkMaxAttempts(edit.MaxAttempts.Value)); err != nil {
		return nil, firstFault(err)
	}
	id, slug := splitRef(ref)
	return scanEndpoint(s.pool.QueryRow(ctx, `
		WITH e AS (
			UPDATE endpoints SET
				default_lease_ttl_seconds = CASE WHEN $4 THEN $5 ELSE default_lease_ttl_seconds END,
				default_max_attempts = CASE WHEN $6 THEN $7 ELSE default_max_attempts END,
				require_fence = coalesce($8, require_fence),
				a2a_card_public = coalesce($9, a2a_card_public)
			WHERE human_id = $1 AND (id = $2 OR slug = $3) RETURNING *
		)
		SELECT `+endpointColumns+` FROM e JOIN agents a ON a.id = e.agent_id`, human, id, slug,
		edit.LeaseTTLSeconds.Set, edit.LeaseTTLSeconds.Value, edit.MaxAttempts.Set, edit.MaxAttempts.Value, edit.RequireFence,
		edit.CardPublic))
}

// SetDefaultLease changes the lease of an endpoint's claims on its own behalf; nil returns to the server's.
func (s *Store) SetDefaultLease(ctx context.Context, endpoint uuid.UUID, ttl *int) (*Endpoint, error) {
	if err := checkLease(ttl); err != nil {
		return nil, err
	}
	return scanEndpoint(s.pool.QueryRow(ctx, `
		WITH e AS (
			UPDATE endpoints SET default_lease_ttl_seconds = $2 WHERE id = $1 AND revoked_at IS NULL RETURNING *
		)
		SELECT `+endpointColumns+` FROM e JOIN agents a ON a.id = e.agent_id`, endpoint, ttl))
}

func scanEndpoint(row pgx.Row) (*Endpoint, error) {
	var e Endpoint
	err := row.Scan(e.fields()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, fault.ErrEndpointNotFound
	}
	return &e, err
}

// firstFault takes the first refusal out of a joined error, so that a caller hears of one argument at a time.
func firstFault(err error) error {
	var f *fault.Error
	if errors.As(err, &f) {
		return f
	}
	return err
}

// maxOverlap is the longest an earlier credential may work beside its successor.
const maxOverlap = 30 * 24 * time.Hour

var errEndpointRevoked = fault.New(fault.Conflict, "this endpoint was revoked; vend another one")

// Rotate gives an endpoint a new credential, shown this once, and ends the earlier ones: at once, or after
// overlap. The work stays. A leaked credential is rotated, not revoked.
func (s *Store) Rotate(ctx context.Context, human uuid.UUID, ref string, overlap time.Duration) (*Vended, error) {
	if overlap < 0 || overlap > maxOverlap {
		return nil, fault.InvalidArgument("overlap_seconds", "must be 0 to 2592000")
	}
	v := Vended{Token: secret.New(secret.Credential)}
	id, slug := splitRef(ref)
	err := postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		// The lock orders this against another rotation and against a revocation.
		e, err := scanEndpoint(tx.QueryRow(ctx, `
			SELECT `+endpointColumns+` FROM endpoints e JOIN agents a ON a.id = e.agent_id
			WHERE e.human_id = $1 AND (e.id = $2 OR e.slug = $3) FOR NO KEY UPDATE OF e`, human, id, slug))
		if err != nil {
			return err
		}
		if e.RevokedAt != nil {
			return errEndpointRevoked
		}
		v.Endpoint = *e
		_, err = tx.Exec(ctx, `
			WITH clock AS MATERIALIZED (SELECT sb_now() AS now),
			ended AS (
				UPDATE credentials c SET expires_at = least(c.expires_at, clock.now + make_interval(secs => $3))
				FROM clock WHERE c.endpoint_id = $1
			)
			INSERT INTO credentials (token_hash, endpoint_id, created_at) SELECT $2, $1, now FROM clock`,
			e.ID, secret.Hash(v.Token), overlap.Seconds())
		return err
	})
	if err != nil {
		return nil, err
	}
	return &v, nil
}

// SweepExpired treats every expired endpoint as revoked, and deletes credentials that a rotation ended and personal
// tokens that expired. It returns how many endpoints it ended.
func (s *Store) SweepExpired(ctx context.Context) (int, error) {
	rows, err := s.pool.Query(ctx, `
		WITH clock AS MATERIALIZED (SELECT sb_now() AS now),
		ended AS (DELETE FROM credentials c USING clock WHERE c.expires_at < clock.now),
		lapsed AS (DELETE FROM access_tokens t USING clock WHERE t.expires_at < clock.now)
		SELECT e.id FROM endpoints e, clock WHERE e.expires_at <= clock.now AND e.revoked_at IS NULL`)
	if err != nil {
		return 0, err
	}
	expired, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return 0, err
	}
	for n, id := range expired {
		if _, err := s.revoke(ctx, `e.id = $1 AND e.expires_at <= clock.now`, id); err != nil && !errors.Is(err, fault.ErrEndpointNotFound) {
			return n, err
		}
	}
	return len(expired), nil
}
