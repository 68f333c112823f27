package spans

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// Binding is the todo that an earlier request bound a trace to (REQ-3 rule 3).
type Binding struct {
	TodoID     uuid.UUID
	AttemptSeq int // set for the minted trace of a pruned attempt (decisions.md 18), else 0
}

const bindingsSQL = `
SELECT trace_id, todo_id, coalesce(attempt_seq, 0)
FROM todo_trace_bindings
WHERE endpoint_id = $1 AND trace_id = ANY($2)`

// Bindings returns what is remembered of these traces for the endpoint. Another endpoint's binding of the
// same trace is not seen.
func (s *Store) Bindings(ctx context.Context, endpoint uuid.UUID, traces [][16]byte) (map[[16]byte]Binding, error) {
	if len(traces) == 0 {
		return nil, nil
	}
	rows, err := s.pool.Query(ctx, bindingsSQL, endpoint, byteas(traces))
	if err != nil {
		return nil, fmt.Errorf("read the trace bindings: %w", err)
	}
	found := map[[16]byte]Binding{}
	var trace []byte
	var b Binding
	if _, err := pgx.ForEachRow(rows, []any{&trace, &b.TodoID, &b.AttemptSeq}, func() error {
		found[[16]byte(trace)] = b
		return nil
	}); err != nil {
		return nil, fmt.Errorf("read the trace bindings: %w", err)
	}
	return found, nil
}

const homesSQL = `
SELECT s.trace_id, s.span_id, s.todo_id
FROM todos t
CROSS JOIN unnest($3::bytea[], $4::bytea[]) AS i (trace_id, span_id)
JOIN todo_spans s ON s.todo_id = t.id AND s.trace_id = i.trace_id AND s.span_id = i.span_id
WHERE t.endpoint_id = $1 AND t.id = ANY($2)`

// Homes returns which of these todos of the endpoint holds each span already. Where rules that look at the
// time of a claim could choose again, binding asks here first: it decides only for spans that are not stored
// yet (decisions.md 8).
func (s *Store) Homes(ctx context.Context, endpoint uuid.UUID, todos []uuid.UUID, keys []Key) (map[Key]uuid.UUID, error) {
	traces, spanIDs := make(byteaArray, len(keys)), make(byteaArray, len(keys))
	for i := range keys {
		traces[i], spanIDs[i] = keys[i].TraceID[:], keys[i].SpanID[:]
	}
	rows, err := s.pool.Query(ctx, homesSQL, endpoint, todos, traces, spanIDs)
	if err != nil {
		return nil, fmt.Errorf("read where spans are stored: %w", err)
	}
	homes := map[Key]uuid.UUID{}
	var trace, span []byte
	var todo uuid.UUID
	if _, err := pgx.ForEachRow(rows, []any{&trace, &span, &todo}, func() error {
		homes[Key{[16]byte(trace), [8]byte(span)}] = todo
		return nil
	}); err != nil {
		return nil, fmt.Errorf("read where spans are stored: %w", err)
	}
	return homes, nil
}

// byteaArray is a bytea[] parameter; pgx encodes it without reflection.
type byteaArray = pgtype.FlatArray[[]byte]

func byteas(ids [][16]byte) byteaArray {
	array := make(byteaArray, len(ids))
	for i := range ids {
		array[i] = ids[i][:]
	}
	return array
}
