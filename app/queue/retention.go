package queue

import (
	"context"

	"github.com/switchboard-otel/switchboard/app/settings"
)

// pruneBatch bounds how many todos one statement deletes, so that none holds locks for long.
const pruneBatch = 200

const pruneByAgeSQL = `
	WITH clock AS MATERIALIZED (SELECT sb_now() AS now),
	victims AS MATERIALIZED (
		SELECT t.id FROM todos t, clock
		WHERE t.ended_at < clock.now - make_interval(days => $1)
		LIMIT $2 FOR UPDATE OF t SKIP LOCKED
	)
	DELETE FROM todos t USING victims WHERE t.id = victims.id`

// Rows are counted per owning human, so that nobody's history makes room for another's. Only terminal rows
// count and only the oldest of them go.
const pruneByRowsSQL = `
	WITH over AS MATERIALIZED (
		SELECT t.human_id, count(*) - $1 AS excess FROM todos t WHERE t.ended_at IS NOT NULL
		GROUP BY t.human_id HAVING count(*) > $1
	), victims AS MATERIALIZED (
		SELECT oldest.id FROM over CROSS JOIN LATERAL (
			SELECT t.id FROM todos t WHERE t.human_id = over.human_id AND t.ended_at IS NOT NULL
			ORDER BY t.ended_at, t.id LIMIT least(over.excess, $2) FOR UPDATE SKIP LOCKED
		) oldest
		LIMIT $2
	)
	DELETE FROM todos t USING victims WHERE t.id = victims.id`

// Prune deletes terminal todos that are older than retention_max_age_days, or beyond retention_max_rows of
// their human, with everything that hangs on them. It returns how many.
func (s *Store) Prune(ctx context.Context) (int, error) {
	v := s.settings.Values(ctx)
	old, err := s.prune(ctx, pruneByAgeSQL, v[settings.RetentionMaxAgeDays])
	if err != nil {
		return old, err
	}
	over, err := s.prune(ctx, pruneByRowsSQL, v[settings.RetentionMaxRows])
	return old + over, err
}

func (s *Store) prune(ctx context.Context, sql string, bound int) (total int, err error) {
	for {
		tag, err := s.pool.Exec(ctx, sql, bound, pruneBatch)
		total += int(tag.RowsAffected())
		if err != nil || tag.RowsAffected() < pruneBatch {
			return total, err
		}
	}
}
