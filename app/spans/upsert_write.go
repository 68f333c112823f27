package spans

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/postgres"
)

// lockSQL takes the todo's ingest lock, row 0 of its counts, and makes the row when this is the todo's first
// batch. It is a statement of its own, so that the snapshot of the next one is taken after the lock. The todo
// is locked against removal first, as the foreign keys below will want: a removal that came in between would
// wait for the counts while we wait for the todo.
const lockSQL = `
INSERT INTO todo_span_counts AS c (todo_id, attempt_seq)
SELECT t.id, 0 FROM todos t WHERE t.id = $1 AND t.endpoint_id = $2 FOR KEY SHARE
ON CONFLICT (todo_id, attempt_seq) DO UPDATE SET stored = c.stored WHERE false`

// insertIncoming is the head of an insert of incoming spans i. They were all received at one time.
const insertIncoming = `INSERT INTO todo_spans (todo_id, attempt_seq, trace_id, span_id, parent_span_id, name, kind,
		status_code, status_message, start_at, end_at, service_name, tool, category, attributes, content_hash, received_at)
	SELECT $1, nullif(i.attempt_seq, 0), i.trace_id, i.span_id, nullif(i.parent_span_id, ''), i.name, i.kind,
		i.status_code, nullif(i.status_message, ''), i.start_at, i.end_at, nullif(i.service_name, ''), nullif(i.tool, ''),
		i.category, i.attributes, i.content_hash, (SELECT sb_now())`

const addCounts = `ON CONFLICT (todo_id, attempt_seq)
	DO UPDATE SET stored = c.stored + EXCLUDED.stored, dropped = c.dropped + EXCLUDED.dropped`

// freshSQL stores a batch as a whole, if nothing of it is stored and all of it fits, and tells whether it did. That is
// the common case, and the few steps that it takes are half the work of writeSQL, which decides for each span.
const freshSQL = `
WITH gate AS MATERIALIZED (
	SELECT ` + inScope + `
		AND (SELECT coalesce(sum(c.stored), 0) FROM todo_span_counts c WHERE c.todo_id = $1) + cardinality($3::integer[]) <= $19
		AND NOT EXISTS (
			SELECT FROM unnest($20::integer[], $21::integer[]) AS a (attempt_seq, spans)
			LEFT JOIN todo_span_counts c ON c.todo_id = $1 AND c.attempt_seq = a.attempt_seq
			WHERE a.attempt_seq > 0 AND coalesce(c.stored, 0) + a.spans > $18)
		AND NOT EXISTS (SELECT FROM unnest($4::bytea[], $5::bytea[]) AS i (trace_id, span_id) CROSS JOIN LATERAL ` + stored + `)
		AS open
), inserted AS (
	` + insertIncoming + `
	FROM ` + incoming + `
	WHERE (SELECT open FROM gate)
), counted AS (
	INSERT INTO todo_span_counts AS c (todo_id, attempt_seq, stored)
	SELECT $1, a.attempt_seq, a.spans
	FROM unnest($20::integer[], $21::integer[]) AS a (attempt_seq, spans)
	WHERE (SELECT open FROM gate)
	` + addCounts + `
)
SELECT open FROM gate`

