package trail

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/switchboard-otel/switchboard/app/spans"
)

func of(s spans.Span, category string) spans.Span { s.Category = category; return s }

// shown writes rows as a page shows them at first: folded rows are gone, the line for them stays.
func shown(w Waterfall) (out []string) {
	for _, r := range w.Rows {
		switch {
		case r.Fold != nil:
			out = append(out, "fold "+time.Duration(r.Fold.Spans).String()+" errors "+time.Duration(r.Fold.Errors).String())
		case r.Gap != nil:
			out = append(out, "gap "+r.Gap.Length().String())
		case !r.Plumbing && r.Span != nil:
			out = append(out, r.Span.Name)
		}
	}
	return out
}

func TestFold_HidesMachineryAndNothingThatShowsWork(t *testing.T) {
	t.Parallel()
	failed := span(4, 1, 12, 13)
	failed.StatusCode = "error"
	all := []spans.Span{span(1, 0, 0, 100), of(span(2, 1, 1, 9), CategoryReason), span(3, 1, 10, 11), failed, span(5, 4, 12, 12),
		span(6, 1, 20, 30), of(span(7, 6, 21, 29), CategoryTool), span(8, 1, 40, 41), span(9, 1, 42, 43), of(span(10, 1, 50, 60), "review")}
	w := Layout(all, Origin{}, 99)
	want := []string{"1", "2", "fold 3ns errors 1ns", "6", "7", "8", "9", "10"}
	if diff := cmp.Diff(want, shown(w)); diff != "" {
		t.Fatal(diff)
	}
}

func TestFold_ATraceOfNothingElseStaysOpen(t *testing.T) {
	t.Parallel()
	w := Layout([]spans.Span{span(1, 0, 0, 9), span(2, 1, 1, 2), span(3, 1, 3, 4), span(4, 1, 5, 6)}, Origin{}, 9)
	if diff := cmp.Diff([]string{"1", "2", "3", "4"}, shown(w)); diff != "" {
		t.Fatal(diff)
	}
}

func TestCritical_IsWhatTheEndWaitedFor(t *testing.T) {
	t.Parallel()
	all := []spans.Span{span(1, 0, 0, 100),
		of(span(2, 1, 0, 30), CategoryReason), // then
		of(span(3, 1, 31, 60), CategoryTool),  // two at once: the longer one counts
		of(span(4, 1, 31, 80), CategoryTool),
		of(span(5, 4, 35, 79), CategoryNet), // inside it
		of(span(6, 1, 81, 100), CategoryReason)}
	var on []string
	for _, r := range Layout(all, Origin{}, 99).Rows {
		if r.Critical {
			on = append(on, r.Span.Name)
		}
	}
	if diff := cmp.Diff([]string{"2", "4", "5", "6"}, on); diff != "" {
		t.Fatal(diff)
	}
}

func TestGaps_AreDrawnNarrowAndNamed(t *testing.T) {
	t.Parallel()
	w := Layout([]spans.Span{of(span(1, 0, 0, 100), CategoryReason), of(span(2, 0, 900, 1000), CategoryTool)}, Origin{}, 9)
	if idle := w.FoldGaps(); idle != 800*time.Millisecond {
		t.Fatalf("%v are folded", idle)
	}
	if diff := cmp.Diff([]string{"1", "gap 800ms", "2"}, shown(w)); diff != "" {
		t.Fatal(diff)
	}
	first, gap, second := w.Rows[0], w.Rows[1], w.Rows[2]
	if first.Len < 4500 || gap.Len > 500 || second.At < first.Len+gap.Len-10 || second.Len < 4500 {
		t.Errorf("drawn at %+v, %+v, %+v", first, gap, second)
	}
	if at := w.OffsetAt(second.At); at < 895*time.Millisecond || at > 905*time.Millisecond {
		t.Errorf("where the second begins, the axis says %v", at)
	}
}

// Folding moves bars and loses none of them, whatever the spans are.
func TestGaps_KeepEveryBarInTheWindow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := anyTrace(t)
		w := Layout(all, Origin{}, len(all))
		before := len(shown(w))
		gaps := 0
		w.FoldGaps()
		for _, r := range w.Rows {
			if r.At < 0 || r.Len <= 0 || r.At+r.Len > 10000 {
				t.Fatalf("a bar at %d of length %d", r.At, r.Len)
			}
			if r.Gap != nil {
				gaps++
			}
		}
		if len(shown(w))-gaps != before {
			t.Fatalf("%d rows became %d with %d gaps", before, len(shown(w)), gaps)
		}
		for p := Percent(0); p < whole; p += 500 {
			if w.OffsetAt(p) > w.OffsetAt(p+500) {
				t.Fatal("the axis runs backwards")
			}
		}
	})
}
