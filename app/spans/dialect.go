package spans

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Standardize gives spans the attributes of the semantic conventions that their producers spell in ways of their own:
// most agents name neither tool nor model as Classify and the allow-list read them (REQ-5, REQ-6, decisions.md 21). It
// fills what is absent and changes nothing that is there. What it copies are names, ids and counts, never content. It
// goes by what is on a span, not by the version of whoever sent it.
func Standardize(td ptrace.Traces) {
	var w words // one for all spans: it is large and would be allocated for each
	var nameless []ptrace.Span
	for _, resource := range td.ResourceSpans().All() {
		for _, scope := range resource.ScopeSpans().All() {
			for _, span := range scope.Spans().All() {
				if modelAbove := w.standardize(span.Name(), span.Attributes()); modelAbove {
					nameless = append(nameless, span)
				}
			}
		}
	}
	if len(nameless) > 0 {
		nameModels(td, nameless)
	}
}

func (w *words) standardize(name string, attrs pcommon.Map) (modelAbove bool) {
	w.read(attrs)
	for _, s := range synonyms {
		w.fill(attrs, s.from, s.to)
	}
	for i := range idioms {
		if idioms[i].says(name, w) {
			return idioms[i].fill(attrs, w)
		}
	}
	w.nameTool(name, attrs)
	return false
}

// synonyms are other versions of the conventions, wherever they stand.
var synonyms = [...]pair{
	{system, provider},
	{provider, system},
	{oldHTTPMethod, httpMethod},
	{oldHTTPStatus, httpStatus},
	{newDBSystem, dbSystem},
	{newRPCSystem, rpcSystem},
	{oldToolCallID, toolCallID},
}

// maxClimb bounds the way up from a call, circles included. Real agents nest some twenty levels.
const maxClimb = 64

// nameModels fills the model of calls of which a span above says it, as far as the same request holds that span.
func nameModels(td ptrace.Traces, nameless []ptrace.Span) {
	byKey := make(map[Key]ptrace.Span, td.SpanCount())
	for _, resource := range td.ResourceSpans().All() {
		for _, scope := range resource.ScopeSpans().All() {
			for _, span := range scope.Spans().All() {
				byKey[keyOf(span)] = span
			}
		}
	}
	for _, span := range nameless {
		if name := modelAbove(byKey, span); name != "" {
			span.Attributes().PutStr(keys[requestModel], name)
		}
	}
}

func modelAbove(byKey map[Key]ptrace.Span, span ptrace.Span) string {
	for range maxClimb {
		above, ok := byKey[parentOf(span)]
		if !ok {
			return ""
		}
		if name, ok := above.Attributes().Get(keys[model]); ok && name.Type() == pcommon.ValueTypeStr && name.Str() != "" {
			return name.Str()
		}
		span = above
	}
	return ""
}
