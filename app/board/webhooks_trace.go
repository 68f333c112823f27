package board

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/switchboard-otel/switchboard/app/intake"
	"github.com/switchboard-otel/switchboard/app/routing"
)

// traceLine is what one rule said about a delivery.
type traceLine struct {
	mark
	Rule string
	Expr string // empty where it is not known any more
	Said string
	Hit  bool // this rule decided
}

// linesOf tells a decision rule by rule, the ones that were not looked at as well.
func (t *triedView) linesOf() (lines []traceLine) {
	for i, rule := range t.Rules {
		line := traceLine{mark: mark{"off", "l-step", ""}, Rule: ruleName(rule.ID, rule.Name), Expr: rule.Expr, Said: "not looked at"}
		if i < len(t.Trace.Evaluated) {
			line.outcome(t.Trace.Evaluated[i].Outcome)
		}
		lines = append(lines, line)
	}
	return lines
}

func (l *traceLine) outcome(o routing.Outcome) {
	switch o {
	case routing.OutcomeMatch:
		l.mark, l.Said, l.Hit = mark{"done", "l-done", ""}, "matches", true
	case routing.OutcomeFault:
		l.mark, l.Said, l.Hit = mark{"dead", "l-fail", ""}, "fails", true
	default:
		l.mark, l.Said = mark{"off", "l-off", ""}, "does not match"
	}
}

func ruleName(id, name string) string {
	if name != "" {
		return name
	}
	return id
}

// resultWords say what rules make of a delivery.
func (t *triedView) resultWords() string {
	switch t.Disposition {
	case intake.Dropped:
		return "It is dropped: no todo."
	case intake.Faulted:
		return "It is faulted and waits in quarantine. " + faultWords(t.Trace)
	}
	words := "Its todo goes to " + *t.Queue
	if t.WorkOrder {
		words += ", with a work order"
	}
	if t.Trace.Stage == routing.StageDefault {
		words += ", because no rule matches"
	}
	return words + "."
}

// resultTone is the tone of resultWords.
func (t *triedView) resultTone() mark {
	m := dispositionMark(t.Disposition)
	return mark{m.Tone, m.Lamp, ""}
}

// faultWords say why a delivery was not routed.
func faultWords(t routing.Trace) string {
	if len(t.Faults) == 0 {
		return "No reason is kept."
	}
	f := t.Faults[0]
	if f.RuleID == "" {
		return sentence(f.Reason)
	}
	return fmt.Sprintf("Rule %s stopped: %s.", ruleName(f.RuleID, ""), f.Reason)
}

// decidedWords say in a few words what decided about an event.
func decidedWords(raw json.RawMessage) string {
	t, ok := traceOf(raw)
	switch {
	case !ok:
		return ""
	case t.Stage == routing.StageFault:
		return faultWords(t)
	case t.Stage == routing.StageDefault && len(t.Evaluated) == 0:
		return "to " + t.Action.Queue + ", without rules"
	case t.Stage == routing.StageDefault && t.Action.Drop:
		return "no rule matched: dropped"
	case t.Stage == routing.StageDefault:
		return "to " + t.Action.Queue + ": no rule matched"
	case t.Action.Drop:
		return "by the rule " + ruleName(t.RuleID, t.RuleName)
	default:
		return "to " + t.Action.Queue + " by the rule " + ruleName(t.RuleID, t.RuleName)
	}
}

// traceOf reads a stored trace.
func traceOf(raw json.RawMessage) (t routing.Trace, ok bool) {
	return t, json.Unmarshal(raw, &t) == nil && t.Stage != ""
}

// storedLines tells a stored decision rule by rule.
func storedLines(t routing.Trace) (lines []traceLine) {
	for _, e := range t.Evaluated {
		line := traceLine{Rule: e.RuleID}
		line.outcome(e.Outcome)
		lines = append(lines, line)
	}
	return lines
}

// lookedAt says how many rules were looked at.
func lookedAt(t routing.Trace) string {
	return counted(len(t.Evaluated), "rule", "rules") + " looked at"
}

// eventChoice names a delivery in a select, which takes the width of its longest line.
func eventChoice(now time.Time, e *intake.EventRow) string {
	const most = 60
	title := []rune(e.Title)
	if len(title) > most {
		title = append(title[:most], '…')
	}
	return briefly(now, e.ReceivedAt) + ": " + string(title)
}
