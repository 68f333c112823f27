package queue

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// Act is a human's action with its optional arguments.
type Act struct {
	Action            Action
	Via               Via
	Result            json.RawMessage // complete, fail
	Summary, Artifact *string         // complete, fail, release
	Retry             *bool           // fail: false never retries
	RetryAfterSeconds *int            // fail: 0 to 86400
}

func (a *Act) check() error {
	if !slices.Contains(Actions, a.Action) {
		return errNoAction
	}
	if err := checkArtifact(a.Artifact); err != nil {
		return err
	}
	if a.RetryAfterSeconds != nil && (*a.RetryAfterSeconds < 0 || *a.RetryAfterSeconds > 86400) {
		return fault.InvalidArgument("retry_after_seconds", "must be 0 to 86400")
	}
	return CheckJSON("result", a.Result)
}

// subject is a todo under its lock, with what an action's record needs to know of the past.
type subject struct {
	standing
	id          uuid.UUID
	endpoint    uuid.UUID
	openSeq     *int
	result      json.RawMessage
	nextRetryAt *time.Time
}

// Act carries out what a human does to one of their todos, in one transaction with the attempt and the
// activity it writes. A foreign todo is unknown. It never checks a fence: it works on leases that the human
// took, and on nobody's.
func (s *Store) Act(ctx context.Context, human, id uuid.UUID, a Act) (*Todo, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	me := "human:" + typeid.Human.Format(human)
	var after Todo
	var was *subject
	var did move
	var entries []entry
	err := postgres.InTx(ctx, s.pool, func(tx pgx.Tx) (err error) {
		if was, err = lockForHuman(ctx, tx, human, id); err != nil {
			return err
		}
		if did, err = decide(was.standing, a.Action, me, a.Retry != nil && !*a.Retry); err != nil {
			return err
		}
		seq := was.openSeq
		if did.outcome != "" {
			if err := closeOpen(ctx, tx, id, did, a); err != nil {
				return err
			}
		}
		if err := carryOut(ctx, tx, id, me, did, a); err != nil {
			return err
		}
		if did.opens {
			if seq, err = s.openForHuman(ctx, tx, id); err != nil {
				return err
			}
		}
		entries = was.record(a, did, seq)
		if err := s.writeActivity(ctx, tx, id, actor{"human", typeid.Human.Format(human)}, entries); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `SELECT `+todoColumns+` FROM todos t WHERE t.id = $1 AND t.human_id = $2`, id, human).
			Scan(after.fields()...)
	})
	if keyTaken(err) {
		return nil, errKeyTaken
	}
	if err != nil {
		return nil, err
	}
	s.afterAct(was, did, entries, &after.Row)
	return &after, nil
}

var errKeyTaken = fault.New(fault.Conflict, "a live todo has this one's idempotency key: it does the work already")

// keyTaken reports whether a todo could not come back to life because its key has passed to another.
func keyTaken(err error) bool {
	var violated *pgconn.PgError
	return errors.As(err, &violated) && violated.ConstraintName == "todos_idempotency"
}

// afterAct counts what was committed, and wakes whoever waits for what became ready.
func (s *Store) afterAct(was *subject, did move, entries []entry, after *Row) {
	s.counted(entries)
	if did.opens {
		s.metrics.Claimed(after.Queue)
	}
	switch {
	case did.outcome == OutcomeLeaseExpired:
		s.metrics.AttemptClosed(after.Queue, did.outcome)
	case did.outcome != "":
		s.ended(after, did.outcome)
	case did.to == StateCanceled:
		s.metrics.TodoEnded(after.Queue, endCanceled)
	}
	if after.State == StatePending {
		s.ready.wake(was.endpoint, after.Queue, 1)
	}
}

func lockForHuman(ctx context.Context, tx pgx.Tx, human, id uuid.UUID) (*subject, error) {
	w := subject{id: id}
	var owner *string
	// The endpoint first, as a push and a revocation take them: no todo comes back to life behind a revocation.
	err := tx.QueryRow(ctx, `
		SELECT FROM endpoints e JOIN todos t ON t.endpoint_id = e.id
		WHERE t.id = $1 AND t.human_id = $2 FOR SHARE OF e`, id, human).Scan()
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, fault.ErrTodoNotFound
	}
	if err != nil {
		return nil, err
	}
	err = tx.QueryRow(ctx, `
		WITH clock AS MATERIALIZED (SELECT sb_now() AS now)
		SELECT t.state, t.attempt, t.max_attempts, t.owner, t.endpoint_id, t.result,
			t.next_retry_at IS NOT NULL, coalesce(t.next_retry_at <= clock.now, false),
			coalesce(t.lease_expires_at < clock.now, false), e.revoked_at IS NOT NULL OR coalesce(e.expires_at <= clock.now, false),
			t.next_retry_at, t.queue = 'quarantine', CASE WHEN t.owner IS NOT NULL THEN t.attempts_total END
		FROM clock, todos t JOIN endpoints e ON e.id = t.endpoint_id
		WHERE t.id = $1 AND t.human_id = $2
		FOR NO KEY UPDATE OF t`, id, human).Scan(&w.state, &w.attempt, &w.max, &owner, &w.endpoint, &w.result,
		&w.retryScheduled, &w.retryDue, &w.lapsed, &w.endpointRevoked, &w.nextRetryAt, &w.quarantined, &w.openSeq)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, fault.ErrTodoNotFound
	}
	if err != nil {
		return nil, err
	}
	if owner != nil {
		w.owner = *owner
	}
	return &w, nil
}

