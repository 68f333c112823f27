package oauth

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Connection is a client that a human allowed one of their endpoints.
type Connection struct {
	ID                      uuid.UUID
	Client, Slug, AgentName string
	Since                   time.Time
	UsedAt                  *time.Time // when it last fetched a token
}

// Connections lists the clients that can act for a human, the newest first.
func (s *Server) Connections(ctx context.Context, human uuid.UUID) ([]Connection, error) {
	rows, err := s.Pool.Query(ctx, `
		WITH clock AS MATERIALIZED (SELECT sb_now() AS now)
		SELECT g.id, c.name, e.slug, a.name, g.created_at, g.used_at
		FROM clock, oauth_grants g JOIN oauth_clients c ON c.id = g.client_id
		JOIN endpoints e ON e.id = g.endpoint_id JOIN agents a ON a.id = e.agent_id
		WHERE g.human_id = $1 AND g.redeemed_at IS NOT NULL AND `+liveEndpoint+`
		ORDER BY g.created_at DESC, g.id LIMIT 200`, human)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Connection])
}

// Disconnect ends what a human allowed a client, and reports whether there was such a thing.
func (s *Server) Disconnect(ctx context.Context, human, grant uuid.UUID) (ended bool, err error) {
	tag, err := s.Pool.Exec(ctx, `DELETE FROM oauth_grants WHERE human_id = $1 AND id = $2`, human, grant)
	return tag.RowsAffected() > 0, err
}

// Unused clients go after this long: those that no human said yes to, and those whose last yes is this old.
const (
	unapprovedFor = 24 * time.Hour
	forgottenFor  = 365 * 24 * time.Hour
)

// Sweep deletes what has expired. A grant goes when nothing can come of it any more: no code to redeem, no token to
// use.
func (s *Server) Sweep(ctx context.Context) error {
	for _, statement := range []string{
		`DELETE FROM oauth_access_tokens WHERE expires_at <= sb_now()`,
		`DELETE FROM oauth_refresh_tokens WHERE expires_at <= sb_now()`,
		`DELETE FROM oauth_grants g USING endpoints e, (SELECT sb_now() AS now) clock
			WHERE e.id = g.endpoint_id AND (NOT (` + liveEndpoint + `) OR g.code_expires_at <= now AND
				NOT EXISTS (SELECT FROM oauth_refresh_tokens r WHERE r.grant_id = g.id AND r.used_at IS NULL))`,
	} {
		if _, err := s.Pool.Exec(ctx, statement); err != nil {
			return err
		}
	}
	_, err := s.Pool.Exec(ctx, `
		DELETE FROM oauth_clients c USING (SELECT sb_now() AS now) clock
		WHERE CASE WHEN c.approved_at IS NULL THEN c.created_at <= now - $1::interval ELSE c.approved_at <= now - $2::interval END
			AND NOT EXISTS (SELECT FROM oauth_grants g WHERE g.client_id = c.id)`, unapprovedFor, forgottenFor)
	return err
}
