package spans

import (
	"bytes"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Content that corrects tells apart must never have the same hash by its form, such as "a" and "b" like "ab" and "".
func TestContent_DiffersWheneverAFieldDoes(t *testing.T) {
	text := rapid.StringOfN(rapid.RuneFrom([]rune{'a', 0x01, 0x02}), 0, 3, -1)
	span := rapid.Custom(func(t *rapid.T) Span {
		return Span{
			ParentSpanID: [8]byte{rapid.Byte().Draw(t, "parent") % 2},
			StartAt:      time.UnixMicro(rapid.Int64Range(0, 1).Draw(t, "start")), EndAt: time.UnixMicro(rapid.Int64Range(0, 1).Draw(t, "end")),
			Name: text.Draw(t, "name"), Kind: text.Draw(t, "kind"), StatusCode: text.Draw(t, "code"), StatusMessage: text.Draw(t, "message"),
			ServiceName: text.Draw(t, "service"), Tool: text.Draw(t, "tool"), Category: text.Draw(t, "category"),
			Attributes: []byte(text.Draw(t, "attributes")),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := span.Draw(t, "a"), span.Draw(t, "b")
		same := a.ParentSpanID == b.ParentSpanID && a.StartAt.Equal(b.StartAt) && a.EndAt.Equal(b.EndAt) &&
			a.Name == b.Name && a.Kind == b.Kind && a.StatusCode == b.StatusCode && a.StatusMessage == b.StatusMessage &&
			a.ServiceName == b.ServiceName && a.Tool == b.Tool && a.Category == b.Category && bytes.Equal(a.Attributes, b.Attributes)
		if bytes.Equal(a.appendContent(nil), b.appendContent(nil)) != same {
			t.Fatalf("same content: %v\n%+v\n%+v", same, a, b)
		}
	})
}
