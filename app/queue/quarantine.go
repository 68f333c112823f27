package queue

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/mask"
	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/text"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// Quarantine is the reserved queue in which a todo waits for its human whose routing failed. No endpoint can be
// granted it, so no agent sees or claims what is in it.
const Quarantine = "quarantine"

// What a human does about a todo in quarantine, and to have a todo's work done once more, as the activity log
// names it.
const (
	ActionAdmit   Action = "quarantine_release"
	ActionDiscard Action = "quarantine_discard"
	ActionAgain   Action = "again"
)

// maxReason caps why a todo was discarded, in bytes.
const maxReason = 512

var (
	errNotInQuarantine = fault.New(fault.Conflict, "this todo does not wait in quarantine")
	errNotTheirQueue   = fault.InvalidArgument("queue", "must be one of the endpoint's queues")
	errStillLive       = fault.New(fault.Conflict, "this todo is still live; it can be run again once it has ended")
)

// Admit releases a todo from quarantine to one of its endpoint's queues; empty means the first of them.
func (s *Store) Admit(ctx context.Context, human, id uuid.UUID, queue string, via Via) (*Todo, error) {
	record := entry{kind: KindHumanAction, detail: map[string]any{"action": ActionAdmit, "via": via}}
	return s.settle(ctx, human, id, record, func(tx pgx.Tx, was *subject) error {
		if was.endpointRevoked {
			return errNoEndpoint
		}
		var to string
		err := tx.QueryRow(ctx, `
			WITH clock AS MATERIALIZED (SELECT sb_now() AS now)
			UPDATE todos t SET queue = CASE WHEN $3 = '' THEN e.queues[1] ELSE $3 END, updated_at = clock.now
			FROM clock, endpoints e
			WHERE t.id = $1 AND t.human_id = $2 AND e.id = t.endpoint_id AND ($3 = '' OR $3 = ANY(e.queues))
			RETURNING t.queue`, id, human, queue).Scan(&to)
		if errors.Is(err, pgx.ErrNoRows) {
			return errNotTheirQueue
		}
		record.detail["queue"] = to
		return err
	})
}

// Discard ends a todo in quarantine as rejected, with the reason its human gives. The reason is masked and cut
// to 512 bytes.
func (s *Store) Discard(ctx context.Context, human, id uuid.UUID, reason string, via Via) (*Todo, error) {
	reason, _ = text.Cut(mask.String(text.Clean(strings.TrimSpace(reason))), maxReason)
	if reason == "" {
		return nil, fault.InvalidArgument("reason", "must say why")
	}
	return s.settle(ctx, human, id, entry{kind: KindHumanAction,
		detail: map[string]any{"action": ActionDiscard, "via": via, "reason": reason}}, func(tx pgx.Tx, _ *subject) error {
		_, err := tx.Exec(ctx, `
			WITH clock AS MATERIALIZED (SELECT sb_now() AS now)
			UPDATE todos t SET state = 'rejected', ended_at = clock.now, updated_at = clock.now FROM clock
			WHERE t.id = $1 AND t.human_id = $2`, id, human)
		return err
	})
}

// settle decides what becomes of a todo in quarantine, in one transaction with its record.
func (s *Store) settle(ctx context.Context, human, id uuid.UUID, record entry, change func(pgx.Tx, *subject) error) (*Todo, error) {
	var after Todo
	var was *subject
	err := postgres.InTx(ctx, s.pool, func(tx pgx.Tx) (err error) {
		if was, err = lockForHuman(ctx, tx, human, id); err != nil {
			return err
		}
		if !was.quarantined || was.state != StatePending {
			return errNotInQuarantine
		}
		if err := change(tx, was); err != nil {
			return err
		}
		if err := s.writeActivity(ctx, tx, id, actor{"human", typeid.Human.Format(human)}, []entry{record}); err != nil {
			return err
		}
		return readForHuman(ctx, tx, human, id, &after)
	})
	if err != nil {
		return nil, err
	}
	s.counted([]entry{record})
	if after.State == StateRejected {
		s.metrics.TodoEnded(after.Queue, endRejected)
	} else {
		s.ready.wake(was.endpoint, after.Queue, 1)
	}
	return &after, nil
}

func readForHuman(ctx context.Context, tx pgx.Tx, human, id uuid.UUID, t *Todo) error {
	return tx.QueryRow(ctx, `SELECT `+todoColumns+` FROM todos t WHERE t.id = $1 AND t.human_id = $2`, id, human).Scan(t.fields()...)
}

// Again has the work of a todo that has ended done once more, by a new todo with the same payload that came
// from the same event. It goes into the same queue, or into another of the endpoint's that queue names; what was
// discarded in quarantine goes into the first of them. Both todos record it.
func (s *Store) Again(ctx context.Context, human, id uuid.UUID, queue string, via Via) (*Todo, error) {
	var fresh *Todo
	var committed func()
	deed := func(name string, other uuid.UUID) []entry {
		return []entry{{kind: KindHumanAction, detail: map[string]any{"action": ActionAgain, "via": via, name: typeid.Todo.Format(other)}}}
	}
	err := postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		was, err := lockForHuman(ctx, tx, human, id)
		if err != nil {
			return err
		}
		n, err := endedTodo(ctx, tx, human, was, queue)
		if err != nil {
			return err
		}
		if fresh, committed, err = s.Create(ctx, tx, *n); err != nil {
			return err
		}
		by := actor{"human", typeid.Human.Format(human)}
		if err := s.writeActivity(ctx, tx, id, by, deed("todo", fresh.ID.UUID())); err != nil {
			return err
		}
		return s.writeActivity(ctx, tx, fresh.ID.UUID(), by, deed("from", id))
	})
	if err != nil {
		return nil, err
	}
	committed()
	s.counted(append(deed("todo", id), deed("from", id)...))
	return fresh, nil
}

// endedTodo reads what a todo that has ended was created with.
func endedTodo(ctx context.Context, tx pgx.Tx, human uuid.UUID, was *subject, queue string) (*NewTodo, error) {
	switch {
	case was.endpointRevoked:
		return nil, errNoEndpoint
	case was.state != StateDone && was.state != StateCanceled && was.state != StateRejected &&
		(was.state != StateFailed || was.retryScheduled):
		return nil, errStillLive
	}
	n := NewTodo{Endpoint: was.endpoint, Human: human, MaxAttempts: &was.max}
	var queues []string
	err := tx.QueryRow(ctx, `
		SELECT t.queue, t.source, t.kind, t.title, t.payload, t.routing, t.work_order, t.event_id, e.queues
		FROM todos t JOIN endpoints e ON e.id = t.endpoint_id WHERE t.id = $1 AND t.human_id = $2`, was.id, human).
		Scan(&n.Queue, &n.Source, &n.Kind, &n.Title, &n.Payload, &n.Routing, &n.WorkOrder, &n.Event, &queues)
	if err != nil {
		return nil, err
	}
	switch {
	case queue != "":
		n.Queue = queue
	case n.Queue == Quarantine:
		n.Queue = queues[0]
	}
	if !slices.Contains(queues, n.Queue) {
		return nil, errNotTheirQueue
	}
	return &n, nil
}
