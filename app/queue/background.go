package queue

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/settings"
)

// reapBatch bounds how many rows one statement of a background pass locks.
const reapBatch = 200

// The lock re-reads the row, so that a heartbeat, a completion or a takeover that came first wins: state
// and lease are checked on what is locked, not on what was seen.
const reapHead = `
	WITH clock AS MATERIALIZED (SELECT sb_now() AS now),
	lapsed AS MATERIALIZED (
		SELECT ` + openColumns + `, t.attempt >= t.max_attempts AS last, clock.now FROM todos t, clock
		WHERE `

var reapTail = `
		LIMIT $1 FOR NO KEY UPDATE OF t SKIP LOCKED
	), ` + closing("lapsed", `outcome = 'reaped', disposition = CASE WHEN t.last THEN 'dead_lettered' ELSE 'requeued' END`) + `
	UPDATE todos t SET state = CASE WHEN lapsed.last THEN 'failed' ELSE 'pending' END,
		owner = NULL, lease_expires_at = NULL, fence_hash = NULL, interrupted_at = NULL, updated_at = lapsed.now,
		ended_at = CASE WHEN lapsed.last THEN lapsed.now END
	FROM closed JOIN lapsed ON lapsed.id = closed.todo_id
	WHERE t.id = closed.todo_id
	RETURNING t.endpoint_id, t.queue, t.state`

var (
	reapLeasesSQL     = reapHead + claimed + ` AND t.lease_expires_at < clock.now` + reapTail
	reapInterruptsSQL = reapHead + `t.state IN ('input-required', 'auth-required') AND t.ended_at IS NULL AND t.interrupted_at < clock.now - make_interval(secs => $2)` + reapTail
)

// Reap closes every attempt whose lease has lapsed, as reaped: its todo goes back to pending, or is
// dead-lettered when that was its last attempt. An interrupt that nobody answered in time counts as a
// lapsed lease. It returns how many attempts it closed.
func (s *Store) Reap(ctx context.Context) (int, error) {
	leases, err := s.reap(ctx, reapLeasesSQL, reapBatch)
	if err != nil {
		return leases, err
	}
	timeout := s.settings.Values(ctx)[settings.InterruptTimeoutSeconds]
	interrupts, err := s.reap(ctx, reapInterruptsSQL, reapBatch, timeout)
	return leases + interrupts, err
}

func (s *Store) reap(ctx context.Context, sql string, args ...any) (int, error) {
	return drain(func() (int, error) {
		return s.moved(ctx, func(queue string, state State) {
			s.metrics.AttemptClosed(queue, OutcomeReaped)
			if state == StateFailed {
				s.metrics.TodoEnded(queue, endDeadLettered)
			}
		}, sql, args...)
	})
}

// drain repeats a bounded pass until it finds less than its bound.
func drain(pass func() (int, error)) (total int, err error) {
	for {
		n, err := pass()
		total += n
		if err != nil || n < reapBatch {
			return total, err
		}
	}
}

// moved runs a statement that returns endpoint, queue and state of each todo it moved. It counts each, and
// wakes whoever waits for what is pending now.
func (s *Store) moved(ctx context.Context, count func(queue string, state State), sql string, args ...any) (int, error) {
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return 0, err
	}
	n, ready := 0, map[claimKey]int{}
	var endpoint uuid.UUID
	var queue string
	var state State
	_, err = pgx.ForEachRow(rows, []any{&endpoint, &queue, &state}, func() error {
		n++
		count(queue, state)
		if state == StatePending {
			ready[claimKey{endpoint, queue}]++
		}
		return nil
	})
	for key, n := range ready {
		s.ready.wake(key.endpoint, key.queue, n)
	}
	return n, err
}

const requeueDueSQL = `
	WITH clock AS MATERIALIZED (SELECT sb_now() AS now),
	due AS MATERIALIZED (
		SELECT c.id FROM todos c, clock
		WHERE c.state = 'failed' AND c.next_retry_at IS NOT NULL AND c.next_retry_at <= clock.now AND ($1::uuid IS NULL OR c.endpoint_id = $1)
		ORDER BY c.next_retry_at
		LIMIT $2 FOR NO KEY UPDATE OF c SKIP LOCKED
	)
	UPDATE todos t SET state = 'pending', next_retry_at = NULL, updated_at = clock.now
	FROM due, clock WHERE t.id = due.id
	RETURNING t.endpoint_id, t.queue, t.state`

// RequeueDue makes failed todos pending whose retry has fallen due, and returns how many.
func (s *Store) RequeueDue(ctx context.Context) (int, error) {
	return drain(func() (int, error) { return s.requeueDue(ctx, nil) })
}

func (s *Store) requeueDue(ctx context.Context, endpoint *uuid.UUID) (int, error) {
	return s.moved(ctx, func(string, State) {}, requeueDueSQL, endpoint, reapBatch)
}

// An end without an attempt has an entry of its own in the feed.
var deadLetterSQL = `
	WITH clock AS MATERIALIZED (SELECT sb_now() AS now),
	held AS MATERIALIZED (
		SELECT ` + openColumns + `, clock.now FROM todos t, clock WHERE t.endpoint_id = $1 AND t.owner IS NOT NULL AND ` + live + `
	), ` + closing("held", `outcome = 'revoked', disposition = 'dead_lettered'`) + `, ended AS (
		UPDATE todos t SET state = 'failed', owner = NULL, lease_expires_at = NULL, fence_hash = NULL, interrupted_at = NULL,
			next_retry_at = NULL, updated_at = clock.now, ended_at = clock.now
		FROM clock WHERE t.endpoint_id = $1 AND ` + live + `
		RETURNING t.id, t.human_id, t.endpoint_id, t.queue
	), told_dead AS (
		INSERT INTO feed_entries (human_id, at, kind, todo_id, ref, queue, endpoint_id, dead_letter)
		SELECT e.human_id, clock.now, 'dead_letter', e.id, 0, e.queue, e.endpoint_id, true
		FROM ended e, clock WHERE NOT EXISTS (SELECT FROM closed WHERE closed.todo_id = e.id)
	)
	SELECT ended.queue, closed.todo_id IS NOT NULL FROM ended LEFT JOIN closed ON closed.todo_id = ended.id`

// DeadLetterEndpoint ends every live todo of a revoked endpoint, inside the revocation's transaction: its
// open attempt closes as revoked and nothing re-queues it. The caller calls committed after its commit.
func (s *Store) DeadLetterEndpoint(ctx context.Context, tx pgx.Tx, endpoint uuid.UUID) (committed func(), err error) {
	// Lock first: the statement that follows then sees the attempt of a claim that committed meanwhile.
	if _, err := tx.Exec(ctx, `
		SELECT FROM todos t WHERE t.endpoint_id = $1 AND `+live+` ORDER BY t.id FOR NO KEY UPDATE`, endpoint); err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, deadLetterSQL, endpoint)
	if err != nil {
		return nil, err
	}
	type end struct {
		queue string
		held  bool
	}
	ends, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e end, err error) { return e, row.Scan(&e.queue, &e.held) })
	return func() {
		for _, e := range ends {
			s.metrics.TodoEnded(e.queue, endDeadLettered)
			if e.held {
				s.metrics.AttemptClosed(e.queue, OutcomeRevoked)
			}
		}
	}, err
}
