package routing

import (
	"slices"
	"strconv"

	"github.com/itchyny/gojq"
)

// The functions of a rule, by what they cost.
var (
	// free ones take one step, or call what is weighed itself.
	free = map[string][]int{
		"not": {0}, "empty": {0}, "type": {0}, "select": {1}, "any": {2}, "all": {2}, "first": {1},
		"isempty": {1}, "values": {0}, "nulls": {0}, "strings": {0}, "numbers": {0}, "booleans": {0}, "arrays": {0},
		"objects": {0}, "iterables": {0}, "scalars": {0},
	}
	// unary ones look at their whole input, or copy it.
	unary = []string{"length", "keys", "add", "tostring", "tonumber", "ascii_downcase", "ascii_upcase",
		"trim", "ltrim", "rtrim", "first", "last"}
	// binary ones compare their input with their argument.
	binary = []string{"startswith", "endswith", "ltrimstr", "rtrimstr", "contains", "index", "split", "join", "has"}
)

// call is a variable or a function of the lists above, or one of the few that are written out in terms of them.
func (c *checker) call(f *gojq.Func) *gojq.Term {
	if f.Name[0] == '$' {
		c.variable(f.Name)
		return call(f.Name)
	}
	if written := writtenOut(f); written != nil {
		return wrap(c.query(written))
	}
	c.take(4)
	switch arity := len(f.Args); {
	case f.Name == "test" && (arity == 1 || arity == 2):
		return c.test(f.Args)
	case f.Name == "IN" && arity == 1:
		return c.among(f.Args[0])
	case f.Name == "inside" && arity == 1:
		c.take(partsOfPair)
		return wrap(paired("contains", c.query(f.Args[0]), query(identity()), func(of, in *gojq.Query) *gojq.Query {
			return query(piped(of.Term, call("contains", in)))
		}))
	case slices.Contains(free[f.Name], arity):
		args := make([]*gojq.Query, arity)
		for i, arg := range f.Args {
			args[i] = c.query(arg)
		}
		return call(f.Name, args...)
	case arity == 0 && slices.Contains(unary, f.Name):
		return piped(weighed(f.Name), call(f.Name))
	case arity == 1 && slices.Contains(binary, f.Name):
		c.take(partsOfPair)
		return wrap(paired(f.Name, query(identity()), c.query(f.Args[0]), func(in, arg *gojq.Query) *gojq.Query {
			return of(piped(in.Term, call(f.Name, arg)))
		}))
	}
	c.refuse("calls %s/%d, which is not a function of rules", short(f.Name), len(f.Args))
	return nil
}

// writtenOut puts the functions that iterate inside the interpreter in terms of what check weighs; nil for others.
func writtenOut(f *gojq.Func) *gojq.Query {
	every := query(&gojq.Term{Type: gojq.TermTypeIdentity, SuffixList: []*gojq.Suffix{{Iter: true}}})
	switch quantifier := f.Name == "any" || f.Name == "all"; {
	case f.Name == "map" && len(f.Args) == 1:
		mapped := &gojq.Query{Left: every, Op: gojq.OpPipe, Right: f.Args[0]}
		return query(&gojq.Term{Type: gojq.TermTypeArray, Array: &gojq.Array{Query: mapped}})
	case quantifier && len(f.Args) == 0:
		return query(call(f.Name, every, query(identity())))
	case quantifier && len(f.Args) == 1:
		return query(call(f.Name, every, f.Args[0]))
	}
	return nil
}

// among is IN(list): whether the input is one of the outputs of list.
func (c *checker) among(list *gojq.Query) *gojq.Term {
	equal := compared(gojq.OpEq, query(identity()), query(call(inputVariable)))
	return wrap(&gojq.Query{
		Left:     query(identity()),
		Op:       gojq.OpPipe,
		Patterns: []*gojq.Pattern{{Name: inputVariable}},
		Right:    query(call("any", c.query(list), equal)),
	})
}

// test is test("pattern") or test("pattern"; "i"): the pattern is part of the rule, so that its size is known
// when the rule is saved.
func (c *checker) test(args []*gojq.Query) *gojq.Term {
	if args[0].Term == nil || args[0].Term.Type != gojq.TermTypeString || !isLiteral(args[0]) {
		c.refuse("must write the pattern of test as a string")
	}
	foldCase := len(args) == 2
	if foldCase && (!isLiteral(args[1]) || args[1].Term.Type != gojq.TermTypeString || args[1].Term.Str.Str != "i") {
		c.refuse(`must not give test other flags than "i"`)
	}
	p, err := compilePattern(args[0].Term.Str.Str, foldCase, c.room)
	if err != nil {
		c.refuse("cannot be used: %v", err)
	}
	c.patterns = append(c.patterns, p)
	return call("_test", query(call(meterVariable)), query(number(strconv.Itoa(len(c.patterns)-1))))
}

// short cuts a name that a refusal repeats.
func short(name string) string {
	if len(name) > 40 {
		return name[:40] + "..."
	}
	return name
}
