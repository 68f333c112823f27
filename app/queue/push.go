package queue

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// defaultMaxAttempts is how often a todo may be claimed when neither it nor its endpoint says.
const defaultMaxAttempts = 5

// SourceOperator is the source of a todo that a human created.
const SourceOperator = "operator"

// PushParams describe a new todo. There is no verb with which an agent creates work for itself.
type PushParams struct {
	Endpoint       *identity.Endpoint
	Title          string  // 1 to 256 bytes
	Queue          string  // empty: the endpoint's first queue
	Kind           *string // at most 64 bytes
	Payload        json.RawMessage
	IdempotencyKey *string // at most 256 bytes; one live todo per endpoint and key
	MaxAttempts    *int    // 1 to 1000; absent: the endpoint's default, else 5
}

func (p *PushParams) normalize() error {
	if p.Queue == "" {
		p.Queue = p.Endpoint.Queues[0]
	}
	if p.MaxAttempts == nil {
		p.MaxAttempts = p.Endpoint.DefaultMaxAttempts
	}
	if p.MaxAttempts == nil {
		n := defaultMaxAttempts
		p.MaxAttempts = &n
	}
	if err := checkText("title", p.Title, maxTitle, "must be 1 to 256 bytes of text"); err != nil {
		return err
	}
	if !p.Endpoint.GrantsQueue(p.Queue) {
		return errQueueNotGranted
	}
	if p.Kind != nil {
		if err := checkText("kind", *p.Kind, maxKind, "must be 1 to 64 bytes of text"); err != nil {
			return err
		}
	}
	if p.IdempotencyKey != nil {
		if err := checkText("idempotency_key", *p.IdempotencyKey, maxKey, "must be 1 to 256 bytes of text"); err != nil {
			return err
		}
	}
	if *p.MaxAttempts < 1 || *p.MaxAttempts > 1000 {
		return fault.InvalidArgument("max_attempts", "must be 1 to 1000")
	}
	return CheckJSON("payload", p.Payload)
}

// live is the predicate of the idempotency index: only a live todo holds its key.
const live = `(t.state IN ('pending', 'claimed', 'input-required', 'auth-required')
	OR (t.state = 'failed' AND t.next_retry_at IS NOT NULL))`

const pushSQL = `
	WITH clock AS MATERIALIZED (SELECT sb_now() AS now),
	-- The share lock orders this against a revocation: no todo slips in behind it.
	vended AS (
		SELECT id, human_id FROM endpoints, clock
		WHERE id = $1 AND human_id = $2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > clock.now)
		FOR SHARE OF endpoints
	), t AS (
		INSERT INTO todos AS t (id, endpoint_id, human_id, queue, source, kind, title, payload, payload_size,
			idempotency_key, max_attempts, created_at, updated_at)
		SELECT $3, vended.id, vended.human_id, $4, $5, $6, $7, $8, $9, $10, $11, now, now FROM vended, clock
		ON CONFLICT (endpoint_id, idempotency_key) WHERE idempotency_key IS NOT NULL AND ` + live + ` DO NOTHING
		RETURNING *
	)
	SELECT ` + todoColumns + ` FROM t`

const pushedBeforeSQL = `
	SELECT ` + todoColumns + ` FROM todos t
	WHERE t.endpoint_id = $1 AND t.human_id = $2 AND t.idempotency_key = $3 AND ` + live

// Push creates a todo on one of a human's endpoints. Where a live todo holds the idempotency key already,
// that todo is returned and created is false.
func (s *Store) Push(ctx context.Context, human uuid.UUID, p PushParams) (todo *Todo, created bool, err error) {
	if err := p.normalize(); err != nil {
		return nil, false, err
	}
	var payload *string
	if p.Payload != nil {
		text := string(p.Payload)
		payload = &text
	}
	// The todo that holds the key can end between the two statements; then the key is free again.
	for range 3 {
		var t Todo
		err = s.pool.QueryRow(ctx, pushSQL, p.Endpoint.ID, human, typeid.New(), p.Queue, SourceOperator, p.Kind, p.Title,
			payload, len(p.Payload), p.IdempotencyKey, *p.MaxAttempts).Scan(t.fields()...)
		if err == nil {
			s.metrics.Created(t.Queue, t.Source)
			s.ready.wake(p.Endpoint.ID, t.Queue, 1)
			return &t, true, nil
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return nil, false, err
		}
		if p.IdempotencyKey == nil {
			return nil, false, errEndpointEnded
		}
		err = s.pool.QueryRow(ctx, pushedBeforeSQL, p.Endpoint.ID, human, *p.IdempotencyKey).Scan(t.fields()...)
		if err == nil {
			return &t, false, nil
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return nil, false, err
		}
	}
	return nil, false, errEndpointEnded
}

var errEndpointEnded = fault.New(fault.Conflict, "this endpoint was revoked or has expired; vend another one")
