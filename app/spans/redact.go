package spans

import (
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/switchboard-otel/switchboard/app/mask"
	"github.com/switchboard-otel/switchboard/app/text"
)

// Redact masks the credentials in s and then cuts it to most bytes (REQ-7, decisions.md 22). It looks at
// Margin bytes beyond the cap, so that a credential is masked although the cap halves it. Where s goes on
// behind that window, the window's own end is looked at and not returned: what it halves would not be
// recognised, and enough credentials before it could make room for it.
func Redact(s string, most int) (redacted string, cut bool) {
	const unreturned = Margin / 2
	s = text.Clean(s)
	window, _ := text.Cut(s, most+Margin)
	visible := window
	if len(window) > most+Margin-utf8.UTFMax {
		visible, _ = text.Cut(window, len(window)-unreturned)
	}
	redacted, cut = text.Cut(mask.Window(window, len(visible)), most)
	return redacted, cut || len(visible) < len(s)
}

// RedactValue masks the credentials in a value, nested strings and keys too, and then fits it to most bytes.
func RedactValue(v pcommon.Value, most int) (cut bool) {
	if v.Type() != pcommon.ValueTypeStr {
		// Before anything is walked, so that the walk is short whatever the value holds.
		cut = Fit(v, most+Margin)
	}
	if v.Type() == pcommon.ValueTypeStr {
		s, shortened := Redact(v.Str(), most)
		setStr(v, s)
		return cut || shortened
	}
	lost := redactNested(v)
	return Fit(v, most) || lost || cut
}

func redactNested(v pcommon.Value) (lost bool) {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		setStr(v, mask.String(v.Str()))
	case pcommon.ValueTypeBytes:
		raw := string(v.Bytes().AsRaw())
		if s := mask.String(raw); s != raw {
			v.Bytes().FromRaw([]byte(s))
		}
	case pcommon.ValueTypeSlice:
		for i := range v.Slice().Len() {
			lost = redactNested(v.Slice().At(i)) || lost
		}
	case pcommon.ValueTypeMap:
		lost = RedactKeys(v.Map())
		for _, child := range v.Map().All() {
			lost = redactNested(child) || lost
		}
	}
	return lost
}

// RedactKeys masks the credentials in a map's keys and makes them storable. It reports whether that made two
// keys one: the first keeps its value, the other is lost. Where a key changes, the time grows with the square
// of their number.
func RedactKeys(m pcommon.Map) (lost bool) {
	changes := false
	for key := range m.All() {
		changes = changes || redactKey(key) != key
	}
	if !changes {
		return false
	}
	redacted := pcommon.NewMap()
	redacted.EnsureCapacity(m.Len())
	for key, v := range m.All() {
		place, taken := redacted.GetOrPutEmpty(redactKey(key))
		if taken {
			lost = true
			continue
		}
		v.MoveTo(place)
	}
	redacted.MoveTo(m)
	return lost
}

func redactKey(key string) string {
	if _, ok := holdNoCredential.find(key); ok {
		return key
	}
	return mask.String(text.Clean(key))
}

// holdNoCredential are the keys that most spans have when they are masked.
var holdNoCredential = func() lookup[struct{}] {
	all := map[string]struct{}{ReservedTodo: {}, ReservedAttempt: {}, ReservedLearn: {}, ReservedCategory: {}, ReservedTool: {},
		keys[usageInput]: {}, keys[usageOutput]: {}}
	for _, meanings := range places {
		for _, m := range meanings {
			all[m.key] = struct{}{}
		}
	}
	return newLookup(all)
}()
