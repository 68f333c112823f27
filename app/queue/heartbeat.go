package queue

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/mask"
	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/secret"
	"github.com/switchboard-otel/switchboard/app/settings"
	"github.com/switchboard-otel/switchboard/app/text"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// HeartbeatParams are the optional arguments of heartbeat.
type HeartbeatParams struct {
	LeaseTTLSeconds *int
	LeaseToken      *string // nil: none was sent
	Note            *string
}

// heldBy is met by a todo t whose holder really calls: owner scope, granted queue, state, owner and fence, all in
// the one row that is read and changed. A fenced attempt wants its own token; an attempt without a fence wants none.
const heldBy = `t.id = $1 AND t.endpoint_id = $2 AND t.queue = ANY($3) AND t.owner = $4
		AND t.state IN ('claimed', 'input-required', 'auth-required') AND t.fence_hash IS NOT DISTINCT FROM $5::bytea`

func heldArgs(ep *identity.Endpoint, id uuid.UUID, leaseToken *string, more ...any) []any {
	var fence []byte
	if leaseToken != nil {
		fence = secret.Hash(*leaseToken)
	}
	return append([]any{id, ep.ID, ep.Queues, ownerOf(ep), fence}, more...)
}

// A heartbeat without a ttl renews the last one asked for in this attempt and never moves the lease back.
// An interrupted todo's lease is not touched: only the time of the heartbeat is kept.
const (
	renewed = `updated_at = sb_now(), last_heartbeat_at = sb_now(), lease_ttl_seconds = coalesce($6::integer, t.lease_ttl_seconds),
		lease_expires_at = CASE
		WHEN t.state <> 'claimed' THEN t.lease_expires_at
		WHEN $6::integer IS NOT NULL THEN sb_now() + make_interval(secs => $6::integer)
		ELSE greatest(t.lease_expires_at, sb_now() + make_interval(secs => t.lease_ttl_seconds)) END`

	heartbeatSQL = `UPDATE todos t SET ` + renewed + ` WHERE ` + heldBy + ` RETURNING ` + waited + rowColumns

	// waited tells that the lease was counted from long before it was written: the statement waited for somebody who held
	// the lock and changed nothing, so that PostgreSQL did not compute the row again.
	waited = `sb_now() - t.updated_at > interval '1 second', `

	// A note of an attempt and for a log that have room for it, as nearly all have.
	noteSQL = `
	WITH t AS (
		UPDATE todos t SET ` + renewed + `, notes = t.notes + 1, activity_seq = t.activity_seq + 1
		WHERE ` + heldBy + ` AND t.notes < $10 AND t.activity_seq - t.activity_pruned < $11
		RETURNING ` + storedColumns + `, t.human_id, t.endpoint_id, t.attempts_total, t.activity_seq, t.updated_at
	), written AS (
		INSERT INTO todo_activity (todo_id, seq, attempt_seq, at, kind, actor_kind, actor_ref, message, detail)
		SELECT t.id, t.activity_seq, t.attempts_total, t.updated_at, 'note', 'endpoint', $7, $8, $9::jsonb FROM t
	), told AS (
		INSERT INTO feed_entries (human_id, at, kind, todo_id, ref, queue, endpoint_id)
		SELECT t.human_id, t.updated_at, 'note', t.id, t.activity_seq, t.queue, t.endpoint_id FROM t
	)
	SELECT ` + waited + rowColumns + ` FROM t`

	// Where there is none, the attempt counts the note as dropped, or the log makes room.
	lockHeldSQL = `SELECT t.notes, t.notes_dropped, t.attempts_total FROM todos t WHERE ` + heldBy + ` FOR NO KEY UPDATE`
	countedSQL  = `UPDATE todos t SET ` + renewed + `, notes = t.notes + $7, notes_dropped = t.notes_dropped + $8 WHERE ` + heldBy + ` RETURNING ` + rowColumns
)

