package e2e

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// The step that reads dialects is an addition (decisions.md 21): with it and without it the spec's own scenarios about
// spans hold, to the letter.
func TestSpecScenariosOfSpans_HoldWithAndWithoutTheDialectStep(t *testing.T) {
	t.Parallel()
	without := withQuickstart(t, "[switchboard_dialect, ", "[")
	for name, c := range map[string]struct {
		config  option
		dialect bool // it is in the pipeline
	}{"with": {func(*collector) {}, true}, "without": {without, false}} {
		t.Run(name, func(t *testing.T) {
			s := startStage(t, c.config)
			t.Run("REQ-2, encoding parity", s.encodingParity)
			t.Run("REQ-3, supervisor passes the traceparent", s.supervisor)
			t.Run("REQ-3, foreign todo attribute", s.foreignTodo)
			t.Run("REQ-5, a tool span; REQ-6, default drops tool arguments", s.toolSpan)
			t.Run("REQ-8, retry is harmless", s.retry)
			t.Run("a dialect", func(t *testing.T) { s.dialect(t, c.dialect) })
		})
		t.Run(name+", tool input and output kept", func(t *testing.T) {
			s := startStage(t, c.config, withEnv("SWITCHBOARD_OTLP_KEEP_TOOL_IO=true"))
			t.Run("REQ-7, token in a kept value", s.tokenInAKeptValue)
		})
	}
}

// sent posts spans of the claim's trace and returns what is stored of them.
func (s *stage) sent(t *testing.T, w onStage, traces ptrace.Traces) []storedRow {
	t.Helper()
	w.post(t, "application/x-protobuf", protobuf(t, traces))
	return s.rows(w)
}

// spanWith makes a batch of one span within the claim's trace.
func spanWith(t *testing.T, w onStage, attributes map[string]any) ptrace.Traces {
	t.Helper()
	traces := batch(traceOf(t, "00-"+w.trace+"-0000000000000001-01"), 1, "")
	if err := firstSpan(traces).Attributes().FromRaw(attributes); err != nil {
		t.Fatal(err)
	}
	return traces
}

func firstSpan(traces ptrace.Traces) ptrace.Span {
	return traces.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
}

func (s *stage) encodingParity(t *testing.T) {
	asProtobuf, asJSON := s.worker(t, "parity protobuf"), s.worker(t, "parity json")
	traces := batch(pcommon.TraceID{0x2a}, 3, "")
	firstSpan(traces).Attributes().PutStr("http.method", "GET")
	for _, w := range []onStage{asProtobuf, asJSON} {
		traces.ResourceSpans().At(0).Resource().Attributes().PutStr("switchboard.todo.id", w.todo)
		if w == asProtobuf {
			w.post(t, "application/x-protobuf", protobuf(t, traces))
			continue
		}
		body, err := (&ptrace.JSONMarshaler{}).MarshalTraces(traces)
		if err != nil {
			t.Fatal(err)
		}
		w.post(t, "application/json", body)
	}
	a, b := s.document(t, asProtobuf), s.document(t, asJSON)
	if !reflect.DeepEqual(a, b) || len(a) != 3 {
		t.Errorf("rows differ:\n%v\n%v", a, b)
	}
}

// document is every field of what is stored, but for the todo's id and the time of receipt.
func (s *stage) document(t *testing.T, w onStage) []map[string]any {
	t.Helper()
	out, errs, err := s.cli("todo", "show", w.todo, "--spans", "--json")
	if err != nil {
		t.Fatal(err, errs)
	}
	var todo struct {
		Spans []map[string]any `json:"spans"`
	}
	if err := json.Unmarshal([]byte(strings.ReplaceAll(out, w.todo, "td")), &todo); err != nil {
		t.Fatal(err)
	}
	for _, row := range todo.Spans {
		delete(row, "received_at")
	}
	return todo.Spans
}

func (s *stage) supervisor(t *testing.T) {
	w := s.worker(t, "supervised")
	for _, row := range s.sent(t, w, batch(traceOf(t, "00-"+w.trace+"-0000000000000001-01"), 5, "")) {
		if row.AttemptSeq != 1 || len(row.Attributes) != 0 {
			t.Errorf("row %+v", row)
		}
	}
	if n := len(s.rows(w)); n != 5 {
		t.Errorf("%d rows", n)
	}
}

func (s *stage) foreignTodo(t *testing.T) {
	mine, theirs := s.worker(t, "mine"), s.worker(t, "theirs")
	foreign := export(t, mine.vended, "protobuf", batch(pcommon.TraceID{1}, 2, theirs.todo))
	random := export(t, mine.vended, "protobuf", batch(pcommon.TraceID{1}, 2, unknownLike(theirs.todo)))
	if foreign.status != http.StatusOK || foreign.body != random.body || !strings.Contains(foreign.body, "rejected spans: unbound") {
		t.Errorf("foreign %d %q, random %d %q", foreign.status, foreign.body, random.status, random.body)
	}
	if n := len(s.rows(theirs)); n != 0 {
		t.Errorf("the foreign todo got %d spans", n)
	}
}

func (s *stage) toolSpan(t *testing.T) {
	w := s.worker(t, "tool span")
	rows := s.sent(t, w, spanWith(t, w, map[string]any{
		"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "bash", "gen_ai.tool.call.arguments": `{"command": "ls"}`,
	}))
	want := storedRow{
		Name: "step 1", Category: "tool", Tool: "bash", StatusCode: "unset", Service: "by-hand", AttemptSeq: 1,
		Attributes: map[string]any{"gen_ai.operation.name": "execute_tool"},
	}
	if len(rows) != 1 || !reflect.DeepEqual(rows[0], want) {
		t.Errorf("stored %+v", rows)
	}
}

func (s *stage) tokenInAKeptValue(t *testing.T) {
	w := s.worker(t, "token")
	token := "ghp_" + strings.Repeat("a1B2", 9)
	rows := s.sent(t, w, spanWith(t, w, map[string]any{
		"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "bash", "gen_ai.tool.call.arguments": "push with " + token + " now",
	}))
	if len(rows) != 1 || rows[0].Attributes["gen_ai.tool.call.arguments"] != "push with [REDACTED] now" {
		t.Errorf("stored %+v", rows)
	}
}

func (s *stage) retry(t *testing.T) {
	w := s.worker(t, "retried")
	traces := batch(traceOf(t, "00-"+w.trace+"-0000000000000001-01"), 10, "")
	once, again := s.sent(t, w, traces), s.sent(t, w, traces)
	if len(once) != 10 || !reflect.DeepEqual(once, again) {
		t.Errorf("%d rows, then %d", len(once), len(again))
	}
}

// dialect wants the rows to be the spec's alone where the step is left out.
func (s *stage) dialect(t *testing.T, standardized bool) {
	w := s.worker(t, "dialect")
	rows := s.sent(t, w, spanWith(t, w, map[string]any{
		"span.type": "llm_request", "gen_ai.system": "anthropic", "gen_ai.request.model": "claude-sonnet-4-5",
		"input_tokens": 120, "output_tokens": 17,
	}))
	category, attributes := "unspecified", map[string]any{"gen_ai.system": "anthropic", "gen_ai.request.model": "claude-sonnet-4-5"}
	if standardized {
		category = "reason"
		attributes["gen_ai.operation.name"] = "chat"
		attributes["gen_ai.usage.input_tokens"], attributes["gen_ai.usage.output_tokens"] = 120., 17.
	}
	if len(rows) != 1 || rows[0].Category != category || !reflect.DeepEqual(rows[0].Attributes, attributes) {
		t.Errorf("stored %+v", rows)
	}
}
