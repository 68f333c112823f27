package binding_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/binding"
	"github.com/switchboard-otel/switchboard/app/spans"
)

// The todos of the tests. D has attempts, of which the first two are pruned; E has none; F is of another endpoint.
var todoD, todoE, todoF = uuid.UUID{0xd}, uuid.UUID{0xe}, uuid.UUID{0xf}

// The traces of the tests, named after what the store knows of them.
var (
	mintedTrace  = [16]byte{1}
	prunedTrace  = [16]byte{2}
	earlierTrace = [16]byte{3}
	callerTrace  = [16]byte{4}
	strayTrace   = [16]byte{5} // bound to a todo that is gone
	unknownTrace = [16]byte{6}
)

// at is an instant of the tests, in minutes after noon.
func at(minutes float64) time.Time {
	return time.Date(2026, 9, 27, 12, 0, 0, 0, time.UTC).Add(time.Duration(minutes * float64(time.Minute)))
}

// window is an attempt from one minute to another; no end means that it is open.
func window(seq int, from float64, to ...float64) spans.AttemptWindow {
	w := spans.AttemptWindow{Seq: seq, ClaimedAt: at(from)}
	if len(to) > 0 {
		end := at(to[0])
		w.EndedAt = &end
	}
	return w
}

func known() binding.Known {
	return binding.Known{
		Resolution: &spans.Resolution{
			Minted:   map[[16]byte]spans.MintedAttempt{mintedTrace: {TodoID: todoD, Seq: 3}},
			Attempts: map[uuid.UUID][]spans.AttemptWindow{todoD: {window(3, 0, 10), window(4, 10, 20), window(5, 30)}, todoE: {}},
			Callers: map[[16]byte][]spans.CallerAttempt{callerTrace: {
				{TodoID: todoD, AttemptWindow: window(3, 0, 10)},
				{TodoID: todoE, AttemptWindow: window(1, 10, 20)},
				{TodoID: todoD, AttemptWindow: window(4, 40, 50)},
			}},
			Traces: map[[16]byte]spans.Binding{
				earlierTrace: {TodoID: todoD},
				prunedTrace:  {TodoID: todoD, AttemptSeq: 1},
				strayTrace:   {TodoID: todoF},
			},
		},
	}
}

func named(todo uuid.UUID) binding.TodoRef { return binding.TodoRef{Present: true, ID: todo} }

func facts(trace [16]byte, start float64, todo binding.TodoRef, attempts ...int) binding.Facts {
	f := binding.Facts{Key: spans.Key{TraceID: trace, SpanID: [8]byte{1}}, Start: at(start), Todo: todo}
	copy(f.Attempts[:], attempts)
	return f
}

