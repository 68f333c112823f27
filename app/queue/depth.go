package queue

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// QueueDepth is how many todos of one queue name there are, over all owners: what an operator may see.
type QueueDepth struct {
	Queue         string
	States        map[State]int
	OldestPending time.Duration
}

// Depths counts todos by queue and state, for the operator's metrics.
func (s *Store) Depths(ctx context.Context) ([]QueueDepth, error) {
	rows, err := s.pool.Query(ctx, `
		WITH clock AS MATERIALIZED (SELECT sb_now() AS now)
		SELECT t.queue, t.state, count(*), coalesce(extract(epoch FROM max(clock.now - t.created_at) FILTER (WHERE t.state = 'pending')), 0)::double precision
		FROM todos t, clock GROUP BY t.queue, t.state ORDER BY t.queue`)
	if err != nil {
		return nil, err
	}
	var all []QueueDepth
	var name string
	var state State
	var n int
	var oldest float64
	_, err = pgx.ForEachRow(rows, []any{&name, &state, &n, &oldest}, func() error {
		if len(all) == 0 || all[len(all)-1].Queue != name {
			all = append(all, QueueDepth{Queue: name, States: map[State]int{}})
		}
		d := &all[len(all)-1]
		d.States[state] = n
		d.OldestPending = max(d.OldestPending, time.Duration(oldest*float64(time.Second)))
		return nil
	})
	return all, err
}
