package identity

import (
	"context"
	"errors"

	"github.com/switchboard-otel/switchboard/app/fault"
)

// PublicCard finds an endpoint by slug or ep_ id whose owner shows its agent card to everybody. Every other endpoint,
// one that has ended included, is ErrUnauthenticated, as one that never was.
func (s *Store) PublicCard(ctx context.Context, ref string) (*Endpoint, error) {
	id, slug := splitRef(ref)
	e, err := scanEndpoint(s.pool.QueryRow(ctx, `
		WITH clock AS MATERIALIZED (SELECT sb_now() AS now)
		SELECT `+endpointColumns+` FROM clock, endpoints e JOIN agents a ON a.id = e.agent_id
		WHERE (e.id = $1 OR e.slug = $2) AND e.a2a_card_public AND e.revoked_at IS NULL
		  AND (e.expires_at IS NULL OR e.expires_at > clock.now)`, id, slug))
	if errors.Is(err, fault.ErrEndpointNotFound) {
		return nil, ErrUnauthenticated
	}
	return e, err
}
