package queue

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/settings"
)

// The kinds of activity (REQ-10).
const (
	KindNote        = "note"
	KindHumanAction = "human_action"
	KindRetried     = "retried"
	KindA2AState    = "a2a_state"
	KindRung        = "rung"
)

// ActivityKinds lists every kind.
var ActivityKinds = []string{KindNote, KindHumanAction, KindRetried, KindA2AState, KindRung}

// maxDetail caps an entry's detail, in bytes of what the database shows as its text.
const maxDetail = 4096

// actor is who did something.
type actor struct{ kind, ref string }

// entry is a line that a transition writes into the activity log of its todo.
type entry struct {
	kind       string
	attemptSeq *int
	message    *string // at most maxNote bytes
	detail     map[string]any
}

// detailText is the detail as the database reads it, nil for none.
func (e *entry) detailText() (*string, error) {
	if e.detail == nil {
		return nil, nil
	}
	text, err := json.Marshal(e.detail)
	detail := string(text)
	return &detail, err
}

const writeActivitySQL = `
	WITH clock AS MATERIALIZED (SELECT sb_now() AS now),
	log AS MATERIALIZED (
		SELECT id, human_id, endpoint_id, queue, activity_seq, activity_seq - activity_pruned + cardinality($4::text[]) - $7::integer AS surplus
		FROM todos WHERE id = $1
	),
	room AS MATERIALIZED (
		SELECT CASE WHEN log.surplus > 0 THEN sb_prune_activity(log.id, log.surplus) ELSE 0 END AS pruned FROM log
	), written AS (
		INSERT INTO todo_activity (todo_id, seq, attempt_seq, at, kind, actor_kind, actor_ref, message, detail)
		SELECT log.id, log.activity_seq + e.n, e.attempt_seq, clock.now, e.kind, $2, $3, e.message, e.detail::jsonb
		FROM log, clock, unnest($4::text[], $5::integer[], $6::text[], $8::text[]) WITH ORDINALITY
			AS e (kind, attempt_seq, detail, message, n)
		RETURNING seq, at, kind, detail
	), told AS (
		INSERT INTO feed_entries (human_id, at, kind, todo_id, ref, queue, endpoint_id)
		SELECT log.human_id, w.at, CASE WHEN w.kind = 'human_action' AND w.detail ->> 'action' = 'retry' THEN 'retried' ELSE w.kind END,
			log.id, w.seq, log.queue, log.endpoint_id
		FROM log, written w WHERE w.kind NOT IN ('retried', 'rung')
	)
	UPDATE todos SET activity_seq = activity_seq + cardinality($4::text[]), activity_pruned = activity_pruned + room.pruned
	FROM room WHERE id = $1`

// writeActivity writes the entries of a transition in its transaction, which holds the todo's lock. Where
// the log is full the oldest notes go, then the oldest rings; a transition is recorded in any case
// (decisions.md 39).
func (s *Store) writeActivity(ctx context.Context, tx pgx.Tx, todo uuid.UUID, by actor, entries []entry) error {
	kinds, seqs := make([]string, len(entries)), make([]*int, len(entries))
	details, messages := make([]*string, len(entries)), make([]*string, len(entries))
	for i, e := range entries {
		kinds[i], seqs[i], messages[i] = e.kind, e.attemptSeq, e.message
		var err error
		if details[i], err = e.detailText(); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, writeActivitySQL, todo, by.kind, by.ref, kinds, seqs, details,
		s.settings.Values(ctx)[settings.ActivityMaxPerTodo], messages)
	return err
}

// counted counts entries once their transaction has committed.
func (s *Store) counted(entries []entry) {
	for _, e := range entries {
		s.metrics.Activity(e.kind)
	}
}
