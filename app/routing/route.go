package routing

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"golang.org/x/sync/semaphore"
)

// Input is the event as rules see it.
type Input struct {
	Source, Kind, WebhookID, TrustMode string

	Verified    bool
	ContentType string
	Size        int               // bytes of the payload as it came
	Headers     map[string]string // lower-case names, sanitized
	Payload     json.RawMessage   // nil when it is not JSON: .payload is null then
}

// Decision is what becomes of a delivery. With Fault set there is no action to take: it waits in quarantine.
type Decision struct {
	Action Action
	Fault  bool
	Trace  Trace
}

// memory is what evaluations may hold at once, over all deliveries of the process, so that few run at once and
// large ones alone. A delivery waits for its share before its time begins to run.
var memory = semaphore.NewWeighted(memoryBytes)

const (
	memoryBytes  = 24 << 20
	workingBytes = 8 << 20 // what the expressions of one delivery make, and the interpreter's own stacks
)

// Route evaluates the rules in order until one matches. It never fails: what goes wrong is in the decision. A
// ctx that ends makes a fault, too, so a caller looks at its ctx before it stores one.
func (p *Program) Route(ctx context.Context, in Input) Decision {
	if len(p.rules) == 0 {
		return p.byDefault(nil)
	}
	decoded, err := estimate(in.Payload)
	if err != nil {
		return faulted(nil, Fault{Reason: err.Error()})
	}
	held := int64(min(decoded+workingBytes, memoryBytes))
	if err := memory.Acquire(ctx, held); err != nil {
		return faulted(nil, Fault{Reason: errEnded.Error()})
	}
	defer memory.Release(held)
	event, err := in.event()
	if err != nil {
		return faulted(nil, Fault{Reason: err.Error()})
	}
	return p.evaluate(newMeter(ctx, p.now), event)
}

var errEnded = errors.New("the delivery ended before its rules were looked at")

func (p *Program) evaluate(m *meter, event any) Decision {
	var evaluated []Evaluated
	for i, rule := range p.rules {
		m.nextRule()
		matched, err := rule.matches(m, event, p.params)
		if err != nil {
			evaluated = append(evaluated, Evaluated{rule.ID, OutcomeFault})
			return faulted(evaluated, Fault{RuleID: rule.ID, Reason: err.Error()})
		}
		if matched {
			evaluated = append(evaluated, Evaluated{rule.ID, OutcomeMatch})
			return Decision{Action: rule.Action, Trace: Trace{
				Stage: StageRule, RuleIndex: &i, RuleID: rule.ID, RuleName: rule.Name,
				Action: rule.Action, Evaluated: evaluated,
			}}
		}
		evaluated = append(evaluated, Evaluated{rule.ID, OutcomeNoMatch})
	}
	return p.byDefault(evaluated)
}

func (p *Program) byDefault(evaluated []Evaluated) Decision {
	return Decision{Action: p.fallback, Trace: Trace{
		Stage: StageDefault, Action: p.fallback, Evaluated: append([]Evaluated{}, evaluated...),
	}}
}

func faulted(evaluated []Evaluated, f Fault) Decision {
	return Decision{Fault: true, Trace: Trace{
		Stage: StageFault, Evaluated: append([]Evaluated{}, evaluated...), Faults: []Fault{f},
	}}
}

// matches runs one rule. The interpreter is foreign code under hostile input: should it panic, that is a fault
// of the rule and not the end of the process.
func (r *compiled) matches(m *meter, event, params any) (matched bool, err error) {
	defer func() {
		if recover() != nil {
			matched, err = false, errors.New("it cannot be evaluated")
		}
	}()
	first, some := r.code.RunWithContext(m, event, m, params).Next()
	if err := m.Err(); err != nil {
		return false, err
	}
	if err, failed := first.(error); failed {
		return false, errors.New(withoutValues(err.Error()))
	}
	return some && first != nil && first != false, nil
}

// withoutValues cuts what the interpreter quotes of the event from its error texts: it stands in parentheses
// or quotation marks.
func withoutValues(text string) string {
	if i := strings.IndexAny(text, `("`); i >= 0 {
		text = text[:i]
	}
	return strings.TrimRight(text, " :")
}

func (in *Input) event() (map[string]any, error) {
	payload, err := decode(in.Payload)
	if err != nil {
		return nil, err
	}
	headers := make(map[string]any, len(in.Headers))
	for name, value := range in.Headers {
		headers[name] = value
	}
	return map[string]any{
		"source": in.Source, "kind": in.Kind, "webhook_id": in.WebhookID, "trust_mode": in.TrustMode,
		"verified": in.Verified, "content_type": in.ContentType, "size": in.Size, "headers": headers,
		"payload": payload,
	}, nil
}