// Heartbeat extends a lease and, with a note, writes it into the todo's activity. It works after the lease
// has lapsed as long as nobody acted on that; after a takeover or the reaper it is a conflict.
func (s *Store) Heartbeat(ctx context.Context, ep *identity.Endpoint, id uuid.UUID, p HeartbeatParams) (*Row, error) {
	if err := checkLeaseTTL(p.LeaseTTLSeconds); err != nil {
		return nil, err
	}
	held := heldArgs(ep, id, p.LeaseToken, p.LeaseTTLSeconds)
	note, truncated := cleanNote(p.Note)
	var r *Row
	var err error
	if note == nil {
		r, err = s.beat(ctx, held, heartbeatSQL, held)
	} else {
		r, err = s.note(ctx, ep, held, entry{kind: KindNote, message: note, detail: cutDetail(truncated)})
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, s.notHeld(ctx, ep, id)
	}
	return r, err
}

// note is a heartbeat with a note.
func (s *Store) note(ctx context.Context, ep *identity.Endpoint, held []any, e entry) (*Row, error) {
	limits := s.settings.Values(ctx)
	by := actor{"endpoint", typeid.Endpoint.Format(ep.ID)}
	detail, err := e.detailText()
	if err != nil {
		return nil, err
	}
	args := append(held[:len(held):len(held)], by.ref, e.message, detail, limits[settings.NotesMaxPerAttempt], limits[settings.ActivityMaxPerTodo])
	r, err := s.beat(ctx, held, noteSQL, args)
	if errors.Is(err, pgx.ErrNoRows) {
		return s.noteWithoutRoom(ctx, held, by, e)
	}
	if err == nil {
		s.metrics.Activity(KindNote)
	}
	return r, err
}

func (s *Store) noteWithoutRoom(ctx context.Context, held []any, by actor, e entry) (r *Row, err error) {
	var kept bool
	err = postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		var notes, dropped, seq int
		if err := tx.QueryRow(ctx, lockHeldSQL, held[:5]...).Scan(&notes, &dropped, &seq); err != nil {
			return err
		}
		kept = notes < s.settings.Values(ctx)[settings.NotesMaxPerAttempt]
		more, lost := 1, 0
		if !kept {
			more, lost = 0, 1
		}
		r = &Row{}
		err := tx.QueryRow(ctx, countedSQL, append(held[:len(held):len(held)], more, lost)...).Scan(r.fields()...)
		if err != nil {
			return err
		}
		if !kept {
			dropped++
			r.NotesDropped = &dropped
			return nil
		}
		e.attemptSeq = &seq
		return s.writeActivity(ctx, tx, r.ID.UUID(), by, []entry{e})
	})
	if err != nil {
		return nil, err
	}
	if kept {
		s.metrics.Activity(KindNote)
	}
	return r, nil
}

// beat runs a heartbeat, and a plain one more where its lease was counted from before a wait. Where somebody has acted
// on the lapse in between, what the first one wrote stands, and so does its answer.
func (s *Store) beat(ctx context.Context, held []any, sql string, args []any) (beaten *Row, err error) {
	for waited := true; waited; sql, args = heartbeatSQL, held {
		var r Row
		err := s.pool.QueryRow(ctx, sql, args...).Scan(append([]any{&waited}, r.fields()...)...)
		if beaten != nil && errors.Is(err, pgx.ErrNoRows) {
			return beaten, nil
		}
		if err != nil {
			return nil, err
		}
		beaten = &r
	}
	return beaten, nil
}

// cutDetail is the detail of an entry whose text was cut.
func cutDetail(truncated bool) map[string]any {
	if !truncated {
		return nil
	}
	return map[string]any{"truncated": true}
}

// cleanNote masks credentials before it cuts, since a token that was cut would no longer be found. A note of
// spaces is none.
func cleanNote(note *string) (kept *string, truncated bool) {
	if note == nil || strings.TrimSpace(*note) == "" {
		return nil, false
	}
	cut, truncated := text.Cut(mask.String(text.Clean(*note)), maxNote)
	return &cut, truncated
}
