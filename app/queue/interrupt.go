package queue

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// Interrupt makes a todo wait for input or for authorisation. Its holder keeps it, and the lease is not
// looked at until it is resumed; interrupt_timeout_seconds later it counts as lapsed. The question, of which 2048
// bytes are kept, is for whoever is to answer; credentials in it are masked.
func (s *Store) Interrupt(ctx context.Context, ep *identity.Endpoint, id uuid.UUID, leaseToken *string, into State, question *string) (*Row, error) {
	if into != StateInputRequired && into != StateAuthRequired {
		return nil, fault.InvalidArgument("state", "must be input-required or auth-required")
	}
	return s.a2aMove(ctx, ep, id, func(tx pgx.Tx) (a2aStep, error) {
		step := a2aStep{action: string(into)}
		if err := lockLive(ctx, tx, ep, id, `t.state = 'claimed'`); err != nil {
			return step, err
		}
		err := tx.QueryRow(ctx, `
			UPDATE todos t SET state = $6, interrupted_at = sb_now(), updated_at = sb_now()
			WHERE `+heldBy+` AND t.state = 'claimed' RETURNING t.attempts_total`,
			heldArgs(ep, id, leaseToken, into)...).Scan(&step.attemptSeq)
		if step.says, step.cut = cleanNote(question); err != nil || step.says == nil {
			return step, err
		}
		return step, say(ctx, tx, id, agentMessage(*question))
	})
}

// Resume hands an interrupted todo back to its holder, with a full lease from now. The answer, an A2A message that
// the caller has checked, is kept for the holder; nil: none. says is what the log shows of it.
func (s *Store) Resume(ctx context.Context, ep *identity.Endpoint, id uuid.UUID, answer json.RawMessage, says *string) (*Row, error) {
	return s.a2aMove(ctx, ep, id, func(tx pgx.Tx) (a2aStep, error) {
		step := a2aStep{action: "resume"}
		step.says, step.cut = cleanNote(says)
		if err := lockLive(ctx, tx, ep, id, `t.state IN ('input-required', 'auth-required')`); err != nil {
			return step, err
		}
		err := tx.QueryRow(ctx, `
			UPDATE todos t SET state = 'claimed', interrupted_at = NULL, updated_at = sb_now(),
				lease_expires_at = sb_now() + make_interval(secs => t.lease_ttl_seconds)
			WHERE t.id = $1 AND t.endpoint_id = $2 AND t.queue = ANY($3) AND t.state IN ('input-required', 'auth-required')
			RETURNING t.attempts_total`, id, ep.ID, ep.Queues).Scan(&step.attemptSeq)
		if err != nil || answer == nil {
			return step, err
		}
		return step, say(ctx, tx, id, answer)
	})
}

// Cancel ends a live todo for good, whoever holds it; its open attempt closes as canceled. A todo that is
// canceled already stays as it is.
func (s *Store) Cancel(ctx context.Context, ep *identity.Endpoint, id uuid.UUID) (*Row, error) {
	row, err := s.a2aMove(ctx, ep, id, func(tx pgx.Tx) (a2aStep, error) {
		step := a2aStep{action: "cancel", ends: endCanceled}
		if err := lockLive(ctx, tx, ep, id, live); err != nil {
			return step, err
		}
		err := tx.QueryRow(ctx, closeOpenSQL, id, OutcomeCanceled, "canceled", nil, false, nil).Scan(&step.attemptSeq)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return step, err
		}
		return step, endTodo(ctx, tx, id, StateCanceled)
	})
	if errors.Is(err, fault.ErrNotHeld) {
		if d, getErr := s.Get(ctx, ep, id, nil); getErr == nil && d.State == StateCanceled {
			return &d.Row, nil
		}
	}
	return row, err
}

// Reject refuses a todo that nobody has claimed yet. It never closes an attempt (decisions.md 40).
func (s *Store) Reject(ctx context.Context, ep *identity.Endpoint, id uuid.UUID) (*Row, error) {
	return s.a2aMove(ctx, ep, id, func(tx pgx.Tx) (a2aStep, error) {
		step := a2aStep{action: "reject", ends: endRejected}
		if err := lockLive(ctx, tx, ep, id, `t.state = 'pending'`); err != nil {
			return step, err
		}
		return step, endTodo(ctx, tx, id, StateRejected)
	})
}

// lockLive waits for a todo's lock, so that the clock is read after the wait.
func lockLive(ctx context.Context, tx pgx.Tx, ep *identity.Endpoint, id uuid.UUID, condition string) error {
	return tx.QueryRow(ctx, `
		SELECT FROM todos t WHERE t.id = $1 AND t.endpoint_id = $2 AND t.queue = ANY($3) AND `+condition+` FOR NO KEY UPDATE`,
		id, ep.ID, ep.Queues).Scan()
}

func endTodo(ctx context.Context, tx pgx.Tx, id uuid.UUID, as State) error {
	_, err := tx.Exec(ctx, `
		WITH clock AS MATERIALIZED (SELECT sb_now() AS now)
		UPDATE todos t SET state = $2, owner = NULL, lease_expires_at = NULL, fence_hash = NULL, interrupted_at = NULL, next_retry_at = NULL,
			updated_at = clock.now, ended_at = clock.now
		FROM clock WHERE t.id = $1`, id, as)
	return err
}

// a2aStep is what one A2A transition did.
type a2aStep struct {
	action     string
	attemptSeq *int
	ends       string  // how it ended the todo, empty when it did not
	says       *string // what somebody asked or answered, masked
	cut        bool    // of which a part is missing
}

func (step *a2aStep) entry() entry {
	detail := map[string]any{"action": step.action}
	if step.cut {
		detail["truncated"] = true
	}
	return entry{kind: KindA2AState, attemptSeq: step.attemptSeq, message: step.says, detail: detail}
}

// a2aMove runs a transition and writes its a2a_state row in the same transaction. When move finds no row to
// act on, the caller learns whether the todo is not found or stands otherwise.
func (s *Store) a2aMove(ctx context.Context, ep *identity.Endpoint, id uuid.UUID, move func(pgx.Tx) (a2aStep, error)) (*Row, error) {
	var row Row
	var step a2aStep
	err := postgres.InTx(ctx, s.pool, func(tx pgx.Tx) (err error) {
		if step, err = move(tx); err != nil {
			return err
		}
		if err := s.writeActivity(ctx, tx, id, actor{"endpoint", typeid.Endpoint.Format(ep.ID)}, []entry{step.entry()}); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `SELECT `+rowColumns+` FROM todos t WHERE t.id = $1 AND t.endpoint_id = $2`, id, ep.ID).Scan(row.fields()...)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, s.notHeld(ctx, ep, id)
	}
	if err != nil {
		return nil, err
	}
	s.metrics.Activity(KindA2AState)
	if step.ends != "" {
		s.metrics.TodoEnded(row.Queue, step.ends)
		if step.attemptSeq != nil {
			s.metrics.AttemptClosed(row.Queue, OutcomeCanceled)
		}
	}
	return &row, nil
}
