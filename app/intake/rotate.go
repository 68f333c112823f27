package intake

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/secret"
	"github.com/switchboard-otel/switchboard/app/webhook"
)

// DefaultOverlap is how long what a rotation replaces still counts when nothing else is said: producers are
// changed by hand, and most never send again what was refused. maxOverlap is the longest.
const (
	DefaultOverlap = 24 * time.Hour
	maxOverlap     = 30 * 24 * time.Hour
)

// RotateParams say what is renewed.
type RotateParams struct {
	Address bool           // the address instead of the signing secret; always so for a webhook without one
	Secret  *string        // the producer's own new signing secret; absent: one is minted
	Overlap *time.Duration // absent: DefaultOverlap; 0 ends the old at once, as after a leak
}

// Rotate renews a webhook's signing secret, or its address, and shows the new one this once. The one before
// counts until the overlap has passed; what an earlier rotation left ends now.
func (s *Store) Rotate(ctx context.Context, in Scope, id uuid.UUID, p RotateParams) (*Shown, error) {
	overlap := DefaultOverlap
	if p.Overlap != nil {
		overlap = *p.Overlap
	}
	if overlap < 0 || overlap > maxOverlap {
		return nil, fault.InvalidArgument("overlap_seconds", "must be 0 to 2592000")
	}
	if p.Address && p.Secret != nil {
		return nil, fault.InvalidArgument("secret", "cannot be set while the address is renewed")
	}
	var shown Shown
	err := postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		var source webhook.Source
		err := tx.QueryRow(ctx, `SELECT w.source FROM webhooks w WHERE `+inScope+` AND w.id = $3 FOR NO KEY UPDATE`,
			in.human, in.endpoint, id).Scan(&source)
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrWebhookNotFound
		}
		if err != nil {
			return err
		}
		if err := checkSecret(source, p.Secret); err != nil {
			return err
		}
		shown = Shown{}
		if p.Address || !source.Signed() {
			token := secret.NewAddress()
			shown.URL = s.url(token)
			_, err = tx.Exec(ctx, renewAddressSQL, id, secret.Hash(token), overlap.Seconds())
		} else {
			err = s.renewSecret(ctx, tx, id, p.Secret, overlap, &shown)
		}
		if err != nil {
			return err
		}
		w, err := scanWebhook(tx.QueryRow(ctx, `
			WITH clock AS MATERIALIZED (SELECT sb_now() AS now)
			SELECT `+webhookColumns+` FROM clock, webhooks w JOIN endpoints e ON e.id = w.endpoint_id
			WHERE `+inScope+` AND w.id = $3`, in.human, in.endpoint, id))
		if err == nil {
			shown.Webhook = *w
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &shown, nil
}

const renewAddressSQL = `
	WITH clock AS MATERIALIZED (SELECT sb_now() AS now)
	UPDATE webhooks w SET token_hash = $2,
		previous_token_hash = CASE WHEN $3 > 0 THEN w.token_hash END,
		previous_token_until = CASE WHEN $3 > 0 THEN clock.now + make_interval(secs => $3) END
	FROM clock WHERE w.id = $1`

func (s *Store) renewSecret(ctx context.Context, tx pgx.Tx, id uuid.UUID, given *string, overlap time.Duration, shown *Shown) error {
	if s.sealer == nil {
		return errNoKey
	}
	var plain string
	plain, shown.Secret = mint(given)
	_, err := tx.Exec(ctx, `
		WITH clock AS MATERIALIZED (SELECT sb_now() AS now)
		UPDATE webhooks w SET secret = $2,
			previous_secret = CASE WHEN $3 > 0 THEN w.secret END,
			previous_secret_until = CASE WHEN $3 > 0 THEN clock.now + make_interval(secs => $3) END
		FROM clock WHERE w.id = $1`, id, s.sealer.seal(id, plain), overlap.Seconds())
	return err
}
