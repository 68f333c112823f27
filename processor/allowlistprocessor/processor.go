package allowlistprocessor

import (
	"context"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/switchboard-otel/switchboard/app/spans"
	"github.com/switchboard-otel/switchboard/app/text"
)

const serviceNameKey = "service.name"

type allowlistProcessor struct {
	keep spans.AllowList
}

// process never drops a span, and passes an emptied batch on: the exporter has to commit it.
func (p *allowlistProcessor) process(_ context.Context, td ptrace.Traces) (ptrace.Traces, error) {
	for _, resource := range td.ResourceSpans().All() {
		attrs := resource.Resource().Attributes()
		service, cut := serviceName(attrs)
		for _, scope := range resource.ScopeSpans().All() {
			for _, span := range scope.Spans().All() {
				p.keepOf(span, attrs, cut)
			}
			pcommon.NewMap().MoveTo(scope.Scope().Attributes())
		}
		kept := pcommon.NewResource()
		if service != "" {
			kept.Attributes().PutStr(serviceNameKey, service)
		}
		kept.MoveTo(resource.Resource())
	}
	return td, nil
}

func serviceName(resource pcommon.Map) (name string, cut bool) {
	if v, ok := resource.Get(serviceNameKey); ok {
		return spans.Text(v, spans.MaxServiceNameBytes+spans.Margin)
	}
	return "", false
}

// keepOf leaves of a span what may be stored. cut says that something of it has been cut before.
func (p *allowlistProcessor) keepOf(span ptrace.Span, resource pcommon.Map, cut bool) {
	attrs := span.Attributes()
	category, tool, shortened := spans.Classify(attrs, span.Kind())
	cut = cut || shortened
	cut = p.keepAttributes(attrs) || cut
	cut = copyBindingKeys(resource, attrs) || cut
	cut = cutFields(span) || cut
	spans.Trim(attrs, cut)
	attrs.PutStr(spans.ReservedCategory, category)
	if tool != "" {
		attrs.PutStr(spans.ReservedTool, tool)
	}

	span.Events().RemoveIf(func(ptrace.SpanEvent) bool { return true })
	span.Links().RemoveIf(func(ptrace.SpanLink) bool { return true })
	span.TraceState().FromRaw("")
}

// keepAttributes drops what is not kept, and of a key that comes twice all but the first. It reports whether it
// cut what is.
func (p *allowlistProcessor) keepAttributes(attrs pcommon.Map) (cut bool) {
	var seen keySet
	attrs.RemoveIf(func(key string, v pcommon.Value) bool {
		switch {
		case key == spans.ReservedCategory, key == spans.ReservedTool, key == spans.TruncatedKey:
			return true // written by this pipeline alone
		case strings.HasPrefix(key, spans.ReservedPrefix):
			return false
		case !p.keep.Keeps(key) || !seen.add(key):
			return true
		case len(key) > spans.MaxAttributesBytes: // will never fit
			cut = true
			return true
		}
		cut = spans.Fit(v, spans.ValueBytes(key)+spans.Margin) || cut
		return false
	})
	return cut
}

// copyBindingKeys gives a span the attributes that bound it, where only its resource has them: they are shown
// as data and decide nothing any more (decisions.md 27). Empty is absent here as it is for the binding.
func copyBindingKeys(resource, attrs pcommon.Map) (cut bool) {
	for _, key := range [...]string{"switchboard.todo.id", "switchboard.attempt.seq"} {
		from, ok := resource.Get(key)
		if !ok || isEmpty(from) {
			continue
		}
		if own, ok := attrs.Get(key); ok && !isEmpty(own) {
			continue
		}
		v := attrs.PutEmpty(key)
		from.CopyTo(v)
		cut = spans.Fit(v, spans.ValueBytes(key)+spans.Margin) || cut
	}
	return cut
}

func isEmpty(v pcommon.Value) bool {
	return v.Type() == pcommon.ValueTypeEmpty || v.Type() == pcommon.ValueTypeStr && v.Str() == ""
}

func cutFields(span ptrace.Span) bool {
	name, nameCut := text.Cut(text.Clean(span.Name()), spans.MaxNameBytes+spans.Margin)
	span.SetName(name)
	message, messageCut := text.Cut(text.Clean(span.Status().Message()), spans.MaxStatusMessageBytes+spans.Margin)
	span.Status().SetMessage(message)
	return nameCut || messageCut
}
