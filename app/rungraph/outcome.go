package rungraph

import (
	"slices"

	"github.com/switchboard-otel/switchboard/app/queue"
)

// EvidenceOf says how it is known that an attempt ended so, and no more than is known: a worker's word is reported, silence
// is a guess, and verified is only what this server did itself.
func EvidenceOf(outcome queue.Outcome) string {
	switch outcome {
	case queue.OutcomeCompleted, queue.OutcomeFailed, queue.OutcomeReleased:
		return EvidenceReported
	case queue.OutcomeLeaseExpired, queue.OutcomeReaped:
		return EvidenceHeuristic
	case queue.OutcomeCanceled, queue.OutcomeRevoked:
		return EvidenceVerified
	}
	return EvidenceAsserted
}

// outcomeOf tells how an attempt ended in the format's words; nil while it is open.
func outcomeOf(a *queue.Attempt) *Outcome {
	if a.Outcome == nil {
		return nil
	}
	how := queue.Outcome(*a.Outcome)
	out := &Outcome{Result: "canceled", Evidence: EvidenceOf(how), Reason: *a.Outcome} // released, canceled, revoked
	switch how {
	case queue.OutcomeCompleted:
		out.Result, out.Reason = "done", ""
	case queue.OutcomeFailed:
		out.Result, out.Reason = "failed", ""
	case queue.OutcomeLeaseExpired, queue.OutcomeReaped:
		out.Result, out.Reason = "lost", string(queue.OutcomeLeaseExpired)
	}
	return out
}

// The words of the format for how something is known, from the strongest down. Evidence that is missing reads as asserted.
const (
	EvidenceVerified  = "verified"
	EvidenceReported  = "reported"
	EvidenceHeuristic = "heuristic"
	EvidenceAsserted  = "asserted"
)

// causeOf tells why there was another attempt: what became of the one before, which may be pruned.
func causeOf(t Subject, a, before *queue.Attempt) Cause {
	if a.Seq == 1 {
		return Cause{Type: "initial"}
	}
	if before == nil {
		return Cause{Type: "other", Reason: "earlier_attempt_pruned"}
	}
	ref := attemptID(t.ID.String(), before.Seq)
	if retriedBetween(t.Activity, before, a) {
		return Cause{Type: "other", Ref: ref, Reason: "retry_now"}
	}
	if before.Outcome != nil {
		switch queue.Outcome(*before.Outcome) {
		case queue.OutcomeLeaseExpired, queue.OutcomeReaped, queue.OutcomeReleased, queue.OutcomeRevoked:
			return Cause{Type: "superseded", Ref: ref}
		case queue.OutcomeFailed:
			return Cause{Type: "followup", Ref: ref}
		}
	}
	return Cause{Type: "other", Ref: ref}
}

func retriedBetween(activity []queue.ActivityEntry, before, a *queue.Attempt) bool {
	return before.EndedAt != nil && slices.ContainsFunc(activity, func(e queue.ActivityEntry) bool {
		return e.Kind == queue.KindRetried && !e.At.Before(*before.EndedAt) && !e.At.After(a.ClaimedAt)
	})
}
