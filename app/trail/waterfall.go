// Package trail turns the rows of a todo's history into what a page shows: the merged timeline, a waterfall
// of spans per attempt, the numbers above it. Everything here takes values and returns values; time comes in
// as a parameter, and nothing recurses or grows without a bound.
package trail

import (
	"cmp"
	"slices"
	"time"

	"github.com/switchboard-otel/switchboard/app/spans"
)

// MaxIndent is the deepest indentation a row is drawn with; deeper rows carry their depth as a label.
const MaxIndent = 8

// Percent is a share of the window in hundredths of a percent, 0 to 10000. A whole number is never NaN, and
// two of them add up exactly.
type Percent int

// The whole window, and the least length a bar is drawn with.
const (
	whole      Percent = 10000
	minVisible Percent = 25
)

// Waterfall is the layout of one attempt's spans (REQ-13).
type Waterfall struct {
	Rows       []Row     // in tree order: a parent before its children, siblings by start
	Start, End time.Time // the window: the earliest start and the latest end of the rows
	Total      int       // spans given, shown or not
	Shown      int       // spans that have a row
	Ghosts     int       // parents that have not been received

	axis axis
}

// Row is one line: a span, the place of a parent that has not been received, a line that stands for folded
// plumbing, or one for a folded stretch of idle time.
type Row struct {
	Span     *spans.Span // nil for every other kind of row
	Fold     *Fold       // stands before rows of plumbing
	Gap      *Gap        // an idle stretch that is drawn narrow
	Plumbing bool        // the agent's own machinery, which the fold before it stands for
	Critical bool        // the trace's end waited for it
	ParentID [8]byte     // of a ghost: the id that its children name
	Children int         // of a ghost: how many spans name it
	Depth    int         // 0 for a root
	Cut      bool        // its parents form a circle, or it names itself; shown as a root
	Offset   time.Duration
	Duration time.Duration
	At, Len  Percent // 0 <= At, Len > 0, At+Len <= 10000

	works bool // it shows work, so the time it takes is not idle
}

// Indent is the depth to draw, at most MaxIndent.
func (r Row) Indent() int { return min(r.Depth, MaxIndent) }

// node is a span in the tree. Indexes point into tree.nodes; -1 is none.
type node struct {
	span     *spans.Span
	parent   int
	ghost    int // index into tree.ghosts, -1 when its parent is here or it has none
	cut      bool
	children []int
}

// ghost is a parent that spans name and nobody has sent. Ghosts are in the order of their first child.
type ghost struct {
	trace    [16]byte
	id       [8]byte
	children []int
}

type tree struct {
	nodes  []node // by start
	ghosts []ghost
}

// Layout arranges the spans of one attempt. It shows the first limit in start order (REQ-13) and reads all of
// them, so that a parent that is merely not shown is not called missing. Spans may come in any order.
func Layout(all []spans.Span, origin Origin, limit int) Waterfall {
	t := plant(all)
	t.adopt(origin)
	shown := min(len(t.nodes), max(limit, 0))
	t.prune(shown)
	w := Waterfall{Total: len(all), Shown: shown}
	if shown == 0 {
		return w
	}
	w.Start, w.End = t.window()
	w.axis.window = w.End.Sub(w.Start)
	w.Rows = foldPlumbing(t.rows(w.Start, w.axis))
	w.Ghosts = len(t.ghosts)
	return w
}

// plant links each span to its parent, or to the place of one that has not come, and cuts circles.
func plant(all []spans.Span) *tree {
	t := &tree{nodes: make([]node, len(all))}
	for i := range all {
		t.nodes[i] = node{span: &all[i], parent: -1, ghost: -1}
	}
	slices.SortStableFunc(t.nodes, func(a, b node) int { return byStart(a.span, b.span) })

	index := make(map[spans.Key]int, len(all))
	for i, n := range t.nodes {
		k := n.span.Key()
		if _, taken := index[k]; !taken {
			index[k] = i
		}
	}
	absent := map[spans.Key][]int{}
	var order []spans.Key
	for i := range t.nodes {
		s := t.nodes[i].span
		if s.ParentSpanID == ([8]byte{}) {
			continue
		}
		k := spans.Key{TraceID: s.TraceID, SpanID: s.ParentSpanID}
		p, here := index[k]
		switch {
		case here && p == i, s.ParentSpanID == s.SpanID:
			t.nodes[i].cut = true
		case here:
			t.nodes[i].parent = p
		default:
			if absent[k] == nil {
				order = append(order, k)
			}
			absent[k] = append(absent[k], i)
		}
	}
	for _, k := range order {
		for _, i := range absent[k] {
			t.nodes[i].ghost = len(t.ghosts)
		}
		t.ghosts = append(t.ghosts, ghost{trace: k.TraceID, id: k.SpanID, children: absent[k]})
	}
	t.cutCircles()
	for i, n := range t.nodes {
		if n.parent >= 0 {
			t.nodes[n.parent].children = append(t.nodes[n.parent].children, i)
		}
	}
	return t
}

// byStart orders spans by start; among equals the longer comes first, because it is the likelier parent.
func byStart(a, b *spans.Span) int {
	return cmp.Or(a.StartAt.Compare(b.StartAt), b.EndAt.Compare(a.EndAt),
		slices.Compare(a.TraceID[:], b.TraceID[:]), slices.Compare(a.SpanID[:], b.SpanID[:]))
}

