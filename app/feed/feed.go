// Package feed reads the Activity feed of a human: what happened to their todos, newest first (REQ-15). Its
// table holds ids and no text, so that a page costs the same for a busy human and for a quiet one; what an entry
// says is read from the attempt or the log that it points to.
//
// The entries are written by the queue, in the statements that they tell of (decisions.md 41). This package writes
// only when a human last looked.
package feed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/text"
)

// Kind says what an entry tells of.
type Kind string

// The kinds. A retry is one entry, though the log has two rows of it.
const (
	KindAttempt     Kind = "attempt" // an attempt ended
	KindNote        Kind = "note"
	KindHumanAction Kind = "human_action"
	KindRetried     Kind = "retried"
	KindA2AState    Kind = "a2a_state"
	KindDeadLetter  Kind = "dead_letter" // without an attempt: the endpoint of a waiting todo was revoked
)

// The outcomes that a filter knows beside those of an attempt.
const (
	OutcomeDied       = "died"
	OutcomeDeadLetter = "dead_letter"
)

// Outcomes lists what the feed can be filtered by.
var Outcomes = []string{"completed", "failed", OutcomeDied, "released", "canceled", "revoked", "lease_expired", "reaped", OutcomeDeadLetter}

// Entry is one thing that happened.
type Entry struct {
	ID         int64
	At         time.Time
	Kind       Kind
	DeadLetter bool // it left a dead letter
	Todo       Todo
	Attempt    *queue.Attempt // of KindAttempt
	Activity   *queue.ActivityEntry
}

// Todo is the todo that an entry is about, as it stands now.
type Todo struct {
	ID           queue.ID
	Title        string
	Queue        string
	EndpointSlug string
	MaxAttempts  int
	NextRetryAt  *time.Time
}

// Filter narrows the feed. Zero values do not filter.
type Filter struct {
	Queue    string
	Endpoint uuid.UUID
	Outcome  string // one of Outcomes
	Before   string // the cursor of an older page
	Limit    int    // 0 means PageSize, and no more than that is ever read
}

// PageSize is how many entries a page holds (REQ-15).
const PageSize = 50

// Store reads the feed.
type Store struct{ pool *pgxpool.Pool }

// NewStore returns a store over pool.
func NewStore(pool *pgxpool.Pool) *Store { return &Store{pool} }

// A page is found in the index alone, and only then read: a filter that hardly anything meets must not fetch a
// million rows. One statement per way to ask, because a cursor that may be null leaves the index unused.
const pageSQL = `
	WITH page AS MATERIALIZED (
		SELECT f.human_id, f.at, f.id FROM feed_entries f
		WHERE f.human_id = $1 AND ($3 = '' OR f.queue = $3) AND ($4::uuid IS NULL OR f.endpoint_id = $4)
		  AND ($5::text[] IS NULL OR f.outcome = ANY($5)) AND (NOT $6 OR f.dead_letter) %s
		ORDER BY f.at DESC, f.id DESC LIMIT $2
	)
	SELECT f.id, f.at, f.kind, f.dead_letter, f.ref, t.id, t.title, t.queue, e.slug, t.max_attempts, t.next_retry_at,
		coalesce(a.attempt, 0), coalesce(a.claimer_kind, ''), a.claimant, a.claimed_at, a.last_heartbeat_at, a.outcome,
		a.disposition, coalesce(a.outcome IN ('lease_expired', 'reaped'), false), a.summary,
		coalesce(a.summary_truncated, false), a.artifact, v.attempt_seq, coalesce(v.actor_kind, ''), v.message, v.detail
	FROM page
	JOIN feed_entries f ON f.human_id = page.human_id AND f.at = page.at AND f.id = page.id
	JOIN todos t ON t.id = f.todo_id AND t.human_id = $1
	JOIN endpoints e ON e.id = t.endpoint_id
	LEFT JOIN todo_attempts a ON f.kind = 'attempt' AND a.todo_id = f.todo_id AND a.seq = f.ref
	LEFT JOIN todo_activity v ON f.kind NOT IN ('attempt', 'dead_letter') AND v.todo_id = f.todo_id AND v.seq = f.ref
	ORDER BY f.at DESC, f.id DESC`

var (
	firstPageSQL = fmt.Sprintf(pageSQL, "")
	olderPageSQL = fmt.Sprintf(pageSQL, "AND (f.at, f.id) < ($7, $8)")
)

// Page returns a page of a human's feed, newest first, and the cursor of the older one, empty on the last.
func (s *Store) Page(ctx context.Context, human uuid.UUID, f Filter) (entries []Entry, next string, err error) {
	outcomes, deadOnly, err := outcomesOf(f.Outcome)
	if err != nil {
		return nil, "", err
	}
	limit := PageSize
	if f.Limit > 0 {
		limit = min(f.Limit, PageSize)
	}
	var endpoint *uuid.UUID
	if f.Endpoint != uuid.Nil {
		endpoint = &f.Endpoint
	}
	sql, args := firstPageSQL, []any{human, limit + 1, text.Clean(f.Queue), endpoint, outcomes, deadOnly}
	if f.Before != "" {
		at, id, err := parseCursor(f.Before)
		if err != nil {
			return nil, "", err
		}
		sql, args = olderPageSQL, append(args, at, id)
	}
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, "", err
	}
	if entries, err = pgx.AppendRows([]Entry{}, rows, scanEntry); err != nil {
		return nil, "", err
	}
	if len(entries) > limit {
		entries = entries[:limit]
		next = entries[limit-1].Cursor()
	}
	return entries, next, nil
}

