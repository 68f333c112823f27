package binding_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/switchboard-otel/switchboard/app/binding"
	"github.com/switchboard-otel/switchboard/app/spans"
)

var (
	someTodo  = rapid.SampledFrom([]uuid.UUID{{}, {1}, {2}, {3}, {4}})
	someTrace = rapid.SampledFrom([][16]byte{{1}, {2}, {3}, {4}})
)

// someKnown draws what the store may know: everything it names is in scope, except bindings of todos that went.
func someKnown(t *rapid.T) binding.Known {
	k := binding.Known{
		Resolution: &spans.Resolution{
			Minted: map[[16]byte]spans.MintedAttempt{}, Callers: map[[16]byte][]spans.CallerAttempt{},
			Attempts: map[uuid.UUID][]spans.AttemptWindow{}, Traces: map[[16]byte]spans.Binding{},
		},
	}
	clock := 0.0
	for _, todo := range []uuid.UUID{{1}, {2}, {3}} {
		if rapid.Bool().Draw(t, "out of scope") {
			continue
		}
		k.Attempts[todo] = nil
		first := rapid.IntRange(1, 3).Draw(t, "pruned before")
		for seq, end := first, first+rapid.IntRange(0, 3).Draw(t, "attempts"); seq < end; seq++ {
			end := clock + float64(rapid.IntRange(0, 3).Draw(t, "minutes"))
			w := window(seq, clock, end)
			clock = end + float64(rapid.IntRange(0, 1).Draw(t, "pause"))
			k.Attempts[todo] = append(k.Attempts[todo], w)
			if trace := someTrace.Draw(t, "trace"); rapid.Bool().Draw(t, "minted") {
				k.Minted[trace] = spans.MintedAttempt{TodoID: todo, Seq: seq}
			} else {
				k.Callers[trace] = append(k.Callers[trace], spans.CallerAttempt{TodoID: todo, AttemptWindow: w})
			}
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "bindings") {
		k.Traces[someTrace.Draw(t, "bound trace")] = spans.Binding{TodoID: someTodo.Draw(t, "bound todo")}
	}
	return k
}

func someRequest(t *rapid.T) []binding.Facts {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) binding.Facts {
		f := facts(someTrace.Draw(t, "trace"), float64(rapid.IntRange(-1, 12).Draw(t, "start")), binding.TodoRef{})
		f.Key.SpanID[1] = rapid.Byte().Draw(t, "span id")
		if rapid.Bool().Draw(t, "names a todo") {
			f.Todo = named(someTodo.Draw(t, "todo"))
		}
		f.Attempts = [2]int{rapid.IntRange(-1, 9).Draw(t, "own seq"), rapid.IntRange(0, 9).Draw(t, "resource seq")}
		return f
	}), 1, 12).Draw(t, "request")
}

func TestBind_Properties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k, request := someKnown(t), someRequest(t)
		decisions := binding.Bind(request, k)
		if len(decisions) != len(request) {
			t.Fatalf("%d decisions for %d spans", len(decisions), len(request))
		}
		taught := map[[16]byte]uuid.UUID{}
		for i, d := range decisions {
			f := request[i]
			attempts, inScope := k.Attempts[d.TodoID]
			if d.Rule == binding.Unbound {
				if d != (binding.Decision{}) {
					t.Fatalf("an unbound span says %+v", d)
				}
				continue
			}
			if !inScope {
				t.Fatalf("%+v is bound out of scope: %+v", f, d)
			}
			if len(attempts) == 0 && d.AttemptSeq != 0 ||
				len(attempts) > 0 && (d.AttemptSeq < 1 || d.AttemptSeq > attempts[len(attempts)-1].Seq) {
				t.Fatalf("%+v is bound to an attempt that its todo never had: %+v", f, d)
			}
			if _, minted := k.Minted[f.Key.TraceID]; minted != (d.Rule == binding.Minted) {
				t.Fatalf("rule 1 is not the first: %+v %+v", f, d)
			}
			if f.Todo.Present && d.Rule != binding.Minted && d.TodoID != f.Todo.ID {
				t.Fatalf("%+v names one todo and landed in another: %+v", f, d)
			}
			if !d.Learn {
				continue
			}
			if d.Rule != binding.Attribute {
				t.Fatalf("only an attribute teaches: %+v", d)
			}
			if first, ok := taught[f.Key.TraceID]; ok && first != d.TodoID {
				t.Fatalf("a request teaches two todos for one trace")
			}
			taught[f.Key.TraceID] = d.TodoID
		}
	})
}

// REQ-8: a batch that was stored and is sent again is bound as it was the first time, now that the store remembers
// what it taught.
func TestBind_ARetryIsBoundAsTheFirstTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k, request := someKnown(t), someRequest(t)
		first := binding.Bind(request, k)
		for i, d := range first {
			if _, stored := k.Traces[request[i].Key.TraceID]; d.Learn && !stored {
				k.Traces[request[i].Key.TraceID] = spans.Binding{TodoID: d.TodoID}
			}
		}
		again := binding.Bind(request, k)
		for i := range again {
			first[i].Learn, again[i].Learn = false, false
		}
		if diff := cmp.Diff(first, again); diff != "" {
			t.Fatalf("decisions (-first +again):\n%s", diff)
		}
	})
}

// What a span is bound to does not depend on the spans after it, except for what they teach; and with one attribute
// per trace not on their order at all.
func TestBind_OrderDoesNotMatterWhenATraceNamesOneTodo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k, request := someKnown(t), someRequest(t)
		for i := range request {
			if request[i].Todo.Present {
				request[i].Todo.ID = uuid.UUID{request[i].Key.TraceID[0]}
			}
		}
		forward := binding.Bind(request, k)
		slices.Reverse(request)
		backward := binding.Bind(request, k)
		slices.Reverse(backward)
		if diff := cmp.Diff(forward, backward); diff != "" {
			t.Fatalf("decisions (-forward +backward):\n%s", diff)
		}
	})
}
