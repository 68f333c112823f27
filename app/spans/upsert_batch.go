package spans

import (
	"bytes"
	"slices"

	"github.com/google/uuid"
)

// todoBatch is what one request brings for one todo.
type todoBatch struct {
	todo  uuid.UUID
	spans []*Span // distinct, in document order
	learn byteaArray
}

func (b *todoBatch) empty() bool { return len(b.spans) == 0 && len(b.learn) == 0 }

// groupByTodo sorts a request's spans into batches, in todo order, so that concurrent requests with the same
// todos meet them in the same order. Of a span that comes twice the later one wins, at the place of the
// first. invalid counts what the database could not hold.
func groupByTodo(request []Span) (batches []*todoBatch, invalid int) {
	type place struct {
		batch *todoBatch
		index map[Key]int
	}
	places := map[uuid.UUID]place{}
	learned := map[[16]byte]bool{}
	var last uuid.UUID // most requests are about one todo
	var p place
	for i := range request {
		span := &request[i]
		if !span.storable() {
			invalid++
			continue
		}
		if p.batch == nil || span.TodoID != last {
			last = span.TodoID
			known, ok := places[last]
			if !ok {
				known = place{&todoBatch{todo: last}, make(map[Key]int, len(request)-i)}
				places[last] = known
				batches = append(batches, known.batch)
			}
			p = known
		}
		if at, twice := p.index[span.Key()]; twice {
			p.batch.spans[at] = span
		} else {
			p.index[span.Key()] = len(p.batch.spans)
			p.batch.spans = append(p.batch.spans, span)
		}
		if span.LearnTrace && !learned[span.TraceID] {
			learned[span.TraceID] = true
			p.batch.learn = append(p.batch.learn, span.TraceID[:])
		}
	}
	for _, b := range batches {
		slices.SortFunc(b.learn, bytes.Compare)
	}
	slices.SortFunc(batches, func(a, b *todoBatch) int { return bytes.Compare(a.todo[:], b.todo[:]) })
	return batches, invalid
}

// tally counts the batch's spans by attempt.
func (b *todoBatch) tally() (attempts, counts []int32) {
	for _, s := range b.spans {
		at := slices.Index(attempts, int32(s.AttemptSeq))
		if at < 0 {
			at = len(attempts)
			attempts, counts = append(attempts, int32(s.AttemptSeq)), append(counts, 0)
		}
		counts[at]++
	}
	return attempts, counts
}

// incoming is the request's side of every statement of a todo: one array per column, unnested. Empty strings
// and ids stand for null there. They are unnested in the select list, where the server takes one element after the
// other; in FROM it would first write each array out, a row for each element.
const incoming = `(SELECT unnest($3::integer[]) AS attempt_seq, unnest($4::bytea[]) AS trace_id, unnest($5::bytea[]) AS span_id,
	unnest($6::bytea[]) AS parent_span_id, unnest($7::text[]) AS name, unnest($8::text[]) AS kind,
	unnest($9::text[]) AS status_code, unnest($10::text[]) AS status_message, unnest($11::timestamptz[]) AS start_at,
	unnest($12::timestamptz[]) AS end_at, unnest($13::text[]) AS service_name, unnest($14::text[]) AS tool,
	unnest($15::text[]) AS category, unnest($16::jsonb[]) AS attributes, unnest($17::bigint[]) AS content_hash,
	generate_subscripts($3::integer[], 1) AS nth) AS i`

// columns are the arguments of incoming: $1 and $2 are the todo and its endpoint.
func (b *todoBatch) columns(endpoint uuid.UUID) []any {
	arguments := append(make([]any, 0, 20), b.todo, endpoint)
	for _, field := range fields {
		arguments = append(arguments, column{b.spans, field})
	}
	return append(arguments, b.contentHashes())
}
