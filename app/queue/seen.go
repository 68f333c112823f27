package queue

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// EndpointWork is what an endpoint's agent was last seen doing, and how much work it has.
type EndpointWork struct {
	Held, Live    int        // claimed now; live in all. Each at most mostCounted
	LastSeen      *time.Time // its latest claim, heartbeat or report
	LastHeartbeat *time.Time
}

// EndpointsWork tells what the agents of a human's endpoints do. It looks at the hundred newest todos of each
// and at those that are held, so that its cost does not grow with history.
func (s *Store) EndpointsWork(ctx context.Context, human uuid.UUID) (map[uuid.UUID]EndpointWork, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT e.id,
			(SELECT count(*) FROM (SELECT FROM todos t WHERE t.endpoint_id = e.id AND `+claimed+` LIMIT $2) c),
			(SELECT count(*) FROM (SELECT FROM todos t WHERE t.endpoint_id = e.id AND `+live+` LIMIT $2) c),
			greatest(recent.seen, held.seen), greatest(recent.heard, held.heard)
		FROM endpoints e
		CROSS JOIN LATERAL (
			SELECT max(greatest(a.claimed_at, a.last_heartbeat_at, newest.last_heartbeat_at,
				CASE WHEN a.outcome IN ('completed', 'failed', 'released') THEN a.ended_at END)) AS seen,
				max(greatest(a.last_heartbeat_at, newest.last_heartbeat_at)) AS heard
			FROM (SELECT t.id, t.attempts_total, t.last_heartbeat_at FROM todos t WHERE t.endpoint_id = e.id ORDER BY t.id DESC LIMIT 100) newest
			JOIN todo_attempts a ON a.todo_id = newest.id AND a.claimer_kind = 'endpoint'
		) recent
		CROSS JOIN LATERAL (
			SELECT max(greatest(a.claimed_at, claimed.last_heartbeat_at)) AS seen, max(claimed.last_heartbeat_at) AS heard
			FROM (SELECT t.id, t.attempts_total, t.last_heartbeat_at FROM todos t
				WHERE t.endpoint_id = e.id AND `+claimed+` LIMIT 100) claimed
			JOIN todo_attempts a ON a.todo_id = claimed.id AND a.seq = claimed.attempts_total AND a.claimer_kind = 'endpoint'
		) held
		WHERE e.human_id = $1`, human, mostCounted)
	if err != nil {
		return nil, err
	}
	all := map[uuid.UUID]EndpointWork{}
	var id uuid.UUID
	var w EndpointWork
	_, err = pgx.ForEachRow(rows, []any{&id, &w.Held, &w.Live, &w.LastSeen, &w.LastHeartbeat}, func() error {
		all[id] = w
		return nil
	})
	return all, err
}
