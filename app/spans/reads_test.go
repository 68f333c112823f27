package spans_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/spans"
	"github.com/switchboard-otel/switchboard/app/spans/spanstest"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

func TestForTodo_ReadsOneAttemptTheRestOrAllInStartOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	batch := numbered(b.todo, 0, 6)
	for i := range batch {
		batch[i].AttemptSeq = i % 3
	}
	b.upsert(t, []spans.Span{batch[5], batch[0], batch[4], batch[2], batch[1], batch[3]}, 6, nil)

	zero, one, nine := 0, 1, 9
	for name, c := range map[string]struct {
		attempt *int
		limit   int
		want    []string
	}{
		"all":          {nil, 100, []string{"step 0", "step 1", "step 2", "step 3", "step 4", "step 5"}},
		"the first":    {nil, 2, []string{"step 0", "step 1"}},
		"an attempt":   {&one, 100, []string{"step 1", "step 4"}},
		"unattributed": {&zero, 100, []string{"step 0", "step 3"}},
		"no attempt":   {&nine, 100, nil},
	} {
		rows, err := b.store.ForTodo(t.Context(), b.Human, b.todo, c.attempt, c.limit)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, s := range rows {
			names = append(names, s.Name)
		}
		if diff := cmp.Diff(c.want, names); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// REQ-18: the human's id is in the statement that reads the row.
func TestReads_AnotherHumanSeesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.upsert(t, numbered(b.todo, 0, 3), 3, nil)
	other := spanstest.NewTenant(t, b.pool)

	for name, ids := range map[string][2]uuid.UUID{
		"foreign": {other.Human, b.todo},
		"unknown": {other.Human, typeid.New()},
	} {
		rows, err := b.store.ForTodo(t.Context(), ids[0], ids[1], nil, 100)
		if err != nil || len(rows) != 0 {
			t.Errorf("%s: %d spans, error %v", name, len(rows), err)
		}
		counts, err := b.store.Counts(t.Context(), ids[0], ids[1])
		if err != nil || len(counts) != 0 {
			t.Errorf("%s: counts %v, error %v", name, counts, err)
		}
	}
}
