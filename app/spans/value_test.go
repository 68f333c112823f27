package spans_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"pgregory.net/rapid"

	"github.com/switchboard-otel/switchboard/app/spans"
)

// encoded is a value as it is stored.
func encoded(t testing.TB, v pcommon.Value) string {
	t.Helper()
	m := pcommon.NewMap()
	v.CopyTo(m.PutEmpty("k"))
	doc := string(spans.EncodeAttributes(m))
	return strings.TrimSuffix(strings.TrimPrefix(doc, `{"k":`), "}")
}

func value(t testing.TB, raw any) pcommon.Value {
	t.Helper()
	v := pcommon.NewValueEmpty()
	if err := v.FromRaw(raw); err != nil {
		t.Fatal(err)
	}
	return v
}

// nested returns s in so many arrays.
func nested(s string, levels int) pcommon.Value {
	v := pcommon.NewValueEmpty()
	inner := v
	for range levels {
		inner = inner.SetEmptySlice().AppendEmpty()
	}
	inner.SetStr(s)
	return v
}

func TestFit_KeepsTheTypeOfAValue(t *testing.T) {
	for _, c := range []struct {
		raw  any
		want string
	}{
		{nil, `null`},
		{"", `""`},
		{"text \"quoted\" \\ / <b> \b\f\n\r\t\x01\x7f é", `"text \"quoted\" \\ / <b> \b\f\n\r\t\u0001` + "\x7f" + ` é"`},
		{"nul \x00 and \xff\xfe and \xed\xa0\x80", "\"nul \uFFFD and \uFFFD and \uFFFD\""},
		{true, `true`},
		{false, `false`},
		{int64(math.MaxInt64), `9223372036854775807`},
		{int64(math.MinInt64), `-9223372036854775808`},
		{0.1, `0.1`},
		{1.0, `1`},
		{math.Copysign(0, -1), `0`},
		{1e21, `1000000000000000000000`},
		{-2.5e-7, `-0.00000025`},
		{math.NaN(), `"NaN"`},
		{math.Inf(1), `"Infinity"`},
		{math.Inf(-1), `"-Infinity"`},
		{[]byte("any bytes\x00\xff"), `"YW55IGJ5dGVzAP8="`},
		{[]any{}, `[]`},
		{map[string]any{}, `{}`},
		{[]any{"a", int64(1), nil, []any{true}}, `["a",1,null,[true]]`},
		{map[string]any{"b": 1, "a": map[string]any{"\x00": "\x00"}}, "{\"a\":{\"\uFFFD\":\"\uFFFD\"},\"b\":1}"},
	} {
		v := value(t, c.raw)
		if spans.Fit(v, 1024) {
			t.Errorf("%v was cut", c.raw)
		}
		if got := encoded(t, v); got != c.want {
			t.Errorf("%#v is stored as %s, want %s", c.raw, got, c.want)
		}
	}
}

func TestFit_REQ6_CutsAtTheCapOnACharacter(t *testing.T) {
	for _, c := range []struct {
		name, in, want string
		cut            bool
	}{
		{"at the cap", strings.Repeat("a", 1024), strings.Repeat("a", 1024), false},
		{"one beyond", strings.Repeat("a", 1025), strings.Repeat("a", 1024), true},
		{"a character across the cap", strings.Repeat("a", 1023) + "é", strings.Repeat("a", 1023), true},
		{"longer once it is valid", strings.Repeat("a", 1022) + "\xff", strings.Repeat("a", 1022), true},
	} {
		v := pcommon.NewValueStr(c.in)
		cut := spans.Fit(v, 1024)
		if v.Str() != c.want || cut != c.cut {
			t.Errorf("%s: %d bytes, cut %v; want %d, %v", c.name, len(v.Str()), cut, len(c.want), c.cut)
		}
	}
}

