package queue

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/fault"
)

// What the Board's lanes hold: rows that are shown, and how far a lane is counted. A count that reaches
// mostCounted means that many or more.
const (
	laneRows     = 30
	finishedRows = 8
	mostCounted  = 1000
)

// LaneFilter narrows the Board to one queue, to one endpoint or to both. Zero values do not filter.
type LaneFilter struct {
	Queue    string
	Endpoint uuid.UUID
}

// Lane is what a lane shows, and how many there are, at most mostCounted.
type Lane struct {
	Rows  []LaneRow
	Total int
}

// LaneRow is a todo on the Board.
type LaneRow struct {
	HumanRow
	ClaimerKind *string // of the latest attempt: endpoint or owner
	Note        *string // the latest note of the latest attempt
	Spans       int     // stored spans of the latest attempt
}

// Lanes is a human's Board (board.md section 1).
type Lanes struct {
	Ready    Lane // pending, oldest first, after what waits for its retry, soonest first
	Held     Lane // claimed now, or waiting for an answer, the lease that ends first leading
	Finished Lane // ended since midnight UTC, newest first

	DeadLetters, Questions, Quarantined int // of any age, at most mostCounted

	At time.Time // the database's clock
}

// laneHead reads the rows that a sub-select named t picks, with who works on each.
const laneHead = `
	SELECT ` + rowColumns + `, t.endpoint_id, e.slug, g.name, t.attempts_total, t.updated_at, latest.claimant,
		closed.outcome, closed.summary, coalesce(closed.outcome IN ('lease_expired', 'reaped'), false),
		latest.claimer_kind, note.message, coalesce(counted.stored, 0)
	FROM (`

const laneTail = `
	) t
	JOIN endpoints e ON e.id = t.endpoint_id
	JOIN agents g ON g.id = e.agent_id
	LEFT JOIN todo_attempts latest ON latest.todo_id = t.id AND latest.seq = t.attempts_total
	LEFT JOIN LATERAL (
		SELECT a.outcome, a.summary FROM todo_attempts a
		WHERE a.todo_id = t.id AND a.ended_at IS NOT NULL ORDER BY a.seq DESC LIMIT 1
	) closed ON true
	LEFT JOIN LATERAL (
		SELECT v.message FROM todo_activity v
		WHERE v.todo_id = t.id AND v.kind = 'note' AND v.attempt_seq = t.attempts_total AND latest.ended_at IS NULL
		ORDER BY v.seq DESC LIMIT 1
	) note ON true
	LEFT JOIN todo_span_counts counted ON counted.todo_id = t.id AND counted.attempt_seq = t.attempts_total`

// Each of these picks a human's todos of one kind through an index that is small: pending and claimed ones
// by endpoint, the others by the human. $2 and $3 are the filter.
const (
	laneFilter = ` AND ($2 = '' OR t.queue = $2) AND ($3::uuid IS NULL OR t.endpoint_id = $3)`

	pendingLane = `FROM endpoints p JOIN todos t ON t.endpoint_id = p.id AND ` + pending + `
		WHERE p.human_id = $1 AND t.queue <> 'quarantine'` + laneFilter
	quarantineLane = `FROM todos t WHERE t.human_id = $1 AND t.queue = 'quarantine' AND t.state = 'pending'` + laneFilter
	claimedLane    = `FROM endpoints p JOIN todos t ON t.endpoint_id = p.id AND ` + claimed + `
		WHERE p.human_id = $1` + laneFilter
	retryLane = `FROM todos t WHERE t.human_id = $1 AND t.state IN ('failed', 'input-required', 'auth-required')
		AND t.next_retry_at IS NOT NULL` + laneFilter
	questionLane = `FROM todos t WHERE t.human_id = $1 AND t.state IN ('failed', 'input-required', 'auth-required')
		AND t.state <> 'failed'` + laneFilter
	deadLane = `FROM todos t WHERE t.human_id = $1 AND t.state IN ('failed', 'input-required', 'auth-required')
		AND t.state = 'failed' AND t.next_retry_at IS NULL` + laneFilter
	finishedLane = `FROM todos t WHERE t.human_id = $1 AND t.ended_at >= $4` + laneFilter
)

func laneRowsSQL(from, order, limit string) string {
	return laneHead + `SELECT t.* ` + from + ` ORDER BY ` + order + ` LIMIT ` + limit + laneTail + ` ORDER BY ` + order
}

func laneCountSQL(from string) string {
	return `SELECT count(*) FROM (SELECT ` + from + ` LIMIT $4) counted`
}

var (
	pendingRowsSQL  = laneRowsSQL(pendingLane, "t.created_at, t.id", "$4")
	retryRowsSQL    = laneRowsSQL(retryLane, "t.next_retry_at, t.id", "$4")
	claimedRowsSQL  = laneRowsSQL(claimedLane, "t.lease_expires_at, t.id", "$4")
	questionRowsSQL = laneRowsSQL(questionLane, "t.updated_at, t.id", "$4")
	finishedRowsSQL = laneRowsSQL(finishedLane, "t.ended_at DESC, t.id DESC", "$5")
)

