package trail

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/switchboard-otel/switchboard/app/spans"
)

// usage is what a model call says about itself.
type usage struct {
	present       bool // it carries a token count
	input, output int64
	model         string
}

// usageOf reads the token counts and the model from the kept attributes of a model call. Conventions before
// 1.27 called input and output prompt and completion.
func usageOf(s *spans.Span) usage {
	if s.Category != CategoryReason {
		return usage{}
	}
	var a struct {
		Input      *tokens `json:"gen_ai.usage.input_tokens"`
		Output     *tokens `json:"gen_ai.usage.output_tokens"`
		Prompt     *tokens `json:"gen_ai.usage.prompt_tokens"`
		Completion *tokens `json:"gen_ai.usage.completion_tokens"`
		Response   text    `json:"gen_ai.response.model"`
		Request    text    `json:"gen_ai.request.model"`
	}
	if json.Unmarshal(s.Attributes, &a) != nil {
		return usage{}
	}
	u := usage{model: string(cmp.Or(a.Response, a.Request))}
	in, out := cmp.Or(a.Input, a.Prompt), cmp.Or(a.Output, a.Completion)
	u.present = in != nil || out != nil
	if in != nil {
		u.input = int64(*in)
	}
	if out != nil {
		u.output = int64(*out)
	}
	return u
}

// ModelOf is the model that a model's call says it used; empty for every other span.
func ModelOf(s *spans.Span) string { return usageOf(s).model }

// tokens is a count as producers send it: a whole number, a double without a fraction, either as text.
// Anything else, and what could overflow the sum of an attempt, is 0.
type tokens int64

const mostTokens = 1 << 40

// UnmarshalJSON never fails: one odd attribute must not hide the others.
func (t *tokens) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	if err != nil || !(f >= 0 && f <= mostTokens) {
		return nil
	}
	*t = tokens(f)
	return nil
}

// text is an attribute that should be a string; of any other type it is empty.
type text string

// UnmarshalJSON never fails, as for tokens.
func (t *text) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*t = text(s)
	}
	return nil
}
