// Package queue is the state machine of todos: what can be claimed, who holds it under which lease and
// fence, how each attempt ended, and what was noted on the way. Every transition is one statement or one
// transaction, names its owner scope in the statement that reads the row, and reads time only from the
// database. It alone writes todos, todo_attempts and todo_activity.
package queue

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/typeid"
)

// State is where a todo stands.
type State string

// The states of queue.md section 2.
const (
	StatePending       State = "pending"
	StateClaimed       State = "claimed"
	StateDone          State = "done"
	StateFailed        State = "failed" // with next_retry_at: waits for its retry; without: a dead letter
	StateCanceled      State = "canceled"
	StateRejected      State = "rejected"
	StateInputRequired State = "input-required"
	StateAuthRequired  State = "auth-required"
)

// States lists every state.
var States = []State{StatePending, StateClaimed, StateDone, StateFailed, StateCanceled, StateRejected,
	StateInputRequired, StateAuthRequired}

// ID is a todo's id. It is spelled td_... on every surface.
type ID uuid.UUID

func (id ID) String() string { return typeid.Todo.Format(uuid.UUID(id)) }

// UUID returns the id as the database knows it.
func (id ID) UUID() uuid.UUID { return uuid.UUID(id) }

// MarshalText spells the id.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// EventID is the id of the event a todo came from. It is spelled ev_... on every surface.
type EventID uuid.UUID

// UUID returns the id as the database knows it.
func (id EventID) UUID() uuid.UUID { return uuid.UUID(id) }

// MarshalText spells the id.
func (id EventID) MarshalText() ([]byte, error) {
	return []byte(typeid.Event.Format(uuid.UUID(id))), nil
}

// Scan reads the id out of the database.
func (id *EventID) Scan(src any) error { return (*uuid.UUID)(id).Scan(src) }

// Row is what every verb returns of a todo. Missing values are null, never absent.
type Row struct {
	ID             ID              `json:"id"`
	Queue          string          `json:"queue"`
	Source         string          `json:"source"` // a webhook's source type, "operator" or "a2a"
	Kind           *string         `json:"kind"`
	Title          string          `json:"title"`
	State          State           `json:"state"`
	Owner          *string         `json:"owner"` // "agent:<id>" or "human:<id>" while it is held
	Attempt        int             `json:"attempt"`
	MaxAttempts    int             `json:"max_attempts"`
	LeaseExpiresAt *time.Time      `json:"lease_expires_at"`
	CreatedAt      time.Time       `json:"created_at"`
	PayloadSize    int             `json:"payload_size"` // bytes
	WorkOrder      json.RawMessage `json:"work_order"`
	NextRetryAt    *time.Time      `json:"next_retry_at"`
	DeadLetter     bool            `json:"dead_letter"`

	// NotesDropped is only in the answer to a heartbeat whose note its attempt had no room for: how many that makes.
	NotesDropped *int `json:"notes_dropped,omitempty"`
}

// Todo is a row with what it carries.
type Todo struct {
	Row
	Payload        json.RawMessage `json:"payload"`
	Routing        json.RawMessage `json:"routing"`
	Messages       json.RawMessage `json:"messages,omitempty"` // what was asked and answered since, as A2A messages; absent: nothing
	EventID        *EventID        `json:"event_id"`           // the delivery it came from
	SpansDropped   int             `json:"spans_dropped"`      // spans without an attempt that a cap refused
	ActivityPruned int             `json:"activity_pruned"`
}

// Detail is a todo with its history, newest attempt first.
type Detail struct {
	Todo
	Result         json.RawMessage `json:"result"`
	Attempts       []Attempt       `json:"attempts"`
	AttemptsTotal  int             `json:"attempts_total"`
	AttemptsPruned int             `json:"attempts_pruned"`
}

// ActivityEntry is one line of a todo's activity log.
type ActivityEntry struct {
	Seq        int             `json:"seq"`
	At         time.Time       `json:"at"`
	AttemptSeq *int            `json:"attempt_seq"`
	Kind       string          `json:"kind"`
	ActorKind  string          `json:"actor_kind"`
	ActorRef   string          `json:"-"` // an endpoint's or a human's id: no read returns it
	Message    *string         `json:"message"`
	Detail     json.RawMessage `json:"detail"`
}

