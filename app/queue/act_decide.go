package queue

import (
	"time"

	"github.com/switchboard-otel/switchboard/app/fault"
)

// Action is what a human does to a todo.
type Action string

// The human's actions (board.md section 1).
const (
	ActionClaim    Action = "claim"
	ActionComplete Action = "complete"
	ActionFail     Action = "fail"
	ActionRetry    Action = "retry"
	ActionExtend   Action = "extend"
	ActionRelease  Action = "release"
	ActionCancel   Action = "cancel"
)

// Actions lists every action.
var Actions = []Action{ActionClaim, ActionComplete, ActionFail, ActionRetry, ActionExtend, ActionRelease, ActionCancel}

// Via is the way by which a human acted.
type Via string

// The ways in (decisions.md 32).
const (
	ViaBoard Via = "board"
	ViaAPI   Via = "api"
	ViaCLI   Via = "cli"
)

// humanLease is how long a human's claim and each extension last.
const humanLease = 5 * time.Minute

// standing is how a todo stands when a human acts on it, read under its lock.
type standing struct {
	state           State
	attempt, max    int
	owner           string // empty: nobody
	retryScheduled  bool
	retryDue        bool
	lapsed          bool // its lease
	endpointRevoked bool
	quarantined     bool
}

// move is what an action does. A move that closes ends the open attempt; one that opens then begins a new
// one, held by the human.
type move struct {
	to          State
	outcome     Outcome // empty: no attempt is closed
	disposition string
	opens       bool
	extends     bool
	retryLater  bool // a failed todo waits for its retry
	resets      bool // the attempt counter and the result start anew
}

// Why an action is refused, each with what to do.
var (
	errNotYours   = fault.New(fault.Conflict, "you do not hold this todo: an agent's lease ends by its own report, or when it lapses")
	errNotOpen    = fault.New(fault.Conflict, "this todo cannot be claimed now")
	errNotFailed  = fault.New(fault.Conflict, "only a failed todo can be retried")
	errOver       = fault.New(fault.Conflict, "this todo has ended already")
	errNoEndpoint = fault.New(fault.Conflict, "this todo's endpoint was revoked: nobody could claim it")
	errQuarantine = fault.New(fault.Conflict, "this todo waits in quarantine: release it to a queue or discard it")
	errNoAction   = fault.InvalidArgument("action", "must be claim, complete, fail, retry, extend, release or cancel")
)

// decide says what an action of the human called me does to a todo, or why not. It is the whole policy of
// human actions: everything else only carries it out.
func decide(s standing, a Action, me string, noRetry bool) (move, error) {
	if s.quarantined {
		return move{}, errQuarantine
	}
	mine := s.owner == me && s.state == StateClaimed
	switch a {
	case ActionClaim:
		switch {
		case s.endpointRevoked:
			return move{}, errNoEndpoint
		case s.state == StatePending, s.state == StateFailed && s.retryDue:
			return move{to: StateClaimed, opens: true}, nil
		case s.state == StateClaimed && s.lapsed && s.attempt < s.max:
			return move{to: StateClaimed, outcome: OutcomeLeaseExpired, disposition: "requeued", opens: true}, nil
		}
		return move{}, errNotOpen
	case ActionComplete, ActionFail, ActionExtend, ActionRelease:
		if !mine {
			return move{}, errNotYours
		}
		return reportMove(s, a, noRetry), nil
	case ActionRetry:
		switch {
		case s.state != StateFailed:
			return move{}, errNotFailed
		case s.endpointRevoked:
			return move{}, errNoEndpoint
		}
		return move{to: StatePending, resets: true}, nil
	case ActionCancel:
		switch s.state {
		case StatePending:
			return move{to: StateCanceled}, nil
		case StateClaimed, StateInputRequired, StateAuthRequired:
			return move{to: StateCanceled, outcome: OutcomeCanceled, disposition: "canceled"}, nil
		case StateFailed:
			if s.retryScheduled {
				return move{to: StateCanceled}, nil
			}
		}
		return move{}, errOver
	}
	return move{}, errNoAction
}

// reportMove is what the holder's own report does.
func reportMove(s standing, a Action, noRetry bool) move {
	switch {
	case a == ActionComplete:
		return move{to: StateDone, outcome: OutcomeCompleted, disposition: "done"}
	case a == ActionRelease:
		return move{to: StatePending, outcome: OutcomeReleased, disposition: "requeued"}
	case a == ActionExtend:
		return move{to: StateClaimed, extends: true}
	case !noRetry && s.attempt < s.max:
		return move{to: StateFailed, outcome: OutcomeFailed, disposition: "retry_scheduled", retryLater: true}
	default:
		return move{to: StateFailed, outcome: OutcomeFailed, disposition: "dead_lettered"}
	}
}
