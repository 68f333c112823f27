package queue

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Resolution is what the queue knows of the traces and todos that a batch of spans names. Everything in it
// lies in the asking endpoint's scope; what does not is simply absent.
type Resolution struct {
	Minted   map[[16]byte]MintedAttempt    // by the trace id minted for an attempt
	Callers  map[[16]byte][]CallerAttempt  // by the trace its claim came from, in the order of claims
	Attempts map[uuid.UUID][]AttemptWindow // by todo, ascending seq; a todo without attempts has an empty list
}

// MintedAttempt is the attempt a trace id was minted for.
type MintedAttempt struct {
	TodoID uuid.UUID
	Seq    int
}

// AttemptWindow is when an attempt was open, both ends included; an open attempt has no end.
type AttemptWindow struct {
	Seq       int
	ClaimedAt time.Time
	EndedAt   *time.Time
}

// CallerAttempt is an attempt whose claim arrived within a trace of the caller's own.
type CallerAttempt struct {
	TodoID uuid.UUID
	AttemptWindow
}

// Resolve looks traces and todos up for one endpoint, in one round trip.
func (s *Store) Resolve(ctx context.Context, endpoint uuid.UUID, traces [][16]byte, todos []uuid.UUID) (*Resolution, error) {
	r := Resolution{Minted: map[[16]byte]MintedAttempt{}, Callers: map[[16]byte][]CallerAttempt{},
		Attempts: map[uuid.UUID][]AttemptWindow{}}
	ids := make([][]byte, len(traces))
	for i := range traces {
		ids[i] = traces[i][:]
	}
	var b pgx.Batch
	b.Queue(`
		SELECT a.trace_id, a.todo_id, a.seq FROM todo_attempts a JOIN todos t ON t.id = a.todo_id
		WHERE t.endpoint_id = $1 AND a.trace_id = ANY($2)`, endpoint, ids).Query(func(rows pgx.Rows) error {
		var trace []byte
		var m MintedAttempt
		_, err := pgx.ForEachRow(rows, []any{&trace, &m.TodoID, &m.Seq}, func() error {
			r.Minted[[16]byte(trace)] = m
			return nil
		})
		return err
	})
	b.Queue(`
		SELECT a.caller_trace_id, a.todo_id, a.seq, a.claimed_at, a.ended_at
		FROM todo_attempts a JOIN todos t ON t.id = a.todo_id
		WHERE t.endpoint_id = $1 AND a.caller_trace_id = ANY($2)
		ORDER BY a.claimed_at, a.todo_id, a.seq`, endpoint, ids).Query(func(rows pgx.Rows) error {
		var trace []byte
		var c CallerAttempt
		_, err := pgx.ForEachRow(rows, []any{&trace, &c.TodoID, &c.Seq, &c.ClaimedAt, &c.EndedAt}, func() error {
			r.Callers[[16]byte(trace)] = append(r.Callers[[16]byte(trace)], c)
			return nil
		})
		return err
	})
	b.Queue(`
		SELECT t.id, coalesce(a.seq, 0), coalesce(a.claimed_at, t.created_at), a.ended_at
		FROM todos t LEFT JOIN todo_attempts a ON a.todo_id = t.id
		WHERE t.endpoint_id = $1 AND t.id = ANY($2)
		ORDER BY t.id, a.seq`, endpoint, todos).Query(func(rows pgx.Rows) error {
		var todo uuid.UUID
		var w AttemptWindow
		_, err := pgx.ForEachRow(rows, []any{&todo, &w.Seq, &w.ClaimedAt, &w.EndedAt}, func() error {
			if w.Seq == 0 {
				r.Attempts[todo] = []AttemptWindow{}
				return nil
			}
			r.Attempts[todo] = append(r.Attempts[todo], w)
			return nil
		})
		return err
	})
	if err := s.pool.SendBatch(ctx, &b).Close(); err != nil {
		return nil, err
	}
	return &r, nil
}
