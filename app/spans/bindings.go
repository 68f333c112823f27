package spans

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// Question is what a request names, each once.
type Question struct {
	Traces [][16]byte
	Todos  []uuid.UUID
	Keys   []Key // of spans that name no todo
}

// Resolution is what the store knows of a request's traces and todos. Everything in it lies in the scope of the
// endpoint that asks; what does not is absent.
type Resolution struct {
	Minted   map[[16]byte]MintedAttempt    // by the trace id minted for an attempt
	Traces   map[[16]byte]Binding          // what earlier requests taught, and the minted traces of pruned attempts
	Callers  map[[16]byte][]CallerAttempt  // by the trace its claim came with, in the order of claims
	Attempts map[uuid.UUID][]AttemptWindow // by todo, ascending seq; a todo without attempts has an empty list

	// Homes is where spans are stored already whose trace leads to several todos through the times of claims: a later
	// claim would choose anew, and binding decides only for spans that are not stored yet (decisions.md 8).
	Homes map[Key]uuid.UUID
}

// MintedAttempt is the attempt a trace id was minted for.
type MintedAttempt struct {
	TodoID uuid.UUID
	Seq    int
}

// Binding is the todo that an earlier request bound a trace to (REQ-3 rule 3).
type Binding struct {
	TodoID     uuid.UUID
	AttemptSeq int // set for the minted trace of a pruned attempt (decisions.md 18), else 0
}

// AttemptWindow is when an attempt was open, both ends included; an open attempt has no end.
type AttemptWindow struct {
	Seq       int
	ClaimedAt time.Time
	EndedAt   *time.Time
}

// CallerAttempt is an attempt whose claim came with a trace of the caller's own (decisions.md 19).
type CallerAttempt struct {
	TodoID uuid.UUID
	AttemptWindow
}

// fact is which part of a Resolution a row of resolveSQL belongs to.
type fact int

const (
	factMinted fact = iota
	factTaught
	factCaller
	factAttempt
	factHome
)

// ownTodo is the todo of row a, as far as it is the endpoint's. LIMIT keeps the probe from becoming a join that begins
// with all the todos of the endpoint: that seems cheap while there are few, and such a plan would stay.
const ownTodo = `CROSS JOIN LATERAL (SELECT t.id FROM todos t WHERE t.id = a.todo_id AND t.endpoint_id = $1 LIMIT 1) AS t`

// resolveSQL answers a Question in one snapshot. It begins with what the request names, whatever the server knew of the
// tables when it planned; OFFSET keeps a lateral query from becoming such a join, and the order in the last one from
// another index than the primary key, as in stored.
const resolveSQL = `
WITH named AS (
	SELECT unnest($2::bytea[]) AS trace_id
), minted AS (
	SELECT a.trace_id, a.todo_id, a.seq, a.claimed_at, a.ended_at
	FROM named n CROSS JOIN LATERAL (
		SELECT * FROM todo_attempts a WHERE a.trace_id = n.trace_id LIMIT 1
	) AS a ` + ownTodo + `
), taught AS (
	SELECT b.trace_id, b.todo_id, coalesce(b.attempt_seq, 0) AS seq
	FROM todo_trace_bindings b
	WHERE b.endpoint_id = $1 AND b.trace_id = ANY($2)
), callers AS (
	SELECT n.trace_id, a.todo_id, a.seq, a.claimed_at, a.ended_at
	FROM named n CROSS JOIN LATERAL (
		SELECT * FROM todo_attempts a WHERE a.caller_trace_id = n.trace_id OFFSET 0
	) AS a ` + ownTodo + `
	WHERE NOT EXISTS (SELECT FROM minted m WHERE m.trace_id = n.trace_id)
), choices AS (
	SELECT c.trace_id, c.todo_id, count(*) OVER (PARTITION BY c.trace_id) AS choices
	FROM (
		SELECT trace_id, todo_id FROM callers
		UNION
		SELECT b.trace_id, b.todo_id FROM taught b WHERE b.trace_id IN (SELECT trace_id FROM callers)
	) AS c
)
SELECT 0 AS fact, trace_id, NULL::bytea AS span_id, todo_id, seq, claimed_at, ended_at FROM minted
UNION ALL
SELECT 1, trace_id, NULL, todo_id, seq, NULL, NULL FROM taught
UNION ALL
SELECT 2, trace_id, NULL, todo_id, seq, claimed_at, ended_at FROM callers
UNION ALL
SELECT 3, NULL, NULL, t.id, coalesce(w.seq, 0), w.claimed_at, w.ended_at
FROM (SELECT unnest($3::uuid[]) AS todo_id UNION SELECT todo_id FROM taught) AS a ` + ownTodo + `
LEFT JOIN LATERAL (
	SELECT * FROM todo_attempts w WHERE w.todo_id = t.id OFFSET 0
) AS w ON true
UNION ALL
SELECT 4, i.trace_id, i.span_id, c.todo_id, 0, NULL, NULL
FROM choices c JOIN unnest($4::bytea[], $5::bytea[]) AS i (trace_id, span_id) ON i.trace_id = c.trace_id
CROSS JOIN LATERAL (
	SELECT FROM todo_spans s
	WHERE s.todo_id = c.todo_id AND s.trace_id = i.trace_id AND s.span_id BETWEEN i.span_id AND i.span_id
	ORDER BY s.span_id LIMIT 1
) AS stored
WHERE c.choices > 1
ORDER BY fact, claimed_at, todo_id, seq`

