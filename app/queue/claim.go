package queue

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/secret"
)

// The lease of a claim that neither the call nor the endpoint sets, and the range of a call, in seconds.
const (
	defaultLeaseTTL = 300
	minLeaseTTL     = 1
	maxLeaseTTL     = 86400
)

// priorAttempts is how many closed attempts a claim is handed.
const priorAttempts = 5

// ClaimParams are the optional arguments of claim and claim_next.
type ClaimParams struct {
	LeaseTTLSeconds *int
	Claimant        *string   // a label; cut to 128 bytes
	RequireFence    *bool     // absent: the endpoint's default
	CallerTrace     *[16]byte // the trace the call itself belongs to (decisions.md 19)
}

// Claimed is a todo with what its new holder needs: the history, the trace to work under and, when fenced,
// the token that alone can report on this attempt.
type Claimed struct {
	Todo
	ClaimFields
}

// ClaimFields are what a claim adds to a todo.
type ClaimFields struct {
	AttemptSeq    int       `json:"attempt_seq"`
	AttemptsTotal int       `json:"attempts_total"`
	PriorAttempts []Attempt `json:"prior_attempts"`
	Traceparent   string    `json:"traceparent"`
	LeaseToken    string    `json:"lease_token,omitempty"`
}

// grant is a claim's arguments, settled.
type grant struct {
	ep          *identity.Endpoint
	leaseTTL    int
	claimant    *string
	leaseToken  string // empty: not fenced
	fence       []byte // its hash, null when not fenced
	trace       [16]byte
	callerTrace []byte
}

func newGrant(ep *identity.Endpoint, p ClaimParams) (*grant, error) {
	g := grant{ep: ep, leaseTTL: defaultLeaseTTL, claimant: cleanClaimant(p.Claimant)}
	if ep.DefaultLeaseTTLSeconds != nil {
		g.leaseTTL = *ep.DefaultLeaseTTLSeconds
	}
	if p.LeaseTTLSeconds != nil {
		g.leaseTTL = *p.LeaseTTLSeconds
	}
	if err := checkLeaseTTL(&g.leaseTTL); err != nil {
		return nil, err
	}
	fenced := ep.RequireFence
	if p.RequireFence != nil {
		fenced = *p.RequireFence
	}
	if fenced {
		g.leaseToken = secret.New(secret.Lease)
		g.fence = secret.Hash(g.leaseToken)
	}
	if p.CallerTrace != nil {
		g.callerTrace = p.CallerTrace[:]
	}
	_, _ = rand.Read(g.trace[:])
	return &g, nil
}

func checkLeaseTTL(ttl *int) error {
	if ttl != nil && (*ttl < minLeaseTTL || *ttl > maxLeaseTTL) {
		return fault.InvalidArgument("lease_ttl_seconds", "must be 1 to 86400")
	}
	return nil
}

// traceparent is the W3C value a worker passes on. Its parent span id exists nowhere else (REQ-4).
func (g *grant) traceparent() string {
	var parent [8]byte
	_, _ = rand.Read(parent[:])
	parent[7] |= 1 // never all zero
	return "00-" + hex.EncodeToString(g.trace[:]) + "-" + hex.EncodeToString(parent[:]) + "-01"
}

// A claim is one statement: it locks a candidate, moves it and opens its attempt. The candidate is a
// materialised CTE because a LIMIT with SKIP LOCKED inside IN (...) may lock more rows than it returns.
const claimHead = `
	WITH clock AS MATERIALIZED (SELECT sb_now() AS now),
	candidate AS MATERIALIZED (`

const claimTail = `
	), claimed AS (
		UPDATE todos t SET state = 'claimed', attempt = t.attempt + 1, attempts_total = t.attempts_total + 1,
			owner = $3, lease_expires_at = clock.now + make_interval(secs => $4), next_retry_at = NULL, updated_at = clock.now
		FROM candidate, clock WHERE t.id = candidate.id
		RETURNING t.*
	), opened AS (
		INSERT INTO todo_attempts (todo_id, seq, attempt, claimer_kind, endpoint_id, claimant, trace_id, caller_trace_id,
			fence_hash, lease_ttl_seconds, claimed_at)
		SELECT t.id, t.attempts_total, t.attempt, 'endpoint', t.endpoint_id, $5, $6, $7, $8, $4, clock.now
		FROM claimed t, clock
	)
	SELECT t.attempts_total, ` + todoColumns + ` FROM claimed t`

const (
	claimNextSQL = claimHead + `
		SELECT c.id FROM todos c
		WHERE c.endpoint_id = $1 AND c.state = 'pending' AND c.queue = ANY($2)
		ORDER BY c.created_at, c.id
		LIMIT 1 FOR UPDATE SKIP LOCKED` + claimTail

	// A todo asked for by id may also be a retry that fell due before the scheduler came by.
	claimSQL = claimHead + `
		SELECT c.id FROM todos c, clock
		WHERE c.id = $9 AND c.endpoint_id = $1 AND c.queue = ANY($2)
		  AND (c.state = 'pending' OR c.state = 'failed' AND c.next_retry_at <= clock.now)
		FOR UPDATE OF c` + claimTail
)

