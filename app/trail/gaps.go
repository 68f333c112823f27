package trail

import (
	"slices"
	"time"
)

// A stretch without work is worth folding from a twentieth of the window on; folded, it takes a fortieth of what
// is left.
const (
	gapShare  = 20
	gapFolded = 40
)

// Gap is a stretch of time in which no span shows work.
type Gap struct{ From, To time.Duration } // since the window's start

// Length is how long nothing happened.
func (g Gap) Length() time.Duration { return g.To - g.From }

// axis places times in a window whose idle stretches may be folded.
type axis struct {
	window time.Duration
	gaps   []Gap
	folded time.Duration // what a folded gap is drawn as
}

// at moves a time of the window to where it is drawn.
func (a axis) at(t time.Duration) time.Duration {
	drawn := min(max(t, 0), a.window)
	for _, g := range a.gaps {
		if t <= g.From {
			break
		}
		if t >= g.To {
			drawn -= g.Length() - a.folded
			continue
		}
		return drawn - (t - g.From) + time.Duration(float64(a.folded)*float64(t-g.From)/float64(g.Length()))
	}
	return drawn
}

// total is the length of what is drawn.
func (a axis) total() time.Duration { return a.at(a.window) }

// time is the time that is drawn at a place.
func (a axis) time(drawn time.Duration) time.Duration {
	t := drawn
	for _, g := range a.gaps {
		from := a.at(g.From)
		if drawn <= from {
			break
		}
		if drawn < from+a.folded {
			return g.From + time.Duration(float64(g.Length())*float64(drawn-from)/float64(a.folded))
		}
		t += g.Length() - a.folded
	}
	return t
}

// FoldGaps draws long stretches without work narrow, each with a line of its own. It returns how much time that
// saves.
func (w *Waterfall) FoldGaps() (idle time.Duration) {
	a := w.axis
	for _, g := range w.idle() {
		if g.Length() > a.window/gapShare {
			a.gaps = append(a.gaps, g)
			idle += g.Length()
		}
	}
	if len(a.gaps) == 0 {
		return 0
	}
	a.folded = max((a.window-idle)/gapFolded, time.Nanosecond)
	w.axis = a
	gaps := a.gaps
	rows := make([]Row, 0, len(w.Rows)+len(gaps))
	for _, r := range w.Rows {
		for len(gaps) > 0 && r.Offset >= gaps[0].To && !r.Plumbing {
			rows = append(rows, w.gapRow(gaps[0]))
			gaps = gaps[1:]
		}
		r.drawIn(a)
		rows = append(rows, r)
	}
	for _, g := range gaps {
		rows = append(rows, w.gapRow(g))
	}
	w.Rows = rows
	return idle
}

func (w *Waterfall) gapRow(g Gap) Row {
	r := Row{Gap: &g, Offset: g.From, Duration: g.Length()}
	r.drawIn(w.axis)
	return r
}

// idle lists the stretches of the window in which no row shows work.
func (w *Waterfall) idle() (gaps []Gap) {
	var work []Gap
	for _, r := range w.Rows {
		if r.works {
			work = append(work, Gap{r.Offset, r.Offset + r.Duration})
		}
	}
	slices.SortFunc(work, func(a, b Gap) int { return int(a.From - b.From) })
	until := time.Duration(0)
	for _, busy := range work {
		if busy.From > until {
			gaps = append(gaps, Gap{until, busy.From})
		}
		until = max(until, busy.To)
	}
	if until < w.axis.window {
		gaps = append(gaps, Gap{until, w.axis.window})
	}
	return gaps
}

// OffsetAt is the time since the window's start that is drawn at a place.
func (w *Waterfall) OffsetAt(p Percent) time.Duration {
	return w.axis.time(time.Duration(float64(w.axis.total()) * float64(p) / float64(whole)))
}
