package queue

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/settings"
)

// A claim is one statement: it locks a candidate, makes room where the todo would hold more attempts than it
// may, opens the new attempt and moves the todo. The clock is read when the candidate is locked: a lease must
// not run while its claim waits. The candidate is a materialised CTE because a LIMIT with SKIP LOCKED inside
// IN (...) may lock more rows than it returns, and because what has an effect must happen once: the update is
// evaluated again when the row had moved before it was locked.
const claimHead = `
	WITH candidate AS MATERIALIZED (
		SELECT c.*, sb_now() AS now, CASE WHEN c.surplus > 0 THEN sb_prune_attempts(c.id, c.surplus) ELSE 0 END AS pruned FROM (
			SELECT t.id, t.attempt + 1 AS attempt, t.attempts_total + 1 AS seq, t.attempts_total + 1 - t.attempts_pruned - $10::integer AS surplus
			FROM todos t WHERE `

const claimTail = `
		) c
	), opened AS (
		INSERT INTO todo_attempts (todo_id, seq, attempt, claimer_kind, endpoint_id, claimant, trace_id, caller_trace_id,
			lease_ttl_seconds, claimed_at, request_id)
		SELECT c.id, c.seq, c.attempt, 'endpoint', $1, $5, $6, $7, $4, c.now, $9 FROM candidate c
	)
	UPDATE todos t SET state = 'claimed', attempt = c.attempt, attempts_total = c.seq,
		attempts_pruned = t.attempts_pruned + c.pruned, owner = $3, lease_expires_at = c.now + make_interval(secs => $4),
		fence_hash = $8::bytea, lease_ttl_seconds = $4, last_heartbeat_at = NULL, notes = 0, notes_dropped = 0,
		next_retry_at = NULL, updated_at = c.now
	FROM candidate c WHERE t.id = c.id
	RETURNING t.attempts_total, ` + todoColumns

// What the next worker should know, newest first: the closed attempts before its own, which no longer change.
// A statement of its own, so that no snapshot older than the claim's lock hides the one that ended last.
const priorSQL = `
	SELECT ` + attemptColumns + ` FROM todo_attempts a JOIN todos t ON t.id = a.todo_id
	WHERE a.todo_id = $1 AND a.seq < $2 ORDER BY a.seq DESC LIMIT $3`

// priorAttempts is how many closed attempts a claim is handed.
const priorAttempts = 5

const claimOldest = pending + ` AND t.endpoint_id = $1 AND t.queue = ANY($2)`

const claimOrder = `
			ORDER BY t.created_at, t.id
			LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED`

const (
	claimNextSQL  = claimHead + claimOldest + claimOrder + claimTail
	claimAfterSQL = claimHead + claimOldest + ` AND (t.created_at, t.id) > ($11, $12)` + claimOrder + claimTail

	// A todo asked for by id may also be a retry that fell due before the scheduler came by.
	claimSQL = claimHead + `t.id = $11 AND t.endpoint_id = $1 AND t.queue = ANY($2)
				AND (t.state = 'pending' OR t.state = 'failed' AND t.next_retry_at <= sb_now())
			FOR NO KEY UPDATE` + claimTail
)

// claim runs one of the claiming statements. pgx.ErrNoRows means that there was nothing to claim.
func (g *grant) claim(ctx context.Context, q querier, sql string, queues []string, more ...any) (*Claimed, error) {
	args := append([]any{g.ep.ID, queues, ownerOf(g.ep), g.leaseTTL, g.claimant, g.trace[:], g.callerTrace, g.fence,
		g.requestID, g.keep}, more...)
	return g.read(ctx, q, sql, args)
}

// read runs a statement that returns a todo this grant holds, and then reads the attempts before its own.
func (g *grant) read(ctx context.Context, q querier, sql string, args []any, more ...any) (*Claimed, error) {
	c := Claimed{ClaimFields: ClaimFields{PriorAttempts: []Attempt{}, LeaseToken: g.leaseToken, Traceparent: g.traceparent()}}
	fields := append([]any{&c.AttemptsTotal}, c.Todo.fields()...)
	if err := q.QueryRow(ctx, sql, args...).Scan(append(fields, more...)...); err != nil {
		return nil, err
	}
	c.AttemptSeq = c.AttemptsTotal
	if c.AttemptSeq == 1 {
		return &c, nil
	}
	rows, err := q.Query(ctx, priorSQL, c.ID.UUID(), c.AttemptSeq, priorAttempts)
	if err != nil {
		return nil, err
	}
	c.PriorAttempts, err = pgx.AppendRows(c.PriorAttempts, rows, scanAttempt)
	return &c, err
}