// cutCircles makes a root of the earliest span of each circle of parents.
func (t *tree) cutCircles() {
	const settled = -1
	walk := make([]int, len(t.nodes)) // 0: not seen; n: seen by the n-th walk; settled: leads to a root
	for i := range t.nodes {
		at := i
		for at >= 0 && walk[at] == 0 {
			walk[at] = i + 1
			at = t.nodes[at].parent
		}
		if at >= 0 && walk[at] == i+1 {
			first := at
			for n := t.nodes[at].parent; n != at; n = t.nodes[n].parent {
				first = min(first, n)
			}
			t.nodes[first].parent, t.nodes[first].cut = -1, true
		}
		for at = i; at >= 0 && walk[at] == i+1; at = t.nodes[at].parent {
			walk[at] = settled
		}
	}
}

// prune keeps the first shown spans. One whose parent goes moves up to the nearest ancestor that stays.
func (t *tree) prune(shown int) {
	if shown == len(t.nodes) {
		return
	}
	for i := range t.nodes[:shown] {
		n := &t.nodes[i]
		for n.parent >= shown {
			up := t.nodes[n.parent]
			n.parent, n.ghost = up.parent, up.ghost
		}
		n.children = nil
	}
	t.nodes = t.nodes[:shown]
	for g := range t.ghosts {
		t.ghosts[g].children = nil
	}
	for i, n := range t.nodes {
		switch {
		case n.parent >= 0:
			t.nodes[n.parent].children = append(t.nodes[n.parent].children, i)
		case n.ghost >= 0:
			t.ghosts[n.ghost].children = append(t.ghosts[n.ghost].children, i)
		}
	}
	t.dropEmptyGhosts()
}

func (t *tree) dropEmptyGhosts() {
	kept := t.ghosts[:0]
	for _, g := range t.ghosts {
		if len(g.children) == 0 {
			continue
		}
		for _, i := range g.children {
			t.nodes[i].ghost = len(kept)
		}
		kept = append(kept, g)
	}
	t.ghosts = kept
}

func (t *tree) window() (start, end time.Time) {
	start, end = t.nodes[0].span.StartAt, t.nodes[0].span.EndAt
	for _, n := range t.nodes {
		if n.span.EndAt.After(end) {
			end = n.span.EndAt
		}
	}
	return start, end
}

// rows walks the tree with a stack of its own: depth is what agents send, thousands included.
func (t *tree) rows(start time.Time, a axis) []Row {
	type visit struct{ node, ghost, depth int }
	var stack []visit
	push := func(children []int, depth int) {
		for _, i := range slices.Backward(children) {
			stack = append(stack, visit{i, -1, depth})
		}
	}
	out := make([]Row, 0, len(t.nodes)+len(t.ghosts))
	plumbing, critical := t.plumbing(), t.critical()
	placed := make([]bool, len(t.ghosts))
	for i, n := range t.nodes {
		switch {
		case n.parent >= 0, n.ghost >= 0 && placed[n.ghost]:
			continue
		case n.ghost >= 0:
			placed[n.ghost] = true
			stack = append(stack, visit{-1, n.ghost, 0})
		default:
			stack = append(stack, visit{i, -1, 0})
		}
		for len(stack) > 0 {
			v := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if v.ghost >= 0 {
				g := t.ghosts[v.ghost]
				out = append(out, t.ghostRow(g, start, a))
				push(g.children, 1)
				continue
			}
			m := t.nodes[v.node]
			r := Row{Span: m.span, Depth: v.depth, Cut: m.cut, works: showsWork(m), Plumbing: plumbing[v.node],
				Critical: critical[v.node] && showsWork(m)}
			r.place(m.span.StartAt, m.span.EndAt, start, a)
			out = append(out, r)
			push(m.children, v.depth+1)
		}
	}
	return out
}

// ghostRow holds the place of a parent, from its first child's start to its last child's end.
func (t *tree) ghostRow(g ghost, start time.Time, a axis) Row {
	from, to := t.nodes[g.children[0]].span.StartAt, t.nodes[g.children[0]].span.EndAt
	for _, i := range g.children {
		if e := t.nodes[i].span.EndAt; e.After(to) {
			to = e
		}
	}
	r := Row{ParentID: g.id, Children: len(g.children)}
	r.place(from, to, start, a)
	return r
}

func (r *Row) place(from, to, start time.Time, a axis) {
	r.Offset, r.Duration = from.Sub(start), max(to.Sub(from), 0)
	r.drawIn(a)
}

// drawIn sets where a row's bar is, by its times.
func (r *Row) drawIn(a axis) {
	from, to := a.at(r.Offset), a.at(r.Offset+r.Duration)
	r.Len = max(share(to-from, a.total()), minVisible)
	r.At = min(share(from, a.total()), whole-r.Len)
}

// Clamp places an interval of its own, such as the attempt's, in the window; what lies outside is cut off.
func (w Waterfall) Clamp(from, to time.Time) (at, length Percent) {
	at = share(w.axis.at(from.Sub(w.Start)), w.axis.total())
	length = max(share(w.axis.at(to.Sub(w.Start)), w.axis.total())-at, minVisible)
	return min(at, whole-length), length
}

// share is part of window in hundredths of a percent, rounded down and clamped; of an empty window, none.
func share(part, window time.Duration) Percent {
	if part <= 0 || window <= 0 {
		return 0
	}
	return min(Percent(float64(part)/float64(window)*float64(whole)), whole)
}
