package routing

// Stage says what decided.
type Stage string

// The stages of a decision.
const (
	StageRule    Stage = "rule"
	StageDefault Stage = "default"
	StageFault   Stage = "fault"
)

// Outcome is what one rule said.
type Outcome string

// The outcomes of a rule.
const (
	OutcomeNoMatch Outcome = "no_match"
	OutcomeMatch   Outcome = "match"
	OutcomeFault   Outcome = "fault"
)

// Trace says how a decision came about. It is stored with the event and with its todos, and shown to their
// owner; it holds nothing of the payload.
type Trace struct {
	Stage     Stage       `json:"stage"`
	RuleIndex *int        `json:"rule_index,omitempty"` // from 0
	RuleID    string      `json:"rule_id,omitempty"`
	RuleName  string      `json:"rule_name,omitempty"`
	Action    Action      `json:"action"`
	Evaluated []Evaluated `json:"evaluated"` // in order; the rules behind the last one were not looked at
	Faults    []Fault     `json:"faults,omitempty"`
}

// Evaluated is one rule that was looked at.
type Evaluated struct {
	RuleID  string  `json:"rule_id"`
	Outcome Outcome `json:"outcome"`
}

// Fault is why a delivery waits in quarantine. RuleID is empty when no rule is to blame.
type Fault struct {
	RuleID string `json:"rule_id,omitempty"`
	Reason string `json:"reason"`
}
