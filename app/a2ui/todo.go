package a2ui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/switchboard-otel/switchboard/app/intake"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/spans"
	"github.com/switchboard-otel/switchboard/app/trail"
)

// maxEntries is how much of the timeline a surface shows, newest kept (REQ-17).
const maxEntries = 50

// Trail is what the surface of a todo is drawn from.
type Trail struct {
	Todo   *queue.HumanDetail
	Event  *intake.Event // the delivery it came from, or nil; its payload is not looked at
	Counts []spans.Count
}

// Todo draws the outcome card and the compact timeline of a todo (REQ-17).
func Todo(t Trail) ([]byte, error) {
	s := &surface{id: "todo-" + t.Todo.ID.String()}
	head := s.text("h1", t.Todo.Title)
	standing := s.text("body", standingOf(&t.Todo.Row))
	outcome := s.card("Outcome", outcomeOf(t.Todo)...)
	timeline := trail.Merge(t.Event, &t.Todo.Detail, t.Todo.Activity, maxEntries, 0)
	lines := linesOf(timeline, countsOf(t.Counts))
	if timeline.Older > 0 {
		lines = append(lines, fmt.Sprintf("%d older entries are not shown.", timeline.Older))
	}
	if n := countsOf(t.Counts)[0]; n > 0 {
		lines = append(lines, counted(n, "span")+" without an attempt.")
	}
	return s.document(head, standing, outcome, s.card("Timeline", lines...))
}

// standingOf says where a todo stands, in one line.
func standingOf(t *queue.Row) string {
	line := fmt.Sprintf("%s in %s, attempt %d of %d", t.State, t.Queue, t.Attempt, t.MaxAttempts)
	switch {
	case t.DeadLetter:
		line += ", dead letter"
	case t.NextRetryAt != nil:
		line += ", retried at " + stamp(*t.NextRetryAt)
	}
	return line
}

// outcomeOf is what REQ-11's outcome card says, of the most recent attempt that has ended.
func outcomeOf(t *queue.HumanDetail) (lines []string) {
	last := trail.LastClosed(t.Attempts)
	if last == nil {
		return []string{"No attempt has finished yet."}
	}
	lines = []string{fmt.Sprintf("Attempt %d: %s", last.Seq, endingOf(last))}
	if last.Summary != nil {
		lines = append(lines, *last.Summary)
	}
	if last.Artifact != nil {
		lines = append(lines, "Artifact: "+*last.Artifact)
	}
	var pretty bytes.Buffer
	if len(t.Result) > 0 && json.Indent(&pretty, t.Result, "", "  ") == nil {
		lines = append(lines, "Result: "+pretty.String())
	}
	return lines
}

func endingOf(a *queue.Attempt) string {
	if a.Outcome == nil {
		return "open"
	}
	words := strings.ReplaceAll(*a.Outcome, "_", " ")
	if a.Disposition != nil {
		words += ", " + strings.ReplaceAll(*a.Disposition, "_", " ")
	}
	if a.Died {
		words += " (died: the lease lapsed without a report)"
	}
	return words
}

// countsOf are the stored spans of each attempt; 0: without one.
func countsOf(counts []spans.Count) map[int]int {
	stored := map[int]int{}
	for _, c := range counts {
		stored[c.AttemptSeq] = c.Stored
	}
	return stored
}

// linesOf tells the timeline, oldest first, one line for each item. The first line of an attempt counts its spans.
func linesOf(t trail.Timeline, stored map[int]int) (lines []string) {
	for _, e := range t.Entries {
		if e.Attempt == nil {
			lines = append(lines, lineOf(e.Item, nil))
			continue
		}
		for i, item := range e.Items {
			line := lineOf(item, e.Attempt)
			if n := stored[e.Attempt.Seq]; i == 0 && n > 0 {
				line += ", " + counted(n, "span")
			}
			lines = append(lines, line)
		}
	}
	return lines
}

func lineOf(i trail.Item, of *queue.Attempt) string { return stamp(i.At) + " " + tell(i, of) }

func tell(i trail.Item, of *queue.Attempt) string {
	switch i.Kind {
	case trail.KindReceived:
		return "received from " + string(i.Event.Source)
	case trail.KindVerified:
		return "verified: " + string(i.Event.Trust)
	case trail.KindRouted:
		if by := i.Route.By(); by != "" {
			return "routed by " + by + " to " + i.Route.Queue
		}
		return "routed to " + i.Route.Queue
	case trail.KindCreated:
		return "created"
	case trail.KindAttemptsPruned:
		return fmt.Sprintf("%d earlier attempts are no longer kept", i.Pruned)
	case trail.KindClaimed:
		by := "an agent"
		if of.ClaimerKind == "owner" {
			by = "its human"
		}
		if of.Claimant != nil {
			by += " (" + *of.Claimant + ")"
		}
		return fmt.Sprintf("attempt %d claimed by %s", of.Seq, by)
	case trail.KindEnded:
		return fmt.Sprintf("attempt %d ended: %s", of.Seq, endingOf(of))
	}
	words := map[trail.Kind]string{trail.KindNote: "note", trail.KindAction: "its human did", trail.KindRetried: "its human did",
		trail.KindA2A: "over A2A", trail.KindRung: "rang"}[i.Kind]
	if words == "" {
		words = string(i.Kind)
	}
	if action := trail.ActionOf(i.Activity); action != "" {
		words += " " + action
	}
	if i.Activity.Message != nil {
		words += ": " + *i.Activity.Message
	}
	return words
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

func counted(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
