package queue

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/text"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// HumanFilter narrows a human's list of todos. Zero values do not filter.
type HumanFilter struct {
	State      State
	DeadLetter *bool
	Queue      string
	Endpoint   uuid.UUID
	Text       string // part of the title or the source, or the whole id
	Limit      int    // rows of a page; 0 means 50, more than 200 means 200
	Cursor     string
}

// HumanRow is a todo in its human's list, with who works on it and how its latest attempt ended.
type HumanRow struct {
	Row
	EndpointID              uuid.UUID
	EndpointSlug, AgentName string
	AttemptsTotal           int
	UpdatedAt               time.Time
	Claimant                *string // of the latest attempt
	LastOutcome             *string // of the latest closed attempt
	LastSummary             *string
	LastDied                bool
}

// humanRowsSQL reads rows as scanHumanRow takes them; the statement says which and in what order.
const humanRowsSQL = `
		SELECT ` + rowColumns + `, t.endpoint_id, e.slug, g.name, t.attempts_total, t.updated_at, latest.claimant,
			closed.outcome, closed.summary, coalesce(closed.outcome IN ('lease_expired', 'reaped'), false)
		FROM todos t
		JOIN endpoints e ON e.id = t.endpoint_id
		JOIN agents g ON g.id = e.agent_id
		LEFT JOIN todo_attempts latest ON latest.todo_id = t.id AND latest.seq = t.attempts_total
		LEFT JOIN LATERAL (
			SELECT a.outcome, a.summary FROM todo_attempts a
			WHERE a.todo_id = t.id AND a.ended_at IS NOT NULL ORDER BY a.seq DESC LIMIT 1
		) closed ON true`

func scanHumanRow(row pgx.CollectableRow) (r HumanRow, err error) {
	return r, row.Scan(append(r.Row.fields(), &r.EndpointID, &r.EndpointSlug, &r.AgentName, &r.AttemptsTotal,
		&r.UpdatedAt, &r.Claimant, &r.LastOutcome, &r.LastSummary, &r.LastDied)...)
}

// HumanTodos lists the todos of every endpoint of a human, newest first, and the next page's cursor.
func (s *Store) HumanTodos(ctx context.Context, human uuid.UUID, f HumanFilter) (rows []HumanRow, next string, err error) {
	f.Queue, f.Text = text.Clean(f.Queue), text.Clean(f.Text)
	limit := min(f.Limit, maxListLimit)
	if limit < 1 {
		limit = defaultListLimit
	}
	before, err := cursorOf(f.Cursor)
	if err != nil {
		return nil, "", err
	}
	if err := checkState(f.State); err != nil {
		return nil, "", err
	}
	var endpoint *uuid.UUID
	if f.Endpoint != uuid.Nil {
		endpoint = &f.Endpoint
	}
	found, err := s.pool.Query(ctx, humanRowsSQL+`
		WHERE t.human_id = $1 AND ($2 = '' OR t.state = $2)
		  AND ($3::boolean IS NULL OR $3 = (t.state = 'failed' AND t.next_retry_at IS NULL))
		  AND ($4 = '' OR t.queue = $4) AND ($5::uuid IS NULL OR t.endpoint_id = $5)
		  AND ($6 = '' OR strpos(lower(t.title), $6) > 0 OR strpos(t.source, $6) > 0 OR t.id = $7::uuid)
		  AND ($8::uuid IS NULL OR t.id < $8)
		ORDER BY t.id DESC LIMIT $9`,
		human, f.State, f.DeadLetter, f.Queue, endpoint, strings.ToLower(f.Text), asID(f.Text), before, limit+1)
	if err != nil {
		return nil, "", err
	}
	rows, err = pgx.AppendRows([]HumanRow{}, found, scanHumanRow)
	if err == nil && len(rows) > limit {
		rows = rows[:limit]
		next = rows[limit-1].ID.String()
	}
	return rows, next, err
}

// HumanDetail is the whole trail of a todo, but for its spans, as its human sees it.
type HumanDetail struct {
	Detail                  // every attempt that is kept
	EndpointID              uuid.UUID
	EndpointSlug, AgentName string
	EndpointRevoked         bool
	UpdatedAt               time.Time
	Activity                []ActivityEntry // oldest first
}

// HumanTodo returns one of a human's todos with its attempts, newest first, and its activity. A foreign id
// is unknown.
func (s *Store) HumanTodo(ctx context.Context, human, id uuid.UUID) (*HumanDetail, error) {
	var d HumanDetail
	err := s.snapshot(ctx, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `
			SELECT `+detailColumns+`, t.endpoint_id, e.slug, g.name, e.revoked_at IS NOT NULL, t.updated_at
			FROM todos t JOIN endpoints e ON e.id = t.endpoint_id JOIN agents g ON g.id = e.agent_id
			WHERE t.id = $1 AND t.human_id = $2`, id, human).Scan(append(d.Detail.fields(),
			&d.EndpointID, &d.EndpointSlug, &d.AgentName, &d.EndpointRevoked, &d.UpdatedAt)...)
		if errors.Is(err, pgx.ErrNoRows) {
			return fault.ErrTodoNotFound
		}
		if err != nil {
			return err
		}
		if d.Attempts, err = humanAttempts(ctx, tx, human, id); err != nil {
			return err
		}
		d.Activity, err = humanActivity(ctx, tx, human, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &d, nil
}

func humanAttempts(ctx context.Context, tx pgx.Tx, human, id uuid.UUID) ([]Attempt, error) {
	rows, err := tx.Query(ctx, `
		SELECT `+attemptColumns+` FROM todo_attempts a JOIN todos t ON t.id = a.todo_id
		WHERE a.todo_id = $1 AND t.human_id = $2 ORDER BY a.seq DESC`, id, human)
	if err != nil {
		return nil, err
	}
	return pgx.AppendRows([]Attempt{}, rows, scanAttempt)
}

func humanActivity(ctx context.Context, tx pgx.Tx, human, id uuid.UUID) ([]ActivityEntry, error) {
	rows, err := tx.Query(ctx, `
		SELECT v.seq, v.at, v.attempt_seq, v.kind, v.actor_kind, v.actor_ref, v.message, v.detail
		FROM todo_activity v JOIN todos t ON t.id = v.todo_id
		WHERE v.todo_id = $1 AND t.human_id = $2 ORDER BY v.seq`, id, human)
	if err != nil {
		return nil, err
	}
	return pgx.AppendRows([]ActivityEntry{}, rows, func(row pgx.CollectableRow) (v ActivityEntry, err error) {
		return v, row.Scan(&v.Seq, &v.At, &v.AttemptSeq, &v.Kind, &v.ActorKind, &v.ActorRef, &v.Message, &v.Detail)
	})
}

// asID reads a search text as an id that somebody pasted; any other text matches no id.
func asID(text string) *uuid.UUID {
	if id, ok := typeid.Todo.Parse(strings.TrimSpace(text)); ok {
		return &id
	}
	return nil
}
