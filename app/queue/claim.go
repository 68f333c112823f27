package queue

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/settings"
)

// A claim is one statement: it locks a candidate, moves it, opens its attempt, and prunes the oldest closed
// attempts where the todo would hold more than it may. The candidate is a materialised CTE because a LIMIT
// with SKIP LOCKED inside IN (...) may lock more rows than it returns. A pruned attempt leaves its trace id
// and its number to the bindings, so that its late spans still find both.
const claimHead = `
	WITH candidate AS MATERIALIZED (`

// The clock is read when the candidate is locked: a lease must not run while its claim waits for a lock.
const claimTail = `
	), clock AS MATERIALIZED (
		SELECT sb_now() AS now FROM candidate
	), victims AS MATERIALIZED (
		SELECT a.todo_id, a.seq FROM todo_attempts a JOIN candidate c ON a.todo_id = c.id
		WHERE a.ended_at IS NOT NULL
		ORDER BY a.seq
		LIMIT (SELECT greatest(0, c.attempts_total + 1 - c.attempts_pruned - $10::integer) FROM candidate c)
	), pruned AS (
		DELETE FROM todo_attempts a USING victims v WHERE a.todo_id = v.todo_id AND a.seq = v.seq
		RETURNING a.todo_id, a.seq, a.trace_id
	), kept AS (
		INSERT INTO todo_trace_bindings (endpoint_id, trace_id, todo_id, attempt_seq)
		SELECT $1, p.trace_id, p.todo_id, p.seq FROM pruned p
		ON CONFLICT (endpoint_id, trace_id) DO NOTHING
	), claimed AS (
		UPDATE todos t SET state = 'claimed', attempt = t.attempt + 1, attempts_total = t.attempts_total + 1,
			attempts_pruned = t.attempts_pruned + (SELECT count(*) FROM pruned),
			owner = $3, lease_expires_at = clock.now + make_interval(secs => $4), next_retry_at = NULL, updated_at = clock.now
		FROM candidate, clock WHERE t.id = candidate.id
		RETURNING t.*
	), opened AS (
		INSERT INTO todo_attempts (todo_id, seq, attempt, claimer_kind, endpoint_id, claimant, trace_id, caller_trace_id,
			fence_hash, lease_ttl_seconds, claimed_at, request_id)
		SELECT t.id, t.attempts_total, t.attempt, 'endpoint', t.endpoint_id, $5, $6, $7, $8, $4, clock.now, $9
		FROM claimed t, clock
	)
	SELECT t.attempts_total, ` + todoColumns + ` FROM claimed t`

// What the next worker should know, newest first: the closed attempts of the todo for whose open attempt
// this trace was minted. It is a statement of its own, sent along with the claim: its snapshot is younger
// than the claim's lock, so the attempt that ended last is never missing.
const priorSQL = `
	SELECT ` + attemptColumns + ` FROM todo_attempts mine JOIN todo_attempts a ON a.todo_id = mine.todo_id
	WHERE mine.trace_id = $1 AND a.ended_at IS NOT NULL
	ORDER BY a.seq DESC LIMIT $2`

// priorAttempts is how many closed attempts a claim is handed.
const priorAttempts = 5

const claimOldest = `
		SELECT c.id, c.attempts_total, c.attempts_pruned FROM todos c
		WHERE c.endpoint_id = $1 AND c.state = 'pending' AND c.queue = ANY($2)`

const claimOrder = `
		ORDER BY c.created_at, c.id
		LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED`

const (
	claimNextSQL  = claimHead + claimOldest + claimOrder + claimTail
	claimAfterSQL = claimHead + claimOldest + ` AND (c.created_at, c.id) > ($11, $12)` + claimOrder + claimTail

	// A todo asked for by id may also be a retry that fell due before the scheduler came by.
	claimSQL = claimHead + `
		SELECT c.id, c.attempts_total, c.attempts_pruned FROM todos c
		WHERE c.id = $11 AND c.endpoint_id = $1 AND c.queue = ANY($2)
		  AND (c.state = 'pending' OR c.state = 'failed' AND c.next_retry_at <= sb_now())
		FOR NO KEY UPDATE` + claimTail
)

// claim runs one of the claiming statements. pgx.ErrNoRows means that there was nothing to claim.
func (g *grant) claim(ctx context.Context, q querier, sql string, queues []string, more ...any) (*Claimed, error) {
	args := append([]any{g.ep.ID, queues, ownerOf(g.ep), g.leaseTTL, g.claimant, g.trace[:], g.callerTrace, g.fence,
		g.requestID, g.keep}, more...)
	return g.send(ctx, q, sql, args)
}

