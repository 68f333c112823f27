package spans

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// planByIndex keeps every plan of the transaction on the primary keys. A plan that the server cached while
// the table was small would scan all of it until the next analyze.
const planByIndex = `SET LOCAL enable_seqscan = off`

const anyStoredSQL = `
SELECT EXISTS (
	SELECT FROM unnest($3::bytea[], $4::bytea[]) AS i (trace_id, span_id)
	JOIN todo_spans s ON s.todo_id = $1 AND s.trace_id = i.trace_id AND s.span_id = i.span_id
	JOIN todos t ON t.id = s.todo_id AND t.endpoint_id = $2)`

const learnedSQL = `
SELECT b.trace_id FROM todo_trace_bindings b WHERE b.endpoint_id = $1 AND b.trace_id = ANY($2)`

// corrects says that incoming span i is to replace the content of stored span s: it differs, and does not
// end earlier (decisions.md 8). The attempt and the time of receipt are no content.
const corrects = `(i.end_at >= s.end_at AND
	(s.parent_span_id, s.name, s.kind, s.status_code, s.status_message, s.start_at, s.end_at, s.service_name, s.tool,
		s.category, s.attributes)
	IS DISTINCT FROM
	(nullif(i.parent_span_id, ''), i.name, i.kind, i.status_code, nullif(i.status_message, ''), i.start_at, i.end_at,
		nullif(i.service_name, ''), nullif(i.tool, ''), i.category, i.attributes::jsonb))`

const settledSQL = `
SELECT i.nth
FROM ` + incoming + `
JOIN todo_spans s ON s.todo_id = $1 AND s.trace_id = i.trace_id AND s.span_id = i.span_id
JOIN todos t ON t.id = s.todo_id AND t.endpoint_id = $2
WHERE NOT ` + corrects

// pending returns what of the batch is not in the database yet. It takes no lock: what another request
// stores in the meantime, the write finds.
func (b *todoBatch) pending(ctx context.Context, tx pgx.Tx, endpoint uuid.UUID) (*todoBatch, error) {
	traces, spanIDs := make(byteaArray, len(b.spans)), make(byteaArray, len(b.spans))
	for i, s := range b.spans {
		traces[i], spanIDs[i] = s.TraceID[:], s.SpanID[:]
	}
	var look pgx.Batch
	look.Queue(planByIndex)
	var anyStored bool
	look.Queue(anyStoredSQL, b.todo, endpoint, traces, spanIDs).QueryRow(func(row pgx.Row) error {
		return row.Scan(&anyStored)
	})
	var learned [][]byte
	if len(b.learn) > 0 {
		look.Queue(learnedSQL, endpoint, b.learn).Query(func(rows pgx.Rows) (err error) {
			learned, err = pgx.CollectRows(rows, pgx.RowTo[[]byte])
			return err
		})
	}
	if err := tx.SendBatch(ctx, &look).Close(); err != nil {
		return nil, err
	}
	pending := &todoBatch{todo: b.todo, spans: b.spans, learn: without(b.learn, learned)}
	if !anyStored {
		return pending, nil
	}
	rows, err := tx.Query(ctx, settledSQL, b.columns(endpoint)...)
	if err != nil {
		return nil, err
	}
	settled := make([]bool, len(b.spans))
	var nth int
	if _, err := pgx.ForEachRow(rows, []any{&nth}, func() error {
		settled[nth-1] = true
		return nil
	}); err != nil {
		return nil, err
	}
	pending.spans = nil
	for i, s := range b.spans {
		if !settled[i] {
			pending.spans = append(pending.spans, s)
		}
	}
	return pending, nil
}

func without(ids byteaArray, known [][]byte) byteaArray {
	return slices.DeleteFunc(slices.Clone(ids), func(id []byte) bool {
		return slices.ContainsFunc(known, func(k []byte) bool { return string(k) == string(id) })
	})
}
