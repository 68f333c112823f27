package spans_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/switchboard-otel/switchboard/app/ledger"
	"github.com/switchboard-otel/switchboard/app/spans"
	"github.com/switchboard-otel/switchboard/app/spans/spanstest"
)

func capped(n int) map[ledger.Reason]int { return map[ledger.Reason]int{ledger.Cap: n} }

// REQ-19, scenario "Span cap", with its own numbers.
func TestUpsert_SpanCap(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.upsert(t, numbered(b.todo, 0, 1000), 1000, nil)
	b.upsert(t, numbered(b.todo, 1000, 2000), 1000, nil)

	b.upsert(t, numbered(b.todo, 2000, 2010), 0, capped(10))
	b.counts(t, b.todo, spans.Count{AttemptSeq: 1, Stored: 2000, Dropped: 10})
	if rows := b.read(t, b.todo); len(rows) != 2000 {
		t.Errorf("%d rows", len(rows))
	}
}

func TestUpsert_CapsFillUpInDocumentOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Set(t, "spans_max_per_attempt", "5")
	b.upsert(t, numbered(b.todo, 0, 3), 3, nil)

	b.upsert(t, []spans.Span{span(b.todo, 9), span(b.todo, 1), span(b.todo, 8), span(b.todo, 3)}, 3, capped(1))
	var names []string
	for _, s := range b.read(t, b.todo) {
		names = append(names, s.Name)
	}
	if diff := cmp.Diff([]string{"step 0", "step 1", "step 2", "step 8", "step 9"}, names); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
}

// decisions.md 9, and REQ-8 at the cap: what is stored stays, what was refused is refused and counted again.
func TestUpsert_ARetryAtTheCapRefusesAgainWhatWasRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Set(t, "spans_max_per_attempt", "5")
	batch := numbered(b.todo, 0, 8)
	b.upsert(t, batch, 5, capped(3))
	before := b.read(t, b.todo)

	b.upsert(t, batch, 5, capped(3))
	b.counts(t, b.todo, spans.Count{AttemptSeq: 1, Stored: 5, Dropped: 6})
	if diff := cmp.Diff(before, b.read(t, b.todo)); diff != "" {
		t.Errorf("rows changed:\n%s", diff)
	}
}

func TestUpsert_ACorrectionAtTheCapIsNotCharged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Set(t, "spans_max_per_attempt", "2")
	b.upsert(t, numbered(b.todo, 0, 2), 2, nil)

	corrected := span(b.todo, 1)
	corrected.Name = "corrected"
	b.upsert(t, []spans.Span{corrected, span(b.todo, 2)}, 1, capped(1))
	b.counts(t, b.todo, spans.Count{AttemptSeq: 1, Stored: 2, Dropped: 1})
	if rows := b.read(t, b.todo); rows[1].Name != "corrected" {
		t.Errorf("rows = %+v", rows)
	}
}

// decisions.md 20: per attempt, then per todo; a refusal counts on the span's attempt, without one on the todo.
func TestUpsert_CapsPerAttemptThenPerTodo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Set(t, "spans_max_per_attempt", "3")
	b.Set(t, "spans_max_per_todo", "7")
	attempt := func(seq, from, to int) []spans.Span {
		batch := numbered(b.todo, from, to)
		for i := range batch {
			batch[i].AttemptSeq = seq
		}
		return batch
	}
	batch := append(attempt(1, 0, 5), attempt(2, 10, 12)...)
	b.upsert(t, batch, 5, capped(2))
	b.upsert(t, append(attempt(0, 20, 21), attempt(2, 12, 13)...), 2, nil)
	b.upsert(t, append(attempt(0, 21, 23), attempt(3, 30, 34)...), 0, capped(6))

	b.counts(t, b.todo,
		spans.Count{AttemptSeq: 0, Stored: 1, Dropped: 2},
		spans.Count{AttemptSeq: 1, Stored: 3, Dropped: 2},
		spans.Count{AttemptSeq: 2, Stored: 3},
		spans.Count{AttemptSeq: 3, Dropped: 4})
}

func TestUpsert_SpansWithoutAttemptHaveOnlyTheTodosCap(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Set(t, "spans_max_per_attempt", "1")
	b.Set(t, "spans_max_per_todo", "4")
	batch := numbered(b.todo, 0, 6)
	for i := range batch {
		batch[i].AttemptSeq = 0
	}
	b.upsert(t, batch, 4, capped(2))
	b.counts(t, b.todo, spans.Count{Stored: 4, Dropped: 2})
}

func TestUpsert_ACapOfZeroStoresNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Set(t, "spans_max_per_todo", "0")
	batch := numbered(b.todo, 0, 2)
	batch[1].SpanID = batch[0].SpanID // a refused span that comes twice counts once
	b.upsert(t, batch, 0, capped(1))
	b.counts(t, b.todo, spans.Count{AttemptSeq: 1, Dropped: 1})
}

func TestUpsert_OneTodosCapDoesNotTouchAnother(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Set(t, "spans_max_per_attempt", "2")
	other := b.Todo(t)
	b.Attempt(t, other, spanstest.Attempt{Seq: 1, ClaimedAt: noon})
	b.upsert(t, append(numbered(b.todo, 0, 3), numbered(other, 0, 2)...), 4, capped(1))
	b.counts(t, b.todo, spans.Count{AttemptSeq: 1, Stored: 2, Dropped: 1})
	b.counts(t, other, spans.Count{AttemptSeq: 1, Stored: 2})
}
