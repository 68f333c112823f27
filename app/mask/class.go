package mask

import "strings"

// class is a set of bytes, as a bit in classes.
type class uint8

const (
	alnum    class = 1 << iota // letters and digits
	upper                      // upper-case letters and digits
	word                       // letters, digits and _
	token                      // letters, digits, _ and -: base64url
	bearer                     // what RFC 6750 allows in a bearer token
	userinfo                   // what may stand between "://" and "@" in a URL
	label                      // what may stand in the label of a PEM block
)

var classes = func() (table [256]class) {
	for i := range table {
		b := byte(i)
		isUpper := b >= '0' && b <= '9' || b >= 'A' && b <= 'Z'
		isAlnum := isUpper || b >= 'a' && b <= 'z'
		member := func(c class, in bool) {
			if in {
				table[i] |= c
			}
		}
		member(alnum, isAlnum)
		member(upper, isUpper)
		member(word, isAlnum || b == '_')
		member(token, isAlnum || b == '_' || b == '-')
		member(bearer, isAlnum || strings.IndexByte("-._~+/=", b) >= 0)
		member(userinfo, b > ' ' && strings.IndexByte("\"'`<>\\[]/?#", b) < 0)
		member(label, isUpper || b == ' ')
	}
	return table
}()

// atWordStart reports whether a word may start behind the text before. It may at the text's begin, behind
// anything but a letter or a digit, and behind an escape that only ends in one: "\n" and "\u001b" in JSON,
// "%20" in a URL, the colour "[31m" of a terminal.
func atWordStart(before string) bool {
	n := len(before)
	if n == 0 || classes[before[n-1]]&alnum == 0 {
		return true
	}
	last := before[n-1]
	if n >= 2 && before[n-2] == '\\' && strings.IndexByte("nrtbfv", last) >= 0 {
		return true
	}
	if n >= 3 && before[n-3] == '%' && areHex(before[n-2:]) {
		return true
	}
	if n >= 6 && before[n-6:n-4] == `\u` && areHex(before[n-4:]) {
		return true
	}
	return last == 'm' && endsInColour(before[:n-1])
}

func areHex(s string) bool {
	for i := range len(s) {
		if c := s[i] | 0x20; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// endsInColour reports whether s ends in the parameters of a terminal's colour sequence: "[1;31".
func endsInColour(s string) bool {
	const longest = 16
	for i := len(s) - 1; i >= max(0, len(s)-longest-1); i-- {
		if s[i] == '[' {
			return true
		}
		if s[i] != ';' && (s[i] < '0' || s[i] > '9') {
			return false
		}
	}
	return false
}
