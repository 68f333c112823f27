package spans_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/spans"
)

// feed hands out batches of spans that no row has yet: fresh ids for every batch, and a fresh todo before the
// last one is full.
type feed struct {
	b         *bundle
	size, put int
	todo      uuid.UUID
	next      uint64
}

func (f *feed) batch(tb testing.TB) []spans.Span {
	if f.todo == uuid.Nil || f.put+f.size > 2000 {
		f.todo, f.put = f.b.Todo(tb), 0
	}
	f.put += f.size
	batch := numbered(f.todo, 0, f.size)
	for i := range batch {
		f.next++
		// Random enough to spread over the index, as real ids are.
		binary.BigEndian.PutUint64(batch[i].SpanID[:], f.next*0x9E3779B97F4A7C15)
		batch[i].Attributes = []byte(`{"gen_ai.operation.name":"chat","gen_ai.request.model":"claude-opus-4-1","gen_ai.response.model":"claude-opus-4-1-20250805","gen_ai.system":"anthropic","gen_ai.usage.input_tokens":1234,"gen_ai.usage.output_tokens":567,"switchboard.step":"plan"}`)
	}
	return batch
}

var columnNames = []string{"todo_id", "attempt_seq", "trace_id", "span_id", "parent_span_id", "name", "kind", "status_code",
	"status_message", "start_at", "end_at", "service_name", "tool", "category", "attributes", "received_at"}

// rawCopy is the baseline of T1: the same rows through COPY, with no caps, counts or idempotency.
func rawCopy(tb testing.TB, b *bundle, batch []spans.Span) {
	_, err := b.pool.CopyFrom(tb.Context(), pgx.Identifier{"todo_spans"}, columnNames,
		pgx.CopyFromSlice(len(batch), func(i int) ([]any, error) {
			s := &batch[i]
			return []any{s.TodoID, s.AttemptSeq, s.TraceID[:], s.SpanID[:], s.ParentSpanID[:], s.Name, s.Kind, s.StatusCode,
				s.StatusMessage, s.StartAt, s.EndAt, s.ServiceName, s.Tool, s.Category, s.Attributes, noon}, nil
		}))
	if err != nil {
		tb.Fatal(err)
	}
}

// backends are the server's processes for this database.
func backends(tb testing.TB, b *bundle) []int {
	tb.Helper()
	rows, err := b.pool.Query(tb.Context(), `SELECT pid FROM pg_stat_activity WHERE datname = current_database()`)
	if err != nil {
		tb.Fatal(err)
	}
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		tb.Fatal(err)
	}
	return pids
}

// cpu is what this process and the backends have spent so far. Wall clock scatters by a third on a busy machine; this
// does not.
func cpu(tb testing.TB, backends []int) time.Duration {
	tb.Helper()
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		tb.Fatal(err)
	}
	spent := time.Duration(own.Utime.Nano() + own.Stime.Nano())
	for _, pid := range backends {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
		if err != nil {
			tb.Skipf("the server's processes are not here to be measured: %v", err)
		}
		ns, err := strconv.ParseInt(strings.Fields(string(stat))[0], 10, 64)
		if err != nil {
			tb.Fatal(err)
		}
		spent += time.Duration(ns)
	}
	return spent
}

// measure runs store on fresh batches for as long as the benchmark asks and reports the CPU per span.
func measure(b *testing.B, size, already int, store func(w *bundle, batch []spans.Span)) {
	w := setup(b)
	f := &feed{b: w, size: size}
	w.Set(b, "spans_max_per_attempt", "100000")
	w.Set(b, "spans_max_per_todo", "100000")
	w.store = newStore(w.pool)
	for put := 0; put < already; put += 1000 {
		filler := numbered(w.todo, 1_000_000+put, 1_000_000+put+1000)
		w.upsert(b, filler, 1000, nil)
	}
	if already > 0 {
		f.todo, f.put = w.todo, -1<<40
	}
	for range 10 { // plans are made, and kept from the sixth time on
		store(w, f.batch(b))
	}
	pids := backends(b, w)
	var spent time.Duration
	for b.Loop() {
		b.StopTimer()
		batch := f.batch(b)
		b.StartTimer() // stops the world to read the memory's state, so it stays out of the measured part
		before := cpu(b, pids)
		store(w, batch)
		spent += cpu(b, pids) - before
	}
	b.ReportMetric(float64(spent.Nanoseconds())/1000/float64(b.N*size), "cpu-us/span")
}

// BenchmarkIngest compares the upsert, its retry, and the upsert into a todo that holds 9,000 spans already, with raw
// COPY of the same spans into the same table (performance.md T1, T4, T5).
func BenchmarkIngest(b *testing.B) {
	upsert := func(w *bundle, batch []spans.Span) {
		if _, err := w.store.Upsert(b.Context(), w.Endpoint, batch); err != nil {
			b.Fatal(err)
		}
	}
	for _, size := range []int{100, 500, 1000} {
		b.Run(fmt.Sprintf("copy-%d", size), func(b *testing.B) {
			measure(b, size, 0, func(w *bundle, batch []spans.Span) { rawCopy(b, w, batch) })
		})
		b.Run(fmt.Sprintf("upsert-%d", size), func(b *testing.B) { measure(b, size, 0, upsert) })
		b.Run(fmt.Sprintf("upsert-onto-9000-%d", size), func(b *testing.B) { measure(b, size, 9000, upsert) })
		b.Run(fmt.Sprintf("retry-%d", size), func(b *testing.B) {
			var first []spans.Span
			measure(b, size, 0, func(w *bundle, batch []spans.Span) {
				if first == nil {
					first = batch
				}
				upsert(w, first)
			})
		})
	}
}
