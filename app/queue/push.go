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
const defaultMaxAttempts = "5"

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
	if p.MaxAttempts != nil && (*p.MaxAttempts < 1 || *p.MaxAttempts > 1000) {
		return fault.InvalidArgument("max_attempts", "must be 1 to 1000")
	}
	return CheckJSON("payload", p.Payload)
}

// What the index of live todos can find, which leads with the state and holds those without an end. A statement that is
// to use it says both.
const (
	live    = `t.state IN ('pending', 'claimed', 'input-required', 'auth-required', 'failed') AND t.ended_at IS NULL`
	pending = `t.state = 'pending' AND t.ended_at IS NULL`
	claimed = `t.state = 'claimed' AND t.ended_at IS NULL`
)

const createSQL = `
	WITH clock AS MATERIALIZED (SELECT sb_now() AS now),
	-- The share lock orders this against a revocation: no todo slips in behind it.
	vended AS (
		SELECT id, human_id, default_max_attempts FROM endpoints, clock
		WHERE id = $1 AND human_id = $2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > clock.now)
		FOR SHARE OF endpoints
	), t AS (
		INSERT INTO todos AS t (id, endpoint_id, human_id, queue, source, kind, title, payload, payload_size,
			idempotency_key, max_attempts, routing, work_order, event_id, a2a_context, created_at, updated_at)
		SELECT $3, vended.id, vended.human_id, $4, $5, $6, $7, $8, $9, $10,
			coalesce($11, vended.default_max_attempts, ` + defaultMaxAttempts + `), $12, $13, $14, $15, now, now FROM vended, clock
		ON CONFLICT (endpoint_id, idempotency_key) WHERE idempotency_key IS NOT NULL AND ended_at IS NULL DO NOTHING
		RETURNING *
	)
	SELECT ` + todoColumns + ` FROM t`

const pushedBeforeSQL = `
	SELECT ` + todoColumns + ` FROM todos t
	WHERE t.endpoint_id = $1 AND t.human_id = $2 AND t.idempotency_key = $3 AND ` + live

// NewTodo is a todo that is about to be created, whoever asked for it. Whoever makes one has checked it: the
// database repeats only the caps.
type NewTodo struct {
	Endpoint, Human uuid.UUID
	Queue, Source   string // the queue is one of the endpoint's, or Quarantine
	Kind            *string
	Title           string
	Payload         json.RawMessage // any JSON that the store can hold
	IdempotencyKey  *string
	MaxAttempts     *int            // nil: the endpoint's default, else 5
	Routing         json.RawMessage // how a delivery's rules came to this todo
	WorkOrder       json.RawMessage // why a rule made it
	Event           *uuid.UUID      // the delivery it came from
	Context         *string         // the A2A context it was sent in
}

// creator is what a todo is created on: the pool, or a transaction that stores more with it.
type creator interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// create is the one way by which a todo comes into being. pgx.ErrNoRows means that the endpoint has ended, or
// that a live todo holds the idempotency key.
func create(ctx context.Context, on creator, n NewTodo) (*Todo, error) {
	var t Todo
	err := on.QueryRow(ctx, createSQL, n.Endpoint, n.Human, typeid.New(), n.Queue, n.Source, n.Kind, n.Title,
		jsonArg(n.Payload), len(n.Payload), n.IdempotencyKey, n.MaxAttempts, jsonArg(n.Routing), jsonArg(n.WorkOrder),
		n.Event, n.Context).Scan(t.fields()...)
	if err != nil {
		return nil, err
	}
	return &t, nil
}

// Create creates a todo within a transaction, for whoever stores in it where the todo came from. The caller
// calls committed after its commit. An endpoint that was revoked or has expired is a conflict.
func (s *Store) Create(ctx context.Context, tx pgx.Tx, n NewTodo) (t *Todo, committed func(), err error) {
	t, err = create(ctx, tx, n)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil, ErrEndpointEnded
	}
	return t, func() { s.created(n.Endpoint, t) }, err
}

// created counts a new todo once it is committed, and wakes whoever waits for it.
func (s *Store) created(endpoint uuid.UUID, t *Todo) {
	s.metrics.Created(t.Queue, t.Source)
	s.ready.wake(endpoint, t.Queue, 1)
}

// Push creates a todo on one of a human's endpoints. Where a live todo holds the idempotency key already,
// that todo is returned and created is false.
func (s *Store) Push(ctx context.Context, human uuid.UUID, p PushParams) (todo *Todo, created bool, err error) {
	if err := p.normalize(); err != nil {
		return nil, false, err
	}
	n := NewTodo{Endpoint: p.Endpoint.ID, Human: human, Queue: p.Queue, Source: SourceOperator, Kind: p.Kind, Title: p.Title,
		Payload: p.Payload, IdempotencyKey: p.IdempotencyKey, MaxAttempts: p.MaxAttempts}
	return s.createOnce(ctx, n)
}

// createOnce creates a todo, or returns the live one that holds its idempotency key.
func (s *Store) createOnce(ctx context.Context, n NewTodo) (todo *Todo, created bool, err error) {
	// The todo that holds the key can end between the two statements; then the key is free again.
	for range 3 {
		t, err := create(ctx, s.pool, n)
		if err == nil {
			s.created(n.Endpoint, t)
			return t, true, nil
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return nil, false, err
		}
		if n.IdempotencyKey == nil {
			return nil, false, ErrEndpointEnded
		}
		t = &Todo{}
		err = s.pool.QueryRow(ctx, pushedBeforeSQL, n.Endpoint, n.Human, *n.IdempotencyKey).Scan(t.fields()...)
		if err == nil {
			return t, false, nil
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return nil, false, err
		}
	}
	return nil, false, ErrEndpointEnded
}

// ErrEndpointEnded refuses a todo on an endpoint that nobody can drain any more.
var ErrEndpointEnded = fault.New(fault.Conflict, "this endpoint was revoked or has expired; vend another one")
