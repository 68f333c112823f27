package spans_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/switchboard-otel/switchboard/app/spans"
	"github.com/switchboard-otel/switchboard/app/spans/spanstest"
)

// counter counts the statements that go to the server.
type counter struct{ atomic.Int32 }

func (c *counter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.Add(1)
	return ctx
}

func (*counter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// counted returns a store whose statements are counted.
func counted(t *testing.T, pool *pgxpool.Pool) (*spans.Store, *counter) {
	t.Helper()
	cfg, statements := pool.Config(), &counter{}
	cfg.ConnConfig.Tracer = statements
	traced, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(traced.Close)
	return newStore(traced), statements
}

// everything is a store's answer to a question about all that there can be, and the question.
func (b *bundle) everything(t *testing.T) (spans.Question, *spans.Resolution) {
	t.Helper()
	first, second, bare, end := b.Todo(t), b.Todo(t), b.Todo(t), noon.Add(time.Minute)
	caller, taught, pruned := [16]byte{0xcc}, [16]byte{0xdd}, [16]byte{0xee}
	closed := b.Attempt(t, first, spanstest.Attempt{Seq: 4, ClaimedAt: noon, EndedAt: end, CallerTrace: caller})
	open := b.Attempt(t, first, spanstest.Attempt{Seq: 5, ClaimedAt: end})
	b.Attempt(t, second, spanstest.Attempt{Seq: 1, ClaimedAt: end, CallerTrace: caller})
	b.upsert(t, []spans.Span{teach(second, taught[0], 0), {
		TodoID: second, TraceID: caller, SpanID: [8]byte{1}, Kind: "internal", StatusCode: "unset", Category: "internal",
		StartAt: noon, EndAt: noon, Attributes: []byte("{}"),
	}}, 2, nil)
	if _, err := b.pool.Exec(t.Context(), `INSERT INTO todo_trace_bindings (endpoint_id, trace_id, todo_id, attempt_seq)
		VALUES ($1, $2, $3, 3)`, b.Endpoint, pruned[:], first); err != nil {
		t.Fatal(err)
	}
	question := spans.Question{
		Traces: [][16]byte{caller, taught, pruned, closed, open, {0xff}},
		Todos:  []uuid.UUID{bare, uuid.New()},
		Keys:   []spans.Key{{TraceID: caller, SpanID: [8]byte{1}}, {TraceID: caller, SpanID: [8]byte{2}}, {TraceID: taught, SpanID: [8]byte{1}}},
	}
	return question, &spans.Resolution{
		Minted: map[[16]byte]spans.MintedAttempt{closed: {TodoID: first, Seq: 4}, open: {TodoID: first, Seq: 5}},
		Traces: map[[16]byte]spans.Binding{taught: {TodoID: second}, pruned: {TodoID: first, AttemptSeq: 3}},
		Callers: map[[16]byte][]spans.CallerAttempt{caller: {
			{TodoID: first, AttemptWindow: spans.AttemptWindow{Seq: 4, ClaimedAt: noon, EndedAt: &end}},
			{TodoID: second, AttemptWindow: spans.AttemptWindow{Seq: 1, ClaimedAt: end}},
		}},
		Attempts: map[uuid.UUID][]spans.AttemptWindow{
			bare:   nil,
			first:  {{Seq: 4, ClaimedAt: noon, EndedAt: &end}, {Seq: 5, ClaimedAt: end}},
			second: {{Seq: 1, ClaimedAt: end}},
		},
		Homes: map[spans.Key]uuid.UUID{{TraceID: caller, SpanID: [8]byte{1}}: second},
	}
}

func TestResolve_AnswersEverythingInOneStatement(t *testing.T) {
	t.Parallel()
	b := setup(t)
	question, want := b.everything(t)
	store, statements := counted(t, b.pool)
	got, err := store.Resolve(t.Context(), b.Endpoint, question)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("resolution (-want +got):\n%s", diff)
	}
	if n := statements.Load(); n != 1 {
		t.Errorf("%d statements", n)
	}
}

// REQ-3: the scope is in the statement. To another endpoint all of it is unknown.
func TestResolve_FindsNothingOfAnotherEndpoint(t *testing.T) {
	t.Parallel()
	b := setup(t)
	question, _ := b.everything(t)
	question.Todos = append(question.Todos, b.todo)
	nothing := b.resolve(t, spanstest.NewTenant(t, b.pool).Endpoint, question)
	if n := len(nothing.Minted) + len(nothing.Traces) + len(nothing.Callers) + len(nothing.Attempts) + len(nothing.Homes); n != 0 {
		t.Errorf("resolution %+v", nothing)
	}
}

