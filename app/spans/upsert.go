package spans

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/ledger"
	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/settings"
)

// caps are how many spans may be stored (REQ-19).
type caps struct{ attempt, todo int }

// Upsert stores a request's spans for the endpoint, one transaction per todo (REQ-8, REQ-23), and reports
// what became of them: Stored, Rejected and Twins add up to len(request). A span that comes twice counts once,
// stored or refused, and the later wins (decisions.md 7, 13). Spans of a todo that is not the endpoint's, or is
// gone, are unbound; those beyond a cap are counted on their attempt and refused; those that the database could
// not hold are invalid. Spans that are stored as they are now are left untouched.
//
// On an error nothing of the todo whose transaction failed is stored, and what other todos committed stays.
// postgres.Unavailable tells whether sending the request again can succeed.
func (s *Store) Upsert(ctx context.Context, endpoint uuid.UUID, request []Span) (ledger.Outcome, error) {
	outcome := ledger.Outcome{Rejected: map[ledger.Reason]int{}}
	reject := func(reason ledger.Reason, n int) {
		if n > 0 {
			outcome.Rejected[reason] += n
		}
	}
	batches, invalid := groupByTodo(request)
	reject(ledger.Invalid, invalid)
	if len(batches) == 0 {
		return outcome, nil
	}
	outcome.Twins = len(request) - invalid
	values := s.settings.Values(ctx)
	limits := caps{attempt: values[settings.SpansMaxPerAttempt], todo: values[settings.SpansMaxPerTodo]}

	var refused error
	for _, b := range batches {
		unbound, capped, err := s.storeTodo(ctx, endpoint, b, limits)
		switch {
		case postgres.Unavailable(err):
			return ledger.Outcome{}, fmt.Errorf("store spans: %w", err)
		case err != nil && refused == nil:
			refused = fmt.Errorf("store spans: %w", err) // the request's other todos are not to suffer for it
		}
		outcome.Stored += len(b.spans) - unbound - capped
		outcome.Twins -= len(b.spans)
		reject(ledger.Unbound, unbound)
		reject(ledger.Cap, capped)
	}
	if refused != nil {
		return ledger.Outcome{}, refused
	}
	return outcome, nil
}

// storeTodo stores one todo's spans in one transaction. A batch that changes nothing takes no lock and
// writes nothing.
func (s *Store) storeTodo(ctx context.Context, endpoint uuid.UUID, b *todoBatch, limits caps) (unbound, capped int, err error) {
	err = postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		unbound, capped = 0, 0
		pending, err := b.pending(ctx, tx, endpoint)
		if err != nil || pending.empty() {
			return err
		}
		inScope, refused, err := pending.write(ctx, tx, endpoint, limits)
		if err != nil {
			return err
		}
		if !inScope {
			unbound = len(b.spans)
		}
		capped = refused
		return nil
	})
	return unbound, capped, err
}
