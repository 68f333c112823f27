package queue

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/mask"
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

// held locks a todo and its open attempt for whoever really holds it: owner scope, granted queue, state,
// owner and fence, all in the statement that reads the rows. A fenced attempt wants its own token; an
// attempt without a fence wants none. The lock is NO KEY, like every lock of a todo here: the foreign key of
// a span that is being stored takes a share of the key, and a heartbeat must not wait for an ingest. The
// clock is read when the lock is held, so that a wait for it does not date what follows back.
const held = `
	WITH held AS MATERIALIZED (
		SELECT h.*, sb_now() AS now FROM (
			SELECT t.id, t.attempt, t.max_attempts, t.activity_seq, t.activity_seq - t.activity_pruned AS entries,
				a.seq, a.notes, a.notes_dropped, a.lease_ttl_seconds
			FROM todos t JOIN todo_attempts a ON a.todo_id = t.id AND a.ended_at IS NULL
			WHERE t.id = $1 AND t.endpoint_id = $2 AND t.queue = ANY($3) AND t.owner = $4
			  AND t.state IN ('claimed', 'input-required', 'auth-required')
			  AND a.fence_hash IS NOT DISTINCT FROM $5::bytea
			FOR NO KEY UPDATE
		) h
	)`

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
	beaten = `last_heartbeat_at = greatest(held.now, a.claimed_at), lease_ttl_seconds = coalesce($6::integer, a.lease_ttl_seconds)`

	renewed = `updated_at = held.now, lease_expires_at = CASE
		WHEN t.state <> 'claimed' THEN t.lease_expires_at
		WHEN $6::integer IS NOT NULL THEN held.now + make_interval(secs => $6::integer)
		ELSE greatest(t.lease_expires_at, held.now + make_interval(secs => held.lease_ttl_seconds)) END`

	heartbeatSQL = held + `,
	beat AS (
		UPDATE todo_attempts a SET ` + beaten + ` FROM held WHERE a.todo_id = held.id AND a.seq = held.seq
	)
	UPDATE todos t SET ` + renewed + ` FROM held WHERE t.id = held.id
	RETURNING false, NULL::integer, ` + rowColumns

	// The note is written in the same statement, unless the attempt holds as many as it may. Where the todo's log
	// is full, an older entry makes room.
	heartbeatNoteSQL = held + `,
	note AS MATERIALIZED (
		SELECT held.notes < $9 AS kept, CASE WHEN held.notes < $9 AND held.entries >= $11
			THEN sb_prune_activity(held.id, held.entries + 1 - $11) ELSE 0 END AS pruned
		FROM held
	), beat AS (
		UPDATE todo_attempts a SET ` + beaten + `,
			notes = a.notes + note.kept::integer, notes_dropped = a.notes_dropped + (NOT note.kept)::integer
		FROM held, note WHERE a.todo_id = held.id AND a.seq = held.seq
	), written AS (
		INSERT INTO todo_activity (todo_id, seq, attempt_seq, at, kind, actor_kind, actor_ref, message, detail)
		SELECT held.id, held.activity_seq + 1, held.seq, held.now, 'note', 'endpoint', $10, $7,
			CASE WHEN $8 THEN '{"truncated": true}'::jsonb END
		FROM held, note WHERE note.kept
	)
	UPDATE todos t SET ` + renewed + `, activity_seq = t.activity_seq + note.kept::integer,
		activity_pruned = t.activity_pruned + note.pruned
	FROM held, note WHERE t.id = held.id
	RETURNING note.kept, CASE WHEN NOT note.kept THEN held.notes_dropped + 1 END, ` + rowColumns
)

// Heartbeat extends a lease and, with a note, writes it into the todo's activity. It works after the lease
// has lapsed as long as nobody acted on that; after a takeover or the reaper it is a conflict.
func (s *Store) Heartbeat(ctx context.Context, ep *identity.Endpoint, id uuid.UUID, p HeartbeatParams) (*Row, error) {
	if err := checkLeaseTTL(p.LeaseTTLSeconds); err != nil {
		return nil, err
	}
	sql, args := heartbeatSQL, heldArgs(ep, id, p.LeaseToken, p.LeaseTTLSeconds)
	if note, truncated := cleanNote(p.Note); note != nil {
		limits := s.settings.Values(ctx)
		sql = heartbeatNoteSQL
		args = append(args, note, truncated, limits[settings.NotesMaxPerAttempt], typeid.Endpoint.Format(ep.ID),
			limits[settings.ActivityMaxPerTodo])
	}
	var r Row
	var noted bool
	err := s.pool.QueryRow(ctx, sql, args...).Scan(append([]any{&noted, &r.NotesDropped}, r.fields()...)...)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, s.notHeld(ctx, ep, id)
	}
	if err == nil && noted {
		s.metrics.Activity(KindNote)
	}
	return &r, err
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
