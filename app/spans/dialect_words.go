package spans

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// word is an attribute that a dialect reads or that is filled.
type word int

const (
	none word = iota

	// What the rules of category and allow-list read, and what a page shows.
	operation
	category
	tool
	toolCallID
	requestModel
	system
	provider
	httpMethod
	httpStatus
	dbSystem
	rpcSystem
	usageInput
	usageOutput
	usageCacheRead
	usageCacheWrite

	// Other versions of the conventions.
	oldHTTPMethod
	oldHTTPStatus
	newDBSystem
	newRPCSystem
	oldToolCallID

	// Claude Code, Codex, OpenCode.
	toolName
	toolUseID
	model
	spanType
	inputTokens
	outputTokens
	cacheReadTokens
	cacheCreationTokens
	callID
	codexToolPhase
	codexTotalTokens
	dottedToolName // OpenInference's as well
	dottedCallID

	// OpenInference, Traceloop, AI SDK, Spring AI, Genkit.
	openInferenceKind
	llmModel
	llmPromptTokens
	llmCompletionTokens
	llmCacheReadTokens
	traceloopKind
	traceloopEntity
	aiOperation
	aiTool
	aiToolCallID
	aiModel
	aiInputTokens
	aiOutputTokens
	aiPromptTokens
	aiCompletionTokens
	aiCachedTokens
	springKind
	springTool
	genkitSubtype
	genkitName

	numWords
)

var keys = [numWords]string{
	operation:       "gen_ai.operation.name",
	category:        "switchboard.category",
	tool:            "gen_ai.tool.name",
	toolCallID:      "gen_ai.tool.call.id",
	requestModel:    "gen_ai.request.model",
	system:          "gen_ai.system",
	provider:        "gen_ai.provider.name",
	httpMethod:      "http.request.method",
	httpStatus:      "http.response.status_code",
	dbSystem:        "db.system",
	rpcSystem:       "rpc.system",
	usageInput:      "gen_ai.usage.input_tokens",
	usageOutput:     "gen_ai.usage.output_tokens",
	usageCacheRead:  "gen_ai.usage.cache_read.input_tokens",
	usageCacheWrite: "gen_ai.usage.cache_write.input_tokens",

	oldHTTPMethod: "http.method",
	oldHTTPStatus: "http.status_code",
	newDBSystem:   "db.system.name",
	newRPCSystem:  "rpc.system.name",
	oldToolCallID: "gen_ai.tool.call_id",

	toolName:            "tool_name",
	toolUseID:           "tool_use_id",
	model:               "model",
	spanType:            "span.type",
	inputTokens:         "input_tokens",
	outputTokens:        "output_tokens",
	cacheReadTokens:     "cache_read_tokens",
	cacheCreationTokens: "cache_creation_tokens",
	callID:              "call_id",
	codexToolPhase:      "codex.tool.phase",
	codexTotalTokens:    "codex.usage.total_tokens",
	dottedToolName:      "tool.name",
	dottedCallID:        "tool.call_id",

	openInferenceKind:   "openinference.span.kind",
	llmModel:            "llm.model_name",
	llmPromptTokens:     "llm.token_count.prompt",
	llmCompletionTokens: "llm.token_count.completion",
	llmCacheReadTokens:  "llm.token_count.prompt_details.cache_read",
	traceloopKind:       "traceloop.span.kind",
	traceloopEntity:     "traceloop.entity.name",
	aiOperation:         "ai.operationId",
	aiTool:              "ai.toolCall.name",
	aiToolCallID:        "ai.toolCall.id",
	aiModel:             "ai.model.id",
	aiInputTokens:       "ai.usage.inputTokens",
	aiOutputTokens:      "ai.usage.outputTokens",
	aiPromptTokens:      "ai.usage.promptTokens",
	aiCompletionTokens:  "ai.usage.completionTokens",
	aiCachedTokens:      "ai.usage.cachedInputTokens",
	springKind:          "spring.ai.kind",
	springTool:          "spring.ai.tool.definition.name",
	genkitSubtype:       "genkit:metadata:subtype",
	genkitName:          "genkit:name",
}

var wordOfKey = func() lookup[word] {
	words := map[string]word{}
	for w := none + 1; w < numWords; w++ {
		words[keys[w]] = w
	}
	return newLookup(words)
}()

// wordOf is none for a key that no dialect knows.
func wordOf(key string) word {
	w, _ := wordOfKey.find(key)
	return w
}

// words are the attributes of one span that a dialect knows. Empty ones are absent, as everywhere.
type words struct {
	present  uint64 // a bit for each
	values   [numWords]pcommon.Value
	anyUsage bool // some gen_ai.usage.*, known or not
}

const _ = uint(64 - numWords) // they fit

// read forgets what it knew of another span.
func (w *words) read(attrs pcommon.Map) {
	w.present, w.anyUsage = 0, false
	for key, v := range attrs.All() {
		if at := wordOf(key); at != none && !w.has(at) && !isEmpty(v) {
			w.set(at, v)
		}
		w.anyUsage = w.anyUsage || strings.HasPrefix(key, usagePrefix) && !isEmpty(v)
	}
}

func isEmpty(v pcommon.Value) bool {
	return v.Type() == pcommon.ValueTypeEmpty || v.Type() == pcommon.ValueTypeStr && v.Str() == ""
}

func (w *words) has(at word) bool { return w.present&(1<<at) != 0 }

func (w *words) set(at word, v pcommon.Value) {
	w.present |= 1 << at
	w.values[at] = v
}

// text is a word's value, "" where it is absent or no string.
func (w *words) text(at word) string {
	if !w.has(at) {
		return ""
	}
	return w.values[at].Str()
}

// fill copies a value to another key, if that one is absent. A list or a map is no name and no count.
func (w *words) fill(attrs pcommon.Map, from, to word) {
	if !w.has(from) || w.has(to) || !isScalar(w.values[from]) {
		return
	}
	v := attrs.PutEmpty(keys[to])
	w.values[from].CopyTo(v)
	w.set(to, v)
}

func isScalar(v pcommon.Value) bool {
	switch v.Type() {
	case pcommon.ValueTypeStr, pcommon.ValueTypeInt, pcommon.ValueTypeDouble, pcommon.ValueTypeBool:
		return true
	}
	return false
}

// put writes a text, if the key is absent.
func (w *words) put(attrs pcommon.Map, at word, text string) {
	if w.has(at) {
		return
	}
	v := attrs.PutEmpty(keys[at])
	v.SetStr(text)
	w.set(at, v)
}
