package spans

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

const readSQL = `
SELECT s.attempt_seq, s.trace_id, s.span_id, s.parent_span_id, s.name, s.kind, s.status_code, s.status_message,
	s.start_at, s.end_at, s.service_name, s.tool, s.category, s.attributes, s.received_at
FROM todo_spans s JOIN todos t ON t.id = s.todo_id
WHERE s.todo_id = $1 AND t.human_id = $2 %s
ORDER BY s.start_at, s.span_id, s.trace_id
LIMIT $3`

// One statement per way to ask: "attempt_seq = $4 or $4 is null" would leave the index unused.
var (
	readAllSQL          = fmt.Sprintf(readSQL, "")
	readAttemptSQL      = fmt.Sprintf(readSQL, "AND s.attempt_seq = $4")
	readUnattributedSQL = fmt.Sprintf(readSQL, "AND s.attempt_seq IS NULL")
)

// ForTodo returns at most limit spans of a human's todo in start order: all of it, or of one attempt, where 0
// means the spans without one. A foreign todo has as many as an unknown one: none (REQ-18).
func (s *Store) ForTodo(ctx context.Context, human, todo uuid.UUID, attempt *int, limit int) ([]Span, error) {
	sql, args := readAllSQL, []any{todo, human, limit}
	switch {
	case attempt == nil:
	case *attempt == 0:
		sql = readUnattributedSQL
	default:
		sql, args = readAttemptSQL, append(args, *attempt)
	}
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("read spans: %w", err)
	}
	spans, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Span, error) { return scanSpan(row, todo) })
	if err != nil {
		return nil, fmt.Errorf("read spans: %w", err)
	}
	return spans, nil
}

func scanSpan(row pgx.CollectableRow, todo uuid.UUID) (Span, error) {
	s := Span{TodoID: todo}
	var attempt *int
	var trace, span, parent []byte
	var message, service, tool *string
	err := row.Scan(&attempt, &trace, &span, &parent, &s.Name, &s.Kind, &s.StatusCode, &message,
		&s.StartAt, &s.EndAt, &service, &tool, &s.Category, &s.Attributes, &s.ReceivedAt)
	if err != nil {
		return Span{}, err
	}
	s.AttemptSeq = orZero(attempt)
	s.StatusMessage, s.ServiceName, s.Tool = orZero(message), orZero(service), orZero(tool)
	copy(s.TraceID[:], trace)
	copy(s.SpanID[:], span)
	copy(s.ParentSpanID[:], parent)
	return s, nil
}

func orZero[T any](nullable *T) (value T) {
	if nullable != nil {
		value = *nullable
	}
	return value
}

// Count is how many spans of an attempt are stored, and how many its caps refused.
type Count struct {
	AttemptSeq      int // 0: spans without an attempt
	Stored, Dropped int
}

const countsSQL = `
SELECT c.attempt_seq, c.stored, c.dropped
FROM todo_span_counts c JOIN todos t ON t.id = c.todo_id
WHERE c.todo_id = $1 AND t.human_id = $2 AND (c.stored > 0 OR c.dropped > 0)
ORDER BY c.attempt_seq`

// Counts returns the counts of a human's todo in attempt order, without those that are all zero. A foreign
// todo has none.
func (s *Store) Counts(ctx context.Context, human, todo uuid.UUID) ([]Count, error) {
	rows, err := s.pool.Query(ctx, countsSQL, todo, human)
	if err != nil {
		return nil, fmt.Errorf("read span counts: %w", err)
	}
	counts, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Count])
	if err != nil {
		return nil, fmt.Errorf("read span counts: %w", err)
	}
	return counts, nil
}
