package maskingprocessor

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor/processortest"
	"pgregory.net/rapid"

	"github.com/switchboard-otel/switchboard/app/mask"
	"github.com/switchboard-otel/switchboard/app/spans"
)

const token = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"

// through sends a batch through the processor and returns what comes out of it.
func through(t *testing.T, td ptrace.Traces) ptrace.Traces {
	t.Helper()
	sink := new(consumertest.TracesSink)
	factory := NewFactory()
	p, err := factory.CreateTraces(t.Context(), processortest.NewNopSettings(factory.Type()), &Config{}, sink)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.ConsumeTraces(context.Background(), td); err != nil {
		t.Fatal(err)
	}
	if len(sink.AllTraces()) != 1 {
		t.Fatalf("%d batches came out, want one", len(sink.AllTraces()))
	}
	return sink.AllTraces()[0]
}

func oneSpan() (ptrace.Traces, ptrace.Span) {
	td := ptrace.NewTraces()
	return td, td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
}

func marked(span ptrace.Span) bool {
	v, ok := span.Attributes().Get(spans.TruncatedKey)
	return ok && v.Bool()
}

func TestProcessor_REQ7_MasksEverythingThatIsKept(t *testing.T) {
	td, span := oneSpan()
	resource := td.ResourceSpans().At(0)
	resource.Resource().Attributes().PutStr("service.name", "worker "+token)
	resource.SetSchemaUrl("https://a:b@host")
	scope := resource.ScopeSpans().At(0)
	scope.SetSchemaUrl("https://a:b@host")
	scope.Scope().SetName("scope " + token)
	scope.Scope().SetVersion("version " + token)
	span.SetName("run " + token)
	span.Status().SetMessage("failed: Bearer " + token)
	attrs := span.Attributes()
	attrs.PutStr("gen_ai.tool.call.arguments", `{"env":{"TOKEN":"`+token+`"}}`)
	attrs.PutEmptySlice("process.command_args").AppendEmpty().SetStr("--token=" + token)
	attrs.PutEmptyMap("switchboard.nested").PutEmptyMap("k "+token).PutStr("k", "https://user:"+token+"@host")
	attrs.PutStr("switchboard."+token, "v")
	attrs.PutInt("gen_ai.usage.input_tokens", 12)
	attrs.PutStr(spans.ReservedCategory, "category "+token)
	attrs.PutStr(spans.ReservedTool, "tool "+token)
	attrs.PutStr(spans.ReservedTodo, "td_01h455vb4pex5vsknk084sn02q")

	out := through(t, td)
	want := map[string]any{
		"gen_ai.tool.call.arguments": `{"env":{"TOKEN":"[REDACTED]"}}`,
		"process.command_args":       []any{"--token=[REDACTED]"},
		"switchboard.nested":         map[string]any{"k [REDACTED]": map[string]any{"k": "https://[REDACTED]@host"}},
		"switchboard.[REDACTED]":     "v",
		"gen_ai.usage.input_tokens":  int64(12),
		spans.ReservedCategory:       "category [REDACTED]",
		spans.ReservedTool:           "tool [REDACTED]",
		spans.ReservedTodo:           "td_01h455vb4pex5vsknk084sn02q",
	}
	if diff := cmp.Diff(want, span.Attributes().AsRaw()); diff != "" {
		t.Error(diff)
	}
	if span.Name() != "run [REDACTED]" || span.Status().Message() != "failed: [REDACTED]" {
		t.Errorf("name %q, status message %q", span.Name(), span.Status().Message())
	}
	wire, err := (&ptrace.JSONMarshaler{}).MarshalTraces(out)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(wire), token) || strings.Contains(string(wire), "a:b@") {
		t.Errorf("a credential is left in %s", wire)
	}
}