func TestBind_OneSpan(t *testing.T) {
	none := binding.TodoRef{}
	bound := func(rule binding.Rule, todo uuid.UUID, attempt int) binding.Decision {
		return binding.Decision{Rule: rule, TodoID: todo, AttemptSeq: attempt, Learn: rule == binding.Attribute}
	}
	cases := []struct {
		name string
		span binding.Facts
		want binding.Decision
	}{
		{"rule 1: the trace id of an attempt", facts(mintedTrace, 99, none), bound(binding.Minted, todoD, 3)},
		{"rule 1: the trace id of a pruned attempt", facts(prunedTrace, 99, none), bound(binding.Minted, todoD, 1)},
		{"rule 1 wins over an attribute", facts(mintedTrace, 99, named(todoE), 5), bound(binding.Minted, todoD, 3)},
		{"rule 1 wins over a foreign attribute", facts(mintedTrace, 99, named(todoF)), bound(binding.Minted, todoD, 3)},
		{"rule 1 of a pruned attempt wins over an attribute", facts(prunedTrace, 0, named(todoE)), bound(binding.Minted, todoD, 1)},

		{"rule 2: the numbered attempt", facts(unknownTrace, 5, named(todoD), 4), bound(binding.Attribute, todoD, 4)},
		{"rule 2: the span's number wins", facts(unknownTrace, 5, named(todoD), 4, 5), bound(binding.Attribute, todoD, 4)},
		{"rule 2: the resource's number", facts(unknownTrace, 5, named(todoD), 0, 5), bound(binding.Attribute, todoD, 5)},
		{"rule 2: an unusable number leaves the resource's", facts(unknownTrace, 5, named(todoD), 6, 4), bound(binding.Attribute, todoD, 4)},
		{"rule 2: a pruned attempt's number is kept", facts(unknownTrace, 5, named(todoD), 2), bound(binding.Attribute, todoD, 2)},
		{"rule 2: a number beyond the attempts", facts(unknownTrace, 15, named(todoD), 6), bound(binding.Attribute, todoD, 4)},
		{"rule 2: a negative number", facts(unknownTrace, 15, named(todoD), -1), bound(binding.Attribute, todoD, 4)},
		{"rule 2: the running attempt", facts(unknownTrace, 15, named(todoD)), bound(binding.Attribute, todoD, 4)},
		{"rule 2: the interval's beginning belongs to it", facts(unknownTrace, 0, named(todoD)), bound(binding.Attribute, todoD, 3)},
		{"rule 2: the interval's end belongs to it", facts(unknownTrace, 20, named(todoD)), bound(binding.Attribute, todoD, 4)},
		{"rule 2: a shared instant is the later attempt's", facts(unknownTrace, 10, named(todoD)), bound(binding.Attribute, todoD, 4)},
		{"rule 2: an open attempt has no end", facts(unknownTrace, 9999, named(todoD)), bound(binding.Attribute, todoD, 5)},
		{"rule 2: between attempts, the latest", facts(unknownTrace, 25, named(todoD)), bound(binding.Attribute, todoD, 5)},
		{"rule 2: before all attempts, the latest", facts(unknownTrace, -5, named(todoD)), bound(binding.Attribute, todoD, 5)},
		{"rule 2: a todo without attempts", facts(unknownTrace, 5, named(todoE), 1), bound(binding.Attribute, todoE, 0)},
		{"rule 2: a foreign todo", facts(unknownTrace, 5, named(todoF)), binding.Decision{}},
		{"rule 2: no todo's id", facts(unknownTrace, 5, named(uuid.Nil)), binding.Decision{}},

		{"rule 2 with a remembered trace teaches nothing", facts(earlierTrace, 5, named(todoE)), binding.Decision{Rule: binding.Attribute, TodoID: todoE}},
		{"a foreign attribute stops rule 3", facts(earlierTrace, 5, named(todoF)), binding.Decision{}},
		{"a foreign attribute stops the caller's trace", facts(callerTrace, 5, named(todoF)), binding.Decision{}},

		{"rule 3: the running attempt", facts(earlierTrace, 5, none), bound(binding.Earlier, todoD, 3)},
		{"rule 3: the numbered attempt", facts(earlierTrace, 5, none, 4), bound(binding.Earlier, todoD, 4)},
		{"rule 3: a todo that is gone", facts(strayTrace, 5, none), binding.Decision{}},

		{"caller: the running attempt", facts(callerTrace, 5, none), bound(binding.Caller, todoD, 3)},
		{"caller: the running attempt of another todo", facts(callerTrace, 15, none), bound(binding.Caller, todoE, 1)},
		{"caller: a shared instant is the later claim's", facts(callerTrace, 10, none), bound(binding.Caller, todoE, 1)},
		{"caller: before all claims, the latest", facts(callerTrace, -5, none), bound(binding.Caller, todoD, 4)},
		{"caller: after all attempts, the latest", facts(callerTrace, 60, none), bound(binding.Caller, todoD, 4)},
		{"caller: a number alone names nothing", facts(callerTrace, 15, none, 3), bound(binding.Caller, todoE, 1)},

		{"nothing known", facts(unknownTrace, 5, none), binding.Decision{}},
		{"a number alone", facts(unknownTrace, 5, none, 3), binding.Decision{}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := binding.Bind([]binding.Facts{c.span}, known())
			if diff := cmp.Diff([]binding.Decision{c.want}, got); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
		})
	}
}

// decisions.md 17: within a request stored bindings first, then the earliest span in document order.
func TestBind_WhatOneSpanTeachesHoldsForTheRequest(t *testing.T) {
	request := []binding.Facts{
		facts(unknownTrace, 5, binding.TodoRef{}), // sent before its parent
		facts(unknownTrace, 5, named(todoF)),      // teaches nothing
		facts(unknownTrace, 5, named(todoE)),      // the first to teach
		facts(unknownTrace, 5, named(todoD)),      // bound, too late to teach
		facts(unknownTrace, 5, named(todoE)),      // another witness of the first
		facts(unknownTrace, 5, binding.TodoRef{}), //
		facts([16]byte{7}, 5, binding.TodoRef{}),  // another trace
		facts(earlierTrace, 5, named(todoE)),      // the stored binding stays
		facts(earlierTrace, 5, binding.TodoRef{}), //
		facts(mintedTrace, 5, named(todoE)),       // rule 1 teaches nothing
		facts(callerTrace, 5, named(todoE)),       // a caller's trace can be taught
		facts(callerTrace, 45, binding.TodoRef{}), //
	}
	want := []binding.Decision{
		{Rule: binding.Earlier, TodoID: todoE},
		{},
		{Rule: binding.Attribute, TodoID: todoE, Learn: true},
		{Rule: binding.Attribute, TodoID: todoD, AttemptSeq: 3},
		{Rule: binding.Attribute, TodoID: todoE, Learn: true},
		{Rule: binding.Earlier, TodoID: todoE},
		{},
		{Rule: binding.Attribute, TodoID: todoE},
		{Rule: binding.Earlier, TodoID: todoD, AttemptSeq: 3},
		{Rule: binding.Minted, TodoID: todoD, AttemptSeq: 3},
		{Rule: binding.Attribute, TodoID: todoE, Learn: true},
		{Rule: binding.Earlier, TodoID: todoE},
	}
	if diff := cmp.Diff(want, binding.Bind(request, known())); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
}

