package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// maxWaterfallRows is the default of the Board's waterfall_max_spans; --json has every span.
const maxWaterfallRows = 500

// waterfalls prints the spans of each attempt, in the order of the attempts, those without one last.
func (o *writer) waterfalls(t *todoDoc) {
	groups := map[int][]spanDoc{}
	for _, s := range t.Spans {
		seq := 0
		if s.AttemptSeq != nil {
			seq = *s.AttemptSeq
		}
		groups[seq] = append(groups[seq], s)
	}
	for _, seq := range slices.Sorted(maps.Keys(groups)) {
		if seq > 0 {
			o.waterfall(t.attemptTitle(seq), groups[seq])
		}
	}
	if unattributed := groups[0]; len(unattributed) > 0 {
		o.waterfall("Unattributed", unattributed)
	}
	if len(t.Spans) == 0 {
		o.heading("Spans")
		o.printf("  None arrived.\n")
	}
	if more := t.SpansTotal - len(t.Spans); more > 0 {
		o.printf("\nStored and not shown here: %s\n", counted(more, "span"))
	}
	o.droppedSpans(t)
}

// droppedSpans says what the caps refused, whose they were.
func (o *writer) droppedSpans(t *todoDoc) {
	var dropped []string
	for i := len(t.Attempts) - 1; i >= 0; i-- {
		if at := &t.Attempts[i]; at.SpansDropped > 0 {
			dropped = append(dropped, fmt.Sprintf("%s of attempt %d", counted(at.SpansDropped, "span"), at.Seq))
		}
	}
	if t.SpansDropped > 0 {
		dropped = append(dropped, counted(t.SpansDropped, "span")+" without an attempt")
	}
	if len(dropped) > 0 {
		o.printf("\n")
		o.paragraph(0, "Dropped by the caps: "+strings.Join(dropped, ", "))
	}
}

func (t *todoDoc) attemptTitle(seq int) string {
	kept := slices.ContainsFunc(t.Attempts, func(at attemptDoc) bool { return at.Seq == seq })
	if t.Attempts != nil && !kept {
		return fmt.Sprintf("Attempt %d (pruned)", seq)
	}
	return fmt.Sprintf("Attempt %d", seq)
}

func (o *writer) waterfall(title string, spans []spanDoc) {
	const categoryColumns, durationColumns, leastName = 9, 7, 16
	first, last := window(spans)
	title = fmt.Sprintf("%s · %s · %s", title, counted(len(spans), "span"), duration(last.Sub(first)))
	if len(spans) > maxWaterfallRows {
		spans = spans[:maxWaterfallRows]
		title += fmt.Sprintf(" · the first %d", maxWaterfallRows)
	}
	o.heading(title)
	bars := max(10, (o.columns-categoryColumns-durationColumns-8)*2/5)
	name := max(leastName, o.columns-categoryColumns-durationColumns-bars-8)
	for _, row := range treeOf(spans) {
		label := strings.Repeat("  ", min(row.depth, name/4)) + line(row.span.Name)
		if row.span.StatusCode == "error" {
			label = fit(label, name-6) + " ERROR"
		}
		took := duration(row.span.EndAt.Sub(row.span.StartAt))
		o.printf("  %s  %s %*s  %s\n", pad(label, name), pad(line(row.span.Category), categoryColumns),
			durationColumns, took, bar(row.span, first, last, bars))
	}
}

// bar draws where in the window a span lies; never less than one mark.
func bar(s *spanDoc, first, last time.Time, columns int) string {
	total := float64(last.Sub(first))
	if total <= 0 {
		return "▇"
	}
	from := int(float64(s.StartAt.Sub(first)) / total * float64(columns))
	to := int(float64(s.EndAt.Sub(first)) / total * float64(columns))
	from = min(from, columns-1)
	return strings.Repeat(" ", from) + strings.Repeat("▇", max(1, to-from))
}

func window(spans []spanDoc) (first, last time.Time) {
	for i, s := range spans {
		if i == 0 || s.StartAt.Before(first) {
			first = s.StartAt
		}
		if i == 0 || s.EndAt.After(last) {
			last = s.EndAt
		}
	}
	return first, last
}

type spanRow struct {
	span  *spanDoc
	depth int
}

// treeOf orders spans as their tree, siblings by start. A span whose parent is not here is a root; where
// parents form a circle, the earliest of it is.
func treeOf(spans []spanDoc) []spanRow {
	type key struct{ trace, span string }
	order := make([]*spanDoc, len(spans))
	byID := make(map[key]*spanDoc, len(spans))
	for i := range spans {
		order[i] = &spans[i]
		byID[key{spans[i].TraceID, spans[i].SpanID}] = &spans[i]
	}
	slices.SortStableFunc(order, func(a, b *spanDoc) int {
		return cmp.Or(a.StartAt.Compare(b.StartAt), cmp.Compare(a.SpanID, b.SpanID))
	})
	children := map[*spanDoc][]*spanDoc{}
	var roots []*spanDoc
	for _, s := range order {
		parent := byID[key{s.TraceID, text(s.ParentSpanID)}]
		if s.ParentSpanID == nil || parent == nil || parent == s {
			roots = append(roots, s)
			continue
		}
		children[parent] = append(children[parent], s)
	}
	rows := make([]spanRow, 0, len(spans))
	seen := make(map[*spanDoc]bool, len(spans))
	walk := func(root *spanDoc) {
		stack := []spanRow{{span: root}}
		for len(stack) > 0 {
			row := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if seen[row.span] {
				continue
			}
			seen[row.span] = true
			rows = append(rows, row)
			below := children[row.span]
			for i := len(below) - 1; i >= 0; i-- {
				stack = append(stack, spanRow{below[i], row.depth + 1})
			}
		}
	}
	for _, root := range roots {
		walk(root)
	}
	for _, s := range order {
		if !seen[s] {
			walk(s)
		}
	}
	return rows
}
