package rungraph

import (
	"bytes"
	"encoding/json"
)

// cursor reads JSON that encoding/json has found valid. It stands before a value, passes over it without a copy, or makes
// a tree of it: a document of 50 MB is never a tree as a whole.
type cursor struct {
	text []byte
	at   int
}

// peek is the first byte of what comes next.
func (c *cursor) peek() byte {
	for {
		switch b := c.text[c.at]; b {
		case ' ', '\t', '\n', '\r':
			c.at++
		default:
			return b
		}
	}
}

// enter steps into the object or list that comes next.
func (c *cursor) enter() {
	c.peek()
	c.at++
}

// more steps to the next member or element, or out behind the end.
func (c *cursor) more(end byte) bool {
	switch c.peek() {
	case end:
		c.at++
		return false
	case ',':
		c.at++
	}
	return true
}

// name reads a member's name and steps to its value.
func (c *cursor) name() string {
	s := c.string()
	c.peek()
	c.at++ // the colon
	return s
}

// quoted passes over a string and returns what stands between its quotes.
func (c *cursor) quoted() []byte {
	c.peek()
	c.at++
	start := c.at
	for {
		switch c.text[c.at] {
		case '"':
			c.at++
			return c.text[start : c.at-1]
		case '\\':
			c.at++
		}
		c.at++
	}
}

func (c *cursor) string() string { return unquote(c.quoted()) }

func unquote(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted)
	}
	var s string
	_ = json.Unmarshal(append(append([]byte{'"'}, quoted...), '"'), &s) // valid, see cursor
	return s
}

// literal passes over a number, true, false or null.
func (c *cursor) literal() []byte {
	c.peek()
	start := c.at
	for c.at < len(c.text) {
		switch c.text[c.at] {
		case ',', ']', '}', ' ', '\t', '\n', '\r':
			return c.text[start:c.at]
		}
		c.at++
	}
	return c.text[start:]
}

// skip passes over a value.
func (c *cursor) skip() {
	switch c.peek() {
	case '"':
		c.quoted()
		return
	case '{', '[':
	default:
		c.literal()
		return
	}
	for open := 0; ; {
		switch c.text[c.at] {
		case '"':
			c.quoted()
			continue
		case '{', '[':
			open++
		case '}', ']':
			open--
		}
		if c.at++; open == 0 {
			return
		}
	}
}

// value makes a tree: nil, bool, json.Number, string, []any or *object.
func (c *cursor) value() any {
	switch c.peek() {
	case '{':
		c.enter()
		o := &object{}
		for c.more('}') {
			name := c.name()
			o.members = append(o.members, member{name, c.value()})
		}
		return o
	case '[':
		c.enter()
		list := []any{}
		for c.more(']') {
			list = append(list, c.value())
		}
		return list
	case '"':
		return c.string()
	}
	switch literal := c.literal(); literal[0] {
	case 't':
		return true
	case 'f':
		return false
	case 'n':
		return nil
	default:
		return json.Number(literal)
	}
}

// object keeps its members in the document's order. Its methods may be called on nil, which has none.
type object struct{ members []member }

type member struct {
	name  string
	value any
}

// get finds a member; of a name that stands twice the last one counts.
func (o *object) get(name string) (value any, present bool) {
	if o == nil {
		return nil, false
	}
	for i := len(o.members) - 1; i >= 0; i-- {
		if o.members[i].name == name {
			return o.members[i].value, true
		}
	}
	return nil, false
}

// textsOf is the set of the strings in a list. What is looked up often in a list that a document may make long is looked
// up here.
func textsOf(list []any) map[string]bool {
	texts := make(map[string]bool, len(list))
	for _, v := range list {
		if s, isText := v.(string); isText {
			texts[s] = true
		}
	}
	return texts
}

func (o *object) has(name string) bool {
	_, present := o.get(name)
	return present
}

func (o *object) text(name string) (s string, isText bool) {
	v, _ := o.get(name)
	s, isText = v.(string)
	return s, isText
}

// object is a member that is an object; nil when it is none.
func (o *object) object(name string) *object {
	v, _ := o.get(name)
	inner, _ := v.(*object)
	return inner
}

// objects are the names of the members that are objects.
func (o *object) objects() map[string]bool {
	names := map[string]bool{}
	if o != nil {
		for _, m := range o.members {
			_, names[m.name] = m.value.(*object)
		}
	}
	return names
}

func (o *object) listed(name string) (list []any, isList bool) {
	v, _ := o.get(name)
	list, isList = v.([]any)
	return list, isList
}

// list is a member that is a list; nil when it is none.
func (o *object) list(name string) []any {
	list, _ := o.listed(name)
	return list
}

// syntax finds what keeps a text from being JSON; nil when it is.
func syntax(doc []byte) error { return json.Unmarshal(doc, &ignored{}) }

// ignored takes any JSON and keeps nothing of it: encoding/json has looked at all of it before.
type ignored struct{}

// UnmarshalJSON keeps nothing.
func (*ignored) UnmarshalJSON([]byte) error { return nil }
