package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// event is one entry of the timeline.
type event struct {
	at     time.Time
	sort   time.Time // where it stands: at, but before the end of its attempt
	seq    int       // the attempt it stands under; 0 = none
	order  int       // of entries at one instant: a claim before its notes before its end
	title  string
	lines  []string    // more, below the title
	report *attemptDoc // what the holder left behind
}

func (o *writer) timeline(t *todoDoc) {
	o.heading("Timeline (UTC)")
	day := ""
	for _, e := range timelineOf(t) {
		at := e.at.UTC()
		if d := at.Format("2006-01-02"); d != day {
			day = d
			o.printf("  %s\n", day)
		}
		indent := 2
		if e.seq > 0 && e.order > 0 {
			indent = 4
		}
		lines := wrap(e.title, min(o.columns, maxTextColumns)-indent-10)
		o.printf("%s%s  %s\n", strings.Repeat(" ", indent), at.Format("15:04:05"), lines[0])
		for _, l := range lines[1:] {
			o.printf("%s%s\n", strings.Repeat(" ", indent+10), l)
		}
		for _, l := range e.lines {
			o.paragraph(indent+10, l)
		}
		if e.report != nil {
			o.report(indent+10, e.report)
		}
	}
	if t.ActivityPruned > 0 {
		o.paragraph(2, counted(t.ActivityPruned, "older line")+" of the activity log made room for newer ones.")
	}
}

// timelineOf merges attempts and activity, oldest first.
func timelineOf(t *todoDoc) []event {
	events := append(intakeEvents(t.Event), event{at: t.CreatedAt, order: -2, title: line("created by " + t.Source)})
	ends := map[int]*time.Time{} // of the attempts that are kept
	for i := range t.Attempts {
		ends[t.Attempts[i].Seq] = t.Attempts[i].EndedAt
		events = append(events, eventsOf(t, &t.Attempts[i])...)
	}
	if t.AttemptsPruned > 0 {
		events = append(events, prunedAttempts(t))
	}
	for i := 0; i < len(t.Activity); i++ {
		entry := &t.Activity[i]
		e := event{at: entry.At, order: 1, title: activityTitle(entry)}
		if i+1 < len(t.Activity) && retries(entry, &t.Activity[i+1]) {
			i++ // two rows of one transaction (decisions.md 31)
			e.lines = priorLines(t.Activity[i].Detail.Prior)
		}
		if entry.AttemptSeq != nil {
			e.place(*entry.AttemptSeq, ends)
		}
		events = append(events, e)
	}
	for i := range events {
		if events[i].sort.IsZero() {
			events[i].sort = events[i].at
		}
	}
	slices.SortStableFunc(events, func(x, y event) int {
		return cmp.Or(x.sort.Compare(y.sort), cmp.Compare(x.seq, y.seq), cmp.Compare(x.order, y.order))
	})
	return events
}

// intakeEvents are what happened to a delivery before its todo was there.
func intakeEvents(e *eventDoc) []event {
	if e == nil {
		return nil
	}
	return []event{
		{at: e.ReceivedAt, order: -5, title: line(fmt.Sprintf("received from %s: %s", e.Source, e.Title))},
		{at: e.ReceivedAt, order: -4, title: line("verified: " + e.VerifyDetail)},
		{at: e.ReceivedAt, order: -3, title: line(e.Trace.decision(e.Disposition, e.Trace.Action.Queue))},
	}
}

// place puts an entry of the activity log under the attempt it names: before its end, which one that ends the
// attempt is written just after. An attempt that is gone is named instead.
func (e *event) place(seq int, ends map[int]*time.Time) {
	end, kept := ends[seq]
	if !kept {
		e.title = fmt.Sprintf("attempt %d (pruned): %s", seq, e.title)
		return
	}
	e.seq = seq
	if end != nil && end.Before(e.at) {
		e.sort = *end
	}
}

// eventsOf are the claim and the end of an attempt, and what its cap dropped.
func eventsOf(t *todoDoc, at *attemptDoc) []event {
	who := line(text(at.Claimant))
	switch {
	case at.ClaimerKind == "owner":
		who = "you"
	case who == "":
		who = line(t.Agent)
	}
	events := []event{{at: at.ClaimedAt, seq: at.Seq, title: fmt.Sprintf("attempt %d claimed by %s", at.Seq, who)}}
	if at.NotesDropped > 0 {
		last := at.ClaimedAt
		for _, later := range []*time.Time{at.LastHeartbeatAt, at.EndedAt} {
			if later != nil {
				last = *later
			}
		}
		events = append(events, event{at: last, seq: at.Seq, order: 2, title: counted(at.NotesDropped, "note") + " came after the cap and were dropped"})
	}
	if at.EndedAt != nil {
		events = append(events, event{at: *at.EndedAt, seq: at.Seq, order: 3, title: ending(at), report: at})
	}
	return events
}

// prunedAttempts stands where they were: before the oldest attempt that is kept.
func prunedAttempts(t *todoDoc) event {
	e := event{at: t.CreatedAt, order: -1, title: counted(t.AttemptsPruned, "older attempt") + " no longer kept"}
	if n := len(t.Attempts); n > 0 {
		e.at = t.Attempts[n-1].ClaimedAt
	}
	return e
}

func retries(action, retried *activityDoc) bool {
	return action.Kind == "human_action" && action.Detail.Action == "retry" && retried.Kind == "retried"
}

// maxPriorResult bounds what is shown of a result that a retry wiped out; --json has all that is kept.
const maxPriorResult = 300

func priorLines(prior *priorDoc) (lines []string) {
	if prior == nil {
		return nil
	}
	lines = append(lines, "before: "+prior.statusLine())
	switch {
	case prior.Result != nil:
		lines = append(lines, fit(line("result: "+*prior.Result), maxPriorResult))
	case prior.ResultSize > 0:
		lines = append(lines, fmt.Sprintf("result: %d bytes, too many to keep", prior.ResultSize))
	}
	return lines
}

// What a human did, and by which way, in the words of the Board.
var (
	deeds = map[string]string{
		"claim": "claimed it", "complete": "completed it", "fail": "marked it failed", "retry": "asked for a retry now",
		"extend": "extended the lease", "release": "released it", "cancel": "canceled it",
		"quarantine_release": "released it from quarantine", "quarantine_discard": "discarded it", "again": "ran it again",
	}
	ways = map[string]string{"board": " on the Board", "api": " over the API", "cli": " from the command line"}
)

func activityTitle(entry *activityDoc) string {
	message := line(text(entry.Message))
	if entry.Detail.Truncated {
		message += " [cut]"
	}
	switch entry.Kind {
	case "note":
		return "note: " + message
	case "human_action":
		return "you " + cmp.Or(deeds[entry.Detail.Action], "acted on it") + ways[entry.Detail.Via] + entry.particulars()
	default:
		title := strings.ReplaceAll(entry.Kind, "_", " ") + " by " + entry.ActorKind
		if message != "" {
			title += ": " + message
		}
		return line(title)
	}
}

// particulars are what a human said with an action.
func (entry *activityDoc) particulars() string {
	d := &entry.Detail
	switch {
	case d.Reason != "":
		return line(": " + d.Reason)
	case d.Queue != "":
		return line(", to " + d.Queue)
	case d.Todo != "":
		return line(", as " + d.Todo)
	case d.From != "":
		return line(", after " + d.From)
	}
	return ""
}
