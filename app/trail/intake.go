package trail

import (
	"encoding/json"

	"github.com/switchboard-otel/switchboard/app/intake"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/routing"
)

// Route is how the rules of a webhook came to a todo (REQ-12, REQ-14).
type Route struct {
	routing.Trace
	Queue     string // where it went, quarantine included
	WorkOrder bool   // the todo says why a rule made it
}

// RouteOf reads how an event was routed. A trace that cannot be read, which an older server might have written, is
// one that says nothing.
func RouteOf(event *intake.Event) Route {
	var r Route
	_ = json.Unmarshal(event.RoutingTrace, &r.Trace)
	r.Queue = r.Action.Queue
	if event.Disposition == intake.Faulted {
		r.Queue = queue.Quarantine
	}
	r.WorkOrder = r.Action.WorkOrder != nil && *r.Action.WorkOrder
	return r
}

// By names the rule that decided, empty when none did.
func (r *Route) By() string {
	if r.RuleName != "" {
		return r.RuleName
	}
	return r.RuleID
}

// intakeOf is what happened to a delivery before its todo was there.
func intakeOf(event *intake.Event) []Entry {
	if event == nil {
		return nil
	}
	route := RouteOf(event)
	at := event.ReceivedAt
	entries := []Entry{
		{Item: Item{Kind: KindReceived, At: at, Event: event}},
		{Item: Item{Kind: KindRouted, At: at, Event: event, Route: &route}},
	}
	if !event.Verified {
		return entries
	}
	return []Entry{entries[0], {Item: Item{Kind: KindVerified, At: at, Event: event}}, entries[1]}
}
