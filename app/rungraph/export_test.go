package rungraph

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/spans"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

var noon = time.Date(2026, 4, 2, 12, 0, 0, 0, time.UTC)

// spanOf is a bound span with the given attributes.
func spanOf(attempt int, id, parent byte, attributes string) spans.Span {
	s := spans.Span{AttemptSeq: attempt, TraceID: [16]byte{9}, SpanID: [8]byte{id}, Attributes: []byte(attributes)}
	if parent > 0 {
		s.ParentSpanID = [8]byte{parent}
	}
	return s
}

func minted(seq int) *queue.Attempt {
	trace := [16]byte{9}
	return &queue.Attempt{Seq: seq, TraceID: hex.EncodeToString(trace[:])}
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestCost_FollowsTheRulesOfTokens(t *testing.T) {
	const chat = `"gen_ai.operation.name":"chat","gen_ai.request.model":"asked","gen_ai.response.model":"answered","gen_ai.provider.name":"house"`
	const model = `{"raw":"answered","provider":"house","tier":"verified"}`
	for name, c := range map[string]struct {
		spans       []spans.Span
		cost, model string
	}{
		"no span, no cost": {nil, `null`, `null`},
		"a tool is no inference": {
			[]spans.Span{spanOf(1, 1, 0, `{"gen_ai.operation.name":"execute_tool","gen_ai.usage.input_tokens":5}`)}, `null`, `null`},
		"input without what caches served and took": {
			[]spans.Span{spanOf(1, 1, 0, `{`+chat+`,"gen_ai.usage.input_tokens":1200,"gen_ai.usage.output_tokens":90,
				"gen_ai.usage.cache_read.input_tokens":800,"gen_ai.usage.cache_creation.input_tokens":100}`)},
			`{"input_tokens":300,"cached_input_tokens":800,"cache_creation_tokens":100,"output_tokens":90,"requests":1,"basis":"measured"}`, model},
		"an agent that repeats its inferences, and a wrapper of one": {
			[]spans.Span{
				spanOf(1, 1, 0, `{"gen_ai.operation.name":"invoke_agent","gen_ai.usage.input_tokens":30,"gen_ai.usage.output_tokens":3}`),
				spanOf(1, 2, 1, `{`+chat+`,"gen_ai.usage.input_tokens":10,"gen_ai.usage.output_tokens":1}`),
				spanOf(1, 3, 2, `{}`),
				spanOf(1, 4, 3, `{`+chat+`,"gen_ai.usage.input_tokens":10,"gen_ai.usage.output_tokens":1}`),
				spanOf(1, 5, 1, `{`+chat+`,"gen_ai.usage.input_tokens":20,"gen_ai.usage.output_tokens":2}`),
				spanOf(2, 6, 0, `{`+chat+`,"gen_ai.usage.input_tokens":7,"gen_ai.usage.output_tokens":7}`),
			},
			`{"input_tokens":30,"output_tokens":3,"requests":2,"basis":"measured"}`, model},
		"a count that one request lacks is left out": {
			[]spans.Span{
				spanOf(1, 1, 0, `{`+chat+`,"gen_ai.usage.input_tokens":10,"gen_ai.usage.output_tokens":1}`),
				spanOf(1, 2, 0, `{`+chat+`,"gen_ai.usage.input_tokens":"12","gen_ai.usage.cache_read.input_tokens":2}`),
			},
			`{"input_tokens":20,"requests":2,"basis":"measured"}`, model},
		"a producer that counts caches apart": {
			[]spans.Span{spanOf(1, 1, 0, `{`+chat+`,"gen_ai.usage.input_tokens":10,"gen_ai.usage.cache_read.input_tokens":800}`)},
			`{"cached_input_tokens":800,"requests":1,"basis":"measured"}`, model},
		"reasoning stays in the output": {
			[]spans.Span{spanOf(1, 1, 0, `{`+chat+`,"gen_ai.usage.output_tokens":50,"gen_ai.usage.reasoning.output_tokens":40}`)},
			`{"output_tokens":50,"requests":1,"basis":"measured","ext":{"dev.switchboard.reasoning_tokens":40}}`, model},
		"two models are not one": {
			[]spans.Span{
				spanOf(1, 1, 0, `{`+chat+`,"gen_ai.usage.output_tokens":1}`),
				spanOf(1, 2, 0, `{"gen_ai.operation.name":"text_completion","gen_ai.request.model":"other","gen_ai.usage.output_tokens":2}`),
			}, `{"output_tokens":3,"requests":2,"basis":"measured"}`, `null`},
		"a request without a model may be another's": {
			[]spans.Span{spanOf(1, 1, 0, `{`+chat+`}`), spanOf(1, 2, 0, `{"gen_ai.operation.name":"chat"}`)},
			`{"requests":2,"basis":"measured"}`, `null`},
		"odd values are not known": {
			[]spans.Span{spanOf(1, 1, 0, `{"gen_ai.operation.name":"chat","gen_ai.request.model":7,"gen_ai.usage.input_tokens":-1,
				"gen_ai.usage.output_tokens":1.5,"gen_ai.usage.cache_read.input_tokens":[1]}`)},
			`{"requests":1,"basis":"measured"}`, `null`},
		"its own parent": {[]spans.Span{spanOf(1, 1, 1, `{`+chat+`}`)}, `{"requests":1,"basis":"measured"}`, model},
	} {
		t.Run(name, func(t *testing.T) {
			u := usageOf(minted(1), c.spans)
			if got := asJSON(t, u.cost()); got != c.cost {
				t.Errorf("cost %s, want %s", got, c.cost)
			}
			if got := asJSON(t, u.model()); got != c.model {
				t.Errorf("model %s, want %s", got, c.model)
			}
		})
	}
}

func TestCost_IsAllocatedWhereASpanWasBoundByAGuess(t *testing.T) {
	caller := spanOf(1, 1, 0, `{"gen_ai.operation.name":"chat"}`)
	caller.TraceID = [16]byte{1}
	named := spanOf(1, 2, 0, `{"gen_ai.operation.name":"chat","switchboard.attempt.seq":1}`)
	named.TraceID = [16]byte{1}
	if got := usageOf(minted(1), []spans.Span{named}).cost().Basis; got != "measured" {
		t.Errorf("a span that names its attempt is %s", got)
	}
	if got := usageOf(minted(1), []spans.Span{named, caller}).cost().Basis; got != "allocated" {
		t.Errorf("a span of the caller's trace is %s", got)
	}
}

func subjectOf(attempts []queue.Attempt, stored ...spans.Span) Subject {
	d := &queue.HumanDetail{AgentName: "worker", UpdatedAt: noon.Add(time.Hour)}
	d.ID, d.Queue, d.State, d.Attempts = queue.ID(typeid.New()), "default", queue.StatePending, attempts
	return Subject{HumanDetail: d, Spans: stored}
}

func TestBuild_GivesNoSumOverAPartOfTheSpans(t *testing.T) {
	a := minted(1)
	a.SpansDropped = 3
	known := spanOf(1, 1, 0, `{"gen_ai.operation.name":"chat","gen_ai.request.model":"m","gen_ai.usage.output_tokens":4}`)
	out := Build(Frame{RunID: "r"}, subjectOf([]queue.Attempt{*a}, known)).Attempts[0]
	if out.Cost != nil || out.Model != nil {
		t.Errorf("cost %v, model %v", out.Cost, out.Model)
	}
	if got := asJSON(t, out.Ext); got != `{"dev.switchboard.attempt":{"attempt":0,"spans_dropped":3},"dev.switchboard.models":[{"raw":"m","output_tokens":4,"requests":1}]}` {
		t.Errorf("ext %s", got)
	}
}

func TestBuild_SaysWhyThereWasAnotherAttempt(t *testing.T) {
	end, retried := noon.Add(time.Minute), noon.Add(2*time.Minute)
	for _, c := range []struct {
		outcome string
		retried bool
		want    Cause
	}{
		{"lease_expired", false, Cause{Type: "superseded"}},
		{"reaped", false, Cause{Type: "superseded"}},
		{"released", false, Cause{Type: "superseded"}},
		{"revoked", false, Cause{Type: "superseded"}},
		{"failed", false, Cause{Type: "followup"}},
		{"failed", true, Cause{Type: "other", Reason: "retry_now"}},
		{"canceled", false, Cause{Type: "other"}},
	} {
		s := subjectOf([]queue.Attempt{{Seq: 2, ClaimedAt: retried}, {Seq: 1, ClaimedAt: noon, EndedAt: &end, Outcome: &c.outcome}})
		if c.retried {
			s.Activity = []queue.ActivityEntry{{At: retried, Kind: queue.KindRetried}}
		}
		got := Build(Frame{RunID: "r"}, s).Attempts
		c.want.Ref = got[0].ID
		if got[0].Cause != (Cause{Type: "initial"}) || got[1].Cause != c.want {
			t.Errorf("after %s (retried %v): %+v", c.outcome, c.retried, got[1].Cause)
		}
	}
	s := subjectOf([]queue.Attempt{{Seq: 7, ClaimedAt: noon}})
	s.AttemptsPruned = 6
	d := Build(Frame{RunID: "r"}, s)
	if d.Attempts[0].Cause != (Cause{Type: "other", Reason: "earlier_attempt_pruned"}) || d.Run.StartedAt != nil {
		t.Errorf("after pruned ones: %+v, run from %v", d.Attempts[0].Cause, d.Run.StartedAt)
	}
}

// A worker's word is never more than reported, silence never more than a guess.
func TestEvidence_NoTierIsRaised(t *testing.T) {
	for outcome, want := range map[queue.Outcome]string{
		"completed": EvidenceReported, "failed": EvidenceReported, "released": EvidenceReported,
		"lease_expired": EvidenceHeuristic, "reaped": EvidenceHeuristic, "canceled": EvidenceVerified, "revoked": EvidenceVerified,
		"of a later version": EvidenceAsserted,
	} {
		if got := EvidenceOf(outcome); got != want {
			t.Errorf("%s is %s, want %s", outcome, got, want)
		}
	}
	if v := Read([]byte(`{"attempts":[{"status":"done","outcome":{"result":"done"}}]}`)); v.Attempts[0].Evidence != EvidenceAsserted {
		t.Errorf("missing evidence reads as %s", v.Attempts[0].Evidence)
	}
}

// Whatever rows there are, the document of them draws no finding.
func TestBuild_AlwaysValidatesWithoutAFinding(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var todos []Subject
		for range rapid.IntRange(0, 3).Draw(rt, "todos") {
			todos = append(todos, drawSubject(rt))
		}
		f := Frame{RunID: "lane@x", Version: "1", EmittedAt: noon, Full: rapid.Bool().Draw(rt, "full")}
		doc, err := Build(f, todos...).Encode()
		if err != nil {
			rt.Fatal(err)
		}
		if r := validate(t, doc); len(r.Findings) > 0 {
			rt.Fatalf("%+v\n%s", r.Findings, doc)
		}
	})
}