// The columns of a row, in the order of Row.fields. The statement calls the todo t.
const (
	rowColumns    = storedColumns + `, t.state = 'failed' AND t.next_retry_at IS NULL`
	storedColumns = `t.id, t.queue, t.source, t.kind, t.title, t.state, t.owner, t.attempt, t.max_attempts,
	t.lease_expires_at, t.created_at, t.payload_size, t.work_order, t.next_retry_at`
)

// Documents are read as bytes: as a json.RawMessage each would be parsed once more.
func (r *Row) fields() []any {
	return []any{(*uuid.UUID)(&r.ID), &r.Queue, &r.Source, &r.Kind, &r.Title, &r.State, &r.Owner, &r.Attempt, &r.MaxAttempts,
		&r.LeaseExpiresAt, &r.CreatedAt, &r.PayloadSize, (*[]byte)(&r.WorkOrder), &r.NextRetryAt, &r.DeadLetter}
}

// Drops live beside the todo, where only an ingest locks them.
const todoColumns = rowColumns + `, t.payload, t.routing, t.messages, t.event_id,
	coalesce((SELECT n.dropped FROM todo_span_counts n WHERE n.todo_id = t.id AND n.attempt_seq = 0), 0),
	t.activity_pruned`

func (t *Todo) fields() []any {
	return append(t.Row.fields(), (*[]byte)(&t.Payload), (*[]byte)(&t.Routing), (*[]byte)(&t.Messages), &t.EventID, &t.SpansDropped, &t.ActivityPruned)
}

// Attempt is one try, as the attempt-history page describes it. It never carries the claiming endpoint's
// id, a session, or anything of a lease token.
type Attempt struct {
	Seq              int        `json:"seq"`
	Attempt          int        `json:"attempt"`
	ClaimerKind      string     `json:"claimer_kind"`
	Claimant         *string    `json:"claimant"`
	ClaimedAt        time.Time  `json:"claimed_at"`
	LastHeartbeatAt  *time.Time `json:"last_heartbeat_at"`
	EndedAt          *time.Time `json:"ended_at"`
	Outcome          *string    `json:"outcome"`
	Disposition      *string    `json:"disposition"`
	Died             bool       `json:"died"`
	Summary          *string    `json:"summary"`
	SummaryTruncated bool       `json:"summary_truncated"`
	Artifact         *string    `json:"artifact"`
	TraceID          string     `json:"trace_id"` // 32 lower-case hex digits
	SpansDropped     int        `json:"spans_dropped"`
	NotesDropped     int        `json:"notes_dropped"`
}

// The columns of an attempt a of a todo t, in the order that scanAttempt reads. What moves while an attempt is open
// stands with its todo until then.
const attemptColumns = `a.seq, a.attempt, a.claimer_kind, a.claimant, a.claimed_at,
	CASE WHEN a.ended_at IS NULL THEN t.last_heartbeat_at ELSE a.last_heartbeat_at END, a.ended_at,
	a.outcome, a.disposition, coalesce(a.outcome IN ('lease_expired', 'reaped'), false), a.summary,
	a.summary_truncated, a.artifact, encode(a.trace_id, 'hex'),
	coalesce((SELECT n.dropped FROM todo_span_counts n WHERE n.todo_id = a.todo_id AND n.attempt_seq = a.seq), 0),
	CASE WHEN a.ended_at IS NULL THEN t.notes_dropped ELSE a.notes_dropped END`

func scanAttempt(row pgx.CollectableRow) (Attempt, error) {
	var a Attempt
	err := row.Scan(&a.Seq, &a.Attempt, &a.ClaimerKind, &a.Claimant, &a.ClaimedAt, &a.LastHeartbeatAt, &a.EndedAt,
		&a.Outcome, &a.Disposition, &a.Died, &a.Summary, &a.SummaryTruncated, &a.Artifact, &a.TraceID, &a.SpansDropped,
		&a.NotesDropped)
	return a, err
}
