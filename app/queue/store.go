package queue

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/settings"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// Store reads and moves todos.
type Store struct {
	pool              *pgxpool.Pool
	settings          *settings.Reader
	metrics           Metrics
	summaryFromResult bool
	hints             *claimHints
	ready             *waiters
}

// Option changes how a store works.
type Option func(*Store)

// WithMetrics counts what is committed.
func WithMetrics(m Metrics) Option { return func(s *Store) { s.metrics = m } }

// WithSummaryFromResult lets a complete or fail without a summary store its result as one
// (SWITCHBOARD_ATTEMPT_SUMMARY_FROM_RESULT).
func WithSummaryFromResult(on bool) Option { return func(s *Store) { s.summaryFromResult = on } }

// NewStore returns a store over pool.
func NewStore(pool *pgxpool.Pool, settings *settings.Reader, options ...Option) *Store {
	s := &Store{pool: pool, settings: settings, metrics: uncounted{}, hints: newClaimHints(), ready: newWaiters()}
	for _, o := range options {
		o(s)
	}
	return s
}

// querier is what a claim runs on: the pool, or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// ownerOf is how an agent is named on what it holds. Every worker of an endpoint acts as the same owner;
// the fence is what tells them apart.
func ownerOf(ep *identity.Endpoint) string { return "agent:" + typeid.Agent.Format(ep.AgentID) }

// notHeld tells why a statement that wanted a held todo found none: one the endpoint can see is a conflict,
// everything else is not found.
func (s *Store) notHeld(ctx context.Context, ep *identity.Endpoint, id uuid.UUID) error {
	err := s.pool.QueryRow(ctx, `SELECT FROM todos WHERE id = $1 AND endpoint_id = $2 AND queue = ANY($3)`,
		id, ep.ID, ep.Queues).Scan()
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return fault.ErrTodoNotFound
	case err != nil:
		return err
	default:
		return fault.ErrNotHeld
	}
}
