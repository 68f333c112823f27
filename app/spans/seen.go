package spans

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// One look into the order index per attempt that has spans, of the hundred newest todos.
const lastSQL = `
SELECT e.id, max(last.start_at)
FROM endpoints e
CROSS JOIN LATERAL (SELECT t.id FROM todos t WHERE t.endpoint_id = e.id ORDER BY t.id DESC LIMIT 100) newest
JOIN todo_span_counts c ON c.todo_id = newest.id AND c.stored > 0
CROSS JOIN LATERAL (
	SELECT s.start_at FROM todo_spans s
	WHERE s.todo_id = c.todo_id AND s.attempt_seq IS NOT DISTINCT FROM nullif(c.attempt_seq, 0)
	ORDER BY s.start_at DESC LIMIT 1
) last
WHERE e.human_id = $1
GROUP BY e.id`

// LastByEndpoint returns, by endpoint of a human, when the newest span began that is stored for one of the
// endpoint's hundred newest todos. An endpoint without spans is absent.
func (s *Store) LastByEndpoint(ctx context.Context, human uuid.UUID) (map[uuid.UUID]time.Time, error) {
	rows, err := s.pool.Query(ctx, lastSQL, human)
	if err != nil {
		return nil, fmt.Errorf("read the last spans: %w", err)
	}
	last := map[uuid.UUID]time.Time{}
	var id uuid.UUID
	var at time.Time
	if _, err = pgx.ForEachRow(rows, []any{&id, &at}, func() error { last[id] = at; return nil }); err != nil {
		return nil, fmt.Errorf("read the last spans: %w", err)
	}
	return last, nil
}
