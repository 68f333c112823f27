package routing

import (
	"errors"
	"slices"
	"strings"

	"github.com/itchyny/gojq"
)

// The functions that check.go writes into an expression. Their names cannot be called from a rule.
//
//	_each($m)               the elements of ., without a list of them in between
//	_weigh($m; op)          . once op on it has been paid for
//	_compare($m; op; a; b)  a op b
//	_pair($m; op; a; b)     [a, b] once "a op b" has been paid for and its operands fit
//	_test($m; n)            whether . matches the rule's n-th pattern
func guards(patterns []pattern) []gojq.CompilerOption {
	return []gojq.CompilerOption{
		gojq.WithIterFunction("_each", 1, 1, each),
		gojq.WithFunction("_weigh", 2, 2, weigh),
		gojq.WithFunction("_pair", 4, 4, pair),
		gojq.WithFunction("_compare", 4, 4, compare),
		gojq.WithFunction("_test", 2, 2, func(in any, args []any) any {
			return patterns[args[1].(int)].test(args[0].(*meter), in)
		}),
	}
}

// each iterates without copying, as the interpreter's own .[] would: nested over a long array that takes
// megabytes each.
func each(in any, args []any) gojq.Iter {
	switch v := in.(type) {
	case []any:
		return &elements{rest: v}
	case map[string]any:
		if !args[0].(*meter).spend(len(v)/2, 16*len(v)) {
			return gojq.NewIter[any]()
		}
		return &members{of: v, rest: sortedKeys(v)}
	}
	return gojq.NewIter[any](errors.New("cannot iterate over " + gojq.TypeOf(in)))
}

type elements struct{ rest []any }

func (e *elements) Next() (any, bool) {
	if len(e.rest) == 0 {
		return nil, false
	}
	next := e.rest[0]
	e.rest = e.rest[1:]
	return next, true
}

type members struct {
	of   map[string]any
	rest []string
}

func (m *members) Next() (any, bool) {
	if len(m.rest) == 0 {
		return nil, false
	}
	next := m.of[m.rest[0]]
	m.rest = m.rest[1:]
	return next, true
}

func sortedKeys(object map[string]any) []string {
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// weigh pays for a function of one value: its input, and what it makes of it.
func weigh(in any, args []any) any {
	m, op := args[0].(*meter), args[1].(string)
	switch op {
	case "tostring":
		m.spend(size(in, maxRuleSteps), 2*textSize(in, maxRuleBytes))
	case "add":
		m.spend(length(in)+textLength(in)/32, copiedParts(in, maxRuleBytes))
	case "keys":
		m.spend(length(in), 48*length(in))
	case "ascii_downcase", "ascii_upcase":
		m.spend(textLength(in)/32, textLength(in))
	case "tonumber":
		if textLength(in) > maxDigits {
			return errors.New("tonumber needs a shorter string")
		}
	default:
		m.spend(textLength(in)/32, 0)
	}
	return in
}

// errOperands is a type error that names the types and never the values.
func errOperands(op string, a, b any) error {
	return errors.New(op + " does not take " + gojq.TypeOf(a) + " and " + gojq.TypeOf(b))
}

// pair pays for an operation on two values, and refuses what the interpreter would do beyond the ordinary:
// repeat a string, subtract arrays, search an array in an array by index.
func pair(_ any, args []any) any {
	m, op, a, b := args[0].(*meter), args[1].(string), args[2], args[3]
	switch op {
	case "+":
		if !addable(a, b) {
			return errOperands(op, a, b)
		}
		m.spend(0, copied(a)+copied(b))
	case "-", "*", "/", "%":
		if !isNumber(a) || !isNumber(b) {
			return errOperands(op, a, b)
		}
		m.spend(bits(a)/64+bits(b)/64, bits(a)/8+bits(b)/8)
		if bits(a)+bits(b) > maxBits {
			m.overspent = "it makes numbers of more digits than a rule may"
		}
	case "at":
		if _, text := b.(string); !text && !isNumber(b) {
			return errors.New("an index must be a string or a number, not " + gojq.TypeOf(b))
		}
		m.spend(textLength(a)/32, 0)
	default:
		return pairFunction(m, op, a, b)
	}
	return []any{a, b}
}

// compare looks at all of both values in the worst case.
func compare(_ any, args []any) any {
	m, op, a, b := args[0].(*meter), args[1].(string), args[2], args[3]
	if !m.spend(size(a, maxRuleSteps)+size(b, maxRuleSteps), 0) {
		return false
	}
	order := gojq.Compare(a, b)
	switch op {
	case "==":
		return order == 0
	case "!=":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	default:
		return order >= 0
	}
}

// pairFunction is pair for the functions of one argument; a is their input.
func pairFunction(m *meter, op string, a, b any) any {
	text, isText := a.(string)
	arg, isArg := b.(string)
	switch op {
	case "startswith", "endswith", "ltrimstr", "rtrimstr":
		if !isText || !isArg {
			return errOperands(op, a, b)
		}
		m.spend(len(arg)/64, 0)
	case "has":
		_, object := a.(map[string]any)
		_, list := a.([]any)
		if !(object && isArg) && !(list && isNumber(b)) {
			return errOperands(op, a, b)
		}
	case "split":
		if !isText || !isArg {
			return errOperands(op, a, b)
		}
		if m.spend(len(text)/32, 0) {
			m.spend(0, 48*(1+strings.Count(text, arg)))
		}
	case "join":
		list, ok := a.([]any)
		if !ok || !isArg {
			return errOperands(op, a, b)
		}
		m.spend(len(list), len(list)*len(arg)+copiedParts(a, maxRuleBytes))
	case "contains":
		m.spend(size(a, maxRuleSteps)*size(b, maxRuleSteps), 0)
	case "index":
		if _, list := a.([]any); !list {
			return errors.New("index takes an array, not " + gojq.TypeOf(a) + "; for text use contains")
		}
		m.spend(size(a, maxRuleSteps)*size(b, maxRuleSteps), 0)
	}
	return []any{a, b}
}
