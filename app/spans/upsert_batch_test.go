package spans

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

func TestGroupByTodo_Properties(t *testing.T) {
	type place struct {
		todo uuid.UUID
		key  Key
	}
	rapid.Check(t, func(t *rapid.T) {
		request := rapid.SliceOf(rapid.Custom(func(t *rapid.T) Span {
			s := Span{
				TodoID: uuid.UUID{rapid.Byte().Draw(t, "todo") % 4}, TraceID: [16]byte{rapid.Byte().Draw(t, "trace")%4 + 1},
				SpanID: [8]byte{rapid.Byte().Draw(t, "span")%4 + 1}, Category: "internal", Attributes: []byte("{}"),
				LearnTrace: rapid.Bool().Draw(t, "learn"),
			}
			if rapid.IntRange(0, 5).Draw(t, "spoil") == 0 {
				s.EndAt = s.StartAt.Add(-time.Second)
			}
			return s
		})).Draw(t, "request")

		latest, teachers, wantInvalid := map[place]*Span{}, map[[16]byte]uuid.UUID{}, 0
		for i := range request {
			s := &request[i]
			if !s.storable() {
				wantInvalid++
				continue
			}
			latest[place{s.TodoID, s.Key()}] = s
			if _, taught := teachers[s.TraceID]; s.LearnTrace && !taught {
				teachers[s.TraceID] = s.TodoID
			}
		}

		batches, invalid := groupByTodo(request)
		if invalid != wantInvalid {
			t.Fatalf("%d invalid, want %d", invalid, wantInvalid)
		}
		if !slices.IsSortedFunc(batches, func(a, b *todoBatch) int { return bytes.Compare(a.todo[:], b.todo[:]) }) {
			t.Fatalf("batches are not in todo order")
		}
		for _, b := range batches {
			for _, s := range b.spans {
				at := place{b.todo, s.Key()}
				if latest[at] != s {
					t.Fatalf("a span is not the latest of its key, or comes twice")
				}
				delete(latest, at)
			}
			if !slices.IsSortedFunc(b.learn, bytes.Compare) {
				t.Fatalf("traces are not sorted")
			}
			for _, trace := range b.learn {
				if teachers[[16]byte(trace)] != b.todo {
					t.Fatalf("a trace is not taught by its first teacher, or twice")
				}
				delete(teachers, [16]byte(trace))
			}
		}
		if len(latest) != 0 || len(teachers) != 0 {
			t.Fatalf("%d spans and %d traces are missing", len(latest), len(teachers))
		}
	})
}
