package spans

import (
	"encoding/base64"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/switchboard-otel/switchboard/app/text"
)

// Fit makes v something that is stored in at most most bytes, and reports whether it cut anything off.
// Strings are cut, and bytes, which are stored as base64. An array or a map keeps its type, unless its compact
// JSON is longer than that or it is nested deeper than MaxNesting: then it becomes that text (decisions.md 23).
func Fit(v pcommon.Value, most int) (cut bool) {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		s, cut := text.Cut(text.Clean(v.Str()), most)
		setStr(v, s)
		return cut
	case pcommon.ValueTypeBytes:
		raw := v.Bytes().AsRaw()
		if base64.StdEncoding.EncodedLen(len(raw)) <= most {
			return false
		}
		v.Bytes().FromRaw(raw[:base64.StdEncoding.DecodedLen(most)])
		return true
	case pcommon.ValueTypeMap, pcommon.ValueTypeSlice:
		e := encoder{limit: most}
		e.value(v)
		if !e.full() && !nestsDeeper(v, MaxNesting) {
			return false
		}
		s, cut := text.Cut(string(e.buf), most)
		v.SetStr(s)
		return cut
	default:
		return false // a number is shorter than any cap
	}
}

func setStr(v pcommon.Value, s string) {
	if s != v.Str() {
		v.SetStr(s)
	}
}

// Text returns a value as text of at most most bytes, and whether it cut it: a string as it is, an absent
// value as "", bytes as base64, anything else as compact JSON.
func Text(v pcommon.Value, most int) (s string, cut bool) {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return text.Cut(text.Clean(v.Str()), most)
	case pcommon.ValueTypeEmpty:
		return "", false
	case pcommon.ValueTypeBytes:
		raw := v.Bytes().AsRaw()
		return text.Cut(base64.StdEncoding.EncodeToString(raw[:min(len(raw), most+1)]), most)
	default:
		e := encoder{limit: most}
		e.value(v)
		return text.Cut(string(e.buf), most)
	}
}
