package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/switchboard-otel/switchboard/app/spans"
)

// benchCaps is T5: what it costs to keep the caps exactly, on a todo that holds nothing and on one that holds a lot.
func benchCaps(ctx context.Context, srv *server, out *report) error {
	in, _, err := srv.newIngest(ctx, "caps")
	if err != nil {
		return err
	}
	defer in.Close()
	for _, held := range []int{0, 9000} {
		for _, size := range []int{100, 500, 1000} {
			side := func(store storeFunc) func() (cost, error) {
				return func() (cost, error) {
					all, err := in.newBatches(ctx, 1, size, held)
					if err != nil {
						return cost{}, err
					}
					return in.write(ctx, all, store)
				}
			}
			a, b, err := warmInTurn(side(in.upsert), side(in.upsertUncapped))
			if err != nil {
				return err
			}
			out.figure("T5", fmt.Sprintf("upsert / uncapped, batches of %d onto %d", size, held),
				medianRatio(a, b, cost.cpuPerUnit), atMost(1.25), spanDetail(a, b))
		}
	}
	return nil
}

// uncapped is what an upsert would be without caps: the same rows, idempotent and corrected by later ones, but nobody
// counts them.
const uncapped = `
INSERT INTO todo_spans AS s (todo_id, attempt_seq, trace_id, span_id, parent_span_id, name, kind, status_code,
	status_message, start_at, end_at, service_name, tool, category, attributes, received_at)
SELECT $1, i.attempt_seq, i.trace_id, i.span_id, nullif(i.parent_span_id, ''), i.name, i.kind, i.status_code,
	nullif(i.status_message, ''), i.start_at, i.end_at, nullif(i.service_name, ''), nullif(i.tool, ''), i.category,
	i.attributes, (SELECT sb_now())
FROM (SELECT unnest($2::integer[]) AS attempt_seq, unnest($3::bytea[]) AS trace_id, unnest($4::bytea[]) AS span_id,
	unnest($5::bytea[]) AS parent_span_id, unnest($6::text[]) AS name, unnest($7::text[]) AS kind,
	unnest($8::text[]) AS status_code, unnest($9::text[]) AS status_message, unnest($10::timestamptz[]) AS start_at,
	unnest($11::timestamptz[]) AS end_at, unnest($12::text[]) AS service_name, unnest($13::text[]) AS tool,
	unnest($14::text[]) AS category, unnest($15::jsonb[]) AS attributes) AS i
ON CONFLICT (todo_id, trace_id, span_id) DO UPDATE
SET name = EXCLUDED.name, status_code = EXCLUDED.status_code, status_message = EXCLUDED.status_message,
	end_at = EXCLUDED.end_at, tool = EXCLUDED.tool, category = EXCLUDED.category, attributes = EXCLUDED.attributes
WHERE EXCLUDED.end_at >= s.end_at
	AND (s.name, s.status_code, s.status_message, s.end_at, s.tool, s.category, s.attributes)
	IS DISTINCT FROM (EXCLUDED.name, EXCLUDED.status_code, EXCLUDED.status_message, EXCLUDED.end_at, EXCLUDED.tool,
	EXCLUDED.category, EXCLUDED.attributes)`

// upsertUncapped is the baseline of T5.
func (in *ingest) upsertUncapped(ctx context.Context, batch []spans.Span) error {
	n := len(batch)
	attempts := make([]int32, n)
	var ids [3]pgtype.FlatArray[[]byte]
	for c := range ids {
		ids[c] = make(pgtype.FlatArray[[]byte], n)
	}
	var texts [7][]string
	for c := range texts {
		texts[c] = make([]string, n)
	}
	starts, ends := make([]time.Time, n), make([]time.Time, n)
	attributes := make(pgtype.FlatArray[[]byte], n)
	for i := range batch {
		s := &batch[i]
		attempts[i] = int32(s.AttemptSeq)
		ids[0][i], ids[1][i], ids[2][i] = s.TraceID[:], s.SpanID[:], []byte{}
		if s.ParentSpanID != [8]byte{} {
			ids[2][i] = s.ParentSpanID[:]
		}
		for c, text := range [...]string{s.Name, s.Kind, s.StatusCode, s.StatusMessage, s.ServiceName, s.Tool, s.Category} {
			texts[c][i] = text
		}
		starts[i], ends[i], attributes[i] = s.StartAt, s.EndAt, s.Attributes
	}
	_, err := in.DB.Spans.Exec(ctx, uncapped, batch[0].TodoID, attempts, ids[0], ids[1], ids[2], texts[0], texts[1], texts[2],
		texts[3], starts, ends, texts[4], texts[5], texts[6], attributes)
	return err
}
