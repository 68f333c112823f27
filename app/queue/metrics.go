package queue

// Metrics counts what transitions have committed, by queue. It is called after the commit, so that counters
// never run ahead of the rows.
type Metrics interface {
	Created(queue, source string)
	Claimed(queue string)
	// AttemptClosed counts an attempt's end by its outcome. A death is one more expired lease.
	AttemptClosed(queue string, outcome Outcome)
	// TodoEnded counts a todo's end: done, dead_lettered, canceled or rejected.
	TodoEnded(queue, outcome string)
	Activity(kind string)
}

// Outcome is how an attempt ended.
type Outcome string

// The outcomes of the attempt-history page.
const (
	OutcomeCompleted    Outcome = "completed"
	OutcomeFailed       Outcome = "failed"
	OutcomeReleased     Outcome = "released"
	OutcomeLeaseExpired Outcome = "lease_expired"
	OutcomeReaped       Outcome = "reaped"
	OutcomeCanceled     Outcome = "canceled"
	OutcomeRevoked      Outcome = "revoked"
)

// Outcomes lists every outcome.
var Outcomes = []Outcome{OutcomeCompleted, OutcomeFailed, OutcomeReleased, OutcomeLeaseExpired, OutcomeReaped,
	OutcomeCanceled, OutcomeRevoked}

// Died reports whether the holder never said how the attempt ended.
func (o Outcome) Died() bool { return o == OutcomeLeaseExpired || o == OutcomeReaped }

// How a todo ends, as the metrics name it.
const (
	endDone         = "done"
	endDeadLettered = "dead_lettered"
	endCanceled     = "canceled"
	endRejected     = "rejected"
)

// Ends lists how a todo can end.
var Ends = []string{endDone, endDeadLettered, endCanceled, endRejected}

type uncounted struct{}

func (uncounted) Created(string, string)        {}
func (uncounted) Claimed(string)                {}
func (uncounted) AttemptClosed(string, Outcome) {}
func (uncounted) TodoEnded(string, string)      {}
func (uncounted) Activity(string)               {}

// ended counts what the end of an attempt did to its todo, by the state the todo is in now.
func (s *Store) ended(r *Row, outcome Outcome) {
	s.metrics.AttemptClosed(r.Queue, outcome)
	switch {
	case r.State == StateDone:
		s.metrics.TodoEnded(r.Queue, endDone)
	case r.DeadLetter:
		s.metrics.TodoEnded(r.Queue, endDeadLettered)
	case r.State == StateCanceled:
		s.metrics.TodoEnded(r.Queue, endCanceled)
	}
}
