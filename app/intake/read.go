package intake

import (
	"encoding/json"
	"slices"

	"github.com/switchboard-otel/switchboard/app/arguments"
	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/routing"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// ReadRules reads a new set of rules out of the arguments of a call. Absent params keep what is saved, and null
// clears it.
func ReadRules(in *arguments.Arguments) RuleChange {
	change := RuleChange{Params: in.JSON("params")}
	change.ChangeParams = change.Params != nil || in.IsNull("params")
	if err := queue.CheckJSON("params", change.Params); err != nil {
		in.Refuse(err)
	}
	rules := in.JSON("rules")
	if rules == nil {
		in.Refuse(fault.InvalidArgument("rules", "is required; [] means none"))
		return change
	}
	var err error
	if change.Rules, change.Default, err = ParseRules(rules, in.JSON("default")); err != nil {
		in.Refuse(err)
	}
	return change
}

// ParseRules reads rules and the default action as they are written in JSON; a nil default is none.
func ParseRules(rules, fallback json.RawMessage) (list []routing.Rule, action *routing.Action, err error) {
	var sent []*routing.Rule
	if strictly(rules, &sent) != nil || slices.Contains(sent, nil) {
		return nil, nil, fault.InvalidArgument("rules", `must be an array of {"id", "name", "expr", "action"}`)
	}
	list = make([]routing.Rule, len(sent))
	for i, rule := range sent {
		list[i] = *rule
	}
	if fallback != nil && strictly(fallback, &action) != nil {
		return nil, nil, fault.InvalidArgument("default", `must be {"queue": "...", "work_order": true or false} or {"drop": true}`)
	}
	return list, action, nil
}

// ReadTrial reads what rules are tried on out of the arguments of a call.
func ReadTrial(in *arguments.Arguments) Trial {
	trial := Trial{Payload: in.JSON("payload"), Kind: in.Filter("kind"), ContentType: in.Filter("content_type")}
	if len(trial.Kind) > maxKind {
		in.Refuse(fault.InvalidArgument("kind", "must be at most 64 bytes of text"))
	}
	if len(trial.ContentType) > maxContentType {
		in.Refuse(fault.InvalidArgument("content_type", "must be at most 256 bytes of text"))
	}
	if name := in.Word("event_id"); name != nil {
		id, ok := typeid.Event.Parse(*name)
		if !ok {
			in.Refuse(ErrEventNotFound)
		}
		trial.Event = &id
	}
	headers := in.JSON("headers")
	if absent := string(headers) == `""` || string(headers) == `"null"`; absent {
		headers = nil
	}
	if headers != nil && json.Unmarshal(headers, &trial.Headers) != nil {
		in.Refuse(fault.InvalidArgument("headers", "must be an object of strings"))
	}
	return trial
}
