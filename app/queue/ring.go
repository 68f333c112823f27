package queue

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/settings"
)

// maxRings bounds how many todos one pass rings for, and how many of an endpoint's oldest pending ones it looks
// at: a worker that was told of so many has no need to hear of more.
const maxRings = 50

// Rung is a todo for which the bell was rung. It carries nothing that a todo's source could have written, but
// for its kind and its source.
type Rung struct {
	ID       ID
	Endpoint uuid.UUID
	Queue    string
	Kind     *string
	Source   string
	Rings    int // this one included, since the todo last became ready
}

// The bell is rung when a todo becomes ready, and again 5 minutes, 20 minutes, 1 hour and 6 hours after the ring
// before, while it waits (protocols.md 3). The row is written under the todo's lock in the statement that picks
// the todo, so that of several replicas one rings.
const ringSQL = `
	WITH clock AS MATERIALIZED (SELECT sb_now() AS now),
	waiting AS MATERIALIZED (
		SELECT oldest.id FROM unnest($1::uuid[]) AS e (id) CROSS JOIN LATERAL (
			SELECT t.id, t.attempts_total FROM todos t JOIN endpoints ep ON ep.id = t.endpoint_id
			WHERE t.endpoint_id = e.id AND ` + pending + ` AND t.queue = ANY(ep.queues)
			ORDER BY t.created_at, t.id LIMIT $2
		) oldest LEFT JOIN todo_rings r ON r.todo_id = oldest.id, clock
		WHERE r.todo_id IS NULL OR r.attempts_total <> oldest.attempts_total OR r.next_at <= clock.now
	), due AS MATERIALIZED (
		SELECT t.id, t.attempts_total, t.activity_seq + 1 AS seq, t.activity_seq - t.activity_pruned + 1 - $3::integer AS surplus
		FROM todos t JOIN waiting w ON w.id = t.id
		WHERE t.state = 'pending' LIMIT $2 FOR NO KEY UPDATE OF t SKIP LOCKED
	), rung AS (
		INSERT INTO todo_rings AS r (todo_id, attempts_total, rings, next_at)
		SELECT d.id, d.attempts_total, 1, clock.now + interval '5 minutes' FROM due d, clock
		ON CONFLICT (todo_id) DO UPDATE SET attempts_total = excluded.attempts_total,
			rings = CASE WHEN r.attempts_total = excluded.attempts_total THEN r.rings + 1 ELSE 1 END,
			next_at = excluded.next_at - interval '5 minutes' + CASE
				WHEN r.attempts_total <> excluded.attempts_total THEN interval '5 minutes'
				WHEN r.rings = 1 THEN interval '20 minutes'
				WHEN r.rings = 2 THEN interval '1 hour'
				WHEN r.rings = 3 THEN interval '6 hours' END
			WHERE r.attempts_total <> excluded.attempts_total OR r.next_at <= sb_now()
		RETURNING r.todo_id, r.rings
	), room AS MATERIALIZED (
		SELECT d.id, CASE WHEN d.surplus > 0 THEN sb_prune_activity(d.id, d.surplus) ELSE 0 END AS pruned
		FROM due d JOIN rung ON rung.todo_id = d.id
	), written AS (
		INSERT INTO todo_activity (todo_id, seq, at, kind, actor_kind, actor_ref, detail)
		SELECT d.id, d.seq, clock.now, 'rung', 'system', 'switchboard', jsonb_build_object('transport', $4::text, 'ring', rung.rings)
		FROM due d JOIN rung ON rung.todo_id = d.id, clock
	)
	UPDATE todos t SET activity_seq = d.seq, activity_pruned = t.activity_pruned + room.pruned, updated_at = clock.now
	FROM due d JOIN rung ON rung.todo_id = d.id JOIN room ON room.id = d.id, clock
	WHERE t.id = d.id
	RETURNING t.id, t.endpoint_id, t.queue, t.kind, t.source, rung.rings`

// Ring rings the bell for pending todos of endpoints that somebody listens at, and writes each ring to its todo's
// log. The caller delivers what it returns. transport says how, such as "mcp".
func (s *Store) Ring(ctx context.Context, endpoints []uuid.UUID, transport string) ([]Rung, error) {
	rows, err := s.pool.Query(ctx, ringSQL, endpoints, maxRings, s.settings.Values(ctx)[settings.ActivityMaxPerTodo], transport)
	if err != nil {
		return nil, err
	}
	rung, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r Rung, err error) {
		return r, row.Scan((*uuid.UUID)(&r.ID), &r.Endpoint, &r.Queue, &r.Kind, &r.Source, &r.Rings)
	})
	for range rung {
		s.metrics.Activity(KindRung)
	}
	return rung, err
}