func outcomesOf(filter string) (outcomes []string, deadOnly bool, err error) {
	switch {
	case filter == "":
		return nil, false, nil
	case filter == OutcomeDied:
		return []string{"lease_expired", "reaped"}, false, nil
	case filter == OutcomeDeadLetter:
		return nil, true, nil
	case slices.Contains(Outcomes, filter):
		return []string{filter}, false, nil
	default:
		return nil, false, fault.InvalidArgument("outcome", "must be an outcome of an attempt, died or dead_letter")
	}
}

func scanEntry(row pgx.CollectableRow) (Entry, error) {
	var e Entry
	var ref int
	var a queue.Attempt
	var claimed *time.Time
	var v queue.ActivityEntry
	var detail []byte
	err := row.Scan(&e.ID, &e.At, &e.Kind, &e.DeadLetter, &ref, (*uuid.UUID)(&e.Todo.ID), &e.Todo.Title, &e.Todo.Queue,
		&e.Todo.EndpointSlug, &e.Todo.MaxAttempts, &e.Todo.NextRetryAt, &a.Attempt, &a.ClaimerKind, &a.Claimant, &claimed,
		&a.LastHeartbeatAt, &a.Outcome, &a.Disposition, &a.Died, &a.Summary, &a.SummaryTruncated, &a.Artifact,
		&v.AttemptSeq, &v.ActorKind, &v.Message, &detail)
	if err != nil {
		return e, err
	}
	switch e.Kind {
	case KindAttempt:
		a.Seq, a.EndedAt = ref, &e.At
		if claimed != nil {
			a.ClaimedAt = *claimed
		}
		e.Attempt = &a
	case KindDeadLetter:
	default:
		v.Seq, v.At, v.Kind, v.Detail = ref, e.At, string(e.Kind), json.RawMessage(detail)
		e.Activity = &v
	}
	return e, nil
}

// Cursor is the place of an entry in the feed: its time in microseconds and its id.
func (e Entry) Cursor() string { return fmt.Sprintf("%x-%x", e.At.UnixMicro(), e.ID) }

var errCursor = fault.InvalidArgument("before", "must be the cursor of an earlier page")

func parseCursor(text string) (at time.Time, id int64, err error) {
	var micro int64
	if n, err := fmt.Sscanf(text, "%x-%x", &micro, &id); err != nil || n != 2 || micro < 0 || micro > 1<<53 {
		return at, 0, errCursor
	}
	return time.UnixMicro(micro), id, nil
}

// mostNew bounds how far new entries are counted: the rail shows "99+".
const mostNew = 100

// News counts the entries since a human last looked, at most a hundred.
func (s *Store) News(ctx context.Context, human uuid.UUID) (n int, err error) {
	err = s.pool.QueryRow(ctx, `
		SELECT count(*) FROM (
			SELECT FROM feed_entries f
			WHERE f.human_id = $1
			  AND f.at > coalesce((SELECT activity_seen_at FROM feed_seen WHERE human_id = $1), '-infinity')
			ORDER BY f.at DESC, f.id DESC LIMIT $2) new`, human, mostNew).Scan(&n)
	return n, err
}

// Seen returns when a human last looked; nil: never.
func (s *Store) Seen(ctx context.Context, human uuid.UUID) (*time.Time, error) {
	var at time.Time
	err := s.pool.QueryRow(ctx, `SELECT activity_seen_at FROM feed_seen WHERE human_id = $1`, human).Scan(&at)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return &at, err
}

// Look notes that a human has seen the feed up to and including an entry of that time. It never goes back.
func (s *Store) Look(ctx context.Context, human uuid.UUID, upTo time.Time) error {
	_, err := s.pool.Exec(ctx, `
		INSERT INTO feed_seen AS s (human_id, activity_seen_at) VALUES ($1, $2)
		ON CONFLICT (human_id) DO UPDATE SET activity_seen_at = greatest(s.activity_seen_at, EXCLUDED.activity_seen_at)
		WHERE s.activity_seen_at < EXCLUDED.activity_seen_at`, human, upTo)
	return err
}

// Head names the newest entry of a human's feed. It changes when an entry is added; empty: there is none.
func (s *Store) Head(ctx context.Context, human uuid.UUID) (string, error) {
	var e Entry
	err := s.pool.QueryRow(ctx, `
		SELECT f.at, f.id FROM feed_entries f WHERE f.human_id = $1 ORDER BY f.at DESC, f.id DESC LIMIT 1`, human).Scan(&e.At, &e.ID)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return e.Cursor(), nil
}
