package maskingprocessor

import (
	"context"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/switchboard-otel/switchboard/app/mask"
	"github.com/switchboard-otel/switchboard/app/spans"
)

// process never drops a span, and passes an emptied batch on: the exporter has to commit it.
func process(_ context.Context, td ptrace.Traces) (ptrace.Traces, error) {
	for _, resource := range td.ResourceSpans().All() {
		cut := redactAttribute(resource.Resource().Attributes(), "service.name", spans.MaxServiceNameBytes)
		resource.SetSchemaUrl(mask.String(resource.SchemaUrl()))
		for _, scope := range resource.ScopeSpans().All() {
			redactScope(scope)
			for _, span := range scope.Spans().All() {
				redactSpan(span, cut)
			}
		}
	}
	return td, nil
}

// redactScope masks what no row has, but a backend behind forward receives.
func redactScope(scope ptrace.ScopeSpans) {
	scope.SetSchemaUrl(mask.String(scope.SchemaUrl()))
	scope.Scope().SetName(mask.String(scope.Scope().Name()))
	scope.Scope().SetVersion(mask.String(scope.Scope().Version()))
}

// redactSpan masks and cuts a span. cut says that something of it has been cut before.
func redactSpan(span ptrace.Span, cut bool) {
	name, nameCut := spans.Redact(span.Name(), spans.MaxNameBytes)
	span.SetName(name)
	message, messageCut := spans.Redact(span.Status().Message(), spans.MaxStatusMessageBytes)
	span.Status().SetMessage(message)
	cut = cut || nameCut || messageCut

	attrs := span.Attributes()
	spans.Trim(attrs, cut) // bounds the work that follows
	cut = spans.RedactKeys(attrs) || cut
	for key, v := range attrs.All() {
		if !strings.HasPrefix(key, spans.ReservedPrefix) {
			cut = spans.RedactValue(v, spans.ValueBytes(key)) || cut
		}
	}
	cut = redactAttribute(attrs, spans.ReservedCategory, spans.MaxCategoryBytes) || cut
	cut = redactAttribute(attrs, spans.ReservedTool, spans.MaxToolBytes) || cut
	spans.Seal(attrs, cut)
}

func redactAttribute(attrs pcommon.Map, key string, most int) (cut bool) {
	v, ok := attrs.Get(key)
	return ok && spans.RedactValue(v, most)
}
