package queue

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/identity"
)

// SourceA2A is the source of a todo that was sent over A2A.
const SourceA2A = "a2a"

// Task is a todo as A2A shows it: what was sent and said, and how its latest closed attempt ended.
type Task struct {
	Row
	Context           *string // nil: a context of its own
	UpdatedAt         time.Time
	AttemptsTotal     int
	Payload, Messages json.RawMessage // what it was sent with, and what was said since
	Result            json.RawMessage
	Summary, Artifact *string // of the latest closed attempt
}

// $1 and $2 say whether a page shows what was said and what came of it, which can be large.
const taskSQL = `
	SELECT ` + rowColumns + `, t.a2a_context, t.updated_at, t.attempts_total,
		CASE WHEN $1 THEN t.payload END, CASE WHEN $1 OR t.state IN ('input-required', 'auth-required') THEN t.messages END,
		CASE WHEN $2 THEN t.result END, closed.summary, closed.artifact
	FROM todos t
	LEFT JOIN LATERAL (
		SELECT a.summary, a.artifact FROM todo_attempts a
		WHERE a.todo_id = t.id AND a.ended_at IS NOT NULL ORDER BY a.seq DESC LIMIT 1
	) closed ON true`

func scanTask(row pgx.CollectableRow) (t Task, err error) {
	return t, row.Scan(append(t.Row.fields(), &t.Context, &t.UpdatedAt, &t.AttemptsTotal, &t.Payload, &t.Messages,
		&t.Result, &t.Summary, &t.Artifact)...)
}

// Task returns one of an endpoint's todos as A2A shows it. A foreign id is unknown.
func (s *Store) Task(ctx context.Context, ep *identity.Endpoint, id uuid.UUID) (*Task, error) {
	rows, err := s.pool.Query(ctx, taskSQL+` WHERE t.id = $3 AND t.endpoint_id = $4 AND t.queue = ANY($5)`,
		true, true, id, ep.ID, ep.Queues)
	if err != nil {
		return nil, err
	}
	t, err := pgx.CollectExactlyOneRow(rows, scanTask)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, fault.ErrTodoNotFound
	}
	return &t, err
}

// TaskFilter narrows a list of tasks. Zero values do not filter.
type TaskFilter struct {
	Context      string // a todo's id also names the context that it has by itself
	States       []State
	DeadLetter   *bool
	UpdatedAfter *time.Time
	Messages     bool // read what was said
	Results      bool // read what came of it
	Limit        int  // 1 to 100
	Cursor       string
}

// Tasks lists an endpoint's todos as A2A shows them, newest first, with the next page's cursor and how many there are
// in all, at most mostCounted.
func (s *Store) Tasks(ctx context.Context, ep *identity.Endpoint, f TaskFilter) (tasks []Task, next string, total int, err error) {
	before, err := cursorOf(f.Cursor)
	if err != nil {
		return nil, "", 0, err
	}
	const matches = `t.endpoint_id = $3 AND t.queue = ANY($4)
		AND ($5 = '' OR t.a2a_context = $5 OR (t.a2a_context IS NULL AND t.id = $6))
		AND ($7::text[] IS NULL OR t.state = ANY($7))
		AND ($8::boolean IS NULL OR $8 = (t.state = 'failed' AND t.next_retry_at IS NULL))
		AND ($9::timestamptz IS NULL OR t.updated_at > $9)`
	args := []any{f.Messages, f.Results, ep.ID, ep.Queues, f.Context, asID(f.Context), f.States, f.DeadLetter, f.UpdatedAfter}
	err = s.snapshot(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, taskSQL+` WHERE `+matches+` AND ($10::uuid IS NULL OR t.id < $10) ORDER BY t.id DESC LIMIT $11`,
			append(args, before, f.Limit+1)...)
		if err != nil {
			return err
		}
		if tasks, err = pgx.AppendRows([]Task{}, rows, scanTask); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `SELECT count(*) FROM (SELECT $1::boolean, $2::boolean FROM todos t WHERE `+matches+` LIMIT $10) t`,
			append(args, mostCounted)...).Scan(&total)
	})
	if err != nil {
		return nil, "", 0, err
	}
	if len(tasks) > f.Limit {
		tasks = tasks[:f.Limit]
		next = tasks[f.Limit-1].ID.String()
	}
	return tasks, next, total, nil
}

// TaskVersion reads how far a task has come: it moves with its state, its attempts and what is said, and not with a
// heartbeat. A todo that is gone is unknown.
func (s *Store) TaskVersion(ctx context.Context, endpoint, id uuid.UUID) (version string, err error) {
	err = s.pool.QueryRow(ctx, `
		SELECT t.state || ' ' || t.attempts_total || ' ' || (t.next_retry_at IS NULL) || ' ' || coalesce(jsonb_array_length(t.messages), 0)
		FROM todos t WHERE t.id = $1 AND t.endpoint_id = $2`, id, endpoint).Scan(&version)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", fault.ErrTodoNotFound
	}
	return version, err
}

// Submission is work that arrives over A2A.
type Submission struct {
	Title          string // 1 to 256 bytes
	Payload        json.RawMessage
	IdempotencyKey string  // 1 to 256 bytes; one live todo per endpoint and key
	Context        *string // 1 to 128 bytes; nil: a context of its own
}

// Submit creates a todo in the first queue of an endpoint. Where a live todo holds the idempotency key already, that
// todo is returned and created is false.
func (s *Store) Submit(ctx context.Context, ep *identity.Endpoint, w Submission) (todo *Todo, created bool, err error) {
	p := PushParams{Endpoint: ep, Title: w.Title, Payload: w.Payload, IdempotencyKey: &w.IdempotencyKey}
	if err := p.normalize(); err != nil {
		return nil, false, err
	}
	return s.createOnce(ctx, NewTodo{Endpoint: ep.ID, Human: ep.HumanID, Queue: p.Queue, Source: SourceA2A, Title: p.Title,
		Payload: p.Payload, IdempotencyKey: p.IdempotencyKey, Context: w.Context})
}
