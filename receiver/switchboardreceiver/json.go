package switchboardreceiver

import "bytes"

const (
	// maxValueDepth is how many objects may lie in one another from an attribute inwards. pdata refuses deeper
	// messages in protobuf and has no limit in JSON, where a few megabytes would grow a stack of gigabytes; with this
	// the encodings agree.
	maxValueDepth = 100
	// maxBrackets bounds every other nesting, of fields that nobody knows. An attribute never reaches it.
	maxBrackets = 1000
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// prepareJSON makes an OTLP/JSON document fit for pdata's decoder, in place, weighs it, and reports whether it is one: a
// single object with balanced brackets within the limits, and nothing after it. Everything else about the syntax is the
// decoder's to check. What the decoder cannot take by itself:
//
//   - null for a number, an enum, a boolean or an id, which ProtoJSON allows everywhere: the member is renamed to one
//     that nobody knows, which the decoder skips;
//   - a member with an empty name, at which it would stop in the middle of the object: refused;
//   - text after the document, which it does not look at: refused;
//   - a byte-order mark: removed.
func prepareJSON(doc []byte) (document []byte, w weight, ok bool) {
	doc = bytes.Trim(bytes.TrimPrefix(doc, byteOrderMark), " \t\r\n")
	if len(doc) == 0 || doc[0] != '{' {
		return nil, w, false
	}
	var (
		open       [maxBrackets]byte
		depth      int  // of open
		objects    int  // how many of open are objects
		attributes = -1 // depth of the outermost list of attributes we are in
		outside    int  // objects around that list
		scale      jsonScale
		from, to   int       // the last string, without its quotes
		previous   = byte(0) // the last byte that was no space, of a string its quote
	)
	for i := 0; i < len(doc); i++ {
		c := doc[i]
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case '"':
			from, to = i+1, endOfString(doc, i+1)
			if to < 0 {
				return nil, w, false
			}
			i = to
		case ',':
			scale.comma(depth - 1)
		case ':':
			if previous == '"' && from == to {
				return nil, w, false
			}
		case 'n':
			if previous == ':' {
				for k := from; k < to; k++ {
					doc[k] = '_' // all of it: its first byte may be half of an escape
				}
			}
		case '{', '[':
			if depth == maxBrackets {
				return nil, w, false
			}
			if previous == ':' {
				scale.member(depth, c, doc[from:to])
			} else {
				scale.element(depth, c)
			}
			if c == '{' {
				objects++
			} else if attributes < 0 && previous == ':' && string(doc[from:to]) == "attributes" {
				attributes, outside = depth, objects
			}
			if attributes >= 0 && objects-outside > maxValueDepth {
				return nil, w, false
			}
			open[depth] = c
			depth++
		case '}', ']':
			depth--
			if open[depth] != c-2 { // in ASCII a bracket closes two after it opens
				return nil, w, false
			}
			if depth == 0 {
				scale.bytes += 2 * int64(len(doc))
				return doc, scale.weight, i == len(doc)-1
			}
			if c == '}' {
				objects--
			}
			if depth == attributes {
				attributes = -1
			}
		}
		previous = c
	}
	return nil, w, false
}

// endOfString returns the index of the quote that ends the string beginning at i, -1 when there is none.
func endOfString(doc []byte, i int) int {
	for {
		n := bytes.IndexByte(doc[i:], '"')
		if n < 0 {
			return -1
		}
		end := i + n
		escapes := 0
		for escapes < n && doc[end-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return end
		}
		i = end + 1
	}
}
