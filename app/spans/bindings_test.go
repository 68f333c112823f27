package spans_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/ledger"
	"github.com/switchboard-otel/switchboard/app/spans"
	"github.com/switchboard-otel/switchboard/app/spans/spanstest"
)

// teach makes a span whose attribute bound its trace to the todo.
func teach(todo uuid.UUID, trace byte, n int) spans.Span {
	s := span(todo, n)
	s.TraceID = [16]byte{trace}
	s.LearnTrace = true
	return s
}

func (b *bundle) bindings(t *testing.T, endpoint uuid.UUID, want map[[16]byte]spans.Binding) {
	t.Helper()
	if diff := cmp.Diff(want, b.resolve(t, endpoint, spans.Question{Traces: [][16]byte{{1}, {2}, {3}}}).Traces); diff != "" {
		t.Errorf("bindings (-want +got):\n%s", diff)
	}
}

func (b *bundle) resolve(t *testing.T, endpoint uuid.UUID, q spans.Question) *spans.Resolution {
	t.Helper()
	found, err := b.store.Resolve(t.Context(), endpoint, q)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// decisions.md 17.
func TestBindings_TheFirstWinsAndNeverMoves(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := b.Todo(t)
	b.upsert(t, []spans.Span{teach(other, 1, 0), teach(b.todo, 1, 1), teach(b.todo, 2, 2), span(b.todo, 3)}, 4, nil)
	want := map[[16]byte]spans.Binding{{1}: {TodoID: other}, {2}: {TodoID: b.todo}}
	b.bindings(t, b.Endpoint, want)

	b.upsert(t, []spans.Span{teach(b.todo, 1, 4), teach(other, 2, 5)}, 2, nil)
	b.bindings(t, b.Endpoint, want)
}

// Two requests that teach the same trace at once: the one that commits first wins, and the other is stored all the same.
func TestBindings_TheFirstToCommitWins(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := b.Todo(t)
	first, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer first.Rollback(context.WithoutCancel(t.Context()))
	if _, err := first.Exec(t.Context(), `INSERT INTO todo_trace_bindings (endpoint_id, trace_id, todo_id)
		VALUES ($1, $2, $3)`, b.Endpoint, []byte{0: 1, 15: 0}, other); err != nil {
		t.Fatal(err)
	}
	stored := make(chan error, 1)
	go func() {
		_, err := b.store.Upsert(t.Context(), b.Endpoint, []spans.Span{teach(b.todo, 1, 0)})
		stored <- err
	}()
	waitForLock(t, b.pool)
	if err := first.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-stored; err != nil || len(b.read(t, b.todo)) != 1 {
		t.Errorf("error %v", err)
	}
	b.bindings(t, b.Endpoint, map[[16]byte]spans.Binding{{1}: {TodoID: other}})
}

func TestBindings_AreTheEndpointsOwn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.upsert(t, []spans.Span{teach(b.todo, 1, 0)}, 1, nil)
	other := spanstest.NewTenant(t, b.pool)
	b.bindings(t, other.Endpoint, map[[16]byte]spans.Binding{})

	theirs := other.Todo(t)
	if _, err := b.store.Upsert(t.Context(), other.Endpoint, []spans.Span{teach(theirs, 1, 0)}); err != nil {
		t.Fatal(err)
	}
	b.bindings(t, other.Endpoint, map[[16]byte]spans.Binding{{1}: {TodoID: theirs}})
	b.bindings(t, b.Endpoint, map[[16]byte]spans.Binding{{1}: {TodoID: b.todo}})
}

func TestBindings_AreWrittenAlsoWhenTheCapRefusedTheSpan(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Set(t, "spans_max_per_todo", "0")
	b.upsert(t, []spans.Span{teach(b.todo, 1, 0)}, 0, map[ledger.Reason]int{ledger.Cap: 1})
	b.bindings(t, b.Endpoint, map[[16]byte]spans.Binding{{1}: {TodoID: b.todo}})
}

func TestBindings_AreWrittenForASpanThatIsStoredAlready(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := teach(b.todo, 1, 0)
	s.LearnTrace = false
	b.upsert(t, []spans.Span{s}, 1, nil)
	b.upsert(t, []spans.Span{teach(b.todo, 1, 0)}, 1, nil)
	b.bindings(t, b.Endpoint, map[[16]byte]spans.Binding{{1}: {TodoID: b.todo}})
}

func TestBindings_GoWithTheirTodo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.upsert(t, []spans.Span{teach(b.todo, 1, 0)}, 1, nil)
	if _, err := b.pool.Exec(t.Context(), `DELETE FROM todos WHERE id = $1`, b.todo); err != nil {
		t.Fatal(err)
	}
	b.bindings(t, b.Endpoint, map[[16]byte]spans.Binding{})
}
