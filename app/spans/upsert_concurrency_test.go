package spans_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/switchboard-otel/switchboard/app/ledger"
	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
	"github.com/switchboard-otel/switchboard/app/spans"
	"github.com/switchboard-otel/switchboard/app/spans/spanstest"
)

// Eight writers, the same spans of three todos in random orders and pieces: no error, no deadlock, exact counters.
func TestUpsert_ConcurrentWritersOfTheSameSpansCountExactly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Set(t, "spans_max_per_attempt", "60")
	todos := []uuid.UUID{b.todo, b.Todo(t), b.Todo(t)}
	var all []spans.Span
	for _, todo := range todos[:2] {
		all = append(all, numbered(todo, 0, 60)...)
	}
	over := numbered(todos[2], 0, 80) // 20 of these must be refused each time, whichever
	all = append(all, over...)
	for i := range all {
		all[i].LearnTrace = i%7 == 0
		all[i].TraceID[0] = byte(i % 5)
	}

	const writers = 8
	var wg sync.WaitGroup
	var mu sync.Mutex
	refused := 0
	for w := range writers {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(w)))
			mine := slices.Clone(all)
			random.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
			for piece := range slices.Chunk(mine, 50) {
				outcome, err := b.store.Upsert(t.Context(), b.Endpoint, piece)
				if err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
				if outcome.Stored+outcome.Rejected[ledger.Cap] != len(piece) {
					t.Errorf("writer %d: %+v does not add up to %d", w, outcome, len(piece))
				}
				mu.Lock()
				refused += outcome.Rejected[ledger.Cap]
				mu.Unlock()
			}
		})
	}
	wg.Wait()

	if refused != writers*20 {
		t.Errorf("%d refused, want %d", refused, writers*20)
	}
	for _, todo := range todos {
		dropped := 0
		if todo == todos[2] {
			dropped = refused
		}
		b.counts(t, todo, spans.Count{AttemptSeq: 1, Stored: 60, Dropped: dropped})
		if rows := b.read(t, todo); len(rows) != 60 {
			t.Errorf("%d rows", len(rows))
		}
	}
}

// A claim's heartbeat updates the todo while ingest holds its own lock; a removal of the todo waits or wins, but
// never deadlocks.
func TestUpsert_ARemovedTodoIsUnboundAndNeverADeadlock(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var wg sync.WaitGroup
	for round := range 20 {
		todo := b.Todo(t)
		start := make(chan struct{})
		wg.Go(func() {
			<-start
			if _, err := b.pool.Exec(t.Context(), `DELETE FROM todos WHERE id = $1`, todo); err != nil {
				t.Errorf("round %d: remove: %v", round, err)
			}
		})
		wg.Go(func() {
			<-start
			outcome, err := b.store.Upsert(t.Context(), b.Endpoint, numbered(todo, 0, 20))
			if err != nil || outcome.Stored+outcome.Rejected[ledger.Unbound] != 20 {
				t.Errorf("round %d: %+v, %v", round, outcome, err)
			}
		})
		close(start)
		wg.Wait()
		if rows := b.read(t, todo); len(rows) != 0 {
			t.Errorf("round %d: %d spans outlived their todo", round, len(rows))
		}
	}
	if n := query[int](t, b, `SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()`); n != 0 {
		t.Errorf("%d deadlocks", n)
	}
}

// decisions.md 20: a heartbeat must not wait for an ingest. The writer here stands in the middle of its transaction,
// with everything locked that it locks of the todo.
func TestUpsert_AHeartbeatDoesNotWaitForAnIngest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.upsert(t, numbered(b.todo, 0, 1), 1, nil)
	holder, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Rollback(context.WithoutCancel(t.Context()))
	if _, err := holder.Exec(t.Context(), `SELECT FROM todo_span_counts WHERE todo_id = $1 FOR UPDATE`, b.todo); err != nil {
		t.Fatal(err)
	}
	stored := make(chan error, 1)
	go func() {
		_, err := b.store.Upsert(t.Context(), b.Endpoint, numbered(b.todo, 1, 3))
		stored <- err
	}()
	waitForLock(t, b.pool)
	if _, err := b.pool.Exec(t.Context(), `WITH held AS (SELECT id FROM todos WHERE id = $1 FOR NO KEY UPDATE NOWAIT)
		UPDATE todos SET updated_at = sb_now() WHERE id IN (SELECT id FROM held)`, b.todo); err != nil {
		t.Errorf("heartbeat: %v", err)
	}
	if err := holder.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-stored; err != nil {
		t.Error(err)
	}
}

// refuseSpansOf makes the database refuse a todo's spans named poison, as a bug or a constraint would.
func (b *bundle) refuseSpansOf(t *testing.T, todo uuid.UUID) {
	t.Helper()
	if _, err := b.pool.Exec(t.Context(), `ALTER TABLE todo_spans ADD CONSTRAINT poison
		CHECK (name <> 'poison' OR todo_id <> '`+todo.String()+`')`); err != nil {
		t.Fatal(err)
	}
}

// REQ-23: a failure leaves no partial batch for that todo. decisions.md 3: what other todos committed stays, and
// the retry changes nothing there.
func TestUpsert_AFailedTodoStoresNothingAndTheOthersStay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, failing, last := b.todo, b.Todo(t), b.Todo(t)
	b.refuseSpansOf(t, failing)
	batch := slices.Concat(numbered(last, 0, 3), numbered(failing, 0, 3), numbered(first, 0, 3))
	batch[4].Name = "poison"
	for i := range batch {
		batch[i].LearnTrace = true
		batch[i].TraceID[0] = batch[i].TodoID[15]
	}

	outcome, err := b.store.Upsert(t.Context(), b.Endpoint, batch)
	if err == nil || postgres.Unavailable(err) || !postgres.Refused(err) {
		t.Errorf("outcome %+v, error %v: want a refusal", outcome, err)
	}
	for todo, want := range map[uuid.UUID]int{first: 3, failing: 0, last: 3} {
		if rows := b.read(t, todo); len(rows) != want {
			t.Errorf("%d rows, want %d", len(rows), want)
		}
	}
	b.counts(t, failing)
	learned := query[int](t, b, `SELECT count(*) FROM todo_trace_bindings WHERE todo_id = $1`, failing)
	if learned != 0 {
		t.Errorf("%d traces learned by a transaction that failed", learned)
	}

	batch[4].Name = "step 1"
	b.upsert(t, batch, 9, nil)
	b.counts(t, first, spans.Count{AttemptSeq: 1, Stored: 3})
	b.counts(t, failing, spans.Count{AttemptSeq: 1, Stored: 3})
}

// decisions.md 3: a database that goes away in the middle of a transaction is a transient error, nothing of that
// todo is stored, and the same request succeeds when the database is back.
func TestUpsert_ADatabaseThatStopsMidwayIsTransient(t *testing.T) {
	t.Parallel()
	server := postgrestest.NewServer(t)
	db, err := postgres.Open(t.Context(), postgres.Config{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tenant := spanstest.NewTenant(t, db.Spans)
	store := newStore(db.Spans)
	todos := []uuid.UUID{tenant.Todo(t), tenant.Todo(t)}
	batch := slices.Concat(numbered(todos[0], 0, 3), numbered(todos[1], 0, 3))

	// The second todo's insert stands still, in a way that only the end of its session ends: a lock would be free as
	// soon as its holder's session ended, perhaps before the writer's.
	for _, statement := range []string{
		`CREATE FUNCTION stand_still() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(3600); RETURN NEW; END'`,
		`CREATE TRIGGER stand_still BEFORE INSERT ON todo_spans FOR EACH ROW WHEN (NEW.todo_id = '` + todos[1].String() + `')
			EXECUTE FUNCTION stand_still()`,
	} {
		if _, err := db.Verbs.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	failed := make(chan error, 1)
	go func() {
		_, err := store.Upsert(t.Context(), tenant.Endpoint, batch)
		failed <- err
	}()
	waitFor(t, db.Verbs, `wait_event = 'PgSleep'`)
	server.Stop(t)
	if err := <-failed; !postgres.Unavailable(err) {
		t.Errorf("error %v: want a transient one", err)
	}

	server.Start(t)
	err = whenBack(func() error {
		_, err := db.Verbs.Exec(t.Context(), `DROP TRIGGER stand_still ON todo_spans`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	stored := func(want ...int) {
		t.Helper()
		for i, todo := range todos {
			var rows []spans.Span
			err := whenBack(func() (err error) {
				rows, err = store.ForTodo(t.Context(), tenant.Human, todo, nil, 100)
				return err
			})
			if err != nil || len(rows) != want[i] {
				t.Errorf("todo %d: %d rows, want %d, error %v", i, len(rows), want[i], err)
			}
		}
	}
	stored(3, 0)
	var outcome ledger.Outcome
	err = whenBack(func() (err error) {
		outcome, err = store.Upsert(t.Context(), tenant.Endpoint, batch)
		return err
	})
	if err != nil || outcome.Stored != 6 {
		t.Fatalf("outcome %+v, error %v", outcome, err)
	}
	stored(3, 3)
}

// whenBack repeats what fails on connections that their pool does not know to be dead yet.
func whenBack(do func() error) error {
	err := do()
	for postgres.Unavailable(err) {
		err = do()
	}
	return err
}

// waitForLock returns when a session waits for another's row lock.
func waitForLock(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	waitFor(t, pool, `wait_event_type = 'Lock'`)
}

// waitFor returns when a session of the database waits for what condition says.
func waitFor(t *testing.T, pool *pgxpool.Pool, condition string) {
	t.Helper()
	for waiting := 0; waiting == 0; {
		err := pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND `+condition).Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
	}
}
