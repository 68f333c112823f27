package routing

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// decode reads a JSON text with its numbers as they are written. Nothing is null.
//
// The standard library keeps numbers exact only when it reads from a stream, and then holds the text three times
// over. Here the text is in memory, so it is checked by the library and then taken apart in place.
func decode(text []byte) (any, error) {
	if len(text) == 0 {
		return nil, nil
	}
	if !json.Valid(text) {
		return nil, errPayloadJSON
	}
	d := decoder{text: text}
	return d.value(), nil
}

// decoder reads a text that is known to be one JSON value, nested no deeper than maxDepth.
type decoder struct {
	text []byte
	at   int
}

// next skips white space and the separators between values, and returns the byte that it stops at.
func (d *decoder) next() byte {
	for {
		switch c := d.text[d.at]; c {
		case ' ', '\t', '\r', '\n', ',', ':':
			d.at++
		default:
			return c
		}
	}
}

func (d *decoder) value() any {
	switch d.next() {
	case '{':
		return d.object()
	case '[':
		return d.array()
	case '"':
		return d.string()
	case 't':
		d.at += len("true")
		return true
	case 'f':
		d.at += len("false")
		return false
	case 'n':
		d.at += len("null")
		return nil
	}
	return d.number()
}

func (d *decoder) object() map[string]any {
	d.at++
	object := map[string]any{}
	for d.next() != '}' {
		key := d.string()
		object[key] = d.value()
	}
	d.at++
	return object
}

func (d *decoder) array() []any {
	d.at++
	array := []any{}
	for d.next() != ']' {
		array = append(array, d.value())
	}
	d.at++
	return array
}

func (d *decoder) string() string {
	start := d.at
	d.at++
	for d.text[d.at] != '"' {
		if d.text[d.at] == '\\' {
			d.at++
		}
		d.at++
	}
	d.at++
	quoted := d.text[start:d.at]
	plain := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(plain, '\\') < 0 && utf8.Valid(plain) {
		return string(plain)
	}
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		panic("routing: a checked JSON string does not decode")
	}
	return s
}

func (d *decoder) number() json.Number {
	start := d.at
	for d.at < len(d.text) && bytes.IndexByte([]byte("+-.eE0123456789"), d.text[d.at]) >= 0 {
		d.at++
	}
	return json.Number(d.text[start:d.at])
}
