package routing

import (
	"fmt"
	"slices"

	"github.com/itchyny/gojq"
)

// expression is what check makes of one rule's text: a query in which everything costly is weighed, and the
// patterns it names by number.
type expression struct {
	query    *gojq.Query
	patterns []pattern
}

// refusal is why an expression is no rule. Its text may name a function or an operator of the expression.
type refusal string

func (r refusal) Error() string { return string(r) }

// checker walks a parsed expression, refuses what is not on its lists and rewrites the rest. What it does not
// know it refuses: the default of every switch is a refusal.
type checker struct {
	room      *room
	variables []string // in scope
	patterns  []pattern
}

// room is what is left for the expressions of one set: compiled, a part takes up to a few hundred bytes, and
// patterns more than their text.
type room struct{ parts, instructions, runes int }

func newRoom() *room { return &room{parts: 6000, instructions: 5000, runes: 20_000} }

const partsOfPair = 8

func (c *checker) take(parts int) {
	if c.room.parts -= parts; c.room.parts < 0 {
		c.refuse("makes the rules together larger than rules may be")
	}
}

// check parses and rewrites one expression.
func check(expr string, room *room) (_ *expression, err error) {
	parsed, err := gojq.Parse(expr)
	if err != nil {
		return nil, parseError(err)
	}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case refusal:
			err = r
		default:
			panic(r)
		}
	}()
	c := &checker{room: room, variables: []string{"$params"}}
	return &expression{query: c.query(parsed), patterns: c.patterns}, nil
}

func parseError(err error) error {
	if at, ok := err.(*gojq.ParseError); ok {
		return refusal(fmt.Sprintf("its expression is not jq: look at byte %d", at.Offset))
	}
	return refusal("its expression is not jq")
}

func (c *checker) refuse(format string, args ...any) {
	panic(refusal("its expression " + fmt.Sprintf(format, args...)))
}

func (c *checker) query(q *gojq.Query) *gojq.Query {
	if q == nil {
		c.refuse("is incomplete")
	}
	c.take(1)
	if q.Meta != nil || len(q.Imports) > 0 {
		c.refuse("must not import modules")
	}
	if len(q.FuncDefs) > 0 {
		c.refuse(`must not define functions with "def"`)
	}
	if q.Term != nil {
		return of(c.term(q.Term))
	}
	if q.Right == nil {
		c.refuse("is empty")
	}
	if len(q.Patterns) > 0 {
		return c.bind(q)
	}
	switch q.Op {
	case gojq.OpPipe, gojq.OpComma, gojq.OpAnd, gojq.OpOr, gojq.OpAlt:
		return &gojq.Query{Left: c.query(q.Left), Op: q.Op, Right: c.query(q.Right)}
	case gojq.OpEq, gojq.OpNe, gojq.OpGt, gojq.OpLt, gojq.OpGe, gojq.OpLe:
		left, right := c.query(q.Left), c.query(q.Right)
		if isLiteral(q.Left) || isLiteral(q.Right) {
			return &gojq.Query{Left: left, Op: q.Op, Right: right}
		}
		return compared(q.Op, left, right)
	case gojq.OpAdd, gojq.OpSub, gojq.OpMul, gojq.OpDiv, gojq.OpMod:
		c.take(partsOfPair)
		return paired(q.Op.String(), c.query(q.Left), c.query(q.Right), func(a, b *gojq.Query) *gojq.Query {
			return &gojq.Query{Left: a, Op: q.Op, Right: b}
		})
	}
	c.refuse("must not change the event: %s is not for rules", q.Op)
	return nil
}

// bind is "value as $name | body".
func (c *checker) bind(q *gojq.Query) *gojq.Query {
	if q.Op != gojq.OpPipe || len(q.Patterns) != 1 || len(q.Patterns[0].Array)+len(q.Patterns[0].Object) > 0 {
		c.refuse(`binds more than one name with "as"; bind them one by one`)
	}
	value, name := c.query(q.Left), q.Patterns[0].Name
	c.checkName(name)
	c.variables = append(c.variables, name)
	body := c.query(q.Right)
	c.variables = c.variables[:len(c.variables)-1]
	return &gojq.Query{Left: value, Op: gojq.OpPipe, Patterns: []*gojq.Pattern{{Name: name}}, Right: body}
}

func (c *checker) checkName(name string) {
	if len(name) < 2 || name[1] == '_' {
		c.refuse(`must not bind names that begin with "$_"`)
	}
}

func (c *checker) variable(name string) {
	if !slices.Contains(c.variables, name) {
		c.refuse(`uses %s, which it does not have; it has $params and what it binds with "as"`, short(name))
	}
}

func (c *checker) term(t *gojq.Term) *gojq.Term {
	out := c.base(t)
	for _, suffix := range t.SuffixList {
		out = c.suffix(out, suffix)
	}
	return out
}

