package trail

import (
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/rungraph"
)

// Evidence is how an item of the timeline is known, in the words of the run-graph format.
type Evidence string

// The words that a timeline uses.
const (
	Verified  Evidence = rungraph.EvidenceVerified  // this server saw it or did it
	Reported  Evidence = rungraph.EvidenceReported  // a worker said it; nothing checked it
	Heuristic Evidence = rungraph.EvidenceHeuristic // only silence was observed
)

// Words says for a person what the evidence is.
func (e Evidence) Words() string {
	switch e {
	case Verified:
		return "this server saw it"
	case Reported:
		return "a worker said it"
	case Heuristic:
		return "concluded from silence"
	}
	return ""
}

// attest says of each item how it is known. What a worker wrote and how it says it ended is its word; everything else
// on a timeline the server did or saw itself.
func attest(entries []Entry) {
	for i := range entries {
		e := &entries[i]
		e.Evidence = evidenceOf(e.Kind, e.Attempt)
		for j := range e.Items {
			e.Items[j].Evidence = evidenceOf(e.Items[j].Kind, e.Attempt)
		}
	}
}

func evidenceOf(kind Kind, a *queue.Attempt) Evidence {
	switch {
	case kind == KindNote:
		return Reported
	case kind == KindEnded && a != nil && a.Outcome != nil:
		return Evidence(rungraph.EvidenceOf(queue.Outcome(*a.Outcome)))
	}
	return Verified
}