// Lanes reads a human's Board in one round trip, on one state of the database.
func (s *Store) Lanes(ctx context.Context, human uuid.UUID, f LaneFilter) (*Lanes, error) {
	var l Lanes
	var endpoint *uuid.UUID
	if f.Endpoint != uuid.Nil {
		endpoint = &f.Endpoint
	}
	err := s.snapshot(ctx, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, `SELECT sb_now()`).Scan(&l.At); err != nil {
			return err
		}
		today := l.At.UTC().Truncate(24 * time.Hour)
		var b pgx.Batch
		rows := func(into *[]LaneRow, sql string, more ...any) {
			b.Queue(sql, append([]any{human, f.Queue, endpoint}, more...)...).Query(func(found pgx.Rows) (err error) {
				*into, err = pgx.AppendRows(*into, found, scanLaneRow)
				return err
			})
		}
		count := func(into *int, sql string, more ...any) {
			b.Queue(sql, append([]any{human, f.Queue, endpoint}, more...)...).QueryRow(func(row pgx.Row) error {
				var n int
				err := row.Scan(&n)
				*into = min(*into+n, mostCounted)
				return err
			})
		}
		rows(&l.Ready.Rows, retryRowsSQL, laneRows)
		rows(&l.Ready.Rows, pendingRowsSQL, laneRows)
		rows(&l.Held.Rows, questionRowsSQL, laneRows)
		rows(&l.Held.Rows, claimedRowsSQL, laneRows)
		rows(&l.Finished.Rows, finishedRowsSQL, today, finishedRows)
		count(&l.Ready.Total, laneCountSQL(retryLane), mostCounted)
		count(&l.Ready.Total, laneCountSQL(pendingLane), mostCounted)
		count(&l.Held.Total, laneCountSQL(questionLane), mostCounted)
		count(&l.Held.Total, laneCountSQL(claimedLane), mostCounted)
		count(&l.Finished.Total, `SELECT count(*) FROM (SELECT `+finishedLane+` LIMIT $5) counted`, today, mostCounted)
		count(&l.DeadLetters, laneCountSQL(deadLane), mostCounted)
		count(&l.Questions, laneCountSQL(questionLane), mostCounted)
		count(&l.Quarantined, laneCountSQL(quarantineLane), mostCounted)
		return tx.SendBatch(ctx, &b).Close()
	})
	if err != nil {
		return nil, err
	}
	return &l, nil
}

func scanLaneRow(row pgx.CollectableRow) (r LaneRow, err error) {
	return r, row.Scan(append(r.Row.fields(), &r.EndpointID, &r.EndpointSlug, &r.AgentName, &r.AttemptsTotal, &r.UpdatedAt,
		&r.Claimant, &r.LastOutcome, &r.LastSummary, &r.LastDied, &r.ClaimerKind, &r.Note, &r.Spans)...)
}

// Quarantined counts the deliveries of a human that wait in quarantine, at most a thousand.
func (s *Store) Quarantined(ctx context.Context, human uuid.UUID) (n int, err error) {
	err = s.pool.QueryRow(ctx, laneCountSQL(quarantineLane), human, "", nil, mostCounted).Scan(&n)
	return n, err
}

// OfEvents returns the todos that came from events of a human, by event. An event may have none.
func (s *Store) OfEvents(ctx context.Context, human uuid.UUID, events []uuid.UUID) (map[uuid.UUID]Row, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT `+rowColumns+`, t.event_id FROM todos t WHERE t.human_id = $1 AND t.event_id = ANY($2)`, human, events)
	if err != nil {
		return nil, err
	}
	all := map[uuid.UUID]Row{}
	for rows.Next() {
		var r Row
		var event uuid.UUID
		if err := rows.Scan(append(r.fields(), &event)...); err != nil {
			rows.Close()
			return nil, err
		}
		all[event] = r
	}
	return all, rows.Err()
}

// Pulse is how far a todo's trail has come. Two equal pulses mean that nothing was added: every transition
// and every heartbeat moves Moved, every entry of the log moves Entries, every stored or refused span moves
// the attempt's number.
type Pulse struct {
	Moved    time.Time // the todo's last change
	State    State
	Lapsed   bool        // it is claimed, and its lease has ended: nothing has written that yet
	Attempts int         // attempts ever
	Entries  int         // the highest seq of its activity
	Spans    map[int]int // by attempt, 0 for spans without one: stored and dropped
}

// Pulse reads how far the trail of one of a human's todos has come. A foreign id is unknown.
func (s *Store) Pulse(ctx context.Context, human, id uuid.UUID) (*Pulse, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT t.updated_at, t.state, coalesce(t.state = 'claimed' AND t.lease_expires_at <= sb_now(), false), t.attempts_total, t.activity_seq, coalesce(n.attempt_seq, 0), coalesce(n.stored + n.dropped, 0)
		FROM todos t LEFT JOIN todo_span_counts n ON n.todo_id = t.id
		WHERE t.id = $1 AND t.human_id = $2`, id, human)
	if err != nil {
		return nil, err
	}
	p := Pulse{Spans: map[int]int{}}
	var seq, spans int
	tag, err := pgx.ForEachRow(rows, []any{&p.Moved, &p.State, &p.Lapsed, &p.Attempts, &p.Entries, &seq, &spans}, func() error {
		if spans > 0 {
			p.Spans[seq] = spans
		}
		return nil
	})
	if err == nil && tag.RowsAffected() == 0 {
		err = fault.ErrTodoNotFound
	}
	return &p, err
}
