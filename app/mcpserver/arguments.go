package mcpserver

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// arguments reads what a model sent, as tolerantly as is safe (decisions.md 37 and 46): null is absent, and
// so are "" and "null" for optional arguments; numbers and booleans may come as strings. The first thing
// that is wrong is kept in err; it names the argument and never its value. Unknown arguments are ignored.
type arguments struct {
	fields map[string]json.RawMessage
	err    error
}

func readArguments(raw json.RawMessage) *arguments {
	a := &arguments{}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		return a
	}
	if json.Unmarshal(raw, &a.fields) != nil {
		a.err = fault.New(fault.Invalid, "arguments must be an object")
	}
	return a
}

func (a *arguments) refuse(name, must string) {
	if a.err == nil {
		a.err = fault.InvalidArgument(name, must)
	}
}

// present returns an argument that is there and not null.
func (a *arguments) present(name string) (json.RawMessage, bool) {
	raw := bytes.TrimSpace(a.fields[name])
	return raw, len(raw) > 0 && string(raw) != "null"
}

// exact reads a string in which every character counts: NUL and invalid UTF-8 are refused.
func (a *arguments) exact(name string) *string {
	raw, ok := a.present(name)
	if !ok {
		return nil
	}
	var s string
	if !utf8.Valid(raw) || json.Unmarshal(raw, &s) != nil || strings.ContainsRune(s, 0) {
		a.refuse(name, "must be a string of text")
		return nil
	}
	return &s
}

// todoID reads the required id, under either of its names. An id that could never exist is not found, as
// an unknown one is.
func (a *arguments) todoID() uuid.UUID {
	s := a.exact("id")
	if s == nil {
		s = a.exact("todo_id")
	}
	if s == nil {
		a.refuse("id", "is required")
		return uuid.Nil
	}
	id, ok := typeid.Todo.Parse(*s)
	if !ok && a.err == nil {
		a.err = fault.ErrTodoNotFound
	}
	return id
}

// text reads optional text that is shown to people; what cannot be stored in it is replaced later.
func (a *arguments) text(name string) *string {
	raw, ok := a.present(name)
	if !ok {
		return nil
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		a.refuse(name, "must be a string")
		return nil
	}
	if s == "" || s == "null" {
		return nil
	}
	return &s
}

// word reads an optional string that decides something.
func (a *arguments) word(name string) *string {
	if s := a.exact(name); s != nil && *s != "" && *s != "null" {
		return s
	}
	return nil
}

// optional returns the raw text of a number or boolean, out of its string when it came as one.
func (a *arguments) optional(name string) (string, bool) {
	raw, ok := a.present(name)
	if !ok {
		return "", false
	}
	if raw[0] != '"' {
		return string(raw), true
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return string(raw), true
	}
	return s, s != "" && s != "null"
}

// whole reads an optional whole number. Its range is the queue's to check.
func (a *arguments) whole(name string) *int {
	s, ok := a.optional(name)
	if !ok {
		return nil
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		// 300.0 and 3e2 are whole numbers too.
		f, ferr := strconv.ParseFloat(s, 64)
		if ferr != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			a.refuse(name, "must be a whole number")
			return nil
		}
		n = int(f)
	}
	return &n
}

func (a *arguments) boolean(name string) *bool {
	s, ok := a.optional(name)
	if !ok {
		return nil
	}
	b := s == "true"
	if !b && s != "false" {
		a.refuse(name, "must be true or false")
		return nil
	}
	return &b
}

// document reads optional JSON of any shape.
func (a *arguments) document(name string) json.RawMessage {
	raw, ok := a.present(name)
	if !ok {
		return nil
	}
	if err := queue.CheckJSON(name, raw); err != nil && a.err == nil {
		a.err = err
	}
	return raw
}
