// Package routing decides what becomes of a delivery: an endpoint's own rules, in jq, pick a queue or drop it
// (intake.md 3).
//
// A rule is a question about one event, so what it may say is a part of jq: paths, comparisons, a list of
// functions, nothing that loops by itself, changes its input or looks outside. The parsed expression is checked
// against that part when rules are saved, and rewritten so that whatever costs more than one step is weighed
// before it happens (check.go, guard.go). An evaluation then spends steps and bytes, not only time (meter.go):
// a hostile expression ends after the same number of steps on every machine. Rules fail closed. An expression
// that errs or overspends ends the evaluation, and the decision says so.
package routing

import (
	"encoding/json"
	"fmt"
	"regexp"
	"unicode/utf8"

	"github.com/switchboard-otel/switchboard/app/fault"
)

// What a set of rules may measure. Beyond it Compile refuses the set.
const (
	MaxRules      = 32
	MaxExprBytes  = 4096
	MaxParamBytes = 16 << 10
	MaxIDLength   = 64  // letters, digits, "_", "-" and "."
	MaxNameLength = 120 // characters
)

// Rule is one question and what to do when its answer is yes: the first output of Expr is neither false nor
// null.
type Rule struct {
	ID     string `json:"id"` // unique in its set; the trace names it
	Name   string `json:"name,omitempty"`
	Expr   string `json:"expr"`
	Action Action `json:"action"`
}

// Action says where a delivery goes. The zero Action leaves the choice to the webhook: its target queue.
type Action struct {
	Queue     string `json:"queue,omitempty"`
	WorkOrder *bool  `json:"work_order,omitempty"` // nil: as the webhook has it
	Drop      bool   `json:"drop,omitempty"`
}

// Set is what an endpoint's owner saves for one webhook.
type Set struct {
	Rules   []Rule          `json:"rules"`
	Default *Action         `json:"default,omitempty"` // when no rule matches; nil is the zero Action
	Params  json.RawMessage `json:"params,omitempty"`  // $params of every expression; absent is null
}

var idPattern = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// check looks at everything of a set but its expressions. A refusal names the rule by its place and, once that
// is known to be printable, by its id.
func (s *Set) check() error {
	if len(s.Rules) > MaxRules {
		return fault.InvalidArgument("rules", fmt.Sprintf("must be at most %d", MaxRules))
	}
	if len(s.Params) > MaxParamBytes {
		return fault.InvalidArgument("params", fmt.Sprintf("must be at most %d bytes of JSON", MaxParamBytes))
	}
	if s.Default != nil && !s.Default.valid() {
		return fault.InvalidArgument("default", actionMust)
	}
	seen := make(map[string]bool, len(s.Rules))
	for i, rule := range s.Rules {
		if len(rule.ID) > MaxIDLength || !idPattern.MatchString(rule.ID) {
			return fault.InvalidArgument(fmt.Sprintf("rules[%d].id", i),
				fmt.Sprintf("must be 1 to %d letters, digits, _, - or .", MaxIDLength))
		}
		if seen[rule.ID] {
			return refuse(i, rule.ID, "another rule has this id")
		}
		seen[rule.ID] = true
		if err := rule.check(i); err != nil {
			return err
		}
	}
	return nil
}

func (r *Rule) check(index int) error {
	if !utf8.ValidString(r.Name) || utf8.RuneCountInString(r.Name) > MaxNameLength {
		return refuse(index, r.ID, fmt.Sprintf("its name must be text of at most %d characters", MaxNameLength))
	}
	if r.Expr == "" || len(r.Expr) > MaxExprBytes || !utf8.ValidString(r.Expr) {
		return refuse(index, r.ID, fmt.Sprintf("its expression must be text of 1 to %d bytes", MaxExprBytes))
	}
	if !r.Action.valid() || r.Action == (Action{}) {
		return refuse(index, r.ID, "its action "+actionMust)
	}
	return nil
}

const actionMust = `must be {"queue": "...", "work_order": true or false or absent} or {"drop": true}`

func (a *Action) valid() bool {
	return !a.Drop || a.Queue == "" && a.WorkOrder == nil
}

func refuse(index int, id, reason string) error {
	return fault.New(fault.Invalid, fmt.Sprintf("rules[%d] (%s): %s", index, id, reason))
}
