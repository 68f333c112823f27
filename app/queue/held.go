package queue

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// HeldTodos lists a human's todos in quarantine, newest first, and whether there are more than limit.
//
// Queue and state are no parameters: a plan that serves every value of them cannot use the index of these, and
// would read all of a human's todos.
func (s *Store) HeldTodos(ctx context.Context, human uuid.UUID, limit int) (rows []HumanRow, more bool, err error) {
	found, err := s.pool.Query(ctx, humanRowsSQL+`
		WHERE t.human_id = $1 AND t.queue = 'quarantine' AND t.state = 'pending' ORDER BY t.id DESC LIMIT $2`, human, limit+1)
	if err != nil {
		return nil, false, err
	}
	rows, err = pgx.AppendRows([]HumanRow{}, found, scanHumanRow)
	if len(rows) > limit {
		return rows[:limit], true, err
	}
	return rows, false, err
}
