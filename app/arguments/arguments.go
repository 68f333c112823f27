// Package arguments reads the named values of a call, be it a verb of MCP or a request of the human API, in
// one way for both: strictly where a wrong guess would do harm, tolerantly where people and models differ
// (decisions.md 37, 44 to 46).
//
// An unknown argument is ignored. JSON null counts as absent, and so do "" and "null" for optional ones;
// numbers and booleans may be strings.
package arguments

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/switchboard-otel/switchboard/app/fault"
)

// maxNumber is beyond the end of every range, so that a number beyond it may be cut to it; as seconds it still
// fits a time.Duration.
const maxNumber = 1 << 33

// Arguments are the named values of one call. Whoever reads them looks at Err before acting: it keeps the
// first refusal, which names the argument and never its value.
type Arguments struct {
	values map[string]json.RawMessage
	err    error
}

// Of takes values that have been told apart already.
func Of(values map[string]json.RawMessage) *Arguments { return &Arguments{values: values} }

// Parse reads a JSON object; nothing and null are no arguments. what names the object in a refusal.
func Parse(what string, object []byte) *Arguments {
	in := &Arguments{}
	if len(bytes.TrimSpace(object)) == 0 {
		return in
	}
	if json.Unmarshal(object, &in.values) != nil {
		in.Refuse(fault.InvalidArgument(what, "must be one JSON object"))
	}
	return in
}

// Err is the first refusal, nil when there is none.
func (in *Arguments) Err() error { return in.err }

// Refuse keeps err, unless something was refused before.
func (in *Arguments) Refuse(err error) {
	if in.err == nil {
		in.err = err
	}
}

func (in *Arguments) invalid(name, must string) { in.Refuse(fault.InvalidArgument(name, must)) }

// IsNull reports whether an argument was sent as JSON null: where a value can be taken away, that is how.
func (in *Arguments) IsNull(name string) bool {
	return bytes.Equal(bytes.TrimSpace(in.values[name]), []byte("null"))
}

// JSON is an argument of any shape as it was sent; nil when it is absent. What the store can hold of it is
// the queue's to check.
func (in *Arguments) JSON(name string) json.RawMessage {
	if in.IsNull(name) {
		return nil
	}
	return bytes.TrimSpace(in.values[name])
}

// Exact is a string in which every character counts: one with U+0000 or invalid UTF-8 is refused. It is nil
// only when it is absent; an empty one stays what it is.
func (in *Arguments) Exact(name string) *string {
	value := in.JSON(name)
	if value == nil {
		return nil
	}
	var s string
	if !utf8.Valid(value) || json.Unmarshal(value, &s) != nil || strings.ContainsRune(s, 0) {
		in.invalid(name, "must be a string of text")
		return nil
	}
	return &s
}

// Word is an optional string that decides something, nil when absent.
func (in *Arguments) Word(name string) *string { return given(in.Exact(name)) }

// Filter is a word that narrows what is looked at; empty narrows nothing.
func (in *Arguments) Filter(name string) string {
	if s := in.Word(name); s != nil {
		return *s
	}
	return ""
}

// Prose is optional text that is shown to people, nil when absent. What cannot be stored in it is replaced
// later, not refused.
func (in *Arguments) Prose(name string) *string {
	value := in.JSON(name)
	if value == nil {
		return nil
	}
	var s string
	if json.Unmarshal(value, &s) != nil {
		in.invalid(name, "must be a string")
		return nil
	}
	return given(&s)
}

func given(s *string) *string {
	if s == nil || *s == "" || *s == "null" {
		return nil
	}
	return s
}

// Whole is an optional whole number, nil when absent. Its range is the reader's to check; what lies beyond
// every range is cut to a number that still does.
func (in *Arguments) Whole(name string) *int {
	value := in.scalar(name)
	if value == "" {
		return nil
	}
	n, err := strconv.ParseFloat(value, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || n != math.Trunc(n) || strings.ContainsAny(value, "xX_nN") {
		in.invalid(name, "must be a whole number")
		return nil
	}
	whole := int(min(max(n, -maxNumber), maxNumber))
	return &whole
}

// Bool is an optional boolean, nil when absent.
func (in *Arguments) Bool(name string) *bool {
	value := in.scalar(name)
	if value == "" {
		return nil
	}
	b := value == "true"
	if !b && value != "false" {
		in.invalid(name, "must be true or false")
		return nil
	}
	return &b
}

// scalar is a number or boolean as text, quoted or not; empty when absent.
func (in *Arguments) scalar(name string) string {
	value := in.JSON(name)
	if len(value) == 0 || value[0] != '"' {
		return string(value)
	}
	var s string
	if json.Unmarshal(value, &s) != nil || given(&s) == nil {
		return ""
	}
	return s
}

// Texts is a list of strings, nil when absent.
func (in *Arguments) Texts(name string) []string {
	const must = "must be an array of strings"
	value := in.JSON(name)
	if value == nil || bytes.Equal(value, []byte(`""`)) || bytes.Equal(value, []byte(`"null"`)) {
		return nil
	}
	var list []*string
	if !utf8.Valid(value) || json.Unmarshal(value, &list) != nil {
		in.invalid(name, must)
		return nil
	}
	out := make([]string, len(list))
	for i, s := range list {
		if s == nil || strings.ContainsRune(*s, 0) {
			in.invalid(name, must)
			return nil
		}
		out[i] = *s
	}
	return out
}
