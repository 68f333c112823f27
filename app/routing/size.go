package routing

import (
	"encoding/json"
	"math/big"

	"github.com/itchyny/gojq"
)

// size is how many steps it takes to look at all of a value: one for each part, and some for long text. It
// counts to limit and no further.
func size(value any, limit int) int {
	n := 1
	switch v := value.(type) {
	case string:
		n += len(v) / 64
	case []any:
		for _, part := range v {
			if n > limit {
				break
			}
			n += size(part, limit-n)
		}
	case map[string]any:
		for key, part := range v {
			if n > limit {
				break
			}
			n += 1 + len(key)/64 + size(part, limit-n)
		}
	}
	return n
}

// textSize is about how many bytes a value has as JSON, counted to limit and no further.
func textSize(value any, limit int) int {
	n := 2
	switch v := value.(type) {
	case string:
		n += len(v)
	case json.Number:
		n += len(v)
	case []any:
		for _, part := range v {
			if n > limit {
				break
			}
			n += 1 + textSize(part, limit-n)
		}
	case map[string]any:
		for key, part := range v {
			if n > limit {
				break
			}
			n += 4 + len(key) + textSize(part, limit-n)
		}
	default:
		n += bits(v) / 3
	}
	return n
}

// copied is how many bytes a copy of the outermost level of a value takes.
func copied(value any) int {
	switch v := value.(type) {
	case string:
		return len(v)
	case []any:
		return 16 * len(v)
	case map[string]any:
		return 64 * len(v)
	}
	return 16
}

// copiedParts is copied of the elements of an array or the values of an object.
func copiedParts(value any, limit int) int {
	n := 0
	switch v := value.(type) {
	case []any:
		for _, part := range v {
			n = min(n+copied(part), limit+1)
		}
	case map[string]any:
		for _, part := range v {
			n = min(n+copied(part), limit+1)
		}
	}
	return n
}

// length is how many elements or members a value has.
func length(value any) int {
	switch v := value.(type) {
	case []any:
		return len(v)
	case map[string]any:
		return len(v)
	}
	return 0
}

func textLength(value any) int {
	s, _ := value.(string)
	return len(s)
}

func isNumber(value any) bool {
	return gojq.TypeOf(value) == "number"
}

// bits is about how large a number is; what fits a machine word is 64.
func bits(value any) int {
	switch n := value.(type) {
	case *big.Int:
		return n.BitLen()
	case json.Number:
		return max(64, 4*len(n))
	}
	return 64
}

// addable reports whether "+" has a meaning for two values.
func addable(a, b any) bool {
	if a == nil || b == nil {
		return true
	}
	kind := gojq.TypeOf(a)
	return kind == gojq.TypeOf(b) && kind != "boolean"
}
