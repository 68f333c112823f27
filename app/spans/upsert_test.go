package spans_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/switchboard-otel/switchboard/app/ledger"
	"github.com/switchboard-otel/switchboard/app/spans"
	"github.com/switchboard-otel/switchboard/app/spans/spanstest"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// sameContent compares what was sent with what is read back: receipt is the database's, and jsonb has a
// spelling of its own.
var sameContent = cmpopts.IgnoreFields(spans.Span{}, "ReceivedAt", "LearnTrace", "Attributes")

func TestUpsert_StoresEveryFieldOfREQ5(t *testing.T) {
	t.Parallel()
	b := setup(t)
	bare := spans.Span{TodoID: b.todo, TraceID: [16]byte{9}, SpanID: [8]byte{9}, Kind: "client", StatusCode: "unset",
		StartAt: noon.Add(time.Hour), EndAt: noon.Add(time.Hour), Category: "client", Attributes: []byte(`{}`)}
	full := span(b.todo, 1)
	b.upsert(t, []spans.Span{full, bare}, 2, nil)

	rows := b.read(t, b.todo)
	if diff := cmp.Diff([]spans.Span{full, bare}, rows, sameContent); diff != "" {
		t.Errorf("rows (-sent +stored):\n%s", diff)
	}
	if got := string(rows[0].Attributes); got != `{"switchboard.step": "a", "gen_ai.usage.input_tokens": 12}` {
		t.Errorf("attributes = %s", got)
	}
	if rows[0].ReceivedAt.IsZero() || rows[0].ReceivedAt != rows[1].ReceivedAt {
		t.Errorf("one statement has one time of receipt, got %v and %v", rows[0].ReceivedAt, rows[1].ReceivedAt)
	}
	nulls := query[int](t, b, `SELECT num_nulls(attempt_seq, parent_span_id, status_message, service_name, tool)
		FROM todo_spans WHERE trace_id = $1`, bare.TraceID[:])
	if nulls != 5 {
		t.Errorf("%d of 5 empty fields are null", nulls)
	}
	b.counts(t, b.todo, spans.Count{AttemptSeq: 0, Stored: 1}, spans.Count{AttemptSeq: 1, Stored: 1})
}

// REQ-8, scenario "Retry is harmless".
func TestUpsert_RetryIsHarmless(t *testing.T) {
	t.Parallel()
	b := setup(t)
	batch := numbered(b.todo, 0, 10)
	b.upsert(t, batch, 10, nil)
	first := b.read(t, b.todo)

	b.upsert(t, batch, 10, nil)
	if diff := cmp.Diff(first, b.read(t, b.todo)); diff != "" {
		t.Errorf("the retry changed rows (-first +retry):\n%s", diff)
	}
	b.counts(t, b.todo, spans.Count{AttemptSeq: 1, Stored: 10})
}

// rowVersions changes whenever a row is written, which would move it or change its xmin, or locked, which is written to
// the WAL too and changes its xmax.
func (b *bundle) rowVersions(t *testing.T) string {
	t.Helper()
	return query[string](t, b, `SELECT string_agg(concat(tableoid, ctid, xmin, xmax), ' ' ORDER BY tableoid, ctid) FROM (
		SELECT tableoid, ctid, xmin, xmax FROM todo_spans
		UNION ALL SELECT tableoid, ctid, xmin, xmax FROM todo_span_counts
		UNION ALL SELECT tableoid, ctid, xmin, xmax FROM todo_trace_bindings
		UNION ALL SELECT tableoid, ctid, xmin, xmax FROM todos) AS versions`)
}

// decisions.md 8: identical changes nothing and writes nothing. A row from before there were hashes of contents is
// compared as a whole.
func TestUpsert_AnIdenticalRetryWritesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	batch := numbered(b.todo, 0, 10)
	batch[3].LearnTrace = true
	b.upsert(t, batch, 10, nil)
	if n := query[int](t, b, `WITH old AS (UPDATE todo_spans SET content_hash = NULL WHERE span_id > $1 RETURNING 1)
		SELECT count(*) FROM old`, batch[5].SpanID[:]); n == 0 || n == 10 {
		t.Fatalf("%d of 10 rows are old ones", n)
	}
	before := b.rowVersions(t)

	slices.Reverse(batch)
	b.upsert(t, batch, 10, nil)
	if after := b.rowVersions(t); after != before {
		t.Errorf("row versions or locks changed:\n%s\n%s", before, after)
	}
}

