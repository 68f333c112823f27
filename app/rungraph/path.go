package rungraph

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// path is where in a document something is: names of members and indices of elements.
type path []step

type step struct {
	name  string // of a member
	index int    // of an element; -1 for a member
}

func (p path) member(name string) path { return append(p, step{name, -1}) }
func (p path) element(i int) path      { return append(p, step{"", i}) }

// String spells the path as the format's own checker does: $['attempts'][3]['outcome'].
func (p path) String() string {
	var b strings.Builder
	b.WriteByte('$')
	for _, s := range p {
		b.WriteByte('[')
		if s.index >= 0 {
			b.WriteString(strconv.Itoa(s.index))
		} else {
			b.WriteString(quote(s.name))
		}
		b.WriteByte(']')
	}
	return b.String()
}

// maxQuoted bounds what a finding repeats of a document, in characters.
const maxQuoted = 80

// quote spells text in Python's way, which is the format's for paths: single quotes unless only those occur in it. Text
// that would make a finding unreadable is cut.
func quote(s string) string {
	mark := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		mark = '"'
	}
	b := []byte{mark}
	for n, r := range []rune(cut(s)) {
		switch {
		case n == maxQuoted:
			b = append(b, "…"...)
		case r == '\\' || r == rune(mark):
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case unicode.IsPrint(r):
			b = utf8.AppendRune(b, r)
		case r < 0x100:
			b = append(b, `\x`...)
			b = append(b, "0123456789abcdef"[r>>4], "0123456789abcdef"[r&15])
		default:
			quoted := strconv.QuoteRuneToASCII(r) // '\u2028'
			b = append(b, quoted[1:len(quoted)-1]...)
		}
	}
	return string(append(b, mark))
}

// cut keeps one character more than is shown, so that quote sees that something went.
func cut(s string) string {
	n := 0
	for i := range s {
		if n > maxQuoted {
			return s[:i]
		}
		n++
	}
	return s
}