// Resolve looks up what a request names, for one endpoint, in one statement. Which attempt a trace was minted for never
// changes, so what Minted knows need not be asked again.
func (s *Store) Resolve(ctx context.Context, endpoint uuid.UUID, q Question) (*Resolution, error) {
	r := &Resolution{Minted: map[[16]byte]MintedAttempt{}, Traces: map[[16]byte]Binding{},
		Callers: map[[16]byte][]CallerAttempt{}, Attempts: map[uuid.UUID][]AttemptWindow{}, Homes: map[Key]uuid.UUID{}}
	if len(q.Traces) == 0 {
		return r, nil
	}
	keyTraces, keySpans := make(byteaArray, len(q.Keys)), make(byteaArray, len(q.Keys))
	for i := range q.Keys {
		keyTraces[i], keySpans[i] = q.Keys[i].TraceID[:], q.Keys[i].SpanID[:]
	}
	rows, err := s.pool.Query(ctx, resolveSQL, endpoint, byteas(q.Traces), q.Todos, keyTraces, keySpans)
	if err != nil {
		return nil, fmt.Errorf("look up where spans belong: %w", err)
	}
	var (
		is          fact
		trace, span []byte
		todo        uuid.UUID
		seq         int
		from, to    *time.Time
	)
	if _, err := pgx.ForEachRow(rows, []any{&is, &trace, &span, &todo, &seq, &from, &to}, func() error {
		switch is {
		case factMinted:
			r.Minted[[16]byte(trace)] = MintedAttempt{TodoID: todo, Seq: seq}
			if to == nil {
				s.minted.remember(endpoint, [16]byte(trace), MintedAttempt{TodoID: todo, Seq: seq})
			}
		case factTaught:
			r.Traces[[16]byte(trace)] = Binding{TodoID: todo, AttemptSeq: seq}
		case factCaller:
			c := CallerAttempt{TodoID: todo, AttemptWindow: AttemptWindow{Seq: seq, ClaimedAt: *from, EndedAt: to}}
			r.Callers[[16]byte(trace)] = append(r.Callers[[16]byte(trace)], c)
		case factAttempt:
			r.Attempts[todo] = append(r.Attempts[todo], windows(seq, from, to)...)
		case factHome:
			r.Homes[Key{[16]byte(trace), [8]byte(span)}] = todo
		}
		return nil
	}); err != nil {
		return nil, fmt.Errorf("look up where spans belong: %w", err)
	}
	return r, nil
}

// windows is one attempt, or none of a todo that has none.
func windows(seq int, from, to *time.Time) []AttemptWindow {
	if seq == 0 {
		return nil
	}
	return []AttemptWindow{{Seq: seq, ClaimedAt: *from, EndedAt: to}}
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
