package queue

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// reapBatch bounds how many rows one statement of a background pass locks.
const reapBatch = 200

// The lock re-reads the row, so that a heartbeat, a completion or a takeover that came first wins: state
// and lease are checked on what is locked, not on what was seen.
const reapSQL = `
	WITH clock AS MATERIALIZED (SELECT sb_now() AS now),
	lapsed AS MATERIALIZED (
		SELECT c.id, c.attempt >= c.max_attempts AS last FROM todos c, clock
		WHERE c.state = 'claimed' AND c.lease_expires_at < clock.now
		LIMIT $1 FOR UPDATE OF c SKIP LOCKED
	), closed AS (
		UPDATE todo_attempts a SET ended_at = greatest(clock.now, a.claimed_at), outcome = 'reaped',
			disposition = CASE WHEN lapsed.last THEN 'dead_lettered' ELSE 'requeued' END
		FROM lapsed, clock WHERE a.todo_id = lapsed.id AND a.ended_at IS NULL
		RETURNING a.todo_id
	)
	UPDATE todos t SET state = CASE WHEN lapsed.last THEN 'failed' ELSE 'pending' END,
		owner = NULL, lease_expires_at = NULL, updated_at = clock.now
	FROM closed JOIN lapsed ON lapsed.id = closed.todo_id, clock
	WHERE t.id = closed.todo_id`

// Reap closes every attempt whose lease has lapsed, as reaped: its todo goes back to pending, or is
// dead-lettered when that was its last attempt. It returns how many it closed.
func (s *Store) Reap(ctx context.Context) (int, error) {
	return drain(func() (pgconn.CommandTag, error) { return s.pool.Exec(ctx, reapSQL, reapBatch) })
}

// RequeueDue makes failed todos pending whose retry has fallen due, and returns how many.
func (s *Store) RequeueDue(ctx context.Context) (int, error) {
	return drain(func() (pgconn.CommandTag, error) { return s.pool.Exec(ctx, requeueDueSQL, nil, reapBatch) })
}

// drain repeats a bounded statement until it finds less than its bound.
func drain(pass func() (pgconn.CommandTag, error)) (total int, err error) {
	for {
		tag, err := pass()
		total += int(tag.RowsAffected())
		if err != nil || tag.RowsAffected() < reapBatch {
			return total, err
		}
	}
}

const requeueDueSQL = `
	WITH clock AS MATERIALIZED (SELECT sb_now() AS now),
	due AS MATERIALIZED (
		SELECT c.id FROM todos c, clock
		WHERE c.state = 'failed' AND c.next_retry_at <= clock.now AND ($1::uuid IS NULL OR c.endpoint_id = $1)
		ORDER BY c.next_retry_at
		LIMIT $2 FOR UPDATE OF c SKIP LOCKED
	)
	UPDATE todos t SET state = 'pending', next_retry_at = NULL, updated_at = clock.now
	FROM due, clock WHERE t.id = due.id`

func requeueDue(ctx context.Context, tx pgx.Tx, endpoint *uuid.UUID) (int64, error) {
	tag, err := tx.Exec(ctx, requeueDueSQL, endpoint, reapBatch)
	return tag.RowsAffected(), err
}

// DeadLetterEndpoint ends every live todo of a revoked endpoint, inside the revocation's transaction: its
// open attempt closes as revoked and nothing re-queues it.
func (s *Store) DeadLetterEndpoint(ctx context.Context, tx pgx.Tx, endpoint uuid.UUID) error {
	// Lock first: the statement that follows then sees the attempt of a claim that committed meanwhile.
	if _, err := tx.Exec(ctx, `
		SELECT FROM todos t WHERE t.endpoint_id = $1 AND `+live+` ORDER BY t.id FOR UPDATE`, endpoint); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `
		WITH clock AS MATERIALIZED (SELECT sb_now() AS now),
		closed AS (
			UPDATE todo_attempts a SET ended_at = greatest(clock.now, a.claimed_at), outcome = 'revoked',
				disposition = 'dead_lettered'
			FROM todos t, clock WHERE t.endpoint_id = $1 AND a.todo_id = t.id AND a.ended_at IS NULL
		)
		UPDATE todos t SET state = 'failed', owner = NULL, lease_expires_at = NULL, next_retry_at = NULL,
			updated_at = clock.now
		FROM clock WHERE t.endpoint_id = $1 AND `+live, endpoint)
	return err
}
