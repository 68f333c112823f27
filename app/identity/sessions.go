package identity

import (
	"context"
	"errors"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// sessionStore keeps the Board's sessions. The session manager hashes tokens before it comes here
// (HashTokenInStore), so that the table alone signs nobody in.
type sessionStore struct{ pool *pgxpool.Pool }

var _ scs.CtxStore = sessionStore{}

// SessionStore returns the store for the Board's session manager, whose HashTokenInStore must be on.
func (s *Store) SessionStore() scs.CtxStore { return sessionStore{s.pool} }

func (s sessionStore) FindCtx(ctx context.Context, token string) (data []byte, found bool, err error) {
	err = s.pool.QueryRow(ctx,
		`SELECT data FROM sessions WHERE token_hash = $1 AND expires_at > sb_now()`, token).Scan(&data)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, false, nil
	}
	return data, err == nil, err
}

func (s sessionStore) CommitCtx(ctx context.Context, token string, data []byte, expiry time.Time) error {
	_, err := s.pool.Exec(ctx, `
		INSERT INTO sessions (token_hash, data, expires_at) VALUES ($1, $2, $3)
		ON CONFLICT (token_hash) DO UPDATE SET data = EXCLUDED.data, expires_at = EXCLUDED.expires_at`,
		token, data, expiry)
	return err
}

func (s sessionStore) DeleteCtx(ctx context.Context, token string) error {
	_, err := s.pool.Exec(ctx, `DELETE FROM sessions WHERE token_hash = $1`, token)
	return err
}

// The session manager's interface also names these; it calls the ones above when a store has them.

func (s sessionStore) Find(token string) ([]byte, bool, error) {
	return s.FindCtx(context.Background(), token)
}

func (s sessionStore) Commit(token string, data []byte, expiry time.Time) error {
	return s.CommitCtx(context.Background(), token, data, expiry)
}

func (s sessionStore) Delete(token string) error { return s.DeleteCtx(context.Background(), token) }

// SweepSessions deletes sessions that have expired.
func (s *Store) SweepSessions(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, `DELETE FROM sessions WHERE expires_at < sb_now()`)
	return err
}
