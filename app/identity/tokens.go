package identity

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// AccessToken is what is kept of a personal token: never the token itself.
type AccessToken struct {
	Name       string
	CreatedAt  time.Time
	LastUsedAt *time.Time // to the minute
	ExpiresAt  *time.Time // nil: never
}

// AccessTokens lists a human's personal tokens, newest first.
func (s *Store) AccessTokens(ctx context.Context, human uuid.UUID) ([]AccessToken, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT name, created_at, last_used_at, expires_at FROM access_tokens
		WHERE human_id = $1 AND (expires_at IS NULL OR expires_at > sb_now()) ORDER BY created_at DESC, name`, human)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[AccessToken])
}

// RevokeAccessToken ends the personal token of that name, if there is one.
func (s *Store) RevokeAccessToken(ctx context.Context, human uuid.UUID, name string) error {
	_, err := s.pool.Exec(ctx, `DELETE FROM access_tokens WHERE human_id = $1 AND name = $2`, human, name)
	return err
}

// Session is a browser in which a human is signed in.
type Session struct {
	ID               string // the hash under which the session is kept: it names it and opens nothing
	Browser          string
	SignedIn, SeenAt *time.Time
}

// Sessions lists a human's sessions, the one that was seen last first.
func (s *Store) Sessions(ctx context.Context, human uuid.UUID) ([]Session, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT token_hash, coalesce(browser, ''), signed_in_at, seen_at FROM sessions
		WHERE human_id = $1 AND expires_at > sb_now() ORDER BY seen_at DESC NULLS LAST, token_hash LIMIT 100`, human)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Session])
}

// EndSession signs one of a human's browsers out, and reports whether it was signed in.
func (s *Store) EndSession(ctx context.Context, human uuid.UUID, id string) (ended bool, err error) {
	tag, err := s.pool.Exec(ctx, `DELETE FROM sessions WHERE human_id = $1 AND token_hash = $2`, human, id)
	return tag.RowsAffected() > 0, err
}
