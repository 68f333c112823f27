package routing

import "github.com/itchyny/gojq"

// What check.go builds expressions from. The names that begin with "$_" and "_" cannot be written in a rule.

const (
	meterVariable = "$_meter"
	pairVariable  = "$_pair"
	inputVariable = "$_in"
)

func query(t *gojq.Term) *gojq.Query { return &gojq.Query{Term: t} }

// of is query, unwrapped where the term is only a wrapping.
func of(t *gojq.Term) *gojq.Query {
	if t.Type == gojq.TermTypeQuery && len(t.SuffixList) == 0 {
		return t.Query
	}
	return query(t)
}

func wrap(q *gojq.Query) *gojq.Term { return &gojq.Term{Type: gojq.TermTypeQuery, Query: q} }

func identity() *gojq.Term { return &gojq.Term{Type: gojq.TermTypeIdentity} }

func call(name string, args ...*gojq.Query) *gojq.Term {
	return &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: name, Args: args}}
}

func literal(s string) *gojq.Query {
	return query(&gojq.Term{Type: gojq.TermTypeString, Str: &gojq.String{Str: s}})
}

func piped(from, to *gojq.Term) *gojq.Term {
	return wrap(&gojq.Query{Left: of(from), Op: gojq.OpPipe, Right: of(to)})
}

// indexed puts an index behind a term, as a suffix. The term is the caller's own.
func indexed(t *gojq.Term, i *gojq.Index) *gojq.Term {
	t.SuffixList = append(t.SuffixList, &gojq.Suffix{Index: i})
	return t
}

func elementsOf() *gojq.Term { return call("_each", query(call(meterVariable))) }

func weighed(op string) *gojq.Term { return call("_weigh", query(call(meterVariable)), literal(op)) }

// paired evaluates a and b once, weighs them for op, and hands both to then.
func paired(op string, a, b *gojq.Query, then func(a, b *gojq.Query) *gojq.Query) *gojq.Query {
	first := indexed(call(pairVariable), &gojq.Index{Start: query(number("0"))})
	second := indexed(call(pairVariable), &gojq.Index{Start: query(number("1"))})
	return &gojq.Query{
		Left:     query(call("_pair", query(call(meterVariable)), literal(op), a, b)),
		Op:       gojq.OpPipe,
		Patterns: []*gojq.Pattern{{Name: pairVariable}},
		Right:    then(query(first), query(second)),
	}
}

func compared(op gojq.Operator, a, b *gojq.Query) *gojq.Query {
	return query(call("_compare", query(call(meterVariable)), literal(op.String()), a, b))
}

func number(digits string) *gojq.Term { return &gojq.Term{Type: gojq.TermTypeNumber, Number: digits} }

// isLiteral reports whether an expression is one number, string, boolean or null as written.
func isLiteral(q *gojq.Query) bool {
	if q == nil || q.Term == nil || len(q.FuncDefs) > 0 || len(q.Term.SuffixList) > 0 {
		return false
	}
	switch t := q.Term; t.Type {
	case gojq.TermTypeNumber, gojq.TermTypeNull, gojq.TermTypeTrue, gojq.TermTypeFalse:
		return true
	case gojq.TermTypeString:
		return t.Str.Queries == nil
	case gojq.TermTypeUnary:
		return isLiteral(query(t.Unary.Term))
	}
	return false
}
