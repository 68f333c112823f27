package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// maxTextColumns keeps prose readable on a wide terminal.
const maxTextColumns = 100

// printTrail prints a todo the way its page on the Board tells it: what came of it, what happened, and where
// the time went. A part that the answer does not have is left out.
func (a *app) printTrail(t *todoDoc) {
	out := &writer{w: a.Stdout, columns: a.columns()}
	out.header(t)
	if t.Attempts != nil {
		out.outcome(t)
	}
	if t.Attempts != nil || t.Activity != nil {
		out.timeline(t)
	}
	if t.Spans != nil {
		out.waterfalls(t)
	}
}

type writer struct {
	w       io.Writer
	columns int
}

func (o *writer) printf(format string, args ...any) { fmt.Fprintf(o.w, format, args...) }

// paragraph prints foreign text behind an indent.
func (o *writer) paragraph(indent int, s string) {
	for _, l := range wrap(s, min(o.columns, maxTextColumns)-indent) {
		o.printf("%s\n", strings.TrimRight(strings.Repeat(" ", indent)+l, " "))
	}
}

func (o *writer) heading(s string) { o.printf("\n%s\n", s) }

func (o *writer) header(t *todoDoc) {
	o.paragraph(0, line(t.Title))
	status := fmt.Sprintf("%s · attempt %d of %d", t.stateLabel(), t.Attempt, t.MaxAttempts)
	if t.NextRetryAt != nil {
		status += " · retry due " + stamp(*t.NextRetryAt)
	}
	if t.LeaseExpiresAt != nil {
		status += " · lease until " + stamp(*t.LeaseExpiresAt)
	}
	o.paragraph(0, status)
	o.paragraph(0, line(fmt.Sprintf("%s · queue %s · endpoint %s · agent %s", t.ID, t.Queue, t.Endpoint, t.Agent)))
	o.printf("%s\n", line(t.URL))
}

func (o *writer) outcome(t *todoDoc) {
	o.heading("Outcome")
	i := slices.IndexFunc(t.Attempts, func(at attemptDoc) bool { return at.EndedAt != nil })
	if i < 0 {
		o.printf("  No attempt has finished yet.\n")
	} else {
		last := &t.Attempts[i]
		o.paragraph(2, fmt.Sprintf("attempt %d: %s", last.Seq, ending(last)))
		o.report(2, last)
	}
	if len(t.Result) == 0 || bytes.Equal(t.Result, []byte("null")) {
		return
	}
	var pretty bytes.Buffer
	if json.Indent(&pretty, t.Result, "", "  ") == nil {
		o.printf("  result\n")
		for _, l := range strings.Split(clean(pretty.String()), "\n") {
			o.printf("  %s\n", fit(l, o.columns-2))
		}
	}
}

// report is what the holder left behind.
func (o *writer) report(indent int, at *attemptDoc) {
	if at.Summary != nil {
		summary := *at.Summary
		if at.SummaryTruncated {
			summary += " [cut]"
		}
		o.paragraph(indent, summary)
	}
	if at.Artifact != nil {
		o.printf("%s%s\n", strings.Repeat(" ", indent), line(*at.Artifact))
	}
}

// ending says how an attempt ended; a death is told apart from a failure in words.
func ending(at *attemptDoc) string {
	s := line(text(at.Outcome))
	if at.Died {
		s = "died (" + s + ")"
		if at.LastHeartbeatAt != nil {
			s += ", last heard " + stamp(*at.LastHeartbeatAt)
		}
	}
	if d := line(text(at.Disposition)); d != "" && d != "done" {
		s += " → " + strings.ReplaceAll(d, "_", " ")
	}
	return s
}

// event is one entry of the timeline.
type event struct {
	at     time.Time
	seq    int // the attempt it belongs to; 0 = none
	order  int // of entries at one instant: a claim before its notes before its end
	title  string
	report *attemptDoc
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
		if e.report != nil {
			o.report(indent+10, e.report)
		}
	}
	if t.AttemptsPruned > 0 {
		o.printf("  no longer kept: %s\n", counted(t.AttemptsPruned, "older attempt"))
	}
	if t.ActivityPruned > 0 {
		o.printf("  no longer kept: %s\n", counted(t.ActivityPruned, "older note"))
	}
}

// timelineOf merges attempts and activity, oldest first.
func timelineOf(t *todoDoc) []event {
	events := []event{{at: t.CreatedAt, order: -1, title: line("created by " + t.Source)}}
	for i := range t.Attempts {
		at := &t.Attempts[i]
		who := line(text(at.Claimant))
		switch {
		case at.ClaimerKind == "owner":
			who = "you"
		case who == "":
			who = line(t.Agent)
		}
		events = append(events, event{at: at.ClaimedAt, seq: at.Seq, title: fmt.Sprintf("attempt %d claimed by %s", at.Seq, who)})
		if at.EndedAt != nil {
			events = append(events, event{at: *at.EndedAt, seq: at.Seq, order: 2, title: ending(at), report: at})
		}
		if at.NotesDropped > 0 {
			end := at.ClaimedAt
			if at.EndedAt != nil {
				end = *at.EndedAt
			}
			events = append(events, event{at: end, seq: at.Seq, order: 1, title: "dropped by the cap: " + counted(at.NotesDropped, "note")})
		}
	}
	for _, entry := range t.Activity {
		seq, order := 0, 1
		if entry.AttemptSeq != nil {
			seq = *entry.AttemptSeq
		}
		events = append(events, event{at: entry.At, seq: seq, order: order, title: activityTitle(&entry)})
	}
	slices.SortStableFunc(events, func(x, y event) int {
		return cmp.Or(x.at.Compare(y.at), cmp.Compare(x.seq, y.seq), cmp.Compare(x.order, y.order))
	})
	return events
}

func activityTitle(entry *activityDoc) string {
	message := line(text(entry.Message))
	if entry.Detail.Truncated {
		message += " [cut]"
	}
	switch entry.Kind {
	case "note":
		return "note: " + message
	case "human_action":
		return line(fmt.Sprintf("%s by a human, over %s", entry.Detail.Action, entry.Detail.Via))
	default:
		title := strings.ReplaceAll(entry.Kind, "_", " ") + " by " + entry.ActorKind
		if message != "" {
			title += ": " + message
		}
		return line(title)
	}
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }
