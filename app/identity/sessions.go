package identity

import (
	"context"
	"errors"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/switchboard-otel/switchboard/app/text"
)

// Sessions keeps the Board's sessions. The session manager hashes tokens before it comes here
// (HashTokenInStore), so that the table alone signs nobody in.
type Sessions struct {
	pool  *pgxpool.Pool
	whose func(data []byte) (human *uuid.UUID, browser string)
}

var _ scs.CtxStore = Sessions{}

// SessionStore returns the store for the Board's session manager, whose HashTokenInStore must be on. whose reads
// from a session's data who is signed in, nil for nobody, and in which browser.
func (s *Store) SessionStore(whose func(data []byte) (human *uuid.UUID, browser string)) Sessions {
	return Sessions{s.pool, whose}
}

func (s Sessions) FindCtx(ctx context.Context, token string) (data []byte, found bool, err error) {
	err = s.pool.QueryRow(ctx,
		`SELECT data FROM sessions WHERE token_hash = $1 AND expires_at > sb_now()`, token).Scan(&data)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, false, nil
	}
	return data, err == nil, err
}

func (s Sessions) CommitCtx(ctx context.Context, token string, data []byte, expiry time.Time) error {
	human, browser := s.whose(data)
	cut, _ := text.Cut(text.Clean(browser), 256)
	_, err := s.pool.Exec(ctx, `
		WITH clock AS MATERIALIZED (SELECT sb_now() AS now)
		INSERT INTO sessions (token_hash, data, expires_at, human_id, browser, signed_in_at, seen_at)
		SELECT $1, $2, $3, $4, $5, CASE WHEN $4::uuid IS NOT NULL THEN now END, now FROM clock
		ON CONFLICT (token_hash) DO UPDATE SET data = EXCLUDED.data, expires_at = EXCLUDED.expires_at,
			human_id = EXCLUDED.human_id, browser = EXCLUDED.browser, seen_at = EXCLUDED.seen_at,
			signed_in_at = CASE WHEN sessions.human_id IS NOT DISTINCT FROM EXCLUDED.human_id THEN sessions.signed_in_at
				ELSE EXCLUDED.signed_in_at END`,
		token, data, expiry, human, cut)
	return err
}

// Renew says that a session was used and until when it lasts now. One that has ended meanwhile stays ended.
func (s Sessions) Renew(ctx context.Context, token string, expiry time.Time) error {
	_, err := s.pool.Exec(ctx, `UPDATE sessions SET expires_at = $2, seen_at = sb_now() WHERE token_hash = $1`, token, expiry)
	return err
}

// Replace changes what a session holds, as Commit does, but only of one that is there: one that has ended meanwhile
// stays ended.
func (s Sessions) Replace(ctx context.Context, token string, data []byte, expiry time.Time) error {
	human, browser := s.whose(data)
	cut, _ := text.Cut(text.Clean(browser), 256)
	_, err := s.pool.Exec(ctx, `
		UPDATE sessions SET data = $2, expires_at = $3, browser = $5, seen_at = sb_now(), human_id = $4,
			signed_in_at = CASE WHEN human_id IS NOT DISTINCT FROM $4 THEN signed_in_at WHEN $4::uuid IS NOT NULL THEN sb_now() END
		WHERE token_hash = $1`, token, data, expiry, human, cut)
	return err
}

func (s Sessions) DeleteCtx(ctx context.Context, token string) error {
	_, err := s.pool.Exec(ctx, `DELETE FROM sessions WHERE token_hash = $1`, token)
	return err
}

// The session manager's interface also names these; it calls the ones above when a store has them.

func (s Sessions) Find(token string) ([]byte, bool, error) {
	return s.FindCtx(context.Background(), token)
}

func (s Sessions) Commit(token string, data []byte, expiry time.Time) error {
	return s.CommitCtx(context.Background(), token, data, expiry)
}

func (s Sessions) Delete(token string) error { return s.DeleteCtx(context.Background(), token) }

// SweepSessions deletes sessions that have expired.
func (s *Store) SweepSessions(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, `DELETE FROM sessions WHERE expires_at < sb_now()`)
	return err
}
