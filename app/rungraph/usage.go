package rungraph

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/spans"
)

// inferences are the operations that are one request to a model; agents, workflows and turns repeat what theirs add up
// to. The last one is what Gemini CLI calls it.
var inferences = []string{"chat", "text_completion", "generate_content", "llm_call"}

// inference is one request to a model as its span tells it; what the span does not say is nil or empty.
type inference struct {
	model, provider           string
	input, output             *int64 // input with what caches served and took, output with reasoning
	cached, created, thinking *int64
	bySeq                     bool // the span named its attempt
}

// inferenceOf reads a span; ok is false for one that is no inference. Names before OpenTelemetry's 1.27 count too.
func inferenceOf(s *spans.Span) (call inference, ok bool) {
	var a struct {
		Operation      label `json:"gen_ai.operation.name"`
		Response       label `json:"gen_ai.response.model"`
		Request        label `json:"gen_ai.request.model"`
		Provider       label `json:"gen_ai.provider.name"`
		System         label `json:"gen_ai.system"`
		Input          count `json:"gen_ai.usage.input_tokens"`
		Prompt         count `json:"gen_ai.usage.prompt_tokens"`
		Output         count `json:"gen_ai.usage.output_tokens"`
		Completion     count `json:"gen_ai.usage.completion_tokens"`
		CacheRead      count `json:"gen_ai.usage.cache_read.input_tokens"`
		CacheWrite     count `json:"gen_ai.usage.cache_write.input_tokens"`
		CacheCreation  count `json:"gen_ai.usage.cache_creation.input_tokens"`
		Reasoning      count `json:"gen_ai.usage.reasoning.output_tokens"`
		ReasoningShort count `json:"gen_ai.usage.reasoning_tokens"`
		Attempt        count `json:"switchboard.attempt.seq"`
	}
	if json.Unmarshal(s.Attributes, &a) != nil || !slices.Contains(inferences, string(a.Operation)) {
		return inference{}, false
	}
	return inference{
		model:    string(cmp.Or(a.Response, a.Request)),
		provider: string(cmp.Or(a.Provider, a.System)),
		input:    cmp.Or(a.Input.n, a.Prompt.n),
		output:   cmp.Or(a.Output.n, a.Completion.n),
		cached:   a.CacheRead.n,
		created:  cmp.Or(a.CacheWrite.n, a.CacheCreation.n),
		thinking: cmp.Or(a.Reasoning.n, a.ReasoningShort.n),
		bySeq:    a.Attempt.n != nil && *a.Attempt.n == int64(s.AttemptSeq),
	}, true
}

// label is an attribute that should be a string; of any other type it is empty. One odd attribute does not hide the
// others.
type label string

// UnmarshalJSON never fails.
func (l *label) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*l = label(s)
	}
	return nil
}

// count is a whole number as producers send it, as a number or as text. Anything else, and what no attempt can have used,
// is not known.
type count struct{ n *int64 }

const mostTokens = 1 << 40

// UnmarshalJSON never fails.
func (c *count) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	if n := int64(f); err == nil && f >= 0 && f <= mostTokens && f == float64(n) {
		c.n = &n
	}
	return nil
}

// usage is what the inferences of one attempt came to.
type usage struct {
	calls    []inference
	measured bool // each is this attempt's without a guess
}

// usageOf finds an attempt's inferences: the innermost ones, because a span that wraps others repeats their counts.
func usageOf(a *queue.Attempt, all []spans.Span) usage {
	calls := map[spans.Key]inference{}
	parents := make(map[spans.Key]spans.Key, len(all))
	for i := range all {
		s := &all[i]
		if s.AttemptSeq != a.Seq {
			continue
		}
		if s.ParentSpanID != ([8]byte{}) && s.ParentSpanID != s.SpanID {
			parents[s.Key()] = spans.Key{TraceID: s.TraceID, SpanID: s.ParentSpanID}
		}
		if call, ok := inferenceOf(s); ok {
			calls[s.Key()] = call
		}
	}
	wraps := map[spans.Key]bool{}
	for key := range calls {
		for at, ok := parents[key]; ok && !wraps[at]; at, ok = parents[at] {
			wraps[at] = true
		}
	}
	u := usage{measured: true}
	for i := range all {
		key := all[i].Key()
		call, ok := calls[key]
		if !ok || wraps[key] || all[i].AttemptSeq != a.Seq {
			continue
		}
		u.calls = append(u.calls, call)
		minted := hex.EncodeToString(key.TraceID[:]) == a.TraceID
		u.measured = u.measured && (minted || call.bySeq)
	}
	return u
}

// model is the one that every inference used, nil when there were several or one does not say.
func (u usage) model() *Model {
	if len(u.calls) == 0 {
		return nil
	}
	first := u.calls[0]
	for _, c := range u.calls {
		if c.model != first.model || c.provider != first.provider {
			return nil
		}
	}
	// The name is kept exactly or not at all.
	if first.model == "" || utf8.RuneCountInString(first.model) > 200 {
		return nil
	}
	m := &Model{Raw: first.model, Tier: "verified"}
	if utf8.RuneCountInString(first.provider) <= 100 {
		m.Provider = first.provider
	}
	return m
}

// cost sums up. Without an inference there is none.
func (u usage) cost() *Cost {
	if len(u.calls) == 0 {
		return nil
	}
	c := summed(u.calls)
	c.Basis = "allocated"
	if u.measured {
		c.Basis = "measured"
	}
	if thinking := total(u.calls, func(c inference) *int64 { return c.thinking }); thinking != nil {
		c.Ext = map[string]any{"dev.switchboard.reasoning_tokens": *thinking}
	}
	return c
}

func summed(calls []inference) *Cost {
	return &Cost{
		InputTokens:         total(calls, inference.uncached),
		CachedInputTokens:   total(calls, func(c inference) *int64 { return c.cached }),
		CacheCreationTokens: total(calls, func(c inference) *int64 { return c.created }),
		OutputTokens:        total(calls, func(c inference) *int64 { return c.output }),
		Requests:            len(calls),
	}
}

// uncached is the input that no cache served or took. OpenTelemetry counts all input together; a producer that counts
// otherwise shows by a difference below zero, and then it is not known.
func (c inference) uncached() *int64 {
	if c.input == nil {
		return nil
	}
	n := *c.input
	for _, part := range []*int64{c.cached, c.created} {
		if part != nil {
			n -= *part
		}
	}
	if n < 0 {
		return nil
	}
	return &n
}

// total is nil when one of the counts is, or when readers would round it.
func total(calls []inference, of func(inference) *int64) *int64 {
	var sum int64
	for _, c := range calls {
		n := of(c)
		if n == nil || sum+*n > maxExact {
			return nil
		}
		sum += *n
	}
	return &sum
}

// modelUse is one line of the breakdown that stands in for a model where there were several.
type modelUse struct {
	Raw      string `json:"raw,omitempty"` // absent: the span does not say
	Provider string `json:"provider,omitempty"`
	*Cost
}

// breakdown is the usage by model, in the order of their first use.
func (u usage) breakdown() []modelUse {
	type name struct{ model, provider string }
	var order []name
	byName := map[name][]inference{}
	for _, c := range u.calls {
		n := name{c.model, c.provider}
		if byName[n] == nil {
			order = append(order, n)
		}
		byName[n] = append(byName[n], c)
	}
	lines := make([]modelUse, len(order))
	for i, n := range order {
		lines[i] = modelUse{n.model, n.provider, summed(byName[n])}
	}
	return lines
}
