package rungraph

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// shape is what a schema says of a value, as far as the format's schemas say anything: the keywords they use and no
// others. Unknown members are free everywhere.
type shape struct {
	types    []string // null, boolean, number, integer, string, array, object; none: anything
	enum     []string // the closed set of a word
	least    *float64
	shortest int            // characters, which are Unicode code points
	longest  int            // 0: no limit
	pattern  *regexp.Regexp // of a string

	members  map[string]*shape
	others   *shape // members that are not named
	required []string

	items   *shape
	fewest  int // elements
	most    int // 0: no limit
	unique  bool
	either  []*shape               // one of these
	demands func(*object) []string // what an object must have because of what it says
	forbids func(*object) string   // a member that must be null because of what the object says
}

func chars(longest int) *shape { return &shape{types: []string{"string"}, longest: longest} }

func identifier() *shape { return &shape{types: []string{"string"}, shortest: 1, longest: 200} }

func word(enum ...string) *shape { return &shape{enum: enum} }

func whole(least float64) *shape { return &shape{types: []string{"integer"}, least: &least} }

func amount() *shape {
	zero := 0.0
	return &shape{types: []string{"number"}, least: &zero}
}

func typed(types ...string) *shape { return &shape{types: types} }

func listOf(items *shape) *shape { return &shape{types: []string{"array"}, items: items} }

func set(items *shape) *shape {
	s := listOf(items)
	s.unique = true
	return s
}

func mapOf(others *shape) *shape { return &shape{types: []string{"object"}, others: others} }

// entity is an object of the format, which may always carry an extension.
func entity(members map[string]*shape, required ...string) *shape {
	members["ext"] = typed("object")
	return &shape{types: []string{"object"}, members: members, required: required}
}

// orNull is a shape whose unknown value is an explicit null.
func orNull(s *shape) *shape {
	nullable := *s
	nullable.types = append(slices.Clone(s.types), "null")
	return &nullable
}

// momentPattern is RFC 3339 with the offset mandatory; whether the calendar has that day is not asked.
var momentPattern = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})$`)

func timestamp() *shape { return &shape{types: []string{"string"}, pattern: momentPattern} }

// typeOf names a value's type as a schema does. A whole number is an integer however it is spelt.
func typeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case json.Number:
		if n := number(v); n == math.Trunc(n) && !math.IsInf(n, 0) {
			return "integer"
		}
		return "number"
	default:
		return "object"
	}
}

// number is a literal as a double; beyond its range it is infinite.
func number(n json.Number) float64 {
	f, _ := strconv.ParseFloat(string(n), 64)
	return f
}

func (s *shape) takes(actual string) bool {
	return len(s.types) == 0 || slices.Contains(s.types, actual) ||
		actual == "integer" && slices.Contains(s.types, "number")
}

// check reports each violation, E010. It judges a nested either once, so that its work grows with the value alone.
func (c *checker) check(s *shape, v any) {
	actual := typeOf(v)
	if !s.takes(actual) {
		c.violates("is of type %s, not %s", actual, strings.Join(s.types, " or "))
		return
	}
	if len(s.either) > 0 && !slices.ContainsFunc(s.either, func(one *shape) bool { return c.fits(one, v) }) {
		c.violates("fits none of the shapes it may have")
	}
	if s.enum != nil {
		if is, isText := v.(string); !isText || !slices.Contains(s.enum, is) {
			c.violates("is not one of %s", strings.Join(s.enum, ", "))
		}
		return
	}
	switch v := v.(type) {
	case string:
		c.checkText(s, v)
	case json.Number:
		if s.least != nil && number(v) < *s.least {
			c.violates("is less than %v", *s.least)
		}
	case []any:
		c.checkList(s, v)
	case *object:
		c.checkObject(s, v)
	}
}

// fits checks without reporting.
func (c *checker) fits(s *shape, v any) bool {
	trial := checker{survey: &survey{report: &Report{}, path: slices.Clone(c.path)}}
	trial.check(s, v)
	return trial.report.OK()
}

func (c *checker) violates(format string, args ...any) {
	c.report.add("E010", c.path, "schema: "+format, args...)
}

func (c *checker) checkText(s *shape, v string) {
	n := utf8.RuneCountInString(v)
	switch {
	case n < s.shortest:
		c.violates("is empty")
	case s.longest > 0 && n > s.longest:
		c.violates("is longer than %d characters", s.longest)
	case s.pattern != nil && !s.pattern.MatchString(v):
		c.violates("%s does not match %s", quote(v), s.pattern)
	}
}

func (c *checker) checkList(s *shape, v []any) {
	if len(v) < s.fewest || s.most > 0 && len(v) > s.most {
		c.violates("holds %d elements", len(v))
	}
	if s.unique && repeats(v) {
		c.violates("holds an element twice")
	}
	if s.items == nil {
		return
	}
	for i, item := range v {
		c.path = c.path.element(i)
		c.check(s.items, item)
		c.leave()
	}
}

// repeats reports whether two elements are equal. The sets of the format hold strings; other values break it already.
func repeats(list []any) bool {
	seen := make(map[string]bool, len(list))
	for _, v := range list {
		if s, isText := v.(string); isText {
			if seen[s] {
				return true
			}
			seen[s] = true
		}
	}
	return false
}

func (c *checker) checkObject(s *shape, o *object) {
	required := s.required
	if s.demands != nil {
		required = append(slices.Clone(required), s.demands(o)...)
	}
	for _, name := range required {
		if !o.has(name) {
			c.violates("%s is required", quote(name))
		}
	}
	if s.forbids != nil {
		if name := s.forbids(o); name != "" {
			c.report.add("E010", c.path.member(name), "schema: must be null here")
		}
	}
	for _, m := range o.members {
		of := s.members[m.name]
		if of == nil {
			of = s.others
		}
		if of == nil {
			continue
		}
		c.enter(m.name)
		c.check(of, m.value)
		c.leave()
	}
}
