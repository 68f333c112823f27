package trail

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/switchboard-otel/switchboard/app/spans"
)

func call(id, parent int, attributes string) spans.Span {
	s := span(id, parent, id, id+1)
	s.Category, s.Attributes = CategoryReason, []byte(attributes)
	return s
}

func tool(id, parent int, name string) spans.Span {
	s := span(id, parent, id, id+1)
	s.Category, s.Tool = CategoryTool, name
	return s
}

func TestSummarize_CountsTokensOfTheInnermostCalls(t *testing.T) {
	t.Parallel()
	total := span(1, 0, 0, 99) // an agent's own total, on a span that is no model call
	total.Attributes = []byte(`{"gen_ai.usage.input_tokens":5000,"gen_ai.usage.output_tokens":5000}`)
	s := Summarize([]spans.Span{
		total,
		call(2, 1, `{"gen_ai.usage.input_tokens":900,"gen_ai.usage.output_tokens":90,"gen_ai.request.model":"wrapper"}`),
		call(3, 2, `{"gen_ai.usage.input_tokens":400,"gen_ai.usage.output_tokens":40,"gen_ai.response.model":"m-1","gen_ai.request.model":"m"}`),
		call(4, 2, `{"gen_ai.usage.input_tokens":"500","gen_ai.usage.output_tokens":50.0,"gen_ai.request.model":"m-1"}`),
		call(5, 4, `{"gen_ai.request.model":7}`),
		call(6, 1, `{"gen_ai.usage.prompt_tokens":1,"gen_ai.usage.completion_tokens":2}`),
		call(7, 1, `{"gen_ai.usage.input_tokens":-3,"gen_ai.usage.output_tokens":true}`),
		call(8, 1, `not json`),
	}, Interval{})
	if s.InputTokens != 901 || s.OutputTokens != 92 {
		t.Errorf("%d in, %d out", s.InputTokens, s.OutputTokens)
	}
	if diff := cmp.Diff([]Count{{"m-1", 2}}, s.Models); diff != "" {
		t.Error(diff)
	}
}

func TestSummarize_CountsAWrappedToolOnce(t *testing.T) {
	t.Parallel()
	failed := tool(4, 0, "bash")
	failed.StatusCode = "error"
	s := Summarize([]spans.Span{tool(1, 0, "bash"), tool(2, 1, "bash"), tool(3, 2, "edit"), failed, tool(5, 0, "")}, Interval{})
	if diff := cmp.Diff([]Count{{"bash", 2}, {"edit", 1}}, s.Tools); diff != "" || s.Errors != 1 {
		t.Error(diff, s.Errors)
	}
}

func TestSummarize_IdleIsTimeWithoutWork(t *testing.T) {
	t.Parallel()
	agent := span(1, 0, 0, 1000)
	work := span(2, 1, 100, 300)
	work.Category = CategoryTool
	overlap := span(3, 2, 200, 400)
	before := span(4, 0, -500, -400)
	had := Interval{noon, noon.Add(time.Second)}
	s := Summarize([]spans.Span{agent, work, overlap, before}, had)
	if s.Wall != time.Second || s.Idle != 700*time.Millisecond || s.IdlePercent() != 70 {
		t.Fatalf("wall %v, idle %v, %d %%", s.Wall, s.Idle, s.IdlePercent())
	}
}

// An agent whose clock is another one, or that did its work before it claimed, was not idle: nobody knows.
func TestSummarize_SpansBeforeTheClaimAreNoIdleTime(t *testing.T) {
	t.Parallel()
	had := Interval{noon, noon.Add(time.Second)}
	s := Summarize([]spans.Span{span(1, 0, -5000, -4000), span(2, 1, -4900, -4500)}, had)
	if s.Before != 2 || s.IdleKnown() || s.IdlePercent() != 0 || s.Wall != time.Second {
		t.Errorf("%+v", s)
	}
	s = Summarize([]spans.Span{span(1, 0, -5000, -4000), span(2, 0, -100, 250)}, had)
	if s.Before != 1 || !s.IdleKnown() || s.IdlePercent() != 75 {
		t.Errorf("with one that reaches into it: %+v", s)
	}
	if s = Summarize(nil, had); !s.IdleKnown() || s.IdlePercent() != 100 {
		t.Errorf("without any: %+v", s)
	}
}

func TestSummarize_StaysInItsBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := anyTrace(t)
		from := noon.Add(time.Duration(rapid.IntRange(-200, 200).Draw(t, "from")) * time.Millisecond)
		s := Summarize(all, Interval{from, from.Add(time.Duration(rapid.IntRange(-9, 200).Draw(t, "had")) * time.Millisecond)})
		n := 0
		for _, c := range s.Categories {
			n += c.N
		}
		if n != len(all) || s.Idle < 0 || s.Idle > s.Wall || s.IdlePercent() < 0 || s.IdlePercent() > 100 {
			t.Fatalf("%d of %d spans by category, idle %v of %v", n, len(all), s.Idle, s.Wall)
		}
	})
}
