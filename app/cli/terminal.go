package cli

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// clean makes foreign text safe for a terminal: agents write titles, notes and span names, and an escape
// sequence or a bidirectional override in one must not rewrite the screen. Line breaks and tabs stay.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case steers(r):
			return '\uFFFD'
		default:
			return r
		}
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// steers reports whether a terminal may take r for more than a character to show.
func steers(r rune) bool {
	return r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// line is clean on one line.
func line(s string) string { return strings.Join(strings.Fields(clean(s)), " ") }

func runeColumns(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// textColumns is how many columns a terminal gives s.
func textColumns(s string) (n int) {
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

// fit cuts s to max columns, with an ellipsis where something went.
func fit(s string, max int) string {
	if textColumns(s) <= max {
		return s
	}
	if max < 1 {
		return ""
	}
	used := 0
	for i, r := range s {
		if used+runeColumns(r) > max-1 {
			return s[:i] + "…"
		}
		used += runeColumns(r)
	}
	return s
}

// pad is fit, filled up to exactly columns.
func pad(s string, columns int) string {
	s = fit(s, columns)
	return s + strings.Repeat(" ", columns-textColumns(s))
}

// wrap breaks s at spaces into lines of at most columns; a longer word is broken where it must.
func wrap(s string, columns int) (lines []string) {
	columns = max(columns, 8)
	for _, paragraph := range strings.Split(strings.TrimRight(clean(s), "\n"), "\n") {
		current := ""
		for _, word := range strings.Fields(paragraph) {
			if current != "" && textColumns(current)+1+textColumns(word) > columns {
				lines, current = append(lines, current), ""
			}
			for textColumns(word) > columns {
				cut := prefixLen(word, columns)
				lines, word = append(lines, word[:cut]), word[cut:]
			}
			if current != "" {
				current += " "
			}
			current += word
		}
		lines = append(lines, current)
	}
	return lines
}

// prefixLen is the length in bytes of the longest prefix of s that columns hold; at least one rune.
func prefixLen(s string, columns int) int {
	used := 0
	for i, r := range s {
		used += runeColumns(r)
		if used > columns && i > 0 {
			return i
		}
	}
	return len(s)
}