// writeSQL inserts new spans up to the head-room of their attempt, then of the todo, in document order,
// counts what was stored and what was refused, and replaces the content of stored spans that were corrected.
const writeSQL = `
WITH scope AS MATERIALIZED (
	SELECT t.id FROM todos t WHERE t.id = $1 AND t.endpoint_id = $2
), arrived AS MATERIALIZED (
	SELECT i.*, s.place, s.place IS NULL AS fresh, CASE WHEN s.place IS NULL THEN false ELSE ` + corrects + ` END AS corrects
	FROM scope CROSS JOIN ` + incoming + ` LEFT JOIN LATERAL ` + stored + ` ON true
), held AS MATERIALIZED (
	SELECT c.attempt_seq, c.stored FROM todo_span_counts c WHERE c.todo_id = $1
), in_attempt AS (
	SELECT a.nth, a.attempt_seq,
		a.attempt_seq = 0 OR coalesce(h.stored, 0) + row_number() OVER (PARTITION BY a.attempt_seq ORDER BY a.nth) <= $18 AS fits
	FROM arrived a LEFT JOIN held h ON h.attempt_seq = a.attempt_seq
	WHERE a.fresh
), in_todo AS MATERIALIZED (
	SELECT a.nth, a.attempt_seq,
		a.fits AND (SELECT coalesce(sum(stored), 0) FROM held) + count(*) FILTER (WHERE a.fits) OVER (ORDER BY a.nth) <= $19 AS fits
	FROM in_attempt a
), inserted AS (
	` + insertIncoming + `
	FROM arrived i JOIN in_todo f ON f.nth = i.nth
	WHERE f.fits
), corrected AS (
	UPDATE todo_spans s
	SET parent_span_id = nullif(a.parent_span_id, ''), name = a.name, kind = a.kind, status_code = a.status_code,
		status_message = nullif(a.status_message, ''), start_at = a.start_at, end_at = a.end_at,
		service_name = nullif(a.service_name, ''), tool = nullif(a.tool, ''), category = a.category,
		attributes = a.attributes, content_hash = a.content_hash
	FROM arrived a
	WHERE a.corrects AND s.ctid = a.place
), tally AS (
	SELECT attempt_seq, count(*) FILTER (WHERE fits) AS stored, count(*) FILTER (WHERE NOT fits) AS dropped
	FROM in_todo GROUP BY attempt_seq
), counted AS (
	INSERT INTO todo_span_counts AS c (todo_id, attempt_seq, stored, dropped)
	SELECT $1, attempt_seq, stored, dropped FROM tally
	` + addCounts + `
)
SELECT EXISTS (SELECT FROM scope), (SELECT coalesce(sum(dropped), 0) FROM tally)`

// learnSQL remembers the traces that the batch's attributes bound. The first binding wins (decisions.md 17).
// Traces come sorted, because another todo's transaction may bring the same ones.
const learnSQL = `
INSERT INTO todo_trace_bindings (endpoint_id, trace_id, todo_id)
SELECT t.endpoint_id, i.trace_id, t.id
FROM todos t CROSS JOIN unnest($3::bytea[]) WITH ORDINALITY AS i (trace_id, nth)
WHERE t.id = $1 AND t.endpoint_id = $2
ORDER BY i.nth
ON CONFLICT DO NOTHING`

// writeFresh stores the batch if all of it is new and within the todo's caps. Otherwise done is false and nothing was
// written.
func (s *Store) writeFresh(ctx context.Context, endpoint uuid.UUID, b *todoBatch, limits caps) (done bool, err error) {
	attempts, counts := b.tally()
	err = postgres.InBatch(ctx, s.pool, func(write *pgx.Batch) {
		write.Queue(lockSQL, b.todo, endpoint)
		arguments := append(b.columns(endpoint), limits.attempt, limits.todo, attempts, counts)
		write.Queue(freshSQL, arguments...).QueryRow(func(row pgx.Row) error { return row.Scan(&done) })
	})
	return done, err
}

// write stores the batch under the todo's caps. inScope is false when the todo is not the endpoint's, or is
// gone: then nothing was written. refused counts the spans beyond a cap.
func (s *Store) write(ctx context.Context, endpoint uuid.UUID, b *todoBatch, limits caps) (inScope bool, refused int, err error) {
	err = postgres.InBatch(ctx, s.pool, func(write *pgx.Batch) {
		write.Queue(lockSQL, b.todo, endpoint)
		write.Queue(writeSQL, append(b.columns(endpoint), limits.attempt, limits.todo)...).QueryRow(func(row pgx.Row) error {
			return row.Scan(&inScope, &refused)
		})
		if len(b.learn) > 0 {
			write.Queue(learnSQL, b.todo, endpoint, b.learn)
		}
	})
	return inScope, refused, err
}
