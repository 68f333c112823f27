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
		SELECT t.id, a.seq, a.notes, t.activity_seq - t.activity_pruned AS entries FROM todos t JOIN todo_attempts a ON a.todo_id = t.id AND a.ended_at IS NULL
		WHERE t.id = $1 AND t.endpoint_id = $2 AND t.queue = ANY($3) AND t.owner = $4
		  AND t.state IN ('claimed', 'input-required', 'auth-required')
		  AND a.fence_hash IS NOT DISTINCT FROM $5
		FOR NO KEY UPDATE
	), clock AS MATERIALIZED (
		SELECT sb_now() AS now FROM held
	)`

func heldArgs(ep *identity.Endpoint, id uuid.UUID, leaseToken *string, more ...any) []any {
	var fence []byte
	if leaseToken != nil {
		fence = secret.Hash(*leaseToken)
	}
	return append([]any{id, ep.ID, ep.Queues, ownerOf(ep), fence}, more...)
}

// A heartbeat without a ttl renews the last one asked for in this attempt and never moves the lease back.
// An interrupted todo's lease is not touched: only the time of the heartbeat is kept. The note is written
// in the same statement, unless the attempt holds as many as it may; where the todo's log is full, its
// oldest note goes, else its oldest ring. It is locked, because the statement's snapshot may still show one that
// went while this heartbeat waited for its turn: the next one goes instead.
const heartbeatSQL = held + `,
	note AS (
		SELECT $7::text IS NOT NULL AND held.notes < $9 AS kept, $7::text IS NOT NULL AND held.notes >= $9 AS dropped
		FROM held
	), victims AS MATERIALIZED (
		SELECT v.todo_id, v.seq FROM todo_activity v JOIN held ON v.todo_id = held.id
		WHERE v.kind IN ('note', 'rung')
		ORDER BY v.kind = 'note' DESC, v.seq
		LIMIT (SELECT CASE WHEN note.kept THEN greatest(0, held.entries + 1 - $11::integer) ELSE 0 END FROM held, note)
		FOR UPDATE OF v
	), pruned AS (
		DELETE FROM todo_activity v USING victims WHERE v.todo_id = victims.todo_id AND v.seq = victims.seq
		RETURNING v.seq
	), beat AS (
		UPDATE todo_attempts a SET last_heartbeat_at = greatest(clock.now, a.claimed_at),
			lease_ttl_seconds = coalesce($6, a.lease_ttl_seconds),
			notes = a.notes + note.kept::integer, notes_dropped = a.notes_dropped + note.dropped::integer
		FROM held, note, clock WHERE a.todo_id = held.id AND a.seq = held.seq
		RETURNING a.todo_id, a.seq, a.lease_ttl_seconds
	), renewed AS (
		UPDATE todos t SET
			lease_expires_at = CASE
				WHEN t.state <> 'claimed' THEN t.lease_expires_at
				WHEN $6::integer IS NOT NULL THEN clock.now + make_interval(secs => $6)
				ELSE greatest(t.lease_expires_at, clock.now + make_interval(secs => beat.lease_ttl_seconds)) END,
			activity_seq = t.activity_seq + note.kept::integer,
			activity_pruned = t.activity_pruned + (SELECT count(*) FROM pruned),
			updated_at = clock.now
		FROM beat, note, clock WHERE t.id = beat.todo_id
		RETURNING t.*
	), written AS (
		INSERT INTO todo_activity (todo_id, seq, attempt_seq, at, kind, actor_kind, actor_ref, message, detail)
		SELECT t.id, t.activity_seq, beat.seq, clock.now, 'note', 'endpoint', $10, $7,
			CASE WHEN $8 THEN '{"truncated": true}'::jsonb END
		FROM renewed t, beat, note, clock WHERE note.kept
	)
	SELECT note.kept, ` + rowColumns + ` FROM renewed t, note`

// Heartbeat extends a lease and, with a note, writes it into the todo's activity. It works after the lease
// has lapsed as long as nobody acted on that; after a takeover or the reaper it is a conflict.
func (s *Store) Heartbeat(ctx context.Context, ep *identity.Endpoint, id uuid.UUID, p HeartbeatParams) (*Row, error) {
	if err := checkLeaseTTL(p.LeaseTTLSeconds); err != nil {
		return nil, err
	}
	note, truncated := cleanNote(p.Note)
	limits := s.settings.Values(ctx)
	var r Row
	var noted bool
	err := s.pool.QueryRow(ctx, heartbeatSQL, heldArgs(ep, id, p.LeaseToken,
		p.LeaseTTLSeconds, note, truncated, limits[settings.NotesMaxPerAttempt], typeid.Endpoint.Format(ep.ID),
		limits[settings.ActivityMaxPerTodo])...).Scan(append([]any{&noted}, r.fields()...)...)
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
