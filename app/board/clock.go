package board

import (
	"fmt"
	"time"
)

// ago says how far t lies from now, in the one or two largest units: "44 s ago", "1 h 9 min ago", "in 4 min".
func ago(now, t time.Time) string {
	d := now.Sub(t)
	if d.Abs() < 5*time.Second {
		return "now"
	}
	if d < 0 {
		return "in " + span(-d)
	}
	return span(d) + " ago"
}

// span is a length of time in words that need no precision.
func span(d time.Duration) string {
	switch d = d.Abs(); {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 24*time.Hour:
		if m := d % time.Hour / time.Minute; m > 0 && d < 6*time.Hour {
			return fmt.Sprintf("%d h %d min", d/time.Hour, m)
		}
		return fmt.Sprintf("%d h", d/time.Hour)
	default:
		return fmt.Sprintf("%d d", d/(24*time.Hour))
	}
}

// took is a duration with the precision a reader of traces wants: "420 ms", "11.8 s", "1 m 08 s", "2 h 05 m".
func took(d time.Duration) string {
	switch d = max(d, 0); {
	case d == 0:
		return "0 ms"
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d/time.Microsecond)
	case d < time.Second:
		return fmt.Sprintf("%d ms", d/time.Millisecond)
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", float64(d/(100*time.Millisecond))/10)
	case d < time.Hour:
		return fmt.Sprintf("%d m %02d s", d/time.Minute, d%time.Minute/time.Second)
	default:
		return fmt.Sprintf("%d h %02d m", d/time.Hour, d%time.Hour/time.Minute)
	}
}

// offset is a start within a window, in the unit that suits the window's length.
func offset(d, window time.Duration) string {
	return "+" + tick(d, window, true)
}

// tick labels a place on a window's axis.
func tick(d, window time.Duration, fine bool) string {
	switch {
	case window < 10*time.Second:
		return fmt.Sprintf("%d ms", d/time.Millisecond)
	case d >= time.Hour:
		return fmt.Sprintf("%d:%02d:%02d", d/time.Hour, d%time.Hour/time.Minute, d%time.Minute/time.Second)
	case fine:
		return fmt.Sprintf("%d:%04.1f", d/time.Minute, float64(d%time.Minute/(100*time.Millisecond))/10)
	default:
		return fmt.Sprintf("%d:%02d", d/time.Minute, d%time.Minute/time.Second)
	}
}

// countdown is what is left until t, as the script goes on to write it: "4:12", "1:02:07".
func countdown(now, t time.Time) string {
	d := max(t.Sub(now), 0).Round(time.Second)
	if d >= time.Hour {
		return fmt.Sprintf("%d:%02d:%02d", d/time.Hour, d%time.Hour/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%d:%02d", d/time.Minute, d%time.Minute/time.Second)
}

// secondsLeft is countdown for the script and for meters.
func secondsLeft(now, t time.Time) int {
	return int(max(t.Sub(now), 0).Round(time.Second) / time.Second)
}

// machine is a time as its <time datetime> says it.
func machine(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// whole is a time that leaves nothing to guess.
func whole(t time.Time) string { return t.UTC().Format("2 Jan 2006 15:04:05 UTC") }

func clock(t time.Time) string { return t.UTC().Format("15:04:05") }

// stamp is a time of day today, with its date on any other day; always UTC.
func stamp(now, t time.Time) string {
	now, t = now.UTC(), t.UTC()
	switch {
	case sameDay(now, t):
		return t.Format("15:04:05")
	case now.Year() == t.Year():
		return t.Format("2 Jan 15:04")
	default:
		return t.Format("2 Jan 2006")
	}
}

// minute is stamp for a column of times.
func minute(now, t time.Time) string {
	if sameDay(now, t) {
		return t.UTC().Format("15:04")
	}
	return stamp(now, t)
}

// briefly is ago in one unit.
func briefly(now, t time.Time) string {
	d := now.Sub(t)
	if d >= time.Hour && d < 24*time.Hour {
		return fmt.Sprintf("%d h ago", d/time.Hour)
	}
	return ago(now, t)
}

func sameDay(a, b time.Time) bool {
	ay, am, ad := a.UTC().Date()
	by, bm, bd := b.UTC().Date()
	return ay == by && am == bm && ad == bd
}

func day(t time.Time) string { return t.UTC().Format("Monday 2 January 2006") }