func (g *grant) claim(ctx context.Context, q querier, sql string, queues []string, more ...any) (*Claimed, error) {
	var c Claimed
	args := append([]any{g.ep.ID, queues, ownerOf(g.ep), g.leaseTTL, g.claimant, g.trace[:], g.callerTrace, g.fence}, more...)
	if err := q.QueryRow(ctx, sql, args...).Scan(append([]any{&c.AttemptsTotal}, c.Todo.fields()...)...); err != nil {
		return nil, err
	}
	c.AttemptSeq = c.AttemptsTotal
	c.Traceparent, c.LeaseToken = g.traceparent(), g.leaseToken
	c.PriorAttempts = []Attempt{}
	if c.AttemptSeq == 1 {
		return &c, nil
	}
	rows, err := q.Query(ctx, `
		SELECT `+attemptColumns+` FROM todo_attempts a JOIN todos t ON t.id = a.todo_id
		WHERE a.todo_id = $1 AND t.endpoint_id = $2 AND a.ended_at IS NOT NULL
		ORDER BY a.seq DESC LIMIT $3`, c.ID.UUID(), g.ep.ID, priorAttempts)
	if err != nil {
		return nil, err
	}
	c.PriorAttempts, err = pgx.AppendRows(c.PriorAttempts, rows, scanAttempt)
	return &c, err
}

// Claim claims the todo it is asked for: one that is pending, one whose retry is due, or one whose lease has
// lapsed with attempts left. Any other todo the endpoint can see is a conflict.
func (s *Store) Claim(ctx context.Context, ep *identity.Endpoint, id uuid.UUID, p ClaimParams) (*Claimed, error) {
	g, err := newGrant(ep, p)
	if err != nil {
		return nil, err
	}
	var c *Claimed
	err = postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		c, err = g.claim(ctx, tx, claimSQL, ep.Queues, id)
		if errors.Is(err, pgx.ErrNoRows) {
			c, err = g.takeOver(ctx, tx, ep.Queues, &id)
		}
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		if err = s.notHeld(ctx, ep, id); errors.Is(err, fault.ErrNotHeld) {
			err = errNotClaimable
		}
	}
	return c, err
}

var errNotClaimable = fault.New(fault.Conflict, "this todo cannot be claimed now")

// ClaimNext claims the oldest pending todo of the endpoint's queues, or of one of them when queue is not
// empty. When none is pending it makes due retries pending, then takes over a lapsed lease. A nil result
// means there is nothing to do.
func (s *Store) ClaimNext(ctx context.Context, ep *identity.Endpoint, queue string, p ClaimParams) (*Claimed, error) {
	g, err := newGrant(ep, p)
	if err != nil {
		return nil, err
	}
	queues := ep.Queues
	if queue != "" {
		if !slices.Contains(queues, queue) {
			return nil, errQueueNotGranted
		}
		queues = []string{queue}
	}
	var c *Claimed
	err = postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		c, err = g.claim(ctx, tx, claimNextSQL, queues)
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		due, err := requeueDue(ctx, tx, &ep.ID)
		if err != nil {
			return err
		}
		if due > 0 {
			if c, err = g.claim(ctx, tx, claimNextSQL, queues); !errors.Is(err, pgx.ErrNoRows) {
				return err
			}
		}
		c, err = g.takeOver(ctx, tx, queues, nil)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return c, err
}

var errQueueNotGranted = fault.New(fault.Forbidden, "queue is not among this endpoint's queues")

// A takeover closes the lapsed attempt in a statement of its own, so that the claim that follows sees it
// among the prior attempts. The last attempt of a todo is left to the reaper, which dead-letters it.
const lapseSQL = `
	WITH clock AS MATERIALIZED (SELECT sb_now() AS now),
	candidate AS MATERIALIZED (
		SELECT c.id FROM todos c, clock
		WHERE c.endpoint_id = $1 AND c.state = 'claimed' AND c.queue = ANY($2) AND ($3::uuid IS NULL OR c.id = $3)
		  AND c.lease_expires_at < clock.now AND c.attempt < c.max_attempts
		ORDER BY c.created_at, c.id
		LIMIT 1 FOR UPDATE OF c SKIP LOCKED
	), closed AS (
		UPDATE todo_attempts a SET ended_at = greatest(clock.now, a.claimed_at), outcome = 'lease_expired',
			disposition = 'requeued'
		FROM candidate, clock WHERE a.todo_id = candidate.id AND a.ended_at IS NULL
		RETURNING a.todo_id
	)
	UPDATE todos t SET state = 'pending', owner = NULL, lease_expires_at = NULL, updated_at = clock.now
	FROM closed, clock WHERE t.id = closed.todo_id
	RETURNING t.id`

func (g *grant) takeOver(ctx context.Context, tx pgx.Tx, queues []string, id *uuid.UUID) (*Claimed, error) {
	var lapsed uuid.UUID
	if err := tx.QueryRow(ctx, lapseSQL, g.ep.ID, queues, id).Scan(&lapsed); err != nil {
		return nil, err
	}
	return g.claim(ctx, tx, claimSQL, queues, lapsed)
}
