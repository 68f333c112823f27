package trail

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/switchboard-otel/switchboard/app/spans"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func id8(n int) (id [8]byte) {
	binary.BigEndian.PutUint64(id[:], uint64(n))
	return id
}

// span makes a span of trace 1 that runs from one offset to another, in milliseconds.
func span(id, parent, from, to int) spans.Span {
	return spans.Span{TraceID: [16]byte{1}, SpanID: id8(id), ParentSpanID: id8(parent), Name: fmt.Sprint(id),
		StatusCode: "unset", Category: CategoryInternal, Attributes: []byte(`{}`),
		StartAt: noon.Add(time.Duration(from) * time.Millisecond), EndAt: noon.Add(time.Duration(to) * time.Millisecond)}
}

// drawn writes rows as one would read them: the depth in dots, the name, what is odd about it.
func drawn(w Waterfall) []string {
	var out []string
	for _, r := range w.Rows {
		line := fmt.Sprintf("%.*s", r.Depth, "..........")
		if r.Span == nil {
			line += fmt.Sprintf("(%d, named by %d)", binary.BigEndian.Uint64(r.ParentID[:]), r.Children)
		} else {
			line += r.Span.Name
		}
		if r.Cut {
			line += " cut"
		}
		out = append(out, line)
	}
	return out
}