// A retry is known by the hash of what is stored, so a correction has to bring its own.
func TestUpsert_ACorrectionCanBeTakenBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	original, corrected := span(b.todo, 1), span(b.todo, 1)
	corrected.Name = "corrected"
	for _, sent := range []spans.Span{original, corrected, original} {
		b.upsert(t, []spans.Span{sent}, 1, nil)
		if rows := b.read(t, b.todo); len(rows) != 1 || rows[0].Name != sent.Name {
			t.Errorf("after %q was sent: %+v", sent.Name, rows)
		}
	}
}

// decisions.md 7.
func TestUpsert_TheSameSpanTwiceInOneRequestCountsOnceAndTheLaterWins(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, later := span(b.todo, 1), span(b.todo, 1)
	later.Name = "the later one"
	later.EndAt = first.EndAt.Add(-time.Millisecond)
	b.upsert(t, []spans.Span{first, span(b.todo, 2), later}, 2, nil)

	rows := b.read(t, b.todo)
	if len(rows) != 2 || rows[0].Name != "the later one" {
		t.Errorf("rows = %+v", rows)
	}
	b.counts(t, b.todo, spans.Count{AttemptSeq: 1, Stored: 2})
}

// decisions.md 8.
func TestUpsert_ACorrectionReplacesTheContentAndNothingElse(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change func(*spans.Span)
		stays  bool
	}{
		"name":            {change: func(s *spans.Span) { s.Name = "renamed" }},
		"parent":          {change: func(s *spans.Span) { s.ParentSpanID = [8]byte{} }},
		"kind":            {change: func(s *spans.Span) { s.Kind = "client" }},
		"status":          {change: func(s *spans.Span) { s.StatusCode, s.StatusMessage = "ok", "" }},
		"start":           {change: func(s *spans.Span) { s.StartAt = s.StartAt.Add(-time.Second) }},
		"later end":       {change: func(s *spans.Span) { s.EndAt = s.EndAt.Add(time.Second) }},
		"service":         {change: func(s *spans.Span) { s.ServiceName = "" }},
		"tool":            {change: func(s *spans.Span) { s.Tool = "" }},
		"category":        {change: func(s *spans.Span) { s.Category = "net" }},
		"attributes":      {change: func(s *spans.Span) { s.Attributes = []byte(`{"switchboard.step":"b"}`) }},
		"an earlier end":  {stays: true, change: func(s *spans.Span) { s.Name = "cut short"; s.EndAt = s.EndAt.Add(-time.Microsecond) }},
		"another attempt": {stays: true, change: func(s *spans.Span) { s.AttemptSeq = 2 }},
		"attributes reworded": {stays: true, change: func(s *spans.Span) {
			s.Attributes = []byte(`{"switchboard.step":"a","gen_ai.usage.input_tokens":12.0}`)
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.upsert(t, numbered(b.todo, 1, 3), 2, nil)
			before := b.read(t, b.todo)

			corrected := span(b.todo, 1)
			c.change(&corrected)
			b.upsert(t, []spans.Span{corrected, span(b.todo, 2)}, 2, nil)
			want := slices.Clone(before)
			if !c.stays {
				want[0] = corrected
				want[0].AttemptSeq = 1
			}
			after := b.read(t, b.todo)
			if diff := cmp.Diff(want, after, sameContent); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
			for i := range after {
				if after[i].ReceivedAt != before[i].ReceivedAt {
					t.Errorf("span %d was received at %v, now %v", i, before[i].ReceivedAt, after[i].ReceivedAt)
				}
			}
			b.counts(t, b.todo, spans.Count{AttemptSeq: 1, Stored: 2})
		})
	}
}