func TestResolve_OfNothingAsksNobody(t *testing.T) {
	t.Parallel()
	b := setup(t)
	store, statements := counted(t, b.pool)
	if _, err := store.Resolve(t.Context(), b.Endpoint, spans.Question{}); err != nil || statements.Load() != 0 {
		t.Errorf("%d statements, error %v", statements.Load(), err)
	}
}

// decisions.md 8: homes are looked up only where the times of claims leave a choice between todos.
func TestResolve_LooksForHomesOnlyWhereThereIsAChoice(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, other, caller := b.Todo(t), b.Todo(t), [16]byte{0xcc}
	stored := teach(one, caller[0], 0)
	stored.LearnTrace = false
	b.upsert(t, []spans.Span{stored}, 1, nil)
	question := spans.Question{Traces: [][16]byte{caller}, Keys: []spans.Key{stored.Key()}}
	for i, want := range []int{0, 0, 0, 1} {
		switch i {
		case 1:
			b.Attempt(t, one, spanstest.Attempt{Seq: 1, ClaimedAt: noon, EndedAt: noon, CallerTrace: caller})
		case 2:
			b.Attempt(t, one, spanstest.Attempt{Seq: 2, ClaimedAt: noon, CallerTrace: caller})
		case 3:
			b.upsert(t, []spans.Span{teach(other, caller[0], 1)}, 1, nil)
		}
		if homes := b.resolve(t, b.Endpoint, question).Homes; len(homes) != want {
			t.Errorf("step %d: homes %v", i, homes)
		}
	}
}

func TestMinted_RemembersOnlyTracesOfOpenAttemptsForTheirEndpoint(t *testing.T) {
	t.Parallel()
	b := setup(t)
	question, want := b.everything(t)
	ask := func() (remembered []spans.MintedAttempt) {
		for _, trace := range question.Traces {
			if a, ok := b.store.Minted(b.Endpoint, trace); ok {
				remembered = append(remembered, a)
			}
		}
		return remembered
	}
	if before := ask(); len(before) != 0 {
		t.Errorf("remembered before anybody asked: %v", before)
	}
	b.resolve(t, b.Endpoint, question)
	open := question.Traces[4]
	if diff := cmp.Diff([]spans.MintedAttempt{want.Minted[open]}, ask()); diff != "" {
		t.Errorf("remembered (-want +got):\n%s", diff)
	}
	if _, ok := b.store.Minted(uuid.New(), open); ok {
		t.Error("another endpoint knows the trace")
	}
}

// A trace that nobody knows today may be minted tomorrow, on this process or another.
func TestMinted_RemembersNoMiss(t *testing.T) {
	t.Parallel()
	b := setup(t)
	todo, trace := b.Todo(t), [16]byte{9}
	question := spans.Question{Traces: [][16]byte{trace}}
	b.resolve(t, b.Endpoint, question)
	b.Attempt(t, todo, spanstest.Attempt{Seq: 1, ClaimedAt: noon, Trace: trace})
	if found := b.resolve(t, b.Endpoint, question).Minted[trace]; found.TodoID != todo {
		t.Errorf("found %+v", found)
	}
}

func TestMinted_IsBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if _, err := b.pool.Exec(t.Context(), `INSERT INTO todos (id, endpoint_id, human_id, queue, source, title, max_attempts, created_at, updated_at)
		SELECT gen_random_uuid(), endpoint_id, human_id, queue, source, title, max_attempts, created_at, updated_at FROM todos, generate_series(1, 9000)`); err != nil {
		t.Fatal(err)
	}
	if _, err := b.pool.Exec(t.Context(), `INSERT INTO todo_attempts (todo_id, seq, attempt, claimer_kind, endpoint_id, trace_id, lease_ttl_seconds, claimed_at)
		SELECT id, 1, 1, 'endpoint', endpoint_id, uuid_send(id), 300, now() FROM todos WHERE id <> $1`, b.todo); err != nil {
		t.Fatal(err)
	}
	var question spans.Question
	rows, err := b.pool.Query(t.Context(), `SELECT id FROM todos WHERE id <> $1`, b.todo)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		question.Traces = append(question.Traces, id)
	}
	b.resolve(t, b.Endpoint, question)
	remembered := 0
	for _, trace := range question.Traces {
		if _, ok := b.store.Minted(b.Endpoint, trace); ok {
			remembered++
		}
	}
	if remembered == 0 || remembered >= len(question.Traces) {
		t.Errorf("%d of %d traces are remembered", remembered, len(question.Traces))
	}
}
