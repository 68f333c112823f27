package spans

import (
	"bytes"
	"slices"
	"time"

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
	$10::text[], $11::timestamptz[], $12::timestamptz[], $13::text[], $14::text[], $15::text[], $16::text[])
	WITH ORDINALITY AS i (attempt_seq, trace_id, span_id, parent_span_id, name, kind, status_code, status_message,
	start_at, end_at, service_name, tool, category, attributes, nth)`

// columns are the arguments of incoming: $1 and $2 are the todo and its endpoint.
func (b *todoBatch) columns(endpoint uuid.UUID) []any {
	n := len(b.spans)
	attempt := make([]int32, n)
	var ids [3]byteaArray
	for c := range ids {
		ids[c] = make(byteaArray, n)
	}
	var texts [7][]string
	for c := range texts {
		texts[c] = make([]string, n)
	}
	startAt, endAt := make([]time.Time, n), make([]time.Time, n)
	attributes := make(byteaArray, n)
	for i, s := range b.spans {
		attempt[i] = int32(s.AttemptSeq)
		ids[0][i], ids[1][i], ids[2][i] = s.TraceID[:], s.SpanID[:], []byte{}
		if s.ParentSpanID != [8]byte{} {
			ids[2][i] = s.ParentSpanID[:]
		}
		texts[0][i], texts[1][i], texts[2][i], texts[3][i] = s.Name, s.Kind, s.StatusCode, s.StatusMessage
		startAt[i], endAt[i] = s.StartAt, s.EndAt
		texts[4][i], texts[5][i], texts[6][i] = s.ServiceName, s.Tool, s.Category
		attributes[i] = s.Attributes
	}
	return []any{b.todo, endpoint, attempt, ids[0], ids[1], ids[2], texts[0], texts[1], texts[2], texts[3],
		startAt, endAt, texts[4], texts[5], texts[6], attributes}
}