func TestFit_WhatIsNoStringBecomesTextBeyondTheCap(t *testing.T) {
	long := value(t, []any{strings.Repeat("a", 600), strings.Repeat("b", 600)})
	if !spans.Fit(long, 1024) || long.Type() != pcommon.ValueTypeStr || len(long.Str()) != 1024 || !strings.HasPrefix(long.Str(), `["aaa`) {
		t.Errorf("a long array became %s of %d bytes", long.Type(), len(long.Str()))
	}
	whole := value(t, []any{strings.Repeat("a", 1020)})
	if spans.Fit(whole, 1024) || whole.Type() != pcommon.ValueTypeSlice {
		t.Errorf("an array of exactly the cap became %s", whole.Type())
	}
	raw := value(t, make([]byte, 769))
	if !spans.Fit(raw, 1024) || raw.Bytes().Len() != 768 {
		t.Errorf("%d bytes are left, want the 768 whose base64 is as long as the cap", raw.Bytes().Len())
	}
}

func TestFit_WhatIsNestedTooDeepBecomesText(t *testing.T) {
	if v := nested("x", 32); spans.Fit(v, 1024) || v.Type() != pcommon.ValueTypeSlice {
		t.Errorf("32 levels became %s", v.Type())
	}
	v := nested("x", 33)
	want := strings.Repeat("[", 33) + `"x"` + strings.Repeat("]", 33)
	if spans.Fit(v, 1024) || v.Str() != want {
		t.Errorf("33 levels became %q", v.Str())
	}
	if deep := nested("x", 500_000); !spans.Fit(deep, 1024) || deep.Str() != strings.Repeat("[", 1024) {
		t.Errorf("half a million levels became %q", deep.Str())
	}
}

func TestEncodeAttributes_IsTheSameWhateverTheOrder(t *testing.T) {
	a := pcommon.NewMap()
	a.PutStr("b", "2")
	a.PutInt(spans.ReservedAttempt, 3)
	a.PutStr("a", "1")
	a.PutEmptyMap("c").PutStr("y", "2")
	b := pcommon.NewMap()
	b.PutEmptyMap("c").PutStr("y", "2")
	b.PutStr(spans.ReservedTodo, "td_x")
	b.PutStr("a", "1")
	b.PutStr("b", "2")
	const want = `{"a":"1","b":"2","c":{"y":"2"}}`
	if got := string(spans.EncodeAttributes(a)); got != want {
		t.Errorf("encoded as %s, want %s", got, want)
	}
	if got := string(spans.EncodeAttributes(b)); got != want {
		t.Errorf("encoded as %s, want %s", got, want)
	}
	if got := string(spans.EncodeAttributes(pcommon.NewMap())); got != "{}" {
		t.Errorf("nothing is encoded as %s", got)
	}
}

func TestEncodeAttributes_IsJSONWhateverComesIn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := anyMap(t, "m", 3)
		doc := spans.EncodeAttributes(m)
		if !json.Valid(doc) {
			t.Fatalf("not JSON: %s", doc)
		}
		if strings.Contains(string(doc), "\x00") {
			t.Fatalf("NUL in %q", doc)
		}
	})
}

var (
	anyKey    = rapid.OneOf(rapid.StringN(0, 8, -1), rapid.SampledFrom([]string{"a", "b\x00", "gen_ai.system", "gen_ai.usage.x", "switchboard.y", "\xff"}))
	anyString = rapid.OneOf(rapid.StringN(0, 40, -1), rapid.SampledFrom([]string{"\x00", "\xff\"", "\\\n\x01", "é"}))
	anyDouble = rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.MaxFloat64, math.SmallestNonzeroFloat64, 1e21, 0.1}))
)

func anyMap(t *rapid.T, label string, levels int) pcommon.Map {
	m := pcommon.NewMap()
	for range rapid.IntRange(0, 6).Draw(t, label) {
		anyValue(t, m.PutEmpty(anyKey.Draw(t, "key")), levels)
	}
	return m
}

func anyValue(t *rapid.T, v pcommon.Value, levels int) {
	kinds := 6
	if levels > 0 {
		kinds = 8
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
	case 1:
		v.SetStr(anyString.Draw(t, "string"))
	case 2:
		v.SetInt(rapid.Int64().Draw(t, "int"))
	case 3:
		v.SetDouble(anyDouble.Draw(t, "double"))
	case 4:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case 5:
		v.SetEmptyBytes().FromRaw(rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "bytes"))
	case 6:
		anyMap(t, "map", levels-1).MoveTo(v.SetEmptyMap())
	case 7:
		s := v.SetEmptySlice()
		for range rapid.IntRange(0, 4).Draw(t, "array") {
			anyValue(t, s.AppendEmpty(), levels-1)
		}
	}
}
