package trail

import "slices"

// Origin is the trace that an attempt's claim minted, and whether the attempt is over. It is zero for spans
// without an attempt.
type Origin struct {
	Trace [16]byte
	Ended bool
}

// adopt makes roots of the spans whose parent is the id that the claim handed out. That id is stored nowhere
// (REQ-4), so it is recognised: in the attempt's own trace it is the absent parent, the earliest if there are
// several, below which something is already complete, because a span with children has arrived. When the
// attempt is over and only one parent is absent, it is that one. Any other absent parent is still awaited.
func (t *tree) adopt(o Origin) {
	var candidates []int
	absent := 0
	for i, g := range t.ghosts {
		if g.trace != o.Trace {
			continue
		}
		absent++
		if slices.ContainsFunc(g.children, func(c int) bool { return len(t.nodes[c].children) > 0 }) {
			candidates = append(candidates, i)
		}
	}
	if len(candidates) == 0 && absent == 1 && o.Ended {
		candidates = []int{slices.IndexFunc(t.ghosts, func(g ghost) bool { return g.trace == o.Trace })}
	}
	if len(candidates) == 0 {
		return
	}
	minted := &t.ghosts[candidates[0]]
	for _, c := range minted.children {
		t.nodes[c].ghost = -1
	}
	minted.children = nil
	t.dropEmptyGhosts()
}