// Claim claims the todo it is asked for: one that is pending, one whose retry is due, or one whose lease has
// lapsed with attempts left. Any other todo the endpoint can see is a conflict.
func (s *Store) Claim(ctx context.Context, ep *identity.Endpoint, id uuid.UUID, p ClaimParams) (*Claimed, error) {
	g, err := s.newGrant(ctx, ep, p)
	if err != nil {
		return nil, err
	}
	c, err := s.once(ctx, g, &id, func() (*Claimed, error) {
		c, err := g.claim(ctx, s.pool, claimSQL, ep.Queues, id)
		if errors.Is(err, pgx.ErrNoRows) {
			return s.takeOver(ctx, g, ep.Queues, &id)
		}
		return c, err
	})
	if err != nil {
		return nil, err
	}
	if c == nil {
		if err = s.notHeld(ctx, ep, id); errors.Is(err, fault.ErrNotHeld) {
			err = errNotClaimable
		}
		return nil, err
	}
	if c.ID.UUID() != id {
		return nil, errRequestUsed
	}
	return c, nil
}

var (
	errNotClaimable = fault.New(fault.Conflict, "this todo cannot be claimed now")
	errRequestUsed  = fault.New(fault.Conflict, "request_id belongs to an open attempt of another todo")
)

// ClaimNext claims the oldest pending todo of the endpoint's queues, or of one of them when queue is not
// empty. When none is pending it makes due retries pending, then takes over a lapsed lease. A nil result
// means there is nothing to do.
func (s *Store) ClaimNext(ctx context.Context, ep *identity.Endpoint, queue string, p ClaimParams) (*Claimed, error) {
	g, err := s.newGrant(ctx, ep, p)
	if err != nil {
		return nil, err
	}
	queues := ep.Queues
	if queue != "" {
		if !ep.GrantsQueue(queue) {
			return nil, errQueueNotGranted
		}
		queues = []string{queue}
	}
	key := claimKey{ep.ID, queue}
	return s.once(ctx, g, nil, func() (*Claimed, error) {
		c, err := s.claimPending(ctx, g, queues, key)
		if !errors.Is(err, pgx.ErrNoRows) {
			return c, err
		}
		if due, err := s.requeueDue(ctx, &ep.ID); err != nil || due > 0 {
			if err != nil {
				return nil, err
			}
			if c, err = s.claimPending(ctx, g, queues, key); !errors.Is(err, pgx.ErrNoRows) {
				return c, err
			}
		}
		return s.takeOver(ctx, g, queues, nil)
	})
}

var errQueueNotGranted = fault.New(fault.Forbidden, "queue is not among this endpoint's queues")

func (s *Store) claimPending(ctx context.Context, g *grant, queues []string, key claimKey) (c *Claimed, err error) {
	if createdAt, id := s.hints.after(key); id != nil {
		c, err = g.claim(ctx, s.pool, claimAfterSQL, queues, createdAt, *id)
		if errors.Is(err, pgx.ErrNoRows) {
			s.hints.forget(key)
		}
	}
	if c == nil && (err == nil || errors.Is(err, pgx.ErrNoRows)) {
		c, err = g.claim(ctx, s.pool, claimNextSQL, queues)
	}
	if err == nil {
		s.hints.claimed(key, c.CreatedAt, c.ID.UUID())
	}
	return c, err
}

// A takeover closes the lapsed attempt in a statement of its own, so that the claim that follows sees it
// among the prior attempts. The last attempt of a todo is left to the reaper, which dead-letters it.
var lapseSQL = `
	WITH clock AS MATERIALIZED (SELECT sb_now() AS now),
	held AS MATERIALIZED (
		SELECT ` + openColumns + `, clock.now FROM todos t, clock
		WHERE ` + claimed + ` AND t.endpoint_id = $1 AND t.queue = ANY($2) AND ($3::uuid IS NULL OR t.id = $3)
		  AND t.lease_expires_at < clock.now AND t.attempt < t.max_attempts
		ORDER BY t.created_at, t.id
		LIMIT 1 FOR NO KEY UPDATE OF t SKIP LOCKED
	), ` + closing("held", `outcome = 'lease_expired', disposition = 'requeued'`) + `
	UPDATE todos t SET state = 'pending', owner = NULL, lease_expires_at = NULL, fence_hash = NULL, updated_at = held.now
	FROM closed JOIN held ON held.id = closed.todo_id WHERE t.id = held.id
	RETURNING t.id`

func (s *Store) takeOver(ctx context.Context, g *grant, queues []string, id *uuid.UUID) (c *Claimed, err error) {
	err = postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		var lapsed uuid.UUID
		if err := tx.QueryRow(ctx, lapseSQL, g.ep.ID, queues, id).Scan(&lapsed); err != nil {
			return err
		}
		c, err = g.claim(ctx, tx, claimSQL, queues, lapsed)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.metrics.AttemptClosed(c.Queue, OutcomeLeaseExpired)
	return c, nil
}

func (s *Store) attemptsKept(ctx context.Context) int {
	return s.settings.Values(ctx)[settings.AttemptHistoryMax]
}
