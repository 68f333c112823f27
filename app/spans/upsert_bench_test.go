package spans_test

import (
	"encoding/binary"
	"fmt"
	"testing"

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

// BenchmarkIngest compares the upsert and its retry with raw COPY of the same spans (performance.md T1, T4).
func BenchmarkIngest(b *testing.B) {
	for _, size := range []int{100, 500, 1000} {
		for name, store := range map[string]func(*bundle, []spans.Span){
			"copy": func(w *bundle, batch []spans.Span) { rawCopy(b, w, batch) },
			"upsert": func(w *bundle, batch []spans.Span) {
				if _, err := w.store.Upsert(b.Context(), w.Endpoint, batch); err != nil {
					b.Fatal(err)
				}
			},
		} {
			b.Run(fmt.Sprintf("%s-%d", name, size), func(b *testing.B) {
				w := setup(b)
				f := &feed{b: w, size: size}
				var last []spans.Span
				for b.Loop() {
					b.StopTimer()
					last = f.batch(b)
					b.StartTimer()
					store(w, last)
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*size), "us/span")
			})
		}
		b.Run(fmt.Sprintf("retry-%d", size), func(b *testing.B) {
			w := setup(b)
			batch := (&feed{b: w, size: size}).batch(b)
			w.upsert(b, batch, size, nil)
			for b.Loop() {
				w.upsert(b, batch, size, nil)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*size), "us/span")
		})
	}
}