// send runs a statement that returns a claimed todo, and reads the prior attempts in the same round trip
// and the same transaction.
func (g *grant) send(ctx context.Context, q querier, sql string, args []any, more ...any) (*Claimed, error) {
	c := Claimed{ClaimFields: ClaimFields{PriorAttempts: []Attempt{}, LeaseToken: g.leaseToken}}
	var batch pgx.Batch
	batch.Queue(sql, args...).QueryRow(func(row pgx.Row) error {
		fields := append([]any{&c.AttemptsTotal}, c.Todo.fields()...)
		return row.Scan(append(fields, more...)...)
	})
	batch.Queue(priorSQL, g.trace[:], priorAttempts).Query(func(rows pgx.Rows) (err error) {
		c.PriorAttempts, err = pgx.AppendRows(c.PriorAttempts, rows, scanAttempt)
		return err
	})
	if err := q.SendBatch(ctx, &batch).Close(); err != nil {
		return nil, err
	}
	c.AttemptSeq = c.AttemptsTotal
	c.Traceparent = g.traceparent()
	return &c, nil
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
		c, err = g.claim(ctx, s.pool, claimAfterSQL, queues, createdAt, id)
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

// once makes a claim under its request id happen once while its attempt is open: a repeat returns the same
// attempt, so that a lost answer costs nothing. id is the todo asked for, nil for any. Nothing to claim is nil.
func (s *Store) once(ctx context.Context, g *grant, id *uuid.UUID, claim func() (*Claimed, error)) (*Claimed, error) {
	for try := 0; ; try++ {
		c, err := s.repeat(ctx, g, id)
		if c != nil || err != nil {
			return c, err
		}
		c, err = claim()
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return s.repeat(ctx, g, id) // the same request, made at the same time, may have taken what there was
		case err == nil:
			s.metrics.Claimed(c.Queue)
			return c, nil
		case !requestTaken(err) || try > 0:
			return nil, err
		}
		// The same request was made at the same time, and the other one won: repeat it.
	}
}

func requestTaken(err error) bool {
	var violated *pgconn.PgError
	return errors.As(err, &violated) && violated.ConstraintName == "todo_attempts_request"
}

// A repeated claim that was fenced brings a new token, and the earlier one stops matching: only its hash was
// kept. A claim of another todo than the id belongs to is refused, so it must leave that fence alone. The todo
// is read under its lock: after a wait for it, the statement's snapshot is old.
const repeatSQL = `
	WITH open AS MATERIALIZED (
		SELECT t.*, a.fence_hash IS NOT NULL AS fenced
		FROM todos t JOIN todo_attempts a ON a.todo_id = t.id AND a.ended_at IS NULL
		WHERE t.endpoint_id = $1 AND t.queue = ANY($2) AND a.endpoint_id = $1 AND a.request_id = $3 AND a.trace_id = $4
		FOR NO KEY UPDATE
	), refenced AS (
		UPDATE todo_attempts a SET fence_hash = $5
		FROM open WHERE a.trace_id = $4 AND open.fenced AND ($6::uuid IS NULL OR open.id = $6)
	)
	SELECT t.attempts_total, ` + todoColumns + `, t.fenced FROM open t`

func (s *Store) repeat(ctx context.Context, g *grant, id *uuid.UUID) (*Claimed, error) {
	if g.requestID == nil {
		return nil, nil
	}
	var trace []byte
	err := s.pool.QueryRow(ctx, `SELECT trace_id FROM todo_attempts
		WHERE endpoint_id = $1 AND request_id = $2 AND ended_at IS NULL`, g.ep.ID, g.requestID).Scan(&trace)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	again := *g
	again.trace = [16]byte(trace)
	token, fence := newFence()
	var fenced bool
	c, err := again.send(ctx, s.pool, repeatSQL, []any{g.ep.ID, g.ep.Queues, g.requestID, trace, fence, id}, &fenced)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil // it ended meanwhile, so the id is free
	}
	if err != nil {
		return nil, err
	}
	c.LeaseToken = ""
	if fenced {
		c.LeaseToken = token
	}
	return c, nil
}

// A takeover closes the lapsed attempt in a statement of its own, so that the claim that follows sees it
// among the prior attempts. The last attempt of a todo is left to the reaper, which dead-letters it.
const lapseSQL = `
	WITH clock AS MATERIALIZED (SELECT sb_now() AS now),
	candidate AS MATERIALIZED (
		SELECT c.id FROM todos c, clock
		WHERE c.endpoint_id = $1 AND c.state = 'claimed' AND c.queue = ANY($2) AND ($3::uuid IS NULL OR c.id = $3)
		  AND c.lease_expires_at < clock.now AND c.attempt < c.max_attempts
		ORDER BY c.created_at, c.id
		LIMIT 1 FOR NO KEY UPDATE OF c SKIP LOCKED
	), closed AS (
		UPDATE todo_attempts a SET ended_at = greatest(clock.now, a.claimed_at), outcome = 'lease_expired',
			disposition = 'requeued'
		FROM candidate, clock WHERE a.todo_id = candidate.id AND a.ended_at IS NULL
		RETURNING a.todo_id
	)
	UPDATE todos t SET state = 'pending', owner = NULL, lease_expires_at = NULL, updated_at = clock.now
	FROM closed, clock WHERE t.id = closed.todo_id
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
