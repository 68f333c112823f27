package routing

import (
	"fmt"
	"time"

	"github.com/itchyny/gojq"

	"github.com/switchboard-otel/switchboard/app/fault"
)

// Program is a set of rules, ready to run. It is compiled once per saved set and safe for concurrent use.
type Program struct {
	rules    []compiled
	fallback Action
	params   any
	now      func() time.Time
}

type compiled struct {
	Rule
	code *gojq.Code
}

// Compile checks a set and makes it ready. What it refuses is fault.Invalid, and names the rule and what is
// wrong with it. Queues are not its business: whether one is granted is looked at when a set is saved, and again
// at every delivery.
func Compile(set Set) (*Program, error) {
	if err := set.check(); err != nil {
		return nil, err
	}
	params, err := decodeParams(set.Params)
	if err != nil {
		return nil, err
	}
	p := &Program{params: params, now: time.Now}
	if set.Default != nil {
		p.fallback = *set.Default
	}
	room := newRoom()
	for i, rule := range set.Rules {
		code, err := compile(rule.Expr, room)
		if err != nil {
			return nil, refuse(i, rule.ID, err.Error())
		}
		p.rules = append(p.rules, compiled{Rule: rule, code: code})
	}
	return p, nil
}

func decodeParams(text []byte) (any, error) {
	if _, err := estimate(text); err != nil {
		return nil, fault.InvalidArgument("params", "must not be nested deeper than 200 or hold numbers of more than 1000 digits")
	}
	params, err := decode(text)
	if err != nil {
		return nil, fault.InvalidArgument("params", "must be JSON")
	}
	return params, nil
}

// compile checks one expression and compiles what check made of it.
func compile(expr string, room *room) (*gojq.Code, error) {
	checked, err := check(expr, room)
	if err != nil {
		return nil, err
	}
	options := append(guards(checked.patterns), gojq.WithVariables([]string{meterVariable, "$params"}))
	code, err := gojq.Compile(checked.query, options...)
	if err != nil {
		return nil, fmt.Errorf("its expression cannot be compiled")
	}
	return code, nil
}