func TestLayout_ShowsTheTree(t *testing.T) {
	t.Parallel()
	otherTrace := span(2, 1, 3, 4)
	otherTrace.TraceID = [16]byte{2}
	for name, c := range map[string]struct {
		spans []spans.Span
		limit int
		want  []string
	}{
		"nothing":                       {limit: 9},
		"children after their parent":   {[]spans.Span{span(3, 1, 5, 6), span(2, 1, 1, 2), span(1, 0, 0, 9), span(4, 2, 1, 1)}, 9, []string{"1", ".2", "..4", ".3"}},
		"several roots by start":        {[]spans.Span{span(2, 0, 5, 6), span(1, 0, 0, 1)}, 9, []string{"1", "2"}},
		"equal times, longer first":     {[]spans.Span{span(1, 2, 0, 1), span(2, 0, 0, 9)}, 9, []string{"2", ".1"}},
		"child that starts before":      {[]spans.Span{span(1, 0, 5, 9), span(2, 1, 0, 9)}, 9, []string{"1", ".2"}},
		"the minted parent is no span":  {[]spans.Span{span(1, 99, 0, 9), span(2, 1, 1, 2)}, 9, []string{"1", ".2"}},
		"a parent not received yet":     {[]spans.Span{span(2, 7, 0, 1), span(3, 7, 2, 3)}, 9, []string{"(7, named by 2)", ".2", ".3"}},
		"one awaited, one minted":       {[]spans.Span{span(4, 99, 0, 9), span(5, 4, 1, 2), span(2, 7, 3, 4)}, 9, []string{"4", ".5", "(7, named by 1)", ".2"}},
		"a self-parent is cut":          {[]spans.Span{span(1, 1, 0, 9), span(2, 1, 1, 2)}, 9, []string{"1 cut", ".2"}},
		"a circle is cut at its start":  {[]spans.Span{span(1, 3, 2, 9), span(2, 1, 1, 2), span(3, 2, 3, 4), span(4, 3, 4, 5)}, 9, []string{"2 cut", ".3", "..1", "..4"}},
		"an id in two traces":           {[]spans.Span{span(1, 0, 0, 9), span(2, 1, 1, 2), otherTrace}, 9, []string{"1", ".2", "(1, named by 1)", ".2"}},
		"the limit, in start order":     {[]spans.Span{span(1, 0, 0, 9), span(2, 1, 1, 2), span(3, 1, 3, 4)}, 2, []string{"1", ".2"}},
		"a hidden parent is not absent": {[]spans.Span{span(1, 0, 0, 9), span(2, 3, 1, 2), span(3, 1, 5, 6)}, 2, []string{"1", ".2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := Layout(c.spans, Origin{Trace: [16]byte{1}}, c.limit)
			if diff := cmp.Diff(c.want, drawn(w)); diff != "" {
				t.Fatalf("rows (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLayout_AwaitsNoParentOnceTheAttemptIsOver(t *testing.T) {
	t.Parallel()
	flat := []spans.Span{span(1, 99, 0, 1), span(2, 99, 2, 3)}
	if w := Layout(flat, Origin{Trace: [16]byte{1}, Ended: true}, 9); w.Ghosts != 0 || len(w.Rows) != 2 {
		t.Fatalf("got %q", drawn(w))
	}
	if w := Layout(flat, Origin{Trace: [16]byte{2}, Ended: true}, 9); w.Ghosts != 1 {
		t.Fatalf("a parent of another trace was never minted, got %q", drawn(w))
	}
}

func TestLayout_NestsFiveHundredDeep(t *testing.T) {
	t.Parallel()
	var all []spans.Span
	for i := range 500 {
		all = append(all, span(i+1, i, i, 2000-i))
	}
	w := Layout(all, Origin{}, 500)
	last := w.Rows[499]
	if len(w.Rows) != 500 || last.Depth != 499 || last.Indent() != MaxIndent {
		t.Fatalf("%d rows, the last at depth %d drawn at %d", len(w.Rows), last.Depth, last.Indent())
	}
}

func TestLayout_AChainOfAHundredThousandIsNoStack(t *testing.T) {
	t.Parallel()
	var all []spans.Span
	for i := range 100_000 {
		all = append(all, span(i+1, i+2, 0, 1))
	}
	all[len(all)-1].ParentSpanID = id8(1)
	if w := Layout(all, Origin{}, len(all)); len(w.Rows) != len(all) {
		t.Fatalf("%d rows", len(w.Rows))
	}
}

func TestLayout_PlacesBars(t *testing.T) {
	t.Parallel()
	w := Layout([]spans.Span{span(1, 0, 0, 1000), span(2, 1, 250, 750), span(3, 1, 1000, 1000)}, Origin{}, 9)
	type bar struct{ At, Len Percent }
	var got []bar
	for _, r := range w.Rows {
		got = append(got, bar{r.At, r.Len})
	}
	if diff := cmp.Diff([]bar{{0, 10000}, {2500, 5000}, {9975, 25}}, got); diff != "" {
		t.Fatal(diff)
	}
	if at, length := w.Clamp(noon.Add(-time.Hour), noon.Add(time.Hour)); at != 0 || length != 10000 {
		t.Fatalf("an attempt around its spans covers the window, got %d and %d", at, length)
	}
}

// anyTrace draws spans with every kind of parent: none, minted, absent, itself, later, in circles.
func anyTrace(t *rapid.T) []spans.Span {
	n := rapid.IntRange(0, 60).Draw(t, "n")
	out := make([]spans.Span, n)
	far := rapid.SampledFrom([]int{0, 1, 3, 100, 1 << 40}).Draw(t, "span of times")
	for i := range out {
		from := rapid.IntRange(0, far).Draw(t, "from")
		out[i] = span(i+1, rapid.IntRange(0, n+3).Draw(t, "parent"), from, from+rapid.IntRange(0, far).Draw(t, "length"))
		out[i].TraceID[0] = byte(rapid.IntRange(1, 2).Draw(t, "trace"))
		out[i].Category = rapid.SampledFrom([]string{"reason", "tool", "net", "read", "internal", "", "review"}).Draw(t, "category")
	}
	return out
}

func TestLayout_LosesNothingAndStaysInTheWindow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := anyTrace(t)
		limit := rapid.IntRange(0, 70).Draw(t, "limit")
		w := Layout(all, Origin{Trace: [16]byte{1}, Ended: rapid.Bool().Draw(t, "ended")}, limit)

		seen := map[spans.Key]bool{}
		open := []int{} // depths of the rows that the next one may stand under
		for _, r := range w.Rows {
			if r.At < 0 || r.Len <= 0 || r.At+r.Len > 10000 {
				t.Fatalf("a bar at %d of length %d", r.At, r.Len)
			}
			if r.Fold != nil { // a line that stands for rows is in no tree
				continue
			}
			if r.Offset < 0 || r.Duration < 0 || r.Depth > len(open) {
				t.Fatalf("offset %v, duration %v, depth %d under %v", r.Offset, r.Duration, r.Depth, open)
			}
			open = append(open[:r.Depth], r.Depth)
			if r.Span == nil {
				continue
			}
			if seen[r.Span.Key()] {
				t.Fatalf("%v twice", r.Span.Name)
			}
			seen[r.Span.Key()] = true
		}
		if want := min(limit, len(all)); len(seen) != want || w.Shown != want || w.Total != len(all) {
			t.Fatalf("%d spans in rows, %d shown, want %d of %d", len(seen), w.Shown, want, len(all))
		}
	})
}

func TestLayout_DoesNotDependOnTheOrderOfArrival(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := anyTrace(t)
		want := drawn(Layout(all, Origin{}, len(all)))
		seed := rapid.Uint64().Draw(t, "seed")
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		if diff := cmp.Diff(want, drawn(Layout(all, Origin{}, len(all)))); diff != "" {
			t.Fatal(diff)
		}
	})
}
