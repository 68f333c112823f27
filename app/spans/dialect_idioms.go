package spans

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// idiom is one producer's way to say that a span is a tool's execution or a model's call, and how it spells what
// belongs to one.
type idiom struct {
	says   func(name string, w *words) bool
	is     call
	names  []pair // tool, model, id of the call
	counts []pair // filled only where the span has no gen_ai.usage.* at all, see addCounts

	defers         bool // a span that names an operation speaks the conventions and gains nothing
	keepsOperation bool // what it calls the operation stays; switchboard.category tells what that is
	modelAbove     bool // not the span itself but one above it names the model
}

type pair struct{ from, to word }

// call is what an idiom says a span is: the operation that it gains, or the category where its own operation stays.
type call struct{ operation, category string }

var (
	toolCall  = call{operation: "execute_tool", category: "tool"}
	modelCall = call{operation: "chat", category: "reason"}
)

// idioms are tried in this order, and the first that recognises a span decides.
var idioms = [...]idiom{
	{ // Claude Code before it spoke the conventions
		says:   func(name string, w *words) bool { return name == "claude_code.tool" && w.has(toolName) },
		is:     toolCall,
		names:  []pair{{toolName, tool}, {toolUseID, toolCallID}},
		defers: true,
	},
	{ // Claude Code, likewise
		says:   func(_ string, w *words) bool { return w.text(spanType) == "llm_request" },
		is:     modelCall,
		defers: true,
		names:  []pair{{model, requestModel}},
		counts: []pair{
			{inputTokens, usageInput}, {outputTokens, usageOutput},
			{cacheReadTokens, usageCacheRead}, {cacheCreationTokens, usageCacheWrite},
		},
	},
	{ // Gemini CLI
		says:           func(_ string, w *words) bool { return w.text(operation) == "tool_call" },
		is:             toolCall,
		keepsOperation: true,
	},
	{ // Gemini CLI
		says:           func(_ string, w *words) bool { return w.text(operation) == "llm_call" },
		is:             modelCall,
		keepsOperation: true,
	},
	{ // Codex; one of its spans watches a call of a tool and says the same as the call
		says: func(name string, w *words) bool {
			return w.has(toolName) && (w.has(callID) || w.has(codexToolPhase)) && name != "guardian_scoring_observation"
		},
		is:    toolCall,
		names: []pair{{toolName, tool}, {callID, toolCallID}},
	},
	{ // Codex, at the end of a response, which is where it counts
		says:       func(_ string, w *words) bool { return w.has(codexTotalTokens) && w.anyUsage },
		is:         modelCall,
		modelAbove: true,
	},
	{ // OpenCode
		says:  func(name string, w *words) bool { return name == "Tool.execute" && w.has(dottedToolName) },
		is:    toolCall,
		names: []pair{{dottedToolName, tool}, {dottedCallID, toolCallID}},
	},
	{ // OpenInference
		says:  func(_ string, w *words) bool { return w.text(openInferenceKind) == "TOOL" },
		is:    toolCall,
		names: []pair{{dottedToolName, tool}},
	},
	{ // OpenInference
		says:  func(_ string, w *words) bool { return w.text(openInferenceKind) == "LLM" },
		is:    modelCall,
		names: []pair{{llmModel, requestModel}},
		counts: []pair{
			{llmPromptTokens, usageInput}, {llmCompletionTokens, usageOutput}, {llmCacheReadTokens, usageCacheRead},
		},
	},
	{ // Traceloop
		says:  func(_ string, w *words) bool { return w.text(traceloopKind) == "tool" },
		is:    toolCall,
		names: []pair{{traceloopEntity, tool}},
	},
	{ // AI SDK
		says:  func(_ string, w *words) bool { return w.text(aiOperation) == "ai.toolCall" },
		is:    toolCall,
		names: []pair{{aiTool, tool}, {aiToolCallID, toolCallID}},
	},
	{ // AI SDK; the span around its steps repeats their counts and is none of them
		says:  func(_ string, w *words) bool { return isStepOfAISDK(w.text(aiOperation)) },
		is:    modelCall,
		names: []pair{{aiModel, requestModel}},
		counts: []pair{
			{aiInputTokens, usageInput}, {aiOutputTokens, usageOutput}, {aiCachedTokens, usageCacheRead},
			{aiPromptTokens, usageInput}, {aiCompletionTokens, usageOutput}, // before its version 5
		},
	},
	{ // Spring AI, which calls every operation "framework"
		says:  func(_ string, w *words) bool { return w.text(springKind) == "tool_call" },
		is:    toolCall,
		names: []pair{{springTool, tool}},
	},
	{ // Genkit
		says:  func(_ string, w *words) bool { return w.text(genkitSubtype) == "tool" },
		is:    toolCall,
		names: []pair{{genkitName, tool}},
	},
	{ // Genkit
		says:  func(_ string, w *words) bool { return w.text(genkitSubtype) == "model" },
		is:    modelCall,
		names: []pair{{genkitName, requestModel}},
	},
	{ // Google ADK
		says: func(name string, w *words) bool { return name == "call_llm" && w.has(requestModel) },
		is:   modelCall,
	},
}

func isStepOfAISDK(operation string) bool {
	rest, ok := strings.CutPrefix(operation, "ai.")
	return ok && (strings.HasSuffix(rest, ".doGenerate") || strings.HasSuffix(rest, ".doStream"))
}

// fill adds what the idiom means. It reports whether the span's model is left to be found above it.
func (i *idiom) fill(attrs pcommon.Map, w *words) (modelAbove bool) {
	switch {
	case i.defers && w.has(operation):
		return false
	case i.keepsOperation:
		w.put(attrs, category, i.is.category)
	case i.contradicts(attrs, w):
		return false
	default:
		w.put(attrs, operation, i.is.operation)
	}
	for _, n := range i.names {
		w.fill(attrs, n.from, n.to)
	}
	w.addCounts(attrs, i.counts)
	return i.modelAbove && !w.has(requestModel)
}

// contradicts reports whether the span itself names an operation under which what the idiom adds would be wrong: a
// model and its tokens on a span that calls none, a tool on a model's call.
func (i *idiom) contradicts(attrs pcommon.Map, w *words) bool {
	if !w.has(operation) {
		return false
	}
	callsModel := derive(attrs, "", ptrace.SpanKindUnspecified) == modelCall.category
	return callsModel != (i.is == modelCall)
}

// addCounts fills token counts, unless the span has any: a producer that sends two kinds means different things by
// them, such as input tokens with and without those of a cache.
func (w *words) addCounts(attrs pcommon.Map, counts []pair) {
	if w.anyUsage {
		return
	}
	for _, c := range counts {
		w.fill(attrs, c.from, c.to)
	}
}

const toolSpan = "execute_tool "

// nameTool takes a tool's name from a span's name of the conventions' form, where no attribute has it (Google ADK of
// old, Traceloop with LangChain).
func (w *words) nameTool(name string, attrs pcommon.Map) {
	rest, ok := strings.CutPrefix(name, toolSpan)
	if !ok || w.has(tool) || w.has(operation) && w.text(operation) != toolCall.operation {
		return
	}
	if rest = strings.TrimSpace(rest); rest != "" {
		w.put(attrs, operation, toolCall.operation)
		w.put(attrs, tool, rest)
	}
}
