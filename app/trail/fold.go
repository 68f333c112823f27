package trail

import (
	"slices"

	"github.com/switchboard-otel/switchboard/app/dialect"
	"github.com/switchboard-otel/switchboard/app/spans"
)

// leastFolded is how many rows in a row are worth a line that stands for them.
const leastFolded = 3

// Fold stands before rows of plumbing that a page hides at first.
type Fold struct{ Spans, Errors int }

// machinery are the categories that a span has when nothing says what it does: its kind is all that is known.
var machinery = []string{CategoryInternal, "server", "client", "producer", "consumer", "unspecified", ""}

// plumbing reports whether a span shows an agent's own machinery and nothing below it shows work.
func (t *tree) plumbing() []bool {
	works := t.aboveWork()
	all := make([]bool, len(t.nodes))
	for i, n := range t.nodes {
		all[i] = !works[i] && (slices.Contains(machinery, n.span.Category) || known(n.span))
	}
	return all
}

func known(s *spans.Span) bool { return dialect.Plumbing(s.ServiceName, s.Name) }

// aboveWork marks the spans that show work by their category, and everything above one of those.
func (t *tree) aboveWork() []bool {
	marked := make([]bool, len(t.nodes))
	for i, n := range t.nodes {
		if known(n.span) || slices.Contains(machinery, n.span.Category) {
			continue
		}
		for at := i; at >= 0 && !marked[at]; at = t.nodes[at].parent {
			marked[at] = true
		}
	}
	return marked
}

// foldPlumbing puts a line before each stretch of plumbing that is long enough. A trace that is nothing else stays as it
// is: then its plumbing is what there is to see.
func foldPlumbing(rows []Row) []Row {
	if !slices.ContainsFunc(rows, func(r Row) bool { return r.Span != nil && !r.Plumbing }) {
		for i := range rows {
			rows[i].Plumbing = false
		}
		return rows
	}
	out := make([]Row, 0, len(rows))
	for i := 0; i < len(rows); {
		end := i
		for end < len(rows) && rows[end].Plumbing {
			end++
		}
		switch stretch := rows[i:end]; {
		case end == i:
			out = append(out, rows[i])
			end++
		case len(stretch) < leastFolded:
			for j := range stretch {
				stretch[j].Plumbing = false
			}
			out = append(out, stretch...)
		default:
			out = append(append(out, foldRow(stretch)), stretch...)
		}
		i = end
	}
	return out
}

// foldRow is the line of a stretch: as deep as its shallowest row, from the first start on.
func foldRow(stretch []Row) Row {
	line := Row{Fold: &Fold{}, Depth: stretch[0].Depth, Offset: stretch[0].Offset, At: stretch[0].At, Len: stretch[0].Len}
	for _, r := range stretch {
		line.Fold.Spans++
		if r.Span.StatusCode == "error" {
			line.Fold.Errors++
		}
		line.Depth = min(line.Depth, r.Depth)
		line.Offset = min(line.Offset, r.Offset)
	}
	return line
}
