package rungraph

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/spans"
)

// Store writes documents of a human's todos and keeps those that the human brings. It reads todos and spans through their
// own stores, within their scope.
type Store struct {
	pool    *pgxpool.Pool
	queue   *queue.Store
	spans   *spans.Store
	version string // of Switchboard
}

// NewStore returns a store. version is what documents name as their producer's.
func NewStore(pool *pgxpool.Pool, todos *queue.Store, stored *spans.Store, version string) *Store {
	return &Store{pool, todos, stored, version}
}

const (
	// maxSpans bounds what is read of one todo; its default cap of spans is as high.
	maxSpans = 10000
	// maxTodos bounds a document of a queue.
	maxTodos = 1000
	// maxVersion is what the format allows a producer's version, in characters.
	maxVersion = 100
)

var (
	errManyTodos = fault.New(fault.Invalid, fmt.Sprintf("the window holds more than %d todos: narrow it", maxTodos))
	errLarge     = fault.New(fault.Invalid, fmt.Sprintf("the document would be larger than %d MiB: narrow the window", MaxBytes>>20))
	errWindow    = fault.InvalidArgument("from", "must be before to")
	errQueue     = fault.InvalidArgument("queue", "must be a queue's name")
)

// ExportTodo writes one of a human's todos as a document. A foreign todo is unknown: fault.ErrTodoNotFound.
func (s *Store) ExportTodo(ctx context.Context, human, id uuid.UUID, full bool) ([]byte, error) {
	now, err := s.now(ctx)
	if err != nil {
		return nil, err
	}
	b := newBuilder(s.frame(queue.ID(id).String(), now, full))
	if err := s.add(ctx, b, human, id); err != nil {
		return nil, err
	}
	return encoded(b)
}

// Window is a queue from one instant to another: the todos that were made in it.
type Window struct {
	Queue string
	From  time.Time // the zero time is a day before To
	To    time.Time // exclusive; the zero time is now
}

// ExportQueue writes the todos that a human's queue of one name got in a window, over all of the human's endpoints,
// oldest first. A queue that has none is an empty run.
func (s *Store) ExportQueue(ctx context.Context, human uuid.UUID, w Window, full bool) ([]byte, error) {
	if !identity.ValidQueue(w.Queue) && w.Queue != queue.Quarantine {
		return nil, errQueue
	}
	now, err := s.now(ctx)
	if err != nil {
		return nil, err
	}
	if w.To.IsZero() {
		w.To = now
	}
	if w.From.IsZero() {
		w.From = w.To.AddDate(0, 0, -1)
	}
	if !w.From.Before(w.To) {
		return nil, errWindow
	}
	ids, err := s.within(ctx, human, w)
	if err != nil {
		return nil, err
	}
	run := fmt.Sprintf("%s@%s..%s", w.Queue, w.From.UTC().Format(time.RFC3339Nano), w.To.UTC().Format(time.RFC3339Nano))
	b := newBuilder(s.frame(run, now, full))
	for i := len(ids) - 1; i >= 0; i-- {
		// One that retention took meanwhile is left out.
		if err := s.add(ctx, b, human, ids[i]); err != nil && err != fault.ErrTodoNotFound {
			return nil, err
		}
	}
	return encoded(b)
}

// within finds the todos of a window, newest first.
func (s *Store) within(ctx context.Context, human uuid.UUID, w Window) (ids []uuid.UUID, err error) {
	filter := queue.HumanFilter{Queue: w.Queue, Limit: 200}
	for {
		rows, next, err := s.queue.HumanTodos(ctx, human, filter)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			at := rows[i].CreatedAt
			if at.Before(w.From) {
				return ids, nil
			}
			if at.Before(w.To) {
				ids = append(ids, rows[i].ID.UUID())
			}
		}
		if len(ids) > maxTodos {
			return nil, errManyTodos
		}
		if next == "" {
			return ids, nil
		}
		filter.Cursor = next
	}
}

func (s *Store) add(ctx context.Context, b *builder, human, id uuid.UUID) error {
	todo, err := s.queue.HumanTodo(ctx, human, id)
	if err != nil {
		return err
	}
	stored, err := s.spans.ForTodo(ctx, human, id, nil, maxSpans)
	if err != nil {
		return err
	}
	b.todo(Subject{HumanDetail: todo, Spans: stored, Incomplete: len(stored) == maxSpans})
	return nil
}

func (s *Store) frame(run string, now time.Time, full bool) Frame {
	version := s.version
	if runes := []rune(version); len(runes) > maxVersion {
		version = string(runes[:maxVersion])
	}
	return Frame{RunID: run, Version: version, EmittedAt: now, Full: full}
}

// now is the database's clock, as it is everywhere (decisions.md 47).
func (s *Store) now(ctx context.Context) (now time.Time, err error) {
	err = s.pool.QueryRow(ctx, `SELECT sb_now()`).Scan(&now)
	return now, err
}

func encoded(b *builder) ([]byte, error) {
	doc, err := b.finish().Encode()
	if err == nil && len(doc) > MaxBytes {
		return nil, errLarge
	}
	return doc, err
}
