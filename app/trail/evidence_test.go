package trail

import (
	"fmt"
	"slices"
	"testing"

	"github.com/switchboard-otel/switchboard/app/queue"
)

// Each line says how it is known: what a worker said is never more than that, and silence is no proof.
func TestMerge_SaysOfEachLineHowItIsKnown(t *testing.T) {
	d := todo(attempt(3, 30, 40, "canceled"), attempt(2, 20, 29, "completed"), attempt(1, 1, 10, "reaped"))
	line := Merge(nil, d, []queue.ActivityEntry{
		entry(1, 5, queue.KindNote, 1, `null`), entry(2, 15, queue.KindHumanAction, 0, `{"action":"extend"}`),
	}, 50, 0)
	var got []string
	for _, e := range line.Entries {
		if e.Attempt == nil {
			got = append(got, fmt.Sprint(e.Kind, " ", e.Evidence))
		}
		for _, i := range e.Items {
			got = append(got, fmt.Sprint(i.Kind, " ", i.Evidence))
		}
	}
	want := []string{"created verified", "claimed verified", "note reported", "ended heuristic", "human_action verified",
		"claimed verified", "ended reported", "claimed verified", "ended verified"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestEvidence_HasWordsForEachOfItsOwn(t *testing.T) {
	for _, e := range []Evidence{Verified, Reported, Heuristic} {
		if e.Words() == "" {
			t.Errorf("%s has no words", e)
		}
	}
}
