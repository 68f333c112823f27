package queue

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// Limits of the reading verbs. A limit above the maximum means the maximum.
const (
	defaultListLimit     = 50
	maxListLimit         = 200
	defaultAttemptsLimit = 20
	maxAttemptsLimit     = 50
)

func limitOf(name string, asked *int, def, most int) (int, error) {
	switch {
	case asked == nil:
		return def, nil
	case *asked < 1:
		return 0, fault.InvalidArgument(name, "must be at least 1")
	default:
		return min(*asked, most), nil
	}
}

// ListParams are the optional arguments of list_todos. Zero values do not filter.
type ListParams struct {
	Queue      string
	State      State
	DeadLetter *bool
	Limit      *int
	Cursor     string
}

// List returns an endpoint's todos, newest first, and the cursor of the next page, empty on the last.
func (s *Store) List(ctx context.Context, ep *identity.Endpoint, p ListParams) (rows []Row, next string, err error) {
	limit, err := limitOf("limit", p.Limit, defaultListLimit, maxListLimit)
	if err != nil {
		return nil, "", err
	}
	queues := ep.Queues
	if p.Queue != "" {
		if !ep.GrantsQueue(p.Queue) {
			return nil, "", errQueueNotGranted
		}
		queues = []string{p.Queue}
	}
	before, err := cursorOf(p.Cursor)
	if err != nil {
		return nil, "", err
	}
	if err := checkState(p.State); err != nil {
		return nil, "", err
	}
	found, err := s.pool.Query(ctx, `
		SELECT `+rowColumns+` FROM todos t
		WHERE t.endpoint_id = $1 AND t.queue = ANY($2) AND ($3 = '' OR t.state = $3)
		  AND ($4::boolean IS NULL OR $4 = (t.state = 'failed' AND t.next_retry_at IS NULL))
		  AND ($5::uuid IS NULL OR t.id < $5)
		ORDER BY t.id DESC LIMIT $6`, ep.ID, queues, p.State, p.DeadLetter, before, limit+1)
	if err != nil {
		return nil, "", err
	}
	rows, err = pgx.AppendRows([]Row{}, found, func(row pgx.CollectableRow) (r Row, err error) {
		return r, row.Scan(r.fields()...)
	})
	if err == nil && len(rows) > limit {
		rows = rows[:limit]
		next = rows[limit-1].ID.String()
	}
	return rows, next, err
}

// cursorOf reads a page's cursor, which is the last id of the page before it.
func cursorOf(cursor string) (*uuid.UUID, error) {
	if cursor == "" {
		return nil, nil
	}
	id, ok := typeid.Todo.Parse(cursor)
	if !ok {
		return nil, fault.InvalidArgument("cursor", "must be the next_cursor of an earlier page")
	}
	return &id, nil
}

func checkState(state State) error {
	for _, s := range States {
		if state == s || state == "" {
			return nil
		}
	}
	return fault.InvalidArgument("state", "must be pending, claimed, done, failed, canceled, rejected, input-required or auth-required")
}

const detailColumns = todoColumns + `, t.result, t.attempts_total, t.attempts_pruned`

func (d *Detail) fields() []any {
	return append(d.Todo.fields(), (*[]byte)(&d.Result), &d.AttemptsTotal, &d.AttemptsPruned)
}

// Get returns one of an endpoint's todos in full, with up to attemptsLimit attempts, newest first, the open
// one included.
func (s *Store) Get(ctx context.Context, ep *identity.Endpoint, id uuid.UUID, attemptsLimit *int) (*Detail, error) {
	limit, err := limitOf("attempts_limit", attemptsLimit, defaultAttemptsLimit, maxAttemptsLimit)
	if err != nil {
		return nil, err
	}
	var d Detail
	err = s.snapshot(ctx, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `
			SELECT `+detailColumns+` FROM todos t WHERE t.id = $1 AND t.endpoint_id = $2 AND t.queue = ANY($3)`,
			id, ep.ID, ep.Queues).Scan(d.fields()...)
		if errors.Is(err, pgx.ErrNoRows) {
			return fault.ErrTodoNotFound
		}
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
			SELECT `+attemptColumns+` FROM todo_attempts a JOIN todos t ON t.id = a.todo_id
			WHERE a.todo_id = $1 AND t.endpoint_id = $2 ORDER BY a.seq DESC LIMIT $3`, id, ep.ID, limit)
		if err != nil {
			return err
		}
		d.Attempts, err = pgx.AppendRows([]Attempt{}, rows, scanAttempt)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &d, nil
}

// snapshot runs several reads on one state of the database, so that a todo and its attempts agree.
func (s *Store) snapshot(ctx context.Context, read func(tx pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, read)
}
