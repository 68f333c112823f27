package board

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/spans"
	"github.com/switchboard-otel/switchboard/app/trail"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func TestAgo_SaysTheLargestUnits(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "now", 4 * time.Second: "now", 44 * time.Second: "44 s ago", 90 * time.Second: "1 min ago",
		69 * time.Minute: "1 h 9 min ago", 2 * time.Hour: "2 h ago", 7*time.Hour + 5*time.Minute: "7 h ago",
		50 * time.Hour: "2 d ago", -4 * time.Minute: "in 4 min",
	} {
		if got := ago(noon, noon.Add(-d)); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

func TestTook_KeepsThePrecisionThatMatters(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0 ms", 0: "0 ms", 750 * time.Microsecond: "750 µs", 420 * time.Millisecond: "420 ms",
		11834 * time.Millisecond: "11.8 s", 59999 * time.Millisecond: "59.9 s", 68 * time.Second: "1 m 08 s",
		125 * time.Minute: "2 h 05 m",
	} {
		if got := took(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

func TestOffset_SuitsTheWindow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d, window time.Duration
		want      string
	}{
		{1234 * time.Millisecond, 5 * time.Second, "+1234 ms"},
		{297400 * time.Millisecond, 20 * time.Minute, "+4:57.4"},
		{59990 * time.Millisecond, 20 * time.Minute, "+0:59.9"},
		{3723 * time.Second, 2 * time.Hour, "+1:02:03"},
	} {
		if got := offset(c.d, c.window); got != c.want {
			t.Errorf("%v in %v: %q, want %q", c.d, c.window, got, c.want)
		}
	}
}

func TestPretty_IsBoundedAndWhole(t *testing.T) {
	t.Parallel()
	if got := pretty(json.RawMessage(`{"n":12345678901234567890,"s":"<b>"}`)).Text; got != "{\n  \"n\": 12345678901234567890,\n  \"s\": \"<b>\"\n}" {
		t.Errorf("got %s", got)
	}
	deep := strings.Repeat("[", 9000) + strings.Repeat("]", 9000)
	if got := pretty(json.RawMessage(deep)); got.Text != deep {
		t.Error("deep nesting was indented")
	}
	if got := pretty(json.RawMessage(`not json`)).Text; got != "not json" {
		t.Errorf("got %s", got)
	}
	long := pretty(json.RawMessage(`"` + strings.Repeat("ü", mostShown) + `"`))
	if !long.Cut || len(long.Text) > mostShown || !utf8.ValidString(long.Text) {
		t.Errorf("%d bytes, cut %v", len(long.Text), long.Cut)
	}
}

func TestLink_IsHTTPSOrText(t *testing.T) {
	t.Parallel()
	for artifact, want := range map[string]bool{
		"https://github.com/northlake/parcel-api/pull/1191": true,
		"http://example.com":            false,
		"mcp://cairn/abc":               false,
		"javascript:alert(1)":           false,
		"https:evil":                    false,
		"https://":                      false,
		"https://user:secret@host/path": false,
		"//host/path":                   false,
		" https://host":                 false,
	} {
		if _, ok := link(artifact); ok != want {
			t.Errorf("%s: link %v, want %v", artifact, ok, want)
		}
	}
}

func TestLocal_IsAPathOfThisServer(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]bool{
		"/todos/td_1?older=3": true, "/": true,
		"": false, "todos": false, "//evil.example": false, `/\evil.example`: false, "https://evil.example": false,
		"/a\r\nSet-Cookie: x": false, "/\tevil": false, "/" + strings.Repeat("a", maxTarget): false,
	} {
		if got := local(target); got != want {
			t.Errorf("%.40q: %v, want %v", target, got, want)
		}
	}
}

func TestFacts_ListWhatIsKept(t *testing.T) {
	t.Parallel()
	s := spans.Span{Name: "execute_tool bash", Tool: "bash", Kind: "internal", StatusCode: "error", StatusMessage: "exit 1",
		SpanID: [8]byte{0xbb, 7: 1}, ParentSpanID: [8]byte{7: 2}, TraceID: [16]byte{1},
		Attributes: []byte(`{"b":"text","a":1.50,"c":[true,{"d":null}]}`)}
	want := []fact{{"span", "execute_tool bash"}, {"tool", "bash"}, {"status", "error: exit 1"}, {"kind", "internal"},
		{"a", "1.50"}, {"b", "text"}, {"c", `[true,{"d":null}]`}, {"span id", "bb00000000000001"},
		{"parent id", "0000000000000002"}, {"trace id", "01000000000000000000000000000000"}}
	if diff := cmp.Diff(want, factsOf(&s)); diff != "" {
		t.Fatal(diff)
	}
}

func TestFilters_KeepForeignCategoriesTogether(t *testing.T) {
	t.Parallel()
	one := filtersOf([]trail.Count{{Name: "review", N: 2}, {Name: "tool", N: 1}})
	if diff := cmp.Diff([]filter{{category{"tool", "i-tool", "tool"}, 1}, {category{"other", "i-other", "review"}, 2}}, one, cmpopts.EquateComparable(filter{})); diff != "" {
		t.Error(diff)
	}
	two := filtersOf([]trail.Count{{Name: "review", N: 2}, {Name: "server", N: 3}})
	if diff := cmp.Diff([]filter{{category{"other", "i-other", "other"}, 5}}, two, cmpopts.EquateComparable(filter{})); diff != "" {
		t.Error(diff)
	}
}

// Every state and every outcome that the store knows has a word and a lamp of its own.
func TestMarks_NameEveryStateAndOutcome(t *testing.T) {
	t.Parallel()
	for _, state := range queue.States {
		m := stateMark(time.Time{}, &queue.Row{State: state})
		if m.Word == "" || !strings.Contains(string(files["icons.svg"].content), `id="`+m.Lamp+`"`) {
			t.Errorf("%s: %+v", state, m)
		}
	}
	for _, outcome := range []string{"completed", "failed", "released", "lease_expired", "reaped", "canceled", "revoked"} {
		a := queue.Attempt{Outcome: &outcome, Disposition: ptr("dead_lettered"), Died: outcome == "reaped" || outcome == "lease_expired"}
		m := attemptMark(&a)
		if m.Word == "" || !strings.Contains(string(files["icons.svg"].content), `id="`+m.Lamp+`"`) || endingOf(&a).Verb == outcome {
			t.Errorf("%s: %+v %+v", outcome, m, endingOf(&a))
		}
	}
}
