package trail

import (
	"slices"
	"time"
)

// leastCritical is the share of the window, one in so many, that a span must have made the end wait for. An agent
// works on one thing at a time, so nearly all of its spans are on the path; these are the ones that count.
const leastCritical = 50

// critical marks the spans that the end of the trace waited for: from the last end backwards, whoever was running
// then, and before it started, whoever was running before. What ran beside them is not on the path.
func (t *tree) critical() []bool {
	type stretch struct {
		children []int
		until    time.Time
	}
	on := make([]bool, len(t.nodes))
	var roots []int
	start, end := t.window()
	least := end.Sub(start) / leastCritical
	for i, n := range t.nodes {
		if n.parent < 0 {
			roots = append(roots, i)
		}
	}
	for todo := []stretch{{roots, end}}; len(todo) > 0; {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		byEnd := slices.Clone(s.children)
		slices.SortStableFunc(byEnd, func(a, b int) int { return t.nodes[b].span.EndAt.Compare(t.nodes[a].span.EndAt) })
		for _, i := range byEnd {
			n := t.nodes[i]
			if !n.span.StartAt.Before(s.until) || n.span.EndAt.Equal(n.span.StartAt) {
				continue
			}
			until := n.span.EndAt
			if until.After(s.until) {
				until = s.until
			}
			on[i] = until.Sub(n.span.StartAt) >= least
			todo = append(todo, stretch{n.children, until})
			s.until = n.span.StartAt
		}
	}
	return on
}
