package intake

import (
	"context"

	"github.com/switchboard-otel/switchboard/app/settings"
)

// pruneBatch bounds how many events one statement deletes.
const pruneBatch = 500

// An event goes with its last todo. One that never had a todo is told by its disposition.
const pruneOrphansSQL = `
	WITH victims AS MATERIALIZED (
		SELECT v.id FROM events v
		WHERE v.disposition <> 'dropped' AND NOT EXISTS (SELECT FROM todos t WHERE t.event_id = v.id)
		LIMIT $1 FOR UPDATE OF v SKIP LOCKED
	)
	DELETE FROM events v USING victims WHERE v.id = victims.id`

const pruneByAgeSQL = `
	WITH clock AS MATERIALIZED (SELECT sb_now() AS now),
	victims AS MATERIALIZED (
		SELECT v.id FROM events v, clock
		WHERE v.disposition = 'dropped' AND v.received_at < clock.now - make_interval(days => $2)
		LIMIT $1 FOR UPDATE OF v SKIP LOCKED
	)
	DELETE FROM events v USING victims WHERE v.id = victims.id`

// Rows are counted per owning human, so that nobody's events make room for another's.
const pruneByRowsSQL = `
	WITH over AS MATERIALIZED (
		SELECT v.human_id, count(*) - $2 AS excess FROM events v WHERE v.disposition = 'dropped'
		GROUP BY v.human_id HAVING count(*) > $2
	), victims AS MATERIALIZED (
		SELECT oldest.id FROM over CROSS JOIN LATERAL (
			SELECT v.id FROM events v WHERE v.human_id = over.human_id AND v.disposition = 'dropped'
			ORDER BY v.id LIMIT least(over.excess, $1) FOR UPDATE SKIP LOCKED
		) oldest
		LIMIT $1
	)
	DELETE FROM events v USING victims WHERE v.id = victims.id`

// Prune deletes events whose last todo has gone, and of those that never had one the old and the too many
// (event_max_age_days, event_max_rows). It returns how many. The event of a todo is never deleted.
func (s *Store) Prune(ctx context.Context) (total int, err error) {
	values := s.settings.Values(ctx)
	for _, pass := range []struct {
		sql   string
		bound []any
	}{
		{pruneOrphansSQL, nil},
		{pruneByAgeSQL, []any{values[settings.EventMaxAgeDays]}},
		{pruneByRowsSQL, []any{values[settings.EventMaxRows]}},
	} {
		for {
			tag, err := s.pool.Exec(ctx, pass.sql, append([]any{pruneBatch}, pass.bound...)...)
			total += int(tag.RowsAffected())
			if err != nil {
				return total, err
			}
			if tag.RowsAffected() < pruneBatch {
				break
			}
		}
	}
	return total, nil
}