func closeOpen(ctx context.Context, tx pgx.Tx, id uuid.UUID, did move, a Act) error {
	summary, truncated := cleanSummary(a.Summary)
	artifact := a.Artifact
	if did.outcome.Died() || did.outcome == OutcomeCanceled {
		summary, truncated, artifact = nil, false, nil // nobody reported
	}
	_, err := tx.Exec(ctx, closeOpenSQL, id, did.outcome, did.disposition, summary, truncated, artifact)
	return err
}

var closeOpenSQL = `
	WITH held AS MATERIALIZED (
		SELECT ` + openColumns + `, sb_now() AS now FROM todos t WHERE t.id = $1 AND t.owner IS NOT NULL
	), ` + closing("held", `outcome = $2, disposition = $3, summary = $4, summary_truncated = $5, artifact = $6`) + `
	SELECT seq FROM closed`

// carryOut moves the todo itself.
func carryOut(ctx context.Context, tx pgx.Tx, id uuid.UUID, me string, did move, a Act) error {
	held := did.opens || did.extends
	reports := did.outcome == OutcomeCompleted || did.outcome == OutcomeFailed
	_, err := tx.Exec(ctx, `
		WITH clock AS MATERIALIZED (SELECT sb_now() AS now)
		UPDATE todos t SET state = $2::text,
			attempt = CASE WHEN $3 THEN 0 ELSE t.attempt + $4::boolean::integer END,
			attempts_total = t.attempts_total + $4::boolean::integer,
			owner = CASE WHEN $5 THEN $6::text END,
			lease_expires_at = CASE WHEN $5 THEN clock.now + make_interval(secs => $7) END,
			fence_hash = NULL,
			interrupted_at = NULL,
			ended_at = CASE WHEN $2::text IN ('done', 'canceled', 'rejected') OR $2::text = 'failed' AND NOT $8 THEN clock.now END,
			next_retry_at = CASE WHEN $8 THEN clock.now + make_interval(secs =>
				coalesce($9::double precision, least(900, $10::double precision * `+backoffSQL+`))) END,
			result = CASE WHEN $3 THEN NULL WHEN $11 THEN $12::json ELSE t.result END,
			updated_at = clock.now
		FROM clock WHERE t.id = $1`,
		id, did.to, did.resets, did.opens, held, me, humanLease.Seconds(), did.retryLater, a.RetryAfterSeconds,
		0.8+0.4*rand.Float64(), reports, jsonArg(a.Result))
	return err
}

// openForHuman opens the attempt of a human's claim. It has a trace of its own too, and never a fence.
func (s *Store) openForHuman(ctx context.Context, tx pgx.Tx, id uuid.UUID) (seq *int, err error) {
	var trace [16]byte
	fillRandom(trace[:])
	err = tx.QueryRow(ctx, `
		WITH clock AS MATERIALIZED (SELECT sb_now() AS now),
		t AS MATERIALIZED (
			SELECT id, attempt, attempts_total, attempts_total - attempts_pruned - $4::integer AS surplus FROM todos WHERE id = $1
		), room AS MATERIALIZED (
			SELECT CASE WHEN t.surplus > 0 THEN sb_prune_attempts(t.id, t.surplus) ELSE 0 END AS pruned FROM t
		), counted AS (
			UPDATE todos SET attempts_pruned = attempts_pruned + room.pruned, lease_ttl_seconds = $3, last_heartbeat_at = NULL,
				notes = 0, notes_dropped = 0
			FROM room WHERE id = $1
		)
		INSERT INTO todo_attempts (todo_id, seq, attempt, claimer_kind, trace_id, lease_ttl_seconds, claimed_at)
		SELECT t.id, t.attempts_total, t.attempt, 'owner', $2, $3, clock.now FROM t, clock
		RETURNING seq`, id, trace[:], int(humanLease.Seconds()), s.attemptsKept(ctx)).Scan(&seq)
	return seq, err
}

// record is what the activity log says of an action. A retry also keeps what it wiped out, as far as that
// fits an entry (decisions.md 31). The result is kept as its text: it is any JSON, and the log's own JSON
// can spell neither every escape nor every number as briefly.
func (w *subject) record(a Act, did move, seq *int) []entry {
	action := entry{kind: KindHumanAction, attemptSeq: seq, detail: map[string]any{"action": a.Action, "via": a.Via}}
	if !did.resets {
		return []entry{action}
	}
	prior := map[string]any{"state": w.state, "attempt": w.attempt, "max_attempts": w.max, "dead_letter": !w.retryScheduled,
		"next_retry_at": w.nextRetryAt, "result": nil}
	if w.result != nil {
		prior["result"] = string(w.result)
	}
	if text, err := json.Marshal(prior); err != nil || len(text) > maxDetail*3/4 { // room for how the database spaces it
		prior["result"], prior["result_size"] = nil, len(w.result)
	}
	return []entry{action, {kind: KindRetried, detail: map[string]any{"prior": prior}}}
}
