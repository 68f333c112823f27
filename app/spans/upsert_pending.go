package spans

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// stored finds the row of incoming span i by one probe of the primary key, whatever the server knew of the
// table's size when it planned. While a todo holds few spans, reading all of them, or looking through the
// other index, seems as cheap, and such a plan would stay when there are thousands: LIMIT keeps the probe from
// becoming a join, and an order that only the primary key has, for a range of one, decides for that index.
// The pool of ingest does not scan tables.
const stored = `(
	SELECT s.*, s.ctid AS place FROM todo_spans s
	WHERE s.todo_id = $1 AND s.trace_id = i.trace_id AND s.span_id BETWEEN i.span_id AND i.span_id
	ORDER BY s.span_id LIMIT 1) AS s`

const inScope = `EXISTS (SELECT FROM todos t WHERE t.id = $1 AND t.endpoint_id = $2)`

const isStoredSQL = `
SELECT ` + inScope + ` AND (
	SELECT true FROM todo_spans s
	WHERE s.todo_id = $1 AND s.trace_id = $3 AND s.span_id BETWEEN $4 AND $4
	ORDER BY s.span_id LIMIT 1) IS NOT NULL`

const learnedSQL = `
SELECT b.trace_id FROM todo_trace_bindings b WHERE b.endpoint_id = $1 AND b.trace_id = ANY($2)`

// corrects says that incoming span i is to replace the content of stored span s: it differs, and does not
// end earlier (decisions.md 8). The attempt and the time of receipt are no content.
const corrects = `(i.end_at >= s.end_at AND
	(s.parent_span_id, s.name, s.kind, s.status_code, s.status_message, s.start_at, s.end_at, s.service_name, s.tool,
		s.category, s.attributes)
	IS DISTINCT FROM
	(nullif(i.parent_span_id, ''), i.name, i.kind, i.status_code, nullif(i.status_message, ''), i.start_at, i.end_at,
		nullif(i.service_name, ''), nullif(i.tool, ''), i.category, i.attributes))`

// changedSQL finds the spans that are not stored with the content that they have now, by its hash alone. Most are: they
// are sent again.
const changedSQL = `
SELECT i.nth
FROM (SELECT unnest($3::bytea[]) AS trace_id, unnest($4::bytea[]) AS span_id, unnest($5::bigint[]) AS content_hash,
	generate_subscripts($3::bytea[], 1) AS nth) AS i LEFT JOIN LATERAL ` + stored + ` ON true
WHERE NOT ` + inScope + ` OR s.content_hash IS DISTINCT FROM i.content_hash
ORDER BY i.nth`

// unsettledSQL finds the spans that are to be written.
const unsettledSQL = `
SELECT i.nth
FROM ` + incoming + ` LEFT JOIN LATERAL ` + stored + ` ON true
WHERE NOT ` + inScope + ` OR CASE WHEN s.place IS NULL THEN true ELSE ` + corrects + ` END
ORDER BY i.nth`

// look tells whether the batch's first span is stored, which tells what to expect of the others, and which of its traces
// are known. Like unsettled it takes no lock: what another request stores in the meantime, the write finds.
func (s *Store) look(ctx context.Context, endpoint uuid.UUID, b *todoBatch) (isStored bool, learned [][]byte, err error) {
	first := b.spans[0]
	err = s.pool.QueryRow(ctx, isStoredSQL, b.todo, endpoint, first.TraceID[:], first.SpanID[:]).Scan(&isStored)
	if err != nil || len(b.learn) == 0 {
		return isStored, nil, err
	}
	rows, err := s.pool.Query(ctx, learnedSQL, endpoint, b.learn)
	if err != nil {
		return isStored, nil, err
	}
	learned, err = pgx.CollectRows(rows, pgx.RowTo[[]byte])
	return isStored, learned, err
}

// unsettled returns the spans that are to be written, because they are not stored, or with another content that they
// are to replace.
func (s *Store) unsettled(ctx context.Context, endpoint uuid.UUID, b *todoBatch) ([]*Span, error) {
	changed := &todoBatch{todo: b.todo}
	var err error
	changed.spans, err = s.choose(ctx, b, changedSQL, b.todo, endpoint, column{b.spans, traceID}, column{b.spans, spanID}, b.contentHashes())
	if err != nil || len(changed.spans) == 0 {
		return nil, err
	}
	return s.choose(ctx, changed, unsettledSQL, changed.columns(endpoint)...)
}

// choose returns the spans of the batch whose numbers sql returns.
func (s *Store) choose(ctx context.Context, b *todoBatch, sql string, arguments ...any) (chosen []*Span, err error) {
	rows, err := s.pool.Query(ctx, sql, arguments...)
	if err != nil {
		return nil, err
	}
	var nth int
	_, err = pgx.ForEachRow(rows, []any{&nth}, func() error {
		chosen = append(chosen, b.spans[nth-1])
		return nil
	})
	return chosen, err
}

func without(ids byteaArray, known [][]byte) byteaArray {
	return slices.DeleteFunc(slices.Clone(ids), func(id []byte) bool {
		return slices.ContainsFunc(known, func(k []byte) bool { return string(k) == string(id) })
	})
}
