package spans

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// jsonbFits reports whether the database takes doc, a JSON document, into a jsonb that it writes in at most
// most bytes. It may refuse one that lies within a few bytes of the limit, and never lets one pass that does not fit.
func jsonbFits(doc []byte, most int) bool {
	if len(doc) == 0 || len(doc) > most || !utf8.Valid(doc) {
		return false
	}
	size := len(doc)
	for i := 0; i < len(doc); {
		switch c := doc[i]; {
		case c == '"':
			end, ok := skipString(doc, i)
			if !ok {
				return false
			}
			i = end
		case c == ',' || c == ':':
			size++ // a blank follows
			i++
		case c == '-' || c >= '0' && c <= '9':
			end, zeros, ok := skipNumber(doc, i)
			if !ok {
				return false
			}
			size += zeros
			i = end
		default:
			i++
		}
	}
	return size <= most
}

// skipString returns the index after the string that starts at i; ok is false when it holds U+0000, which
// no text of the database can.
func skipString(doc []byte, i int) (end int, ok bool) {
	for i++; i < len(doc); i++ {
		switch doc[i] {
		case '"':
			return i + 1, true
		case 0:
			return 0, false
		case '\\':
			if len(doc)-i > 5 && string(doc[i:i+6]) == `\u0000` {
				return 0, false
			}
			i++
		}
	}
	return 0, false
}

// skipNumber returns the index after the number that starts at i, and how many zeros its exponent becomes:
// the database writes numbers without one.
func skipNumber(doc []byte, i int) (end, zeros int, ok bool) {
	end = len(doc) - len(bytes.TrimLeft(doc[i:], "+-.eE0123456789"))
	e := bytes.IndexAny(doc[i:end], "eE")
	if e < 0 {
		return end, 0, true
	}
	n, err := strconv.Atoi(string(doc[i+e+1 : end]))
	return end, max(n, -n), err == nil
}