func drawSubject(t *rapid.T) Subject {
	label := rapid.StringN(1, 128, 128)
	maybe := func(name string, of *rapid.Generator[string]) *string {
		if !rapid.Bool().Draw(t, "has "+name) {
			return nil
		}
		s := of.Draw(t, name)
		return &s
	}
	at := func(name string) time.Time { return noon.Add(time.Duration(rapid.Int64Range(0, 1e15).Draw(t, name))) }
	s := subjectOf(nil)
	s.AgentName, s.Queue = label.Draw(t, "agent"), rapid.SampledFrom([]string{"a", "b"}).Draw(t, "queue")
	s.State = rapid.SampledFrom(queue.States).Draw(t, "state")
	s.DeadLetter = s.State == queue.StateFailed && rapid.Bool().Draw(t, "dead letter")
	seq := rapid.IntRange(1, 9).Draw(t, "first seq")
	for range rapid.IntRange(0, 4).Draw(t, "attempts") {
		a := queue.Attempt{Seq: seq, Attempt: rapid.IntRange(1, 9).Draw(t, "counter"), ClaimedAt: at("claimed"),
			ClaimerKind: rapid.SampledFrom([]string{"endpoint", "owner"}).Draw(t, "claimer"), Claimant: maybe("claimant", label),
			SpansDropped: rapid.IntRange(0, 1).Draw(t, "dropped"), TraceID: minted(1).TraceID}
		seq += rapid.IntRange(1, 2).Draw(t, "gap")
		if a.Outcome = maybe("outcome", rapid.SampledFrom([]string{"completed", "failed", "released", "lease_expired", "reaped",
			"canceled", "revoked"})); a.Outcome != nil {
			ended := at("ended")
			a.EndedAt, a.Disposition = &ended, maybe("disposition", rapid.SampledFrom([]string{"done", "requeued", "dead_lettered"}))
			a.Summary, a.Artifact = maybe("summary", rapid.String()), maybe("artifact", rapid.StringN(1, 512, 512))
		}
		s.Attempts = append(s.Attempts, a)
	}
	for range rapid.IntRange(0, 3).Draw(t, "activity") {
		e := queue.ActivityEntry{At: at("activity"), Kind: rapid.SampledFrom(queue.ActivityKinds).Draw(t, "kind"),
			Detail: json.RawMessage(rapid.SampledFrom([]string{`null`, `{"action":"retry"}`, `{"action":7}`}).Draw(t, "detail"))}
		if rapid.Bool().Draw(t, "names an attempt") {
			n := rapid.IntRange(1, 12).Draw(t, "its seq")
			e.AttemptSeq = &n
		}
		s.Activity = append(s.Activity, e)
	}
	for i := range rapid.IntRange(0, 6).Draw(t, "spans") {
		attributes := map[string]any{"gen_ai.operation.name": rapid.SampledFrom([]string{"chat", "invoke_agent"}).Draw(t, "operation")}
		for _, name := range []string{"gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "gen_ai.usage.cache_read.input_tokens",
			"gen_ai.usage.reasoning_tokens"} {
			if rapid.Bool().Draw(t, "has "+name) {
				attributes[name] = rapid.Int64().Draw(t, name)
			}
		}
		if m := maybe("model", rapid.StringN(0, 300, 1024)); m != nil {
			attributes["gen_ai.response.model"] = *m
		}
		text, err := json.Marshal(attributes)
		if err != nil {
			t.Fatal(err)
		}
		s.Spans = append(s.Spans, spanOf(rapid.IntRange(1, 9).Draw(t, "attempt"), byte(i+1), byte(rapid.IntRange(0, 6).Draw(t, "parent")), string(text)))
	}
	return s
}

