package queue

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

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
		SELECT t.*, t.fence_hash IS NOT NULL AS fenced
		FROM todos t JOIN todo_attempts a ON a.todo_id = t.id AND a.seq = t.attempts_total AND a.ended_at IS NULL
		WHERE t.endpoint_id = $1 AND t.queue = ANY($2) AND a.endpoint_id = $1 AND a.request_id = $3 AND a.trace_id = $4
		FOR NO KEY UPDATE
	), refenced AS (
		UPDATE todos t SET fence_hash = $5::bytea
		FROM open WHERE t.id = open.id AND open.fenced AND ($6::uuid IS NULL OR open.id = $6)
	)
	SELECT t.attempts_total, ` + todoColumns + `, t.fenced FROM open t`

func (s *Store) repeat(ctx context.Context, g *grant, id *uuid.UUID) (*Claimed, error) {
	if g.requestID == nil {
		return nil, nil
	}
	var trace []byte
	err := s.pool.QueryRow(ctx, `SELECT trace_id FROM todo_attempts
		WHERE endpoint_id = $1 AND request_id = $2`, g.ep.ID, g.requestID).Scan(&trace)
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
	c, err := again.read(ctx, s.pool, repeatSQL, []any{g.ep.ID, g.ep.Queues, g.requestID, trace, fence, id}, &fenced)
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
