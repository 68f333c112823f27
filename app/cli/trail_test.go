package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// render runs a print function as if it were a command.
func render(env Env, print func(*app)) string {
	var out bytes.Buffer
	env.Stdout, env.Now = &out, func() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }
	print(&app{Env: env})
	return out.String()
}

func readTrail(t *testing.T, name string) (todo todoDoc) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &todo); err != nil {
		t.Fatal(err)
	}
	return todo
}

func TestTrail_TellsTheStoryIn80Columns(t *testing.T) {
	t.Parallel()
	todo := readTrail(t, "trail.json")
	got := render(Env{Width: 80}, func(a *app) { a.printTrail(&todo) })
	golden(t, "trail.golden", got)
	for _, l := range strings.Split(got, "\n") {
		if n := textColumns(l); n > 80 {
			t.Errorf("%d columns: %s", n, l)
		}
	}
}

// Whatever the clocks of two statements say, an attempt's entries stand between its claim and its end, and
// every entry of the log is told once.
func TestTimeline_AnAttemptsEntriesStandBetweenItsClaimAndItsEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		start := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
		instant := start
		todo := todoDoc{CreatedAt: start}
		n := rapid.IntRange(0, 4).Draw(t, "attempts")
		for seq := 1; seq <= n; seq++ {
			at := attemptDoc{Seq: seq, ClaimedAt: instant}
			instant = instant.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "lasted")) * time.Second)
			if end := instant; seq < n || rapid.Bool().Draw(t, "ended") {
				at.EndedAt = &end
			}
			todo.Attempts = append([]attemptDoc{at}, todo.Attempts...)
		}
		entries := rapid.IntRange(0, 6).Draw(t, "entries")
		for i := range entries {
			message := fmt.Sprint("entry ", i)
			entry := activityDoc{Kind: "note", Message: &message, At: start.Add(time.Duration(rapid.IntRange(0, 12).Draw(t, "at")) * time.Second)}
			if seq := rapid.IntRange(0, n).Draw(t, "of"); seq > 0 {
				// It was written while the attempt was open, or by the statement after the one that ended it.
				at := todo.Attempts[n-seq]
				entry.AttemptSeq, entry.At = &seq, at.ClaimedAt
				if at.EndedAt != nil && rapid.Bool().Draw(t, "at the end") {
					entry.At = at.EndedAt.Add(time.Millisecond)
				}
			}
			todo.Activity = append(todo.Activity, entry)
		}
		events, told, open, ended := timelineOf(&todo), 0, map[int]bool{}, map[int]bool{}
		for _, e := range events {
			switch {
			case strings.HasPrefix(e.title, "note: "):
				told++
				if e.seq > 0 && (!open[e.seq] || ended[e.seq]) {
					t.Fatalf("%q of attempt %d stands outside it: %+v", e.title, e.seq, events)
				}
			case e.report != nil:
				ended[e.seq] = true
			case e.seq > 0:
				open[e.seq] = true
			}
		}
		if told != entries || len(events) != 1+n+len(ended)+entries {
			t.Fatalf("%d of %d entries, %d events", told, entries, len(events))
		}
	})
}

func TestTrail_OfANewTodo(t *testing.T) {
	t.Parallel()
	todo := readTrail(t, "trail-new.json")
	golden(t, "trail-new.golden", render(Env{}, func(a *app) { a.printTrail(&todo) }))
}

// A todo that a revocation ended says so, where none of its attempts does.
func TestTrail_OfATodoWhoseEndpointWasRevoked(t *testing.T) {
	f := setup(t)
	slug := f.vend(t, "bot").Slug
	const why = "Its endpoint was revoked: it is a dead letter for good."
	push := func(title string) string { return strings.TrimSpace(f.run(t, "todo", "push", slug, title).ok(t)) }
	untouched, released, held, gone := push("untouched"), push("released"), push("held"), push("failed for good")
	for _, command := range []string{"claim " + released, "release " + released, "claim " + held, "claim " + gone, "fail " + gone + " --no-retry"} {
		f.run(t, append([]string{"todo"}, strings.Fields(command)...)...).ok(t)
	}
	if out := f.run(t, "todo", "show", untouched).ok(t); strings.Contains(out, "revoked") {
		t.Errorf("before: %s", out)
	}
	f.run(t, "endpoint", "revoke", slug, "-y").ok(t)
	for id, want := range map[string]string{
		untouched: "\n\nOutcome\n  " + why + "\n", released: "released → requeued\n  " + why + "\n",
		held: "attempt 1: revoked → dead lettered\n\n", gone: "attempt 1: failed → dead lettered\n\n",
	} {
		if out := f.run(t, "todo", "show", id).ok(t); !strings.Contains(out, want) || !strings.Contains(out, "dead letter · attempt") {
			t.Errorf("%s should hold %q", out, want)
		}
	}
}

func TestTodoTable_AtSeveralWidths(t *testing.T) {
	t.Parallel()
	todo := readTrail(t, "trail.json")
	wide := todo
	wide.Title, wide.DeadLetter, wide.State = "修复结账测试 🚀 und noch einiges mehr, das nicht auf eine Zeile passt", true, "failed"
	var all strings.Builder
	for _, width := range []int{0, 60, 80, 120} {
		fmt.Fprintf(&all, "%d columns\n%s", width, render(Env{Width: width}, func(a *app) { a.print(a.todoTable([]todoDoc{todo, wide})) }))
	}
	golden(t, "table.golden", all.String())
}

// What agents write must not steer the terminal of who reads it.
func TestClean_LeavesNothingThatSteersATerminal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "text") + rapid.SampledFrom([]string{"\x1b[2J", "\u202e", "\u009b31m", "\r", "\xff", "\b"}).Draw(t, "evil")
		for _, r := range clean(s) {
			if r != '\n' && r != '\t' && (r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x202e) {
				t.Fatalf("%q keeps %U", s, r)
			}
		}
	})
}

func TestPad_IsExactlyThatWideAndWrapLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := line(rapid.String().Draw(t, "text"))
		n := rapid.IntRange(0, 40).Draw(t, "columns")
		if got := textColumns(pad(s, n)); got != n {
			t.Fatalf("%q is %d columns wide, want %d", pad(s, n), got, n)
		}
		lines := wrap(s, n)
		for _, l := range lines {
			if textColumns(l) > max(n, 8) {
				t.Fatalf("line %q is wider than %d", l, n)
			}
		}
		if strings.Join(strings.Fields(strings.Join(lines, "")), "") != strings.Join(strings.Fields(s), "") {
			t.Fatalf("%q became %q", s, lines)
		}
	})
}

func TestTree_ShowsEverySpanOnceWhateverItsParents(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(t, "spans")
		spans := make([]spanDoc, n)
		for i := range spans {
			spans[i] = spanDoc{TraceID: "t", SpanID: fmt.Sprint(i), StartAt: time.Unix(int64(rapid.IntRange(0, 3).Draw(t, "start")), 0)}
			if p := rapid.IntRange(-1, n).Draw(t, "parent"); p >= 0 {
				parent := fmt.Sprint(p)
				spans[i].ParentSpanID = &parent
			}
		}
		rows := treeOf(spans)
		seen := map[string]bool{}
		for i, row := range rows {
			seen[row.span.SpanID] = true
			if row.depth > 0 && rows[i-1].depth < row.depth-1 {
				t.Fatalf("row %d jumps from depth %d to %d", i, rows[i-1].depth, row.depth)
			}
		}
		if len(rows) != n || len(seen) != n {
			t.Fatalf("%d rows, %d of %d spans", len(rows), len(seen), n)
		}
	})
}
