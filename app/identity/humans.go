package identity

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/secret"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// loginLinkMinutes is how long a one-time sign-in link can be used.
const loginLinkMinutes = 10

const humanColumns = `h.id, h.issuer, h.subject, h.name`

func (h *Human) fields() []any { return []any{&h.ID, &h.Issuer, &h.Subject, &h.Name} }

func scanHuman(row pgx.Row) (*Human, error) {
	var h Human
	err := row.Scan(h.fields()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, ErrUnauthenticated
	}
	return &h, err
}

// LocalOwner is the one human of local sign-in, made when a data folder is new.
func (s *Store) LocalOwner(ctx context.Context) (*Human, error) {
	return scanHuman(s.pool.QueryRow(ctx, `
		INSERT INTO humans AS h (id, issuer, subject, name, created_at)
		VALUES ($1, 'local', 'owner', 'Local owner', sb_now())
		ON CONFLICT (issuer, subject) DO UPDATE SET name = h.name
		RETURNING `+humanColumns, typeid.New()))
}

// Human finds a human by id.
func (s *Store) Human(ctx context.Context, id uuid.UUID) (*Human, error) {
	return scanHuman(s.pool.QueryRow(ctx, `SELECT `+humanColumns+` FROM humans h WHERE h.id = $1`, id))
}

// NewLoginLink makes the token of a one-time sign-in link that lasts ten minutes.
func (s *Store) NewLoginLink(ctx context.Context, human uuid.UUID) (token string, err error) {
	token = secret.New(secret.LoginLink)
	_, err = s.pool.Exec(ctx, `
		WITH clock AS MATERIALIZED (SELECT sb_now() AS now),
		swept AS (DELETE FROM login_links USING clock WHERE human_id = $2 AND expires_at < clock.now)
		INSERT INTO login_links (token_hash, human_id, created_at, expires_at)
		SELECT $1, $2, now, now + make_interval(mins => $3) FROM clock`,
		secret.Hash(token), human, loginLinkMinutes)
	return token, err
}

// LoginLinkValid looks whether a link could be spent. It never spends it: mail scanners and previews fetch links.
func (s *Store) LoginLinkValid(ctx context.Context, token string) (valid bool, err error) {
	err = s.pool.QueryRow(ctx,
		`SELECT EXISTS (SELECT FROM login_links WHERE token_hash = $1 AND expires_at > sb_now())`,
		secret.Hash(token)).Scan(&valid)
	return valid, err
}

// SpendLoginLink signs a human in, once per link.
func (s *Store) SpendLoginLink(ctx context.Context, token string) (*Human, error) {
	return scanHuman(s.pool.QueryRow(ctx, `
		WITH spent AS (
			DELETE FROM login_links WHERE token_hash = $1 AND expires_at > sb_now() RETURNING human_id
		)
		SELECT `+humanColumns+` FROM humans h JOIN spent ON spent.human_id = h.id`, secret.Hash(token)))
}

// NewAccessToken makes a personal token for the API and the command line, which lasts until it is revoked. An earlier
// token of the same name stops working, so that a token which is renewed at every start does not pile up.
func (s *Store) NewAccessToken(ctx context.Context, human uuid.UUID, name string) (token string, err error) {
	return s.addAccessToken(ctx, human, name, nil)
}

// maxTokenDays is the longest time after which a token that expires does.
const maxTokenDays = 3650

// NewExpiringAccessToken is NewAccessToken for a token that stops working after a number of days, 1 to 3650.
func (s *Store) NewExpiringAccessToken(ctx context.Context, human uuid.UUID, name string, days int) (token string, err error) {
	if days < 1 || days > maxTokenDays {
		return "", fault.InvalidArgument("days", "must be 1 to 3650")
	}
	return s.addAccessToken(ctx, human, name, &days)
}

func (s *Store) addAccessToken(ctx context.Context, human uuid.UUID, name string, days *int) (token string, err error) {
	if !printable(name, 128) {
		return "", fault.InvalidArgument("name", "must be 1 to 128 bytes of printable text")
	}
	token = secret.New(secret.Personal)
	_, err = s.pool.Exec(ctx, `
		WITH clock AS MATERIALIZED (SELECT sb_now() AS now),
		renewed AS (DELETE FROM access_tokens WHERE human_id = $2 AND name = $3)
		INSERT INTO access_tokens (token_hash, human_id, name, created_at, expires_at)
		SELECT $1, $2, $3, now, now + make_interval(days => $4) FROM clock`,
		secret.Hash(token), human, name, days)
	return token, err
}

// ResolveAccessToken finds the human who presents token, and keeps to the minute when it was used last.
func (s *Store) ResolveAccessToken(ctx context.Context, token string) (*Human, error) {
	return scanHuman(s.pool.QueryRow(ctx, `
		WITH clock AS MATERIALIZED (SELECT sb_now() AS now),
		used AS (
			UPDATE access_tokens t SET last_used_at = clock.now FROM clock
			WHERE t.token_hash = $1 AND (t.last_used_at IS NULL OR t.last_used_at < clock.now - make_interval(mins => 1))
		)
		SELECT `+humanColumns+` FROM clock, humans h JOIN access_tokens t ON t.human_id = h.id
		WHERE t.token_hash = $1 AND (t.expires_at IS NULL OR t.expires_at > clock.now)`, secret.Hash(token)))
}
