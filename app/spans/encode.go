package spans

import (
	"encoding/base64"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/switchboard-otel/switchboard/app/text"
)

// EncodeAttributes returns a span's attributes as the compact JSON object that is stored: keys in
// alphabetical order, of equal ones the first, and without the reserved ones. The database takes whatever
// comes in: NUL and invalid UTF-8 are replaced, NaN and the infinities are text, integers are exact, bytes
// are base64, and what is nested deeper than MaxNesting is text (decisions.md 23).
func EncodeAttributes(attrs pcommon.Map) []byte {
	e := attributesEncoder{encoder: encoder{buf: make([]byte, 0, 256), limit: math.MaxInt}}
	return e.encode(attrs)
}

// attributesEncoder encodes the attributes of many spans into memory that they share: a request's worth is one
// allocation instead of two or three for each span.
type attributesEncoder struct {
	encoder
	entries []entry
}

func newAttributesEncoder(spans int) attributesEncoder {
	const usual = 256 // bytes of a span's attributes
	return attributesEncoder{encoder: encoder{buf: make([]byte, 0, usual*spans), limit: math.MaxInt}}
}

func (e *attributesEncoder) encode(attrs pcommon.Map) []byte {
	e.entries = e.entries[:0]
	for key, v := range attrs.All() {
		if !strings.HasPrefix(key, ReservedPrefix) {
			e.entries = append(e.entries, entry{text.Clean(key), v})
		}
	}
	from := len(e.buf)
	e.object(e.entries, e.attribute)
	return e.buf[from:len(e.buf):len(e.buf)]
}

// encoder writes compact JSON. Numbers have no exponent, as the database writes them, so that a document is
// there as long as it is here, but for the blanks behind its separators.
type encoder struct {
	buf        []byte
	separators int // commas and colons between values
	limit      int // more bytes than this are not needed: writing may end behind it
}

func (e *encoder) full() bool { return len(e.buf) > e.limit }
func (e *encoder) room() int  { return max(0, e.limit-len(e.buf)) }

// attribute writes a value that stands at the top, and so may be too deep to be written as it is.
func (e *encoder) attribute(v pcommon.Value) {
	if nestsDeeper(v, MaxNesting) {
		s, _ := Text(v, MaxAttributesBytes)
		e.string(s)
		return
	}
	e.value(v)
}

func (e *encoder) value(v pcommon.Value) {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		e.string(v.Str())
	case pcommon.ValueTypeBool:
		e.buf = strconv.AppendBool(e.buf, v.Bool())
	case pcommon.ValueTypeInt:
		e.buf = strconv.AppendInt(e.buf, v.Int(), 10)
	case pcommon.ValueTypeDouble:
		e.double(v.Double())
	case pcommon.ValueTypeBytes:
		e.bytes(v.Bytes())
	case pcommon.ValueTypeSlice:
		e.array(v.Slice())
	case pcommon.ValueTypeMap:
		e.mapping(v.Map())
	default:
		e.buf = append(e.buf, "null"...)
	}
}

func (e *encoder) array(s pcommon.Slice) {
	e.buf = append(e.buf, '[')
	for i := 0; i < s.Len() && !e.full(); i++ {
		if i > 0 {
			e.separator(',')
		}
		e.value(s.At(i))
	}
	e.buf = append(e.buf, ']')
}

func (e *encoder) mapping(m pcommon.Map) {
	entries := make([]entry, 0, m.Len())
	for key, v := range m.All() {
		entries = append(entries, entry{text.Clean(key), v})
	}
	e.object(entries, e.value)
}

func (e *encoder) object(entries []entry, value func(pcommon.Value)) {
	slices.SortStableFunc(entries, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	e.buf = append(e.buf, '{')
	for i, en := range entries {
		if e.full() {
			break
		}
		if i > 0 {
			if en.key == entries[i-1].key {
				continue
			}
			e.separator(',')
		}
		e.string(en.key)
		e.separator(':')
		value(en.value)
	}
	e.buf = append(e.buf, '}')
}

type entry struct {
	key   string
	value pcommon.Value
}

func (e *encoder) separator(c byte) {
	e.buf = append(e.buf, c)
	e.separators++
}

func (e *encoder) double(f float64) {
	switch {
	case math.IsNaN(f):
		e.string("NaN")
	case math.IsInf(f, 1):
		e.string("Infinity")
	case math.IsInf(f, -1):
		e.string("-Infinity")
	case f == 0: // the database has no negative zero
		e.buf = append(e.buf, '0')
	default:
		e.buf = strconv.AppendFloat(e.buf, f, 'f', -1, 64)
	}
}

func (e *encoder) bytes(b pcommon.ByteSlice) {
	raw := b.AsRaw()
	if room := e.room(); len(raw) > room {
		raw = raw[:room+1]
	}
	e.buf = append(e.buf, '"')
	e.buf = base64.StdEncoding.AppendEncode(e.buf, raw)
	e.buf = append(e.buf, '"')
}

func (e *encoder) string(s string) {
	if isPlain(s) && len(s) <= e.room() {
		e.buf = append(e.buf, '"')
		e.buf = append(e.buf, s...)
		e.buf = append(e.buf, '"')
		return
	}
	const hex = "0123456789abcdef"
	s = text.Clean(s)
	if room := e.room(); len(s) > room {
		s = s[:room+1]
	}
	e.buf = append(e.buf, '"')
	done := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		e.buf = append(e.buf, s[done:i]...)
		done = i + 1
		if short := strings.IndexByte("\"\\\b\f\n\r\t", c); short >= 0 {
			e.buf = append(e.buf, '\\', `"\bfnrt`[short])
		} else {
			e.buf = append(e.buf, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
		}
	}
	e.buf = append(e.buf, s[done:]...)
	e.buf = append(e.buf, '"')
}

// isPlain reports whether s is spelled in JSON as it is, because it is ASCII without an escape. Most texts are.
func isPlain(s string) bool {
	for i := range len(s) {
		if !plain[s[i]] {
			return false
		}
	}
	return true
}

var plain = func() (is [256]bool) {
	for c := ' '; c <= '~'; c++ {
		is[c] = c != '"' && c != '\\'
	}
	return is
}()

// nestsDeeper reports whether arrays and maps lie deeper than levels in v. A plain value has no level.
func nestsDeeper(v pcommon.Value, levels int) bool {
	switch v.Type() {
	case pcommon.ValueTypeSlice:
		if levels == 0 {
			return true
		}
		for i := range v.Slice().Len() {
			if nestsDeeper(v.Slice().At(i), levels-1) {
				return true
			}
		}
	case pcommon.ValueTypeMap:
		if levels == 0 {
			return true
		}
		for _, child := range v.Map().All() {
			if nestsDeeper(child, levels-1) {
				return true
			}
		}
	}
	return false
}
