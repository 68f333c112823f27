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
// and ids stand for null there.
const incoming = `unnest($3::integer[], $4::bytea[], $5::bytea[], $6::bytea[], $7::text[], $8::text[], $9::text[],
	$10::text[], $11::timestamptz[], $12::timestamptz[], $13::text[], $14::text[], $15::text[], $16::jsonb[])
	WITH ORDINALITY AS i (attempt_seq, trace_id, span_id, parent_span_id, name, kind, status_code, status_message,
	start_at, end_at, service_name, tool, category, attributes, nth)`

// columns are the arguments of incoming: $1 and $2 are the todo and its endpoint.
func (b *todoBatch) columns(endpoint uuid.UUID) []any {
	arguments := append(make([]any, 0, 20), b.todo, endpoint)
	for _, field := range fields {
		arguments = append(arguments, column{b.spans, field})
	}
	return arguments
}
