package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/identity"
)

// Report is what a holder says when it ends an attempt.
type Report struct {
	LeaseToken *string
	Summary    *string // cut to 2048 bytes, never refused
	Artifact   *string // mcp://cairn/<id> or an https URL, 512 bytes at most
}

// FailParams are the further arguments of fail.
type FailParams struct {
	Result            json.RawMessage
	Retry             *bool // absent: true. It never buys an attempt beyond the last
	RetryAfterSeconds *int  // 0 to 86400; replaces the backoff
}

// finishing ends the open attempt of whoever holds a todo and moves the todo on. outcome and disposition are SQL
// expressions over the todo t, moves is what becomes of it; $6 to $8 are the report.
//
// The attempt is read beside the todo: a statement that waited for the todo's lock must not end an attempt that was
// opened meanwhile, which it would see in the one row and not in the other.
func finishing(outcome, disposition, moves string) string {
	return `
	WITH t AS (
		UPDATE todos t SET owner = NULL, lease_expires_at = NULL, fence_hash = NULL, interrupted_at = NULL, updated_at = sb_now(), ` + moves + `
		FROM todo_attempts a WHERE ` + heldBy + ` AND a.todo_id = t.id AND a.seq = t.attempts_total AND a.ended_at IS NULL
		RETURNING ` + storedColumns + `, t.human_id, t.endpoint_id, t.attempts_total, t.last_heartbeat_at, t.lease_ttl_seconds,
			t.notes, t.notes_dropped, t.updated_at AS now
	), ` + closing("t", `outcome = `+outcome+`, disposition = `+disposition+`, summary = $6, summary_truncated = $7, artifact = $8`) + `
	SELECT ` + rowColumns + ` FROM t`
}

var completeSQL = finishing(`'completed'`, `'done'`, `state = 'done', ended_at = sb_now(), result = $9`)

// Complete ends a todo as done. result is stored on the todo, summary and artifact on the attempt.
func (s *Store) Complete(ctx context.Context, ep *identity.Endpoint, id uuid.UUID, r Report, result json.RawMessage) (*Row, error) {
	if err := CheckJSON("result", result); err != nil {
		return nil, err
	}
	return s.finish(ctx, ep, id, s.summed(r, result), OutcomeCompleted, completeSQL, jsonArg(result))
}

// backoffSQL is when a failed todo t comes back, in seconds: 30, doubled per attempt. It is spread by a fifth
// either way, and 15 minutes is the most.
const backoffSQL = `30 * 2 ^ least(t.attempt - 1, 10)`

const failRetries = `$10 AND t.attempt < t.max_attempts`

var failSQL = finishing(`'failed'`, `CASE WHEN `+failRetries+` THEN 'retry_scheduled' ELSE 'dead_lettered' END`,
	`state = 'failed', result = $9,
		ended_at = CASE WHEN NOT (`+failRetries+`) THEN sb_now() END,
		next_retry_at = CASE WHEN `+failRetries+` THEN sb_now() + make_interval(secs =>
			coalesce($11::double precision, least(900, $12::double precision * `+backoffSQL+`))) END`)

// Fail ends an attempt as failed. The todo comes back after a backoff of 30 s, doubled per attempt up to
// 15 min and spread by a fifth either way, or is dead-lettered on its last attempt or with retry false.
func (s *Store) Fail(ctx context.Context, ep *identity.Endpoint, id uuid.UUID, r Report, p FailParams) (*Row, error) {
	if err := CheckJSON("result", p.Result); err != nil {
		return nil, err
	}
	if p.RetryAfterSeconds != nil && (*p.RetryAfterSeconds < 0 || *p.RetryAfterSeconds > 86400) {
		return nil, fault.InvalidArgument("retry_after_seconds", "must be 0 to 86400")
	}
	retry := p.Retry == nil || *p.Retry
	spread := 0.8 + 0.4*rand.Float64()
	return s.finish(ctx, ep, id, s.summed(r, p.Result), OutcomeFailed, failSQL, jsonArg(p.Result), retry, p.RetryAfterSeconds, spread)
}

var releaseSQL = finishing(`'released'`, `'requeued'`, `state = 'pending'`)

// Release hands a todo back at once and without a verdict. The attempt counter stays as it is.
func (s *Store) Release(ctx context.Context, ep *identity.Endpoint, id uuid.UUID, r Report) (*Row, error) {
	row, err := s.finish(ctx, ep, id, r, OutcomeReleased, releaseSQL)
	if err == nil {
		s.ready.wake(ep.ID, row.Queue, 1)
	}
	return row, err
}

func (s *Store) finish(ctx context.Context, ep *identity.Endpoint, id uuid.UUID, r Report, outcome Outcome, sql string, more ...any) (*Row, error) {
	if err := checkArtifact(r.Artifact); err != nil {
		return nil, err
	}
	summary, truncated := cleanSummary(r.Summary)
	args := heldArgs(ep, id, r.LeaseToken, append([]any{summary, truncated, r.Artifact}, more...)...)
	var row Row
	err := s.pool.QueryRow(ctx, sql, args...).Scan(row.fields()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, s.notHeld(ctx, ep, id)
	}
	if err == nil {
		s.ended(&row, outcome)
	}
	return &row, err
}

// summed gives a report without a summary its result as one, where the operator wants that.
func (s *Store) summed(r Report, result json.RawMessage) Report {
	if !s.summaryFromResult || r.Summary != nil || result == nil {
		return r
	}
	var compact bytes.Buffer
	if json.Compact(&compact, result) == nil {
		summary := compact.String()
		r.Summary = &summary
	}
	return r
}

// jsonArg passes a document as text, so that it is stored as it was sent.
func jsonArg(doc json.RawMessage) *string {
	if doc == nil {
		return nil
	}
	text := string(doc)
	return &text
}