func TestProcessor_CutsToTheFinalSizeAndMarksTheSpan(t *testing.T) {
	long := strings.Repeat("é", 600)
	for name, c := range map[string]struct {
		change func(td ptrace.Traces, span ptrace.Span)
		get    func(td ptrace.Traces, span ptrace.Span) string
		want   int
	}{
		"name": {
			func(_ ptrace.Traces, s ptrace.Span) { s.SetName(long) },
			func(_ ptrace.Traces, s ptrace.Span) string { return s.Name() }, 256,
		},
		"status message": {
			func(_ ptrace.Traces, s ptrace.Span) { s.Status().SetMessage(long) },
			func(_ ptrace.Traces, s ptrace.Span) string { return s.Status().Message() }, 512,
		},
		"service name": {
			func(td ptrace.Traces, _ ptrace.Span) { putResource(td, "service.name", long) },
			func(td ptrace.Traces, _ ptrace.Span) string {
				v, _ := td.ResourceSpans().At(0).Resource().Attributes().Get("service.name")
				return v.Str()
			}, 128,
		},
		"category":   attribute(spans.ReservedCategory, long, 64),
		"tool":       attribute(spans.ReservedTool, long, 128),
		"value":      attribute("switchboard.x", long, 1024),
		"tool input": attribute("gen_ai.input.messages", strings.Repeat(long, 4), 4096),
	} {
		td, span := oneSpan()
		c.change(td, span)
		out := through(t, td)
		if got := c.get(out, span); len(got) != c.want || !strings.HasPrefix(long+long+long+long, got) {
			t.Errorf("%s: %d bytes left, want %d", name, len(got), c.want)
		}
		if !marked(span) {
			t.Errorf("%s: the span is not marked", name)
		}
	}
}

type stringCase = struct {
	change func(td ptrace.Traces, span ptrace.Span)
	get    func(td ptrace.Traces, span ptrace.Span) string
	want   int
}

func attribute(key, value string, want int) stringCase {
	return stringCase{
		func(_ ptrace.Traces, s ptrace.Span) { s.Attributes().PutStr(key, value) },
		func(_ ptrace.Traces, s ptrace.Span) string {
			v, _ := s.Attributes().Get(key)
			return v.Str()
		}, want,
	}
}

func putResource(td ptrace.Traces, key, value string) {
	td.ResourceSpans().At(0).Resource().Attributes().PutStr(key, value)
}

func TestProcessor_MaskingAloneMarksNothing(t *testing.T) {
	td, span := oneSpan()
	span.SetName("run " + token)
	span.Attributes().PutStr("switchboard.x", strings.Repeat(" ", 1000)+token)
	through(t, td)
	if marked(span) {
		t.Error("marked, but nothing was cut once the credential was masked")
	}
}

func TestProcessor_KeepsTheMarkOfTheStageBefore(t *testing.T) {
	td, span := oneSpan()
	span.Attributes().PutBool(spans.TruncatedKey, true)
	through(t, td)
	if !marked(span) {
		t.Error("the mark is gone")
	}
}

func TestProcessor_PassesAnEmptyBatchOn(t *testing.T) {
	if got := through(t, ptrace.NewTraces()).SpanCount(); got != 0 {
		t.Errorf("%d spans", got)
	}
}

// Whatever comes in, what goes out fits the limits and holds no credential.
func TestProcessor_WhatComesOutCanBeStored(t *testing.T) {
	fragments := rapid.SampledFrom([]string{
		token, "Bearer abcdef123456", "sk-", "-----BEGIN PRIVATE KEY-----", "://u:p@h", " ", "\n", "\x00", "\xff", `"`, "é",
		strings.Repeat("x", 300), strings.Repeat("\\", 500),
	})
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(fragments, 0, 30).Draw(t, "text"), "")
	})
	rapid.Check(t, func(rt *rapid.T) {
		td, span := oneSpan()
		span.SetName(text.Draw(rt, "name"))
		span.Status().SetMessage(text.Draw(rt, "message"))
		for i := range rapid.IntRange(0, 50).Draw(rt, "attributes") {
			switch i % 3 {
			case 0:
				span.Attributes().PutStr(fmt.Sprint("switchboard.", i, text.Draw(rt, "key")), text.Draw(rt, "value"))
			case 1:
				span.Attributes().PutEmptySlice(fmt.Sprint("gen_ai.usage.", i)).AppendEmpty().SetStr(text.Draw(rt, "element"))
			case 2:
				span.Attributes().PutStr("gen_ai.input.messages", text.Draw(rt, "messages"))
			}
		}
		through(t, td)
		if len(span.Name()) > 256 || len(span.Status().Message()) > 512 || span.Attributes().Len() > 32 {
			rt.Fatalf("name of %d, message of %d bytes, %d attributes", len(span.Name()), len(span.Status().Message()), span.Attributes().Len())
		}
		for key, v := range span.Attributes().All() {
			if s, _ := spans.Text(v, 1<<20); len(s) > spans.ValueBytes(key) {
				rt.Fatalf("%q has %d bytes", key, len(s))
			}
		}
		doc := string(spans.EncodeAttributes(span.Attributes()))
		if len(doc) > spans.MaxAttributesBytes {
			rt.Fatalf("%d bytes of attributes", len(doc))
		}
		for _, s := range []string{span.Name(), span.Status().Message(), doc} {
			if mask.String(s) != s {
				rt.Fatalf("a credential is left in %q", s)
			}
		}
	})
}
