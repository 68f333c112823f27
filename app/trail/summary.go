package trail

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/switchboard-otel/switchboard/app/spans"
)

// The categories that REQ-5 names and a page knows how to draw. A producer may name others.
const (
	CategoryReason   = "reason"
	CategoryTool     = "tool"
	CategoryNet      = "net"
	CategoryRead     = "read"
	CategoryInternal = "internal"
)

// Interval is the time an attempt had: from its claim to its end, or to now while it is open.
type Interval struct{ From, To time.Time }

// Summary is the header line of an attempt's waterfall, counted over all of its stored spans.
type Summary struct {
	Spans, Errors             int
	Categories                []Count // every category that occurs, most first
	Tools                     []Count // executions by tool, most first
	Models                    []Count // calls by model, most first
	InputTokens, OutputTokens int64   // of the innermost model calls, so that a parent's total is not counted again
	Wall                      time.Duration
	Idle                      time.Duration // time in Wall in which no span shows work
	Before                    int           // spans that had ended when the attempt began, by their sender's clock
}

// IdleKnown reports whether Idle says anything: when all spans lie before the attempt, their clock is another one or
// the work was done before the claim, and what happened within it is not known.
func (s Summary) IdleKnown() bool { return s.Spans == 0 || s.Before < s.Spans }

// Count is how often a name occurs.
type Count struct {
	Name string
	N    int
}

// IdlePercent is the idle share of the wall time, 0 to 100; 0 when it is not known.
func (s Summary) IdlePercent() int {
	if !s.IdleKnown() {
		return 0
	}
	return int(share(s.Idle, s.Wall)+50) / 100
}

// Summarize counts the spans of one attempt within the time it had. Spans without an attempt have no such
// time: for the zero interval it is their own window.
func Summarize(all []spans.Span, had Interval) Summary {
	t := plant(all)
	s := Summary{Spans: len(all)}
	categories, tools, models := map[string]int{}, map[string]int{}, map[string]int{}
	usage := make([]usage, len(t.nodes))
	for i, n := range t.nodes {
		usage[i] = usageOf(n.span)
		categories[n.span.Category]++
		if n.span.StatusCode == "error" {
			s.Errors++
		}
		if t.executesTool(n) {
			tools[n.span.Tool]++
		}
	}
	counted := t.innermost(func(i int) bool { return usage[i].present })
	called := t.innermost(func(i int) bool { return usage[i].model != "" })
	for i := range t.nodes {
		if counted[i] {
			s.InputTokens += usage[i].input
			s.OutputTokens += usage[i].output
		}
		if called[i] {
			models[usage[i].model]++
		}
	}
	s.Categories, s.Tools, s.Models = ranked(categories), ranked(tools), ranked(models)
	if had == (Interval{}) && len(t.nodes) > 0 {
		had.From, had.To = t.window()
	}
	for _, n := range t.nodes {
		if !n.span.EndAt.After(had.From) && n.span.StartAt.Before(had.From) {
			s.Before++
		}
	}
	s.Wall = max(had.To.Sub(had.From), 0)
	s.Idle = max(s.Wall-t.busy(had), 0)
	return s
}

// executesTool reports whether a span is one execution of a tool. Some agents wrap an execution in a second
// span of the same tool; the inner one is not another execution.
func (t *tree) executesTool(n node) bool {
	if n.span.Category != CategoryTool || n.span.Tool == "" {
		return false
	}
	if n.parent < 0 {
		return true
	}
	p := t.nodes[n.parent].span
	return p.Category != CategoryTool || p.Tool != n.span.Tool
}

// innermost marks the spans that count and below which no other span counts: an agent's totals on agent,
// workflow, turn and wrapping call spans repeat what the calls below them say.
func (t *tree) innermost(counts func(i int) bool) []bool {
	inner := make([]bool, len(t.nodes))
	above := make([]bool, len(t.nodes))
	for i := range t.nodes {
		inner[i] = counts(i)
		if !inner[i] {
			continue
		}
		for at := t.nodes[i].parent; at >= 0 && !above[at]; at = t.nodes[at].parent {
			above[at] = true
		}
	}
	for i := range inner {
		inner[i] = inner[i] && !above[i]
	}
	return inner
}

// busy is how much of the interval is covered by spans that show work: a model call, a tool, a request, a
// read, and whatever has nothing below it. A span of plumbing that only holds others shows none.
func (t *tree) busy(had Interval) time.Duration {
	var sum time.Duration
	until := had.From
	for _, n := range t.nodes {
		if !showsWork(n) || !n.span.EndAt.After(until) {
			continue
		}
		from, to := n.span.StartAt, n.span.EndAt
		if from.Before(until) {
			from = until
		}
		if to.After(had.To) {
			to = had.To
		}
		if to.After(from) {
			sum += to.Sub(from)
			until = to
		}
	}
	return sum
}

func showsWork(n node) bool {
	switch n.span.Category {
	case CategoryReason, CategoryTool, CategoryNet, CategoryRead:
		return true
	}
	return len(n.children) == 0
}

func ranked(counts map[string]int) []Count {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	out := make([]Count, len(names))
	for i, n := range names {
		out[i] = Count{n, counts[n]}
	}
	return out
}
