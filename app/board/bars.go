package board

import (
	"encoding/hex"
	"fmt"
	"time"

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
	return "s-" + hex.EncodeToString(r.Span.TraceID[:4]) + "-" + hex.EncodeToString(r.Span.SpanID[:])
}

// rowCategory is the category a row is coloured and filtered by.
func rowCategory(r trail.Row) category {
	if r.Span == nil {
		return categoryOf(trail.CategoryInternal)
	}
	return categoryOf(r.Span.Category)
}

// ticks labels the quarters of the window.
func ticks(w trail.Waterfall) (labels []string) {
	window := w.End.Sub(w.Start)
	for i := range 4 {
		labels = append(labels, tick(window/4*time.Duration(i), window, false))
	}
	return labels
}
