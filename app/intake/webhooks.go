package intake

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/secret"
	"github.com/switchboard-otel/switchboard/app/typeid"
	"github.com/switchboard-otel/switchboard/app/webhook"
)

// Webhook is one address that takes deliveries for an endpoint. Neither the address nor a secret can be read
// back.
type Webhook struct {
	ID             WebhookID      `json:"id"`
	Endpoint       string         `json:"endpoint"` // its slug
	Source         webhook.Source `json:"source_type"`
	Trust          webhook.Trust  `json:"trust_mode"`
	TargetQueue    string         `json:"target_queue"`  // where deliveries go that no rule sends elsewhere
	RulesVersion   int            `json:"rules_version"` // 0: no rules were ever saved
	CreatedAt      time.Time      `json:"created_at"`
	OverlapUntil   *time.Time     `json:"overlap_until"`    // how long what the last rotation replaced still counts
	LastReceivedAt *time.Time     `json:"last_received_at"` // of the latest event that is kept
}

// Shown is a webhook with what is shown this once. Secret is empty where none was minted.
type Shown struct {
	Webhook
	URL    string `json:"url,omitempty"`
	Secret string `json:"secret,omitempty"`
}

// The columns of a webhook, in the order of Webhook.fields. The statement calls it w and its endpoint e.
const webhookColumns = `w.id, e.slug, w.source, w.target_queue, w.rules_version, w.created_at,
	CASE WHEN greatest(w.previous_token_until, w.previous_secret_until) > clock.now
		THEN greatest(w.previous_token_until, w.previous_secret_until) END,
	(SELECT v.received_at FROM events v WHERE v.webhook_id = w.id ORDER BY v.id DESC LIMIT 1)`

func (w *Webhook) fields() []any {
	return []any{(*uuid.UUID)(&w.ID), &w.Endpoint, &w.Source, &w.TargetQueue, &w.RulesVersion, &w.CreatedAt, &w.OverlapUntil,
		&w.LastReceivedAt}
}

func scanWebhook(row pgx.Row) (*Webhook, error) {
	var w Webhook
	err := row.Scan(w.fields()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, ErrWebhookNotFound
	}
	w.Trust = w.Source.Trust()
	return &w, err
}

// inScope is the condition that every statement on webhooks carries; $1 and $2 are the scope.
const inScope = `w.human_id = $1 AND ($2::uuid IS NULL OR w.endpoint_id = $2)`

// CreateParams describe a new webhook.
type CreateParams struct {
	Source      webhook.Source
	TargetQueue string  // empty: the first queue that webhooks of the endpoint may use
	Secret      *string // the producer's own signing secret; absent: one is minted
}

// maxSecret caps a secret that a producer has chosen, in bytes; a shorter one than minSecret can be guessed.
const (
	minSecret = 8
	maxSecret = 256
)

var (
	errNoKey = fault.New(fault.Conflict, "signed webhooks need a key to keep their secrets: set SWITCHBOARD_SECRET_ENCRYPTION_KEY to 32 bytes in base64 or hex, such as openssl rand -base64 32 prints, and restart")
	errMany  = fault.New(fault.Conflict, "this endpoint has as many webhooks as it may; delete one, or vend an endpoint that may have more")
)