func TestBuild_KeepsTextOut(t *testing.T) {
	secret, completed := "what the worker wrote", "completed"
	s := subjectOf([]queue.Attempt{{Seq: 1, ClaimedAt: noon, EndedAt: &noon, Outcome: &completed, Summary: &secret}})
	s.Title, s.Payload, s.Result = secret, json.RawMessage(`"`+secret+`"`), json.RawMessage(`"`+secret+`"`)
	s.Activity = []queue.ActivityEntry{{At: noon, Kind: queue.KindNote, Message: &secret}}
	for full, want := range map[bool]int{false: 0, true: 1} {
		d := Build(Frame{RunID: "r", Full: full}, s)
		if found := strings.Count(asJSON(t, d), secret); found != want {
			t.Errorf("full %v: the text stands in it %d times", full, found)
		}
		if full && d.Attempts[0].Ext["dev.switchboard.summary"] != secret {
			t.Errorf("ext %v", d.Attempts[0].Ext)
		}
	}
}

func TestBuild_OrdersEventsOverAllTodos(t *testing.T) {
	end, completed := noon.Add(2*time.Minute), "completed"
	first := subjectOf([]queue.Attempt{{Seq: 1, ClaimedAt: noon, EndedAt: &end, Outcome: &completed}})
	second := subjectOf([]queue.Attempt{{Seq: 1, ClaimedAt: noon.Add(time.Minute)}})
	var got []string
	for _, e := range Build(Frame{RunID: "r"}, first, second).Events {
		got = append(got, fmt.Sprint(e.Type, time.Time(e.At).Minute()))
	}
	if !slices.Equal(got, []string{"attempt_started0", "attempt_started1", "attempt_settled2"}) {
		t.Error(got)
	}
}
