package spans

import "strings"

// AllowList says which attributes of a span are kept (REQ-6). The zero value keeps the spec's list.
type AllowList struct {
	toolIO     bool
	additional map[string]struct{}
}

// NewAllowList keeps the spec's list, the tool input and output group if toolIO says so, and the operator's
// additional keys.
func NewAllowList(toolIO bool, additional []string) AllowList {
	a := AllowList{toolIO: toolIO, additional: make(map[string]struct{}, len(additional))}
	for _, key := range additional {
		a.additional[key] = struct{}{}
	}
	return a
}

// Keeps reports whether an attribute is kept.
func (a AllowList) Keeps(key string) bool {
	switch rankOf(key) {
	case rankAdditional:
		_, ok := a.additional[key]
		return ok
	case rankToolIO:
		return a.toolIO
	default:
		return true
	}
}

// IsToolIO reports whether a key belongs to the tool input and output group, which is kept only where the
// operator has said so with keep_tool_io (REQ-6).
func IsToolIO(key string) bool { return rankOf(key) == rankToolIO }

// ValueBytes is the cap of an attribute's value.
func ValueBytes(key string) int {
	if IsToolIO(key) {
		return MaxToolIOBytes
	}
	return MaxValueBytes
}

// rank orders what is kept when a span brings more than fits: the spec's list, tool input and output,
// additional keys, switchboard.* (decisions.md 24).
type rank int

const (
	rankSpec rank = iota
	rankToolIO
	rankAdditional
	rankSwitchboard
)

const usagePrefix, switchboardPrefix = "gen_ai.usage.", "switchboard."

// places has the exact keys, and the one prefix among them, in the order of REQ-6.
var places = func() lookup[place] {
	spec := []string{
		"gen_ai.system", "gen_ai.request.model", "gen_ai.response.model", usagePrefix,
		"gen_ai.operation.name", "gen_ai.tool.call.id", "code.function.name", "code.file.path",
		"process.exit.code", "error.type", "http.response.status_code",
	}
	toolIO := []string{
		"gen_ai.tool.call.arguments", "gen_ai.tool.call.result", "gen_ai.input.messages", "gen_ai.output.messages",
		"process.command_args",
	}
	m := map[string]place{}
	for i, key := range spec {
		m[key] = place{rankSpec, i}
	}
	for i, key := range toolIO {
		m[key] = place{rankToolIO, i}
	}
	return newLookup(m)
}()

var usagePlace, _ = places.find(usagePrefix)

type place struct {
	rank  rank
	index int // within the rank; keys of one place are in alphabetical order
}

func placeOf(key string) place {
	switch {
	case strings.HasPrefix(key, switchboardPrefix):
		return place{rank: rankSwitchboard}
	case strings.HasPrefix(key, usagePrefix):
		return usagePlace
	}
	if p, ok := places.find(key); ok {
		return p
	}
	return place{rank: rankAdditional}
}

func rankOf(key string) rank { return placeOf(key).rank }