// Create makes a webhook for an endpoint, within its ceiling, and shows its address and a minted secret this
// once.
func (s *Store) Create(ctx context.Context, e *identity.Endpoint, p CreateParams) (*Shown, error) {
	if err := p.normalize(e); err != nil {
		return nil, err
	}
	if p.Source.Signed() && s.sealer == nil {
		return nil, errNoKey
	}
	id, token := typeid.New(), secret.NewAddress()
	shown := Shown{URL: s.url(token)}
	var sealed []byte
	if p.Source.Signed() {
		var plain string
		plain, shown.Secret = mint(p.Secret)
		sealed = s.sealer.seal(id, plain)
	}
	err := postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		// The lock makes the count exact, and orders this against a revocation.
		err := tx.QueryRow(ctx, `
			WITH clock AS MATERIALIZED (SELECT sb_now() AS now)
			SELECT FROM endpoints e, clock
			WHERE e.id = $1 AND e.human_id = $2 AND e.revoked_at IS NULL AND (e.expires_at IS NULL OR e.expires_at > clock.now)
			FOR NO KEY UPDATE OF e`, e.ID, e.HumanID).Scan()
		if errors.Is(err, pgx.ErrNoRows) {
			return queue.ErrEndpointEnded
		}
		if err != nil {
			return err
		}
		w, err := scanWebhook(tx.QueryRow(ctx, `
			WITH clock AS MATERIALIZED (SELECT sb_now() AS now),
			w AS (
				INSERT INTO webhooks (id, endpoint_id, human_id, source, target_queue, token_hash, secret, created_at)
				SELECT $3, $1, $2, $4, $5, $6, $7, now FROM clock
				WHERE (SELECT count(*) FROM webhooks o WHERE o.endpoint_id = $1) < $8
				RETURNING *
			)
			SELECT `+webhookColumns+` FROM clock, w JOIN endpoints e ON e.id = w.endpoint_id`,
			e.ID, e.HumanID, id, p.Source, p.TargetQueue, secret.Hash(token), sealed, e.Webhooks.Max))
		if errors.Is(err, ErrWebhookNotFound) {
			return errMany
		}
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

func (p *CreateParams) normalize(e *identity.Endpoint) error {
	if !p.Source.Known() {
		return fault.InvalidArgument("source_type", "must be github, gitea, stripe, slack, standard or generic")
	}
	if !e.Webhooks.AllowsSource(string(p.Source)) {
		return fault.New(fault.Forbidden, "this endpoint may not have webhooks of this source type")
	}
	if p.TargetQueue == "" {
		p.TargetQueue = firstRouted(e)
	}
	if !e.Routes(p.TargetQueue) {
		return fault.New(fault.Forbidden, "target_queue is not among the queues that this endpoint's webhooks may use")
	}
	return checkSecret(p.Source, p.Secret)
}

func firstRouted(e *identity.Endpoint) string {
	for _, q := range e.Queues {
		if e.Routes(q) {
			return q
		}
	}
	return ""
}

func checkSecret(source webhook.Source, given *string) error {
	if given == nil {
		return nil
	}
	if !source.Signed() {
		return fault.InvalidArgument("secret", "has no use here: a generic webhook is known by its address alone")
	}
	plain := *given
	_, ok := source.Key(plain)
	if len(plain) < minSecret || len(plain) > maxSecret || !utf8.ValidString(plain) || strings.ContainsFunc(plain, unicode.IsControl) || !ok {
		return fault.InvalidArgument("secret", "must be 8 to 256 bytes of text; for the source type standard, base64 behind whsec_")
	}
	return nil
}

// mint returns the secret to keep and, when it is a new one, the same to show.
func mint(given *string) (plain, shown string) {
	if given != nil {
		return *given, ""
	}
	plain = secret.NewWebhook()
	return plain, plain
}

func (s *Store) url(token string) string { return s.baseURL + AddressPrefix + token }

// List returns the webhooks of a scope, newest first.
func (s *Store) List(ctx context.Context, in Scope) ([]Webhook, error) {
	rows, err := s.pool.Query(ctx, `
		WITH clock AS MATERIALIZED (SELECT sb_now() AS now)
		SELECT `+webhookColumns+` FROM clock, webhooks w JOIN endpoints e ON e.id = w.endpoint_id
		WHERE `+inScope+` ORDER BY w.id DESC`, in.human, in.endpoint)
	if err != nil {
		return nil, err
	}
	return pgx.AppendRows([]Webhook{}, rows, func(row pgx.CollectableRow) (Webhook, error) {
		w, err := scanWebhook(row)
		if err != nil {
			return Webhook{}, err
		}
		return *w, nil
	})
}

// Get returns one webhook of a scope.
func (s *Store) Get(ctx context.Context, in Scope, id uuid.UUID) (*Webhook, error) {
	return scanWebhook(s.pool.QueryRow(ctx, `
		WITH clock AS MATERIALIZED (SELECT sb_now() AS now)
		SELECT `+webhookColumns+` FROM clock, webhooks w JOIN endpoints e ON e.id = w.endpoint_id
		WHERE `+inScope+` AND w.id = $3`, in.human, in.endpoint, id))
}

// Delete ends a webhook: its address is unknown from now on. Its events stay with their todos.
func (s *Store) Delete(ctx context.Context, in Scope, id uuid.UUID) error {
	tag, err := s.pool.Exec(ctx, `DELETE FROM webhooks w WHERE `+inScope+` AND w.id = $3`, in.human, in.endpoint, id)
	if err == nil && tag.RowsAffected() == 0 {
		return ErrWebhookNotFound
	}
	return err
}
