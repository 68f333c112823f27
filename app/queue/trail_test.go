package queue_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/queue"
)

// trail is all that the database holds of one todo, its spans apart. The structs have every column of their
// tables: reading them fails when a migration adds one that no test has thought of.
type trail struct {
	Todo     todoRow
	Attempts []attemptRow  // by seq
	Activity []activityRow // by seq
	Bindings []bindingRow  // of pruned attempts, by seq
}

type todoRow struct {
	ID, EndpointID, HumanID       uuid.UUID
	Queue, Source                 string
	Kind                          *string
	Title                         string
	Payload                       *string
	PayloadSize                   int
	Routing, WorkOrder            *string
	IdempotencyKey                *string
	State                         queue.State
	Attempt, MaxAttempts          int
	Owner                         *string
	LeaseExpiresAt, NextRetryAt   *time.Time
	Result                        *string
	AttemptsTotal, AttemptsPruned int
	ActivitySeq, ActivityPruned   int
	CreatedAt, UpdatedAt          time.Time
	InterruptedAt, EndedAt        *time.Time
	FenceHash                     []byte
	LeaseTTLSeconds               *int `db:"lease_ttl_seconds"`
	LastHeartbeatAt               *time.Time
	Notes, NotesDropped           int
	EventID                       *uuid.UUID
	A2AContext                    *string `db:"a2a_context"`
	Messages                      *string
}

type attemptRow struct {
	TodoID                   uuid.UUID
	Seq, Attempt             int
	ClaimerKind              string
	EndpointID               *uuid.UUID
	Claimant                 *string
	TraceID, CallerTraceID   []byte
	FenceHash                []byte `db:"-"` // its todo has it while it is open
	LeaseTTLSeconds          int    `db:"lease_ttl_seconds"`
	ClaimedAt                time.Time
	LastHeartbeatAt, EndedAt *time.Time
	Outcome, Disposition     *string
	Summary                  *string
	SummaryTruncated         bool
	Artifact                 *string
	Notes, NotesDropped      int
	RequestID                *string
}

type activityRow struct {
	TodoID              uuid.UUID
	Seq                 int
	AttemptSeq          *int
	At                  time.Time
	Kind                string
	ActorKind, ActorRef string
	Message, Detail     *string
}

type bindingRow struct {
	EndpointID, TodoID uuid.UUID
	TraceID            []byte
	AttemptSeq         *int
}

// trails reads everything, the oldest todo first.
func (b *bundle) trails(t testing.TB) []*trail {
	t.Helper()
	var all []*trail
	byID := map[uuid.UUID]*trail{}
	var batch pgx.Batch
	batch.Queue(`SELECT * FROM todos ORDER BY id`).Query(func(rows pgx.Rows) error {
		todos, err := pgx.CollectRows(rows, pgx.RowToStructByName[todoRow])
		for _, todo := range todos {
			byID[todo.ID] = &trail{Todo: todo}
			all = append(all, byID[todo.ID])
		}
		return err
	})
	batch.Queue(`SELECT * FROM todo_attempts ORDER BY todo_id, seq`).Query(func(rows pgx.Rows) error {
		attempts, err := pgx.CollectRows(rows, pgx.RowToStructByName[attemptRow])
		for _, a := range attempts {
			byID[a.TodoID].Attempts = append(byID[a.TodoID].Attempts, a)
		}
		return err
	})
	batch.Queue(`SELECT * FROM todo_activity ORDER BY todo_id, seq`).Query(func(rows pgx.Rows) error {
		entries, err := pgx.CollectRows(rows, pgx.RowToStructByName[activityRow])
		for _, e := range entries {
			byID[e.TodoID].Activity = append(byID[e.TodoID].Activity, e)
		}
		return err
	})
	batch.Queue(`SELECT * FROM todo_trace_bindings ORDER BY todo_id, attempt_seq`).Query(func(rows pgx.Rows) error {
		bindings, err := pgx.CollectRows(rows, pgx.RowToStructByName[bindingRow])
		for _, v := range bindings {
			byID[v.TodoID].Bindings = append(byID[v.TodoID].Bindings, v)
		}
		return err
	})
	if err := b.Pool.SendBatch(context.Background(), &batch).Close(); err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		one.gather(t)
	}
	return all
}

// gather gives the open attempt what stands with its todo meanwhile. When it has ended, both must say the same.
func (one *trail) gather(t testing.TB) {
	t.Helper()
	todo := &one.Todo
	if n := len(one.Attempts); n > 0 && one.Attempts[n-1].Seq == todo.AttemptsTotal {
		latest := &one.Attempts[n-1]
		was := *latest
		latest.LeaseTTLSeconds, latest.LastHeartbeatAt = *todo.LeaseTTLSeconds, todo.LastHeartbeatAt
		latest.Notes, latest.NotesDropped = todo.Notes, todo.NotesDropped
		if latest.FenceHash = todo.FenceHash; latest.EndedAt != nil && !reflect.DeepEqual(was, *latest) {
			t.Errorf("the end of an attempt kept %+v of %+v", was, *latest)
		}
	}
	todo.FenceHash, todo.LeaseTTLSeconds, todo.LastHeartbeatAt, todo.Notes, todo.NotesDropped = nil, nil, nil, 0, 0
}

// frozen is a database's clock that stands still until it is moved, so that every time a transition writes
// can be foretold to the microsecond, and a lease can be met in the very instant of its end.
type frozen struct {
	now time.Time
	b   *bundle
}

// freeze stops the clock of the bundle's database.
func (b *bundle) freeze(t testing.TB) *frozen {
	t.Helper()
	f := &frozen{time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC), b}
	_, err := b.Pool.Exec(context.Background(), `
		CREATE TABLE sb_test.frozen (at timestamptz NOT NULL);
		INSERT INTO sb_test.frozen VALUES ('`+f.now.Format(time.RFC3339)+`');
		CREATE OR REPLACE FUNCTION sb_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT at FROM sb_test.frozen'`,
		pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatalf("cannot stop the clock: %v", err)
	}
	return f
}

// pass lets time pass.
func (f *frozen) pass(t testing.TB, d time.Duration) {
	t.Helper()
	f.now = f.now.Add(d)
	if _, err := f.b.Pool.Exec(context.Background(), `UPDATE sb_test.frozen SET at = $1`, f.now); err != nil {
		t.Fatal(err)
	}
}
