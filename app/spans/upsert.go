package spans

import (
	"context"
	"fmt"

	"github.com/google/uuid"

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

// storeTodo stores one todo's spans in one transaction. Most batches are new as a whole, or stored as a whole because
// they are sent again: one look tells which it may be, and then one statement suffices. A batch that changes nothing
// takes no lock and writes nothing.
func (s *Store) storeTodo(ctx context.Context, endpoint uuid.UUID, b *todoBatch, limits caps) (unbound, capped int, err error) {
	isStored, learned, err := s.look(ctx, endpoint, b)
	if err != nil {
		return 0, 0, err
	}
	pending := &todoBatch{todo: b.todo, spans: b.spans, learn: without(b.learn, learned)}
	if isStored {
		pending.spans, err = s.unsettled(ctx, endpoint, b)
		if err != nil || pending.empty() {
			return 0, 0, err
		}
	} else if len(pending.learn) == 0 {
		done, err := s.writeFresh(ctx, endpoint, pending, limits)
		if err != nil || done {
			return 0, 0, err
		}
	}
	inScope, capped, err := s.write(ctx, endpoint, pending, limits)
	if err == nil && !inScope {
		unbound = len(b.spans)
	}
	return unbound, capped, err
}
