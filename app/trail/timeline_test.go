package trail

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/switchboard-otel/switchboard/app/queue"
)

func at(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

func ptr[T any](v T) *T { return &v }

func attempt(seq, from, to int, outcome string) queue.Attempt {
	a := queue.Attempt{Seq: seq, Attempt: seq, ClaimedAt: at(from), ClaimerKind: "endpoint"}
	if outcome != "" {
		a.EndedAt, a.Outcome, a.Died = ptr(at(to)), &outcome, outcome == "reaped"
	}
	return a
}

func entry(seq, when int, kind string, attempt int, detail string) queue.ActivityEntry {
	e := queue.ActivityEntry{Seq: seq, At: at(when), Kind: kind, Detail: json.RawMessage(detail)}
	if attempt > 0 {
		e.AttemptSeq = &attempt
	}
	return e
}

func todo(attempts ...queue.Attempt) *queue.Detail {
	d := &queue.Detail{Attempts: attempts}
	d.CreatedAt = at(0)
	return d
}

// told writes a timeline as one would read it, an attempt's items indented.
func told(t Timeline) []string {
	var out []string
	for _, e := range t.Entries {
		if e.Attempt == nil {
			out = append(out, string(e.Kind))
			continue
		}
		out = append(out, fmt.Sprint("attempt ", e.Attempt.Seq))
		for _, i := range e.Items {
			line := "  " + string(i.Kind)
			if i.Quiet > 0 {
				line += fmt.Sprint(", then quiet for ", i.Quiet)
			}
			out = append(out, line)
		}
	}
	return out
}

func TestMerge_TellsTheStoryInOrder(t *testing.T) {
	t.Parallel()
	first := attempt(1, 10, 400, "reaped")
	first.LastHeartbeatAt = ptr(at(100))
	d := todo(attempt(2, 500, 600, "completed"), first)
	got := Merge(nil, d, []queue.ActivityEntry{
		entry(1, 5, "rung", 0, ""),
		entry(2, 20, "note", 1, ""),
		entry(3, 30, "note", 1, ""),
		entry(4, 450, "human_action", 0, `{"action":"retry","via":"board"}`),
		entry(5, 450, "retried", 0, `{"state":"failed"}`),
		entry(6, 550, "human_action", 2, `{"action":"extend"}`),
	}, 500, 0)
	want := []string{"created", "rung",
		"attempt 1", "  claimed", "  note", "  note, then quiet for 5m0s", "  ended",
		"retried",
		"attempt 2", "  claimed", "  human_action", "  ended"}
	if diff := cmp.Diff(want, told(got)); diff != "" {
		t.Fatal(diff)
	}
	if got.Total != 10 || got.Older != 0 || got.Newer != 0 {
		t.Fatalf("%+v", got)
	}
}

func TestMerge_SaysWhereAttemptsWerePruned(t *testing.T) {
	t.Parallel()
	d := todo(attempt(4, 100, 110, "failed"))
	d.AttemptsPruned = 3
	got := Merge(nil, d, []queue.ActivityEntry{entry(1, 50, "note", 2, "")}, 500, 0)
	want := []string{"created", "note", "attempts_pruned", "attempt 4", "  claimed", "  ended"}
	if diff := cmp.Diff(want, told(got)); diff != "" {
		t.Fatal(diff)
	}
}

func TestMerge_ShowsTheNewestAndCountsTheRest(t *testing.T) {
	t.Parallel()
	d := todo(attempt(2, 30, 0, ""), attempt(1, 10, 20, "failed"))
	notes := []queue.ActivityEntry{entry(1, 31, "note", 2, ""), entry(2, 32, "note", 2, "")}
	newest := Merge(nil, d, notes, 2, 0)
	if diff := cmp.Diff([]string{"attempt 2", "  note", "  note"}, told(newest)); diff != "" || newest.Older != 4 {
		t.Fatal(diff, newest.Older)
	}
	older := Merge(nil, d, notes, 3, 2)
	want := []string{"attempt 1", "  claimed", "  ended", "attempt 2", "  claimed"}
	if diff := cmp.Diff(want, told(older)); diff != "" || older.Older != 1 || older.Newer != 2 {
		t.Fatal(diff, older.Older, older.Newer)
	}
}

// Attempts of a todo never overlap; notes carry their attempt; the rest falls anywhere.
func TestMerge_IsInTimeOrderAndPagesLoseNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := todo()
		var activity []queue.ActivityEntry
		clock := 0
		for seq := range rapid.IntRange(0, 5).Draw(t, "attempts") {
			from := clock + rapid.IntRange(0, 3).Draw(t, "pause")
			clock = from + rapid.IntRange(0, 5).Draw(t, "length")
			d.Attempts = append([]queue.Attempt{attempt(seq+1, from, clock, "failed")}, d.Attempts...)
			for range rapid.IntRange(0, 3).Draw(t, "notes") {
				activity = append(activity, entry(0, rapid.IntRange(from, clock).Draw(t, "note"), "note", seq+1, ""))
			}
		}
		for range rapid.IntRange(0, 4).Draw(t, "others") {
			activity = append(activity, entry(0, rapid.IntRange(0, clock+2).Draw(t, "other"), "a2a_state", 0, ""))
		}
		whole := Merge(nil, d, activity, 1000, 0)
		flat := flatten(whole)
		if len(flat) != whole.Total || whole.Total != 1+2*len(d.Attempts)+len(activity) {
			t.Fatalf("%d items of %d", len(flat), whole.Total)
		}
		for i := 1; i < len(flat); i++ {
			if flat[i].At.Before(flat[i-1].At) {
				t.Fatalf("item %d is older than the one before it", i)
			}
		}
		limit := rapid.IntRange(1, 7).Draw(t, "limit")
		var paged []Item
		for skip := 0; skip < whole.Total; skip += limit {
			p := Merge(nil, d, activity, limit, skip)
			if p.Older+len(flatten(p))+p.Newer != p.Total {
				t.Fatalf("%d older, %d here, %d newer of %d", p.Older, len(flatten(p)), p.Newer, p.Total)
			}
			paged = append(flatten(p), paged...)
		}
		if diff := cmp.Diff(len(flat), len(paged)); diff != "" {
			t.Fatal(diff)
		}
		for i := range flat {
			if flat[i].At != paged[i].At || flat[i].Kind != paged[i].Kind {
				t.Fatalf("item %d differs when paged", i)
			}
		}
	})
}

func flatten(t Timeline) []Item {
	var out []Item
	for _, e := range t.Entries {
		if e.Attempt == nil {
			out = append(out, e.Item)
		}
		out = append(out, e.Items...)
	}
	return out
}

func TestLastClosed_IsTheMostRecentThatEnded(t *testing.T) {
	t.Parallel()
	if LastClosed([]queue.Attempt{attempt(1, 0, 0, "")}) != nil {
		t.Error("an open attempt is no outcome")
	}
	got := LastClosed([]queue.Attempt{attempt(3, 5, 0, ""), attempt(2, 3, 4, "failed"), attempt(1, 0, 1, "completed")})
	if got == nil || got.Seq != 2 {
		t.Errorf("got %+v", got)
	}
}
