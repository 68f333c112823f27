package spans_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/switchboard-otel/switchboard/app/spans"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// otlpSpan makes a span as binding and allow-list leave it.
func otlpSpan(td ptrace.Traces) ptrace.Span {
	s := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	s.SetTraceID([16]byte{1})
	s.SetSpanID([8]byte{2})
	s.SetStartTimestamp(pcommon.NewTimestampFromTime(noon.Add(1234 * time.Nanosecond)))
	s.SetEndTimestamp(pcommon.NewTimestampFromTime(noon.Add(5999 * time.Nanosecond)))
	return s
}

// REQ-5: every stored field; events, links, trace state and resource attributes other than service.name are dropped.
func TestTranslate_EveryFieldOfREQ5(t *testing.T) {
	todo := typeid.New()
	td := ptrace.NewTraces()
	s := otlpSpan(td)
	resource := td.ResourceSpans().At(0).Resource().Attributes()
	resource.PutStr("service.name", "worker")
	resource.PutStr("host.name", "secret-host")
	s.SetParentSpanID([8]byte{3})
	s.SetName("run")
	s.SetKind(ptrace.SpanKindProducer)
	s.Status().SetCode(ptrace.StatusCodeError)
	s.Status().SetMessage("it broke")
	s.TraceState().FromRaw("a=b")
	s.Events().AppendEmpty().SetName("an event")
	s.Links().AppendEmpty().SetTraceID([16]byte{9})
	s.Attributes().PutStr("switchboard.step", "a")
	s.Attributes().PutStr(spans.ReservedTodo, typeid.Todo.Format(todo))
	s.Attributes().PutInt(spans.ReservedAttempt, 4)
	s.Attributes().PutBool(spans.ReservedLearn, true)
	s.Attributes().PutStr(spans.ReservedCategory, "tool")
	s.Attributes().PutStr(spans.ReservedTool, "bash")

	rows, unbound := spans.Translate(td)
	want := spans.Span{
		TodoID: todo, AttemptSeq: 4, TraceID: [16]byte{1}, SpanID: [8]byte{2}, ParentSpanID: [8]byte{3},
		Name: "run", Kind: "producer", StatusCode: "error", StatusMessage: "it broke",
		StartAt: noon.Add(time.Microsecond), EndAt: noon.Add(5 * time.Microsecond),
		ServiceName: "worker", Tool: "bash", Category: "tool", Attributes: []byte(`{"switchboard.step":"a"}`), LearnTrace: true,
	}
	if diff := cmp.Diff([]spans.Span{want}, rows); diff != "" || unbound != 0 {
		t.Errorf("%d unbound, rows (-want +got):\n%s", unbound, diff)
	}
}

func TestTranslate_ASpanThatNoBindingHasSeenIsUnbound(t *testing.T) {
	td := ptrace.NewTraces()
	otlpSpan(td)
	otlpSpan(td).Attributes().PutStr(spans.ReservedTodo, "td_nonsense")
	otlpSpan(td).Attributes().PutInt(spans.ReservedTodo, 7)
	otlpSpan(td).Attributes().PutStr(spans.ReservedTodo, typeid.Todo.Format(typeid.New()))
	rows, unbound := spans.Translate(td)
	if len(rows) != 1 || unbound != 3 {
		t.Errorf("%d rows, %d unbound", len(rows), unbound)
	}
}

func TestTranslate_WithoutTheAllowListTheCategoryIsTheKind(t *testing.T) {
	td := ptrace.NewTraces()
	s := otlpSpan(td)
	s.SetKind(ptrace.SpanKindClient)
	s.Attributes().PutStr(spans.ReservedTodo, typeid.Todo.Format(typeid.New()))
	rows, _ := spans.Translate(td)
	if rows[0].Category != "client" {
		t.Errorf("category = %q", rows[0].Category)
	}
}

// decisions.md 6.
func TestWellFormed(t *testing.T) {
	cases := map[string]struct {
		change func(ptrace.Span)
		want   bool
	}{
		"as it is":                        {func(ptrace.Span) {}, true},
		"no trace id":                     {func(s ptrace.Span) { s.SetTraceID(pcommon.TraceID{}) }, false},
		"no span id":                      {func(s ptrace.Span) { s.SetSpanID(pcommon.SpanID{}) }, false},
		"no start":                        {func(s ptrace.Span) { s.SetStartTimestamp(0) }, false},
		"neither start nor end":           {func(s ptrace.Span) { s.SetStartTimestamp(0); s.SetEndTimestamp(0) }, false},
		"no end":                          {func(s ptrace.Span) { s.SetEndTimestamp(0) }, false},
		"no duration":                     {func(s ptrace.Span) { s.SetEndTimestamp(s.StartTimestamp()) }, true},
		"end a nanosecond early":          {func(s ptrace.Span) { s.SetEndTimestamp(s.StartTimestamp() - 1) }, false},
		"beyond an int64 of nanoseconds":  {func(s ptrace.Span) { s.SetEndTimestamp(math.MaxInt64 + 1) }, true},
		"the last time that OTLP can say": {func(s ptrace.Span) { s.SetEndTimestamp(math.MaxUint64) }, true},
	}
	for name, c := range cases {
		s := otlpSpan(ptrace.NewTraces())
		c.change(s)
		if got := spans.WellFormed(s); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// pitfalls.md: timestamps beyond what an int64 of nanoseconds holds.
func TestUpsert_StoresTheFirstAndTheLastTimeThatOTLPCanSay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := span(b.todo, 1)
	s.StartAt, s.EndAt = spans.Microseconds(1), spans.Microseconds(math.MaxUint64)
	b.upsert(t, []spans.Span{s}, 1, nil)
	if diff := cmp.Diff([]spans.Span{s}, b.read(t, b.todo), sameContent); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if y := s.EndAt.Year(); y != 2554 {
		t.Errorf("year %d", y)
	}
}
