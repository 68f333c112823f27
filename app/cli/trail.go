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
	if t.Attempts != nil || t.Activity != nil || t.Event != nil {
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
	o.paragraph(0, t.statusLine())
	o.paragraph(0, line(fmt.Sprintf("%s · queue %s · endpoint %s · agent %s", t.ID, t.Queue, t.Endpoint, t.Agent)))
	o.printf("%s\n", line(t.URL))
}

func (o *writer) outcome(t *todoDoc) {
	o.heading("Outcome")
	i := slices.IndexFunc(t.Attempts, func(at attemptDoc) bool { return at.EndedAt != nil })
	why := "" // it is dead, where no attempt says so
	if t.DeadLetter && t.Revoked {
		why = "Its endpoint was revoked: it is a dead letter for good."
	}
	if i < 0 {
		o.paragraph(2, cmp.Or(why, "No attempt has finished yet."))
	} else {
		last := &t.Attempts[i]
		o.paragraph(2, fmt.Sprintf("attempt %d: %s", last.Seq, ending(last)))
		o.report(2, last)
		if text(last.Disposition) != "dead_lettered" && why != "" {
			o.paragraph(2, why)
		}
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

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }
