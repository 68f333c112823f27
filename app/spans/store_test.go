package spans_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/ledger"
	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
	"github.com/switchboard-otel/switchboard/app/settings"
	"github.com/switchboard-otel/switchboard/app/spans"
	"github.com/switchboard-otel/switchboard/app/spans/spanstest"
)

var noon = time.Date(2026, 9, 27, 12, 0, 0, 0, time.UTC)

// bundle is what a test of the store works with: one endpoint, one todo of it with one open attempt.
type bundle struct {
	*spanstest.Tenant
	pool  *pgxpool.Pool
	store *spans.Store
	todo  uuid.UUID
}

func setup(t testing.TB) *bundle {
	t.Helper()
	db := postgrestest.New(t)
	tenant := spanstest.NewTenant(t, db.Pool)
	b := &bundle{Tenant: tenant, pool: db.Pool, store: newStore(db.Pool), todo: tenant.Todo(t)}
	tenant.Attempt(t, b.todo, spanstest.Attempt{Seq: 1, ClaimedAt: noon})
	return b
}

// newStore returns a store that has not read the settings yet.
func newStore(pool *pgxpool.Pool) *spans.Store {
	return spans.NewStore(pool, settings.NewReader(pool, zap.NewNop()))
}

// span makes the nth distinct span of a todo's first attempt.
func span(todo uuid.UUID, n int) spans.Span {
	s := spans.Span{
		TodoID: todo, AttemptSeq: 1, TraceID: [16]byte{0: 0xab, 15: 1}, ParentSpanID: [8]byte{1},
		Name: fmt.Sprintf("step %d", n), Kind: "internal", StatusCode: "error", StatusMessage: "it broke",
		StartAt: noon.Add(time.Duration(n) * time.Second), EndAt: noon.Add(time.Duration(n+1) * time.Second),
		ServiceName: "worker", Tool: "bash", Category: "tool",
		Attributes: []byte(`{"gen_ai.usage.input_tokens":12,"switchboard.step":"a"}`),
	}
	binary.BigEndian.PutUint64(s.SpanID[:], uint64(n)+1)
	return s
}

func numbered(todo uuid.UUID, from, to int) []spans.Span {
	var batch []spans.Span
	for n := from; n < to; n++ {
		batch = append(batch, span(todo, n))
	}
	return batch
}

// upsert stores a batch and checks what became of it.
func (b *bundle) upsert(t testing.TB, batch []spans.Span, stored int, rejected map[ledger.Reason]int) {
	t.Helper()
	outcome, err := b.store.Upsert(t.Context(), b.Endpoint, batch)
	if err != nil {
		t.Fatalf("upsert: %v", err)
	}
	if rejected == nil {
		rejected = map[ledger.Reason]int{}
	}
	twins := len(batch) - stored // each span is stored, refused, or accounted for by its twin
	for _, n := range rejected {
		twins -= n
	}
	if diff := cmp.Diff(ledger.Outcome{Stored: stored, Rejected: rejected, Twins: twins}, outcome); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
}

// read returns all spans of a todo.
func (b *bundle) read(t testing.TB, todo uuid.UUID) []spans.Span {
	t.Helper()
	rows, err := b.store.ForTodo(context.WithoutCancel(t.Context()), b.Human, todo, nil, 1_000_000)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return rows
}

// counts compares the counts of a todo with want.
func (b *bundle) counts(t testing.TB, todo uuid.UUID, want ...spans.Count) {
	t.Helper()
	got, err := b.store.Counts(t.Context(), b.Human, todo)
	if err != nil {
		t.Fatalf("counts: %v", err)
	}
	if want == nil {
		want = []spans.Count{}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

// query reads one value.
func query[T any](t testing.TB, b *bundle, sql string, args ...any) (value T) {
	t.Helper()
	if err := b.pool.QueryRow(t.Context(), sql, args...).Scan(&value); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return value
}