// A pipeline without masking and allow-list brings fields over their caps. One such span must not take the
// others of its todo with it.
func TestUpsert_WhatTheDatabaseCannotHoldIsInvalidAlone(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return strings.Repeat("é", n/2+1) }
	cases := map[string]func(*spans.Span){
		"name":             func(s *spans.Span) { s.Name = long(256) },
		"status message":   func(s *spans.Span) { s.StatusMessage = long(512) },
		"service":          func(s *spans.Span) { s.ServiceName = long(128) },
		"tool":             func(s *spans.Span) { s.Tool = long(128) },
		"category":         func(s *spans.Span) { s.Category = long(64) },
		"no category":      func(s *spans.Span) { s.Category = "" },
		"NUL":              func(s *spans.Span) { s.Name = "a\x00b" },
		"no UTF-8":         func(s *spans.Span) { s.Name = "a\xff" },
		"attributes":       func(s *spans.Span) { s.Attributes = []byte(`{"switchboard.a":"` + long(16<<10) + `"}`) },
		"separators":       func(s *spans.Span) { s.Attributes = []byte(`{"switchboard.a":[` + strings.Repeat("1,", 6000) + `1]}`) },
		"no trace id":      func(s *spans.Span) { s.TraceID = [16]byte{} },
		"no span id":       func(s *spans.Span) { s.SpanID = [8]byte{} },
		"end before start": func(s *spans.Span) { s.EndAt = s.StartAt.Add(-time.Microsecond) },
	}
	b := setup(t)
	batch := []spans.Span{span(b.todo, 0)}
	for _, spoil := range cases {
		s := span(b.todo, len(batch))
		spoil(&s)
		batch = append(batch, s)
	}
	b.upsert(t, batch, 1, map[ledger.Reason]int{ledger.Invalid: len(cases)})
	if rows := b.read(t, b.todo); len(rows) != 1 {
		t.Errorf("%d rows", len(rows))
	}
}

func TestUpsert_AFieldAsLongAsItsCapIsStored(t *testing.T) {
	t.Parallel()
	b := setup(t)
	full := span(b.todo, 1)
	full.Name = strings.Repeat("é", 128)
	full.StatusMessage = strings.Repeat("m", 512)
	full.ServiceName = strings.Repeat("s", 128)
	full.Tool = strings.Repeat("t", 128)
	full.Category = strings.Repeat("c", 64)
	const stored = `{"a": ["", ":,{\"}"], "b": ""}` // as the database writes it
	full.Attributes = []byte(`{"a":["",":,{\"}"],"b":"` + strings.Repeat("v", 16384-len(stored)) + `"}`)
	b.upsert(t, []spans.Span{full}, 1, nil)
	if n := query[int](t, b, `SELECT octet_length(attributes::text) FROM todo_spans`); n != 16384 {
		t.Errorf("attributes of %d bytes: the test is to store 16384", n)
	}

	full.SpanID = [8]byte{9}
	full.Attributes = append(full.Attributes[:len(full.Attributes)-2], `v"}`...)
	b.upsert(t, []spans.Span{full}, 0, map[ledger.Reason]int{ledger.Invalid: 1})
}

// REQ-3, scenario "Foreign todo attribute", at the store: it joins the todo to the endpoint itself and trusts
// nobody (decisions.md 15).
func TestUpsert_AForeignTodoIsAsUnknownAsARandomOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := spanstest.NewTenant(t, b.pool)
	foreign := other.Todo(t)

	for name, todo := range map[string]spans.Span{"foreign": span(foreign, 1), "unknown": span(typeid.New(), 1)} {
		todo.LearnTrace = true
		b.upsert(t, []spans.Span{todo, span(todo.TodoID, 2), span(b.todo, 3)}, 1, map[ledger.Reason]int{ledger.Unbound: 2})
		if rows := b.read(t, b.todo); len(rows) != 1 {
			t.Errorf("%s: the bound span of the batch was not stored", name)
		}
	}
	if n := query[int](t, b, `SELECT count(*) FROM todo_spans WHERE todo_id = $1`, foreign); n != 0 {
		t.Errorf("the foreign todo has %d spans", n)
	}
	if n := query[int](t, b, `SELECT (SELECT count(*) FROM todo_span_counts WHERE todo_id = $1)
		+ (SELECT count(*) FROM todo_trace_bindings)`, foreign); n != 0 {
		t.Errorf("the foreign todo left %d traces of the attempt", n)
	}
}

// Another endpoint must not learn from an answer what is stored, nor change it.
func TestUpsert_AForeignSpanIsNeitherSeenNorCorrected(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.upsert(t, numbered(b.todo, 1, 3), 2, nil)
	before := b.read(t, b.todo)

	other := spanstest.NewTenant(t, b.pool)
	changed := span(b.todo, 2)
	changed.Name = "mine now"
	for name, batch := range map[string][]spans.Span{
		"identical": numbered(b.todo, 1, 3), "changed": {span(b.todo, 1), changed}, "new": {span(b.todo, 3)},
	} {
		outcome, err := b.store.Upsert(t.Context(), other.Endpoint, batch)
		if err != nil || outcome.Rejected[ledger.Unbound] != len(batch) {
			t.Errorf("%s: outcome %+v, error %v", name, outcome, err)
		}
	}
	if diff := cmp.Diff(before, b.read(t, b.todo)); diff != "" {
		t.Errorf("rows changed:\n%s", diff)
	}
}
