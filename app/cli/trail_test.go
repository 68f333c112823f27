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
	golden(t, "trail.golden", render(Env{Width: 80}, func(a *app) { a.printTrail(&todo) }))
}

func TestTrail_OfANewTodo(t *testing.T) {
	t.Parallel()
	todo := readTrail(t, "trail-new.json")
	golden(t, "trail-new.golden", render(Env{}, func(a *app) { a.printTrail(&todo) }))
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
