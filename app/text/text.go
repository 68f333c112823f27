// Package text makes foreign text storable: PostgreSQL holds neither NUL nor invalid UTF-8, and every
// stored string has a cap in bytes that must not split a character.
package text

import (
	"strings"
	"unicode/utf8"
)

// Clean replaces NUL and invalid UTF-8 by U+FFFD. Clean text comes back as it is.
func Clean(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// Cut shortens valid UTF-8 to at most limit bytes, at the end of a character, and reports whether it did.
func Cut(s string, limit int) (string, bool) {
	if len(s) <= limit {
		return s, false
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit], true
}