// decisions.md 8: binding decides only for spans that are not stored yet. A later claim under the same trace, or a
// later binding of it, would choose another todo for the same span.
func TestBind_AStoredSpanOfACallersTraceStaysWithItsTodo(t *testing.T) {
	before := facts(callerTrace, -5, binding.TodoRef{})
	during := facts(callerTrace, 45, binding.TodoRef{})
	during.Key.SpanID = [8]byte{2}
	k := known()
	k.Homes = map[spans.Key]uuid.UUID{before.Key: todoE, during.Key: todoE}
	want := []binding.Decision{
		{Rule: binding.Caller, TodoID: todoE, AttemptSeq: 1},
		{Rule: binding.Caller, TodoID: todoE, AttemptSeq: 1},
	}
	if diff := cmp.Diff(want, binding.Bind([]binding.Facts{before, during}, k)); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}

	k.Traces[callerTrace] = spans.Binding{TodoID: todoD} // taught after the two were stored
	if diff := cmp.Diff(want, binding.Bind([]binding.Facts{before, during}, k)); diff != "" {
		t.Errorf("decisions after the trace was bound (-want +got):\n%s", diff)
	}
	k.Homes = map[spans.Key]uuid.UUID{before.Key: todoD}
	want = []binding.Decision{
		{Rule: binding.Earlier, TodoID: todoD, AttemptSeq: 5},
		{Rule: binding.Earlier, TodoID: todoD, AttemptSeq: 5},
	}
	if diff := cmp.Diff(want, binding.Bind([]binding.Facts{before, during}, k)); diff != "" {
		t.Errorf("decisions when the binding is the home (-want +got):\n%s", diff)
	}
}

func TestAsk_NamesEachTraceAndTodoOnceAndTheSpansThatNameNone(t *testing.T) {
	request := []binding.Facts{
		facts(unknownTrace, 1, binding.TodoRef{}),
		facts(unknownTrace, 2, named(todoD)),
		facts(callerTrace, 3, named(todoD)),
		facts(callerTrace, 4, named(todoE)),
		facts(callerTrace, 5, named(uuid.Nil)), // names none that there could be
	}
	asked, known := binding.Ask(request, remembers(nil))
	want := spans.Question{Traces: [][16]byte{unknownTrace, callerTrace}, Todos: []uuid.UUID{todoD, todoE}, Keys: []spans.Key{request[0].Key}}
	if diff := cmp.Diff(want, asked); diff != "" || len(known) != 0 {
		t.Errorf("known %v, asked (-want +got):\n%s", known, diff)
	}
}

func TestAsk_DoesNotAskForWhatIsRemembered(t *testing.T) {
	d := spans.MintedAttempt{TodoID: todoD, Seq: 3}
	memory := map[[16]byte]spans.MintedAttempt{mintedTrace: d}
	own, silent := facts(mintedTrace, 1, named(todoD)), facts(mintedTrace, 2, binding.TodoRef{})
	asked, known := binding.Ask([]binding.Facts{own, silent}, remembers(memory))
	if diff := cmp.Diff(spans.Question{}, asked); diff != "" || !cmp.Equal(memory, known) {
		t.Errorf("known %v, asked (-want +got):\n%s", known, diff)
	}

	// Should the remembered todo be gone, another that a span names is the right one for it, and for the others.
	other := facts(mintedTrace, 3, named(todoE))
	asked, known = binding.Ask([]binding.Facts{own, silent, other}, remembers(memory))
	want := spans.Question{Traces: [][16]byte{mintedTrace}, Todos: []uuid.UUID{todoD, todoE}, Keys: []spans.Key{silent.Key}}
	if diff := cmp.Diff(want, asked); diff != "" || len(known) != 0 {
		t.Errorf("known %v, asked (-want +got):\n%s", known, diff)
	}
}

func remembers(memory map[[16]byte]spans.MintedAttempt) func([16]byte) (spans.MintedAttempt, bool) {
	return func(trace [16]byte) (spans.MintedAttempt, bool) {
		a, ok := memory[trace]
		return a, ok
	}
}
