package routing

import (
	"context"
	"time"
)

// What an evaluation may spend. A step is one instruction of the interpreter, or as much work inside a built-in
// as one takes; bytes are what built-ins allocate. Both bind on every machine alike. The two durations bind only
// expressions beyond clockEvery steps, so that a busy machine does not quarantine an innocent delivery.
const (
	maxRuleSteps     = 250_000
	maxDeliverySteps = 1_000_000
	maxRuleBytes     = 2 << 20
	maxRuleTime      = 50 * time.Millisecond
	maxDeliveryTime  = 250 * time.Millisecond

	clockEvery = 4096 // steps
)

// meter counts what the rules of one delivery spend. It is the context of the interpreter, which asks Done
// before every instruction; that is what makes a step. Once it is overspent it stays so: the interpreter gives
// up at its next instruction, and no "try" of the expression catches that.
type meter struct {
	context.Context // the delivery's

	now          func() time.Time
	deliveryEnds time.Time
	ruleEnds     time.Time

	steps, bytes  int // of this rule
	deliverySteps int // of the rules before
	nextLook      int // the step at which the clock is looked at
	overspent     string
}

func newMeter(ctx context.Context, now func() time.Time) *meter {
	return &meter{Context: ctx, now: now, deliveryEnds: now().Add(maxDeliveryTime)}
}

// nextRule begins the account of another rule.
func (m *meter) nextRule() {
	m.deliverySteps += m.steps
	m.steps, m.bytes, m.nextLook = 0, 0, clockEvery
	m.ruleEnds = m.now().Add(maxRuleTime)
}

// Done is closed when the budget is spent.
func (m *meter) Done() <-chan struct{} {
	if !m.spend(1, 0) {
		return closed
	}
	return nil
}

// Err is why Done is closed.
func (m *meter) Err() error {
	if m.overspent == "" {
		return nil
	}
	return overspent(m.overspent)
}

// spend takes steps and bytes from the rule's budget and reports whether it may go on.
func (m *meter) spend(steps, bytes int) bool {
	m.steps = min(m.steps+steps, maxDeliverySteps)
	m.bytes = min(m.bytes+bytes, maxRuleBytes+1)
	if m.overspent != "" {
		return false
	}
	switch {
	case m.steps > maxRuleSteps:
		m.overspent = "it does more work than a rule may"
	case m.deliverySteps+m.steps > maxDeliverySteps:
		m.overspent = "together with the rules before it, it does more work than a delivery may cost"
	case m.bytes > maxRuleBytes:
		m.overspent = "it makes more data than a rule may"
	case m.steps >= m.nextLook:
		m.lookAtClock()
	}
	return m.overspent == ""
}

func (m *meter) lookAtClock() {
	m.nextLook = m.steps + clockEvery
	now := m.now()
	switch {
	case m.Context.Err() != nil:
		m.overspent = "the delivery ended before it did"
	case now.After(m.ruleEnds):
		m.overspent = "it takes longer than " + maxRuleTime.String()
	case now.After(m.deliveryEnds):
		m.overspent = "the rules together take longer than " + maxDeliveryTime.String()
	}
}

type overspent string

func (o overspent) Error() string { return string(o) }

var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()