func (c *checker) base(t *gojq.Term) *gojq.Term {
	c.take(1)
	switch t.Type {
	case gojq.TermTypeIdentity, gojq.TermTypeNull, gojq.TermTypeTrue, gojq.TermTypeFalse:
		return &gojq.Term{Type: t.Type}
	case gojq.TermTypeNumber:
		return &gojq.Term{Type: t.Type, Number: t.Number}
	case gojq.TermTypeString:
		return &gojq.Term{Type: t.Type, Str: c.text(t.Str)}
	case gojq.TermTypeIndex:
		return c.index(identity(), t.Index)
	case gojq.TermTypeFunc:
		return c.call(t.Func)
	case gojq.TermTypeObject:
		return c.object(t.Object)
	case gojq.TermTypeArray:
		return c.array(t.Array)
	case gojq.TermTypeUnary:
		return &gojq.Term{Type: t.Type, Unary: &gojq.Unary{Op: t.Unary.Op, Term: c.term(t.Unary.Term)}}
	case gojq.TermTypeIf:
		return c.conditional(t.If)
	case gojq.TermTypeTry:
		return c.try(t.Try)
	case gojq.TermTypeQuery:
		return wrap(c.query(t.Query))
	}
	c.refuse("must not use %s", construct(t.Type))
	return nil
}

func construct(t gojq.TermType) string {
	switch t {
	case gojq.TermTypeRecurse:
		return `".."; name the paths it looks at`
	case gojq.TermTypeFormat:
		return `formats such as "@base64"`
	case gojq.TermTypeReduce, gojq.TermTypeForeach:
		return `"reduce" and "foreach"; any(...) and all(...) look at every element`
	case gojq.TermTypeLabel, gojq.TermTypeBreak:
		return `"label" and "break"; first(...) stops at the first output`
	}
	return "this part of jq"
}

func (c *checker) text(s *gojq.String) *gojq.String {
	if s.Queries != nil {
		c.refuse(`must not build text with "\(...)"; use +`)
	}
	return &gojq.String{Str: s.Str}
}

func (c *checker) suffix(of *gojq.Term, s *gojq.Suffix) *gojq.Term {
	c.take(1)
	switch {
	case s.Index != nil:
		return c.index(of, s.Index)
	case s.Iter:
		return piped(of, elementsOf())
	case s.Optional:
		return &gojq.Term{Type: gojq.TermTypeTry, Try: &gojq.Try{Body: query(of)}}
	}
	c.refuse("is incomplete")
	return nil
}

// index is of.name, of["name"], of[query] or of[from:to].
func (c *checker) index(of *gojq.Term, i *gojq.Index) *gojq.Term {
	if i.Name != "" {
		return indexed(of, &gojq.Index{Name: i.Name})
	}
	if i.Str != nil {
		return indexed(of, &gojq.Index{Str: c.text(i.Str)})
	}
	if i.IsSlice {
		if i.Start != nil && !isLiteral(i.Start) || i.End != nil && !isLiteral(i.End) {
			c.refuse("must write the ends of a slice as numbers")
		}
		slice := indexed(identity(), &gojq.Index{IsSlice: true, Start: i.Start, End: i.End})
		return piped(of, piped(weighed("slice"), slice))
	}
	if isLiteral(i.Start) {
		return piped(of, piped(weighed("at"), indexed(identity(), &gojq.Index{Start: i.Start})))
	}
	c.take(partsOfPair)
	return wrap(paired("at", query(of), c.query(i.Start), func(a, b *gojq.Query) *gojq.Query {
		return query(indexed(a.Term, &gojq.Index{Start: b}))
	}))
}

func (c *checker) array(a *gojq.Array) *gojq.Term {
	out := &gojq.Array{}
	if a.Query != nil {
		out.Query = c.query(a.Query)
	}
	return &gojq.Term{Type: gojq.TermTypeArray, Array: out}
}

func (c *checker) object(o *gojq.Object) *gojq.Term {
	out := &gojq.Object{}
	for _, kv := range o.KeyVals {
		pair := &gojq.ObjectKeyVal{Key: kv.Key}
		if len(kv.Key) > 0 && kv.Key[0] == '$' {
			c.variable(kv.Key)
		}
		if kv.KeyString != nil {
			pair.KeyString = c.text(kv.KeyString)
		}
		if kv.KeyQuery != nil {
			pair.KeyQuery = c.query(kv.KeyQuery)
		}
		if kv.Val != nil {
			pair.Val = c.query(kv.Val)
		}
		out.KeyVals = append(out.KeyVals, pair)
	}
	return &gojq.Term{Type: gojq.TermTypeObject, Object: out}
}

func (c *checker) conditional(i *gojq.If) *gojq.Term {
	out := &gojq.If{Cond: c.query(i.Cond), Then: c.query(i.Then)}
	for _, e := range i.Elif {
		out.Elif = append(out.Elif, &gojq.IfElif{Cond: c.query(e.Cond), Then: c.query(e.Then)})
	}
	if i.Else != nil {
		out.Else = c.query(i.Else)
	}
	return &gojq.Term{Type: gojq.TermTypeIf, If: out}
}

func (c *checker) try(t *gojq.Try) *gojq.Term {
	out := &gojq.Try{Body: c.query(t.Body)}
	if t.Catch != nil {
		out.Catch = c.query(t.Catch)
	}
	return &gojq.Term{Type: gojq.TermTypeTry, Try: out}
}
