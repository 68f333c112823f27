package typeid

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

func TestFormat_IsWhatParseReads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var id uuid.UUID
		copy(id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		s := Todo.Format(id)
		back, ok := Todo.Parse(s)
		if !ok || back != id {
			t.Fatalf("%v was spelled %q and read as %v, %v", id, s, back, ok)
		}
		if _, ok := Endpoint.Parse(s); ok {
			t.Fatalf("%q was read as another kind of id", s)
		}
	})
}

func TestFormat_SortsAsTheIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a, b uuid.UUID
		copy(a[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "a"))
		copy(b[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "b"))
		if strings.Compare(Todo.Format(a), Todo.Format(b)) != strings.Compare(string(a[:]), string(b[:])) {
			t.Fatalf("%v and %v sort otherwise when spelled", a, b)
		}
	})
}

func TestParse_AnyOtherSpellingIsNoID(t *testing.T) {
	good := Todo.Format(New())
	for _, s := range []string{
		"", "td_", good[3:], strings.ToUpper(good), "ep_" + good[3:], good + "0", good[:len(good)-1],
		"td_8" + good[4:], "td_" + good[3:28] + "u", "td_" + good[3:28] + " ", New().String(), " " + good,
	} {
		if id, ok := Todo.Parse(s); ok {
			t.Errorf("%q was read as %v", s, id)
		}
	}
}
