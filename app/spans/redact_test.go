package spans_test

import (
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"pgregory.net/rapid"

	"github.com/switchboard-otel/switchboard/app/mask"
	"github.com/switchboard-otel/switchboard/app/spans"
)

const token = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"

func TestRedact_MasksBeforeItCuts(t *testing.T) {
	for _, c := range []struct {
		name, in, want string
		cut            bool
	}{
		{"clean", "bash", "bash", false},
		{"a credential", "run " + token, "run [REDACTED]", false},
		{"across the cap", strings.Repeat("a", 120) + " " + token, strings.Repeat("a", 120) + " [REDACT", true},
		{"just behind the cap", strings.Repeat("a", 127) + " " + token, strings.Repeat("a", 127) + " ", true},
		{"too long only before masking", strings.Repeat("a", 80) + " " + token + token, strings.Repeat("a", 80) + " [REDACTED]", false},
		{"lengthened by masking", strings.Repeat("a", 120) + "://u:p@h", strings.Repeat("a", 120) + "://[REDA", true},
		{"not valid", "\xff\x00", "\uFFFD\uFFFD", false},
	} {
		got, cut := spans.Redact(c.in, 128)
		if got != c.want || cut != c.cut {
			t.Errorf("%s: %q, cut %v; want %q, %v", c.name, got, cut, c.want, c.cut)
		}
	}
}

func TestRedact_AKeyBlockLongerThanTheWindowIsMaskedToItsEnd(t *testing.T) {
	s := "before -----BEGIN PRIVATE KEY-----\n" + strings.Repeat("MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n", 60) + "-----END PRIVATE KEY----- after"
	if got, cut := spans.Redact(s, 1024); got != "before [REDACTED]" || !cut {
		t.Errorf("%q, cut %v; want everything from its beginning on masked", got, cut)
	}
}

// Masked credentials make room, so that the window's end moves up into what is returned. What it halves must
// not come with it.
func TestRedact_NeverShowsPartOfACredential(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var in strings.Builder
		for in.Len() < 2200 {
			in.WriteString(strings.Repeat(" ", rapid.IntRange(1, 30).Draw(t, "blanks")))
			in.WriteString(token[:rapid.SampledFrom([]int{len(token), 3}).Draw(t, "length")])
		}
		got, _ := spans.Redact(in.String(), 1024)
		if strings.Contains(got, token[:5]) {
			t.Fatalf("shows a part of the token: %q", got)
		}
	})
}

func TestRedactValue_REQ7_ReachesEveryStringAndKey(t *testing.T) {
	v := value(t, map[string]any{
		"plain": token,
		token:   []any{"a " + token, map[string]any{"deep": []any{"Bearer " + token}}},
		"raw":   []byte("x " + token),
		"count": int64(7),
	})
	if spans.RedactValue(v, 1024) {
		t.Error("reports a cut, but only masked")
	}
	const want = `{"[REDACTED]":["a [REDACTED]",{"deep":["[REDACTED]"]}],"count":7,"plain":"[REDACTED]","raw":"eCBbUkVEQUNURURd"}`
	if got := encoded(t, v); got != want {
		t.Errorf("stored as %s\nwant      %s", got, want)
	}
}

func TestRedactValue_LeavesNoCredentialInWhatIsStored(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := anyMap(t, "m", 3)
		m.PutStr("s", strings.Repeat(anyString.Draw(t, "s")+token, rapid.IntRange(1, 60).Draw(t, "n")))
		inner := m.PutEmptyMap("m")
		inner.PutStr(anyKey.Draw(t, "inner"), anyString.Draw(t, "before")+token)
		inner.PutStr("fill", strings.Repeat("a\n"+token, rapid.IntRange(0, 60).Draw(t, "fill")))
		for _, v := range m.All() {
			spans.RedactValue(v, 1024)
			if size := len(mustText(v)); size > 1024 {
				t.Fatalf("%d bytes are left", size)
			}
		}
		doc := string(spans.EncodeAttributes(m))
		if masked := mask.String(doc); masked != doc {
			t.Fatalf("a credential is left in %s", doc)
		}
	})
}

func mustText(v pcommon.Value) string {
	s, _ := spans.Text(v, 1<<20)
	return s
}

func TestRedactKeys_TheFirstOfTwoKeysThatBecomeOneWins(t *testing.T) {
	m := pcommon.NewMap()
	m.PutStr("switchboard."+token, "first")
	m.PutStr("switchboard."+token+"0", "second")
	m.PutStr("switchboard.z", "third")
	if !spans.RedactKeys(m) {
		t.Error("a value was lost and not reported")
	}
	if got, want := string(spans.EncodeAttributes(m)), `{"switchboard.[REDACTED]":"first","switchboard.z":"third"}`; got != want {
		t.Errorf("stored as %s, want %s", got, want)
	}
}
