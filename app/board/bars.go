package board

import (
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/a-h/templ"

	"github.com/switchboard-otel/switchboard/app/trail"
)

// bar is the only inline style of the Board: two numbers from 0 to 100 that the server computed (REQ-13).
func bar(at, length trail.Percent) templ.SafeCSS {
	return templ.SafeCSS(fmt.Sprintf("--sb-at:%s;--sb-len:%s", percent(at), percent(length)))
}

func percent(p trail.Percent) string { return fmt.Sprintf("%d.%02d", p/100, p%100) }

// rowID is the fragment of a span's row.
func rowID(r trail.Row) string {
	if r.Span == nil {
		return "p-" + hex.EncodeToString(r.ParentID[:])
	}
	return "s-" + hex.EncodeToString(r.Span.TraceID[:2]) + hex.EncodeToString(r.Span.SpanID[:])
}

// rowClass says how a row is drawn and by which filters it is found.
func rowClass(r trail.Row) string {
	class := "wf-row"
	for _, c := range []struct {
		name string
		is   bool
	}{{" is-ghost", r.Span == nil}, {" is-plumbing", r.Plumbing}, {" is-crit", r.Critical},
		{" is-error", r.Span != nil && r.Span.StatusCode == "error"}} {
		if c.is {
			class += c.name
		}
	}
	return class
}

// rowCategory is the category a row is coloured and filtered by.
func rowCategory(r trail.Row) category {
	if r.Span == nil {
		return categoryOf(trail.CategoryInternal)
	}
	return categoryOf(r.Span.Category)
}

// ticks labels the quarters of what is drawn.
func ticks(w trail.Waterfall) (labels []string) {
	window := w.End.Sub(w.Start)
	for quarter := range trail.Percent(4) {
		labels = append(labels, tick(w.OffsetAt(quarter*2500), window, false))
	}
	return labels
}

// mapBar is a span in the minimap.
type mapBar struct {
	X, Y, Width string
	Category    string
	Error       bool
}

// mostMapped is how many spans a minimap draws: more would be a smear.
const mostMapped = 160

// mapBars draws what shows work, in three lanes by depth.
func mapBars(w trail.Waterfall) (bars []mapBar) {
	for _, r := range w.Rows {
		if r.Span == nil || rowCategory(r).Key == trail.CategoryInternal || len(bars) == mostMapped {
			continue
		}
		bars = append(bars, mapBar{X: permille(r.At), Y: strconv.Itoa(3 + 6*min(r.Depth, 2)), Width: permille(max(r.Len, 15)),
			Category: rowCategory(r).Key, Error: r.Span.StatusCode == "error"})
	}
	return bars
}

// permille is a place in the minimap, which is a thousand wide.
func permille(p trail.Percent) string { return fmt.Sprintf("%d.%d", p/10, p%10) }
