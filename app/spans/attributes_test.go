package spans_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"pgregory.net/rapid"

	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
	"github.com/switchboard-otel/switchboard/app/spans"
)

func keys(m pcommon.Map) []string {
	var keys []string
	for key := range m.All() {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func TestSeal_REQ6_KeepsThirtyTwoInTheOrderOfTheSpec(t *testing.T) {
	m := pcommon.NewMap()
	for i := 39; i >= 0; i-- {
		m.PutInt(fmt.Sprintf("switchboard.x%02d", i), 1)
	}
	for _, key := range []string{
		"additional.b", "additional.a", "process.command_args", "gen_ai.tool.call.arguments",
		"http.response.status_code", "gen_ai.usage.output_tokens", "gen_ai.usage.input_tokens", "gen_ai.system",
	} {
		m.PutStr(key, "v")
	}
	m.PutStr(spans.ReservedTodo, "td_x")
	m.PutInt(spans.ReservedAttempt, 1)
	spans.Seal(m, false)

	want := []string{
		spans.ReservedTodo, spans.ReservedAttempt, spans.TruncatedKey,
		"gen_ai.system", "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "http.response.status_code",
		"gen_ai.tool.call.arguments", "process.command_args", "additional.a", "additional.b",
	}
	for i := range 31 - 8 {
		want = append(want, fmt.Sprintf("switchboard.x%02d", i))
	}
	slices.Sort(want)
	if got := keys(m); !slices.Equal(got, want) {
		t.Errorf("kept %q\nwant %q", got, want)
	}
}

func TestSeal_TheMarkerCountsAsOneOfThirtyTwo(t *testing.T) {
	for _, c := range []struct {
		attributes int
		cut        bool
		kept       int
		marked     bool
	}{
		{0, false, 0, false}, {0, true, 0, true}, {31, true, 31, true}, {32, false, 32, false}, {32, true, 31, true}, {33, false, 31, true},
	} {
		for name, limit := range map[string]func(pcommon.Map, bool){"Trim": spans.Trim, "Seal": spans.Seal} {
			m := pcommon.NewMap()
			for i := range c.attributes {
				m.PutInt(fmt.Sprintf("switchboard.x%02d", i), 1)
			}
			limit(m, c.cut)
			marker, marked := m.Get(spans.TruncatedKey)
			if marked != c.marked || marked && !marker.Bool() {
				t.Errorf("%s of %d, cut %v: marked %v, want %v", name, c.attributes, c.cut, marked, c.marked)
			}
			m.Remove(spans.TruncatedKey)
			if m.Len() != c.kept {
				t.Errorf("%s of %d, cut %v: %d kept, want %d", name, c.attributes, c.cut, m.Len(), c.kept)
			}
		}
	}
}

func TestSeal_AnEarlierMarkerStays(t *testing.T) {
	m := pcommon.NewMap()
	m.PutStr("switchboard.a", "v")
	spans.Trim(m, true)
	spans.Seal(m, false)
	if got := string(spans.EncodeAttributes(m)); got != `{"switchboard.a":"v","switchboard.truncated":true}` {
		t.Errorf("stored as %s", got)
	}
}

func TestSeal_AnAttributeThatDoesNotFitIsDroppedAlone(t *testing.T) {
	m := pcommon.NewMap()
	for _, key := range []string{"arguments", "result"} {
		m.PutStr("gen_ai.tool.call."+key, strings.Repeat("x", 4096))
	}
	m.PutStr("gen_ai.input.messages", strings.Repeat("x", 4096))
	m.PutStr("gen_ai.output.messages", strings.Repeat("x", 4096))
	m.PutStr("switchboard.todo.id", "td_x")
	spans.Seal(m, false)
	want := []string{"gen_ai.input.messages", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result", "switchboard.todo.id", "switchboard.truncated"}
	if got := keys(m); !slices.Equal(got, want) {
		t.Errorf("kept %q, want %q", got, want)
	}
}

// The limit is what the database's CHECK measures, to the byte: a span that Seal lets pass must not be refused
// there, and one that fits must not lose anything.
func TestSeal_REQ6_MeasuresWhatPostgreSQLMeasures(t *testing.T) {
	pool := postgrestest.New(t).Pool
	octets := func(m pcommon.Map) (n int) {
		t.Helper()
		doc := string(spans.EncodeAttributes(m))
		if err := pool.QueryRow(t.Context(), "SELECT octet_length($1::jsonb::text)", doc).Scan(&n); err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		return n
	}
	rapid.Check(t, func(t *rapid.T) {
		m := anyMap(t, "m", 4)
		spans.RedactKeys(m)
		for key, v := range m.All() {
			spans.Fit(v, spans.ValueBytes(key))
		}
		spans.Seal(m, false)
		if _, cut := m.Get(spans.TruncatedKey); cut {
			t.Skip("cannot be filled to the limit")
		}
		// Fill it to the limit: it stays; one byte more: it loses something.
		const filler = "switchboard.~"
		m.PutStr(filler, "")
		room := spans.MaxAttributesBytes - octets(m)
		m.PutStr(filler, strings.Repeat("x", room))
		spans.Seal(m, false)
		if _, cut := m.Get(spans.TruncatedKey); cut || octets(m) != spans.MaxAttributesBytes {
			t.Fatalf("%d bytes as PostgreSQL counts, cut %v; want all of the limit", octets(m), cut)
		}
		marked := pcommon.NewMap()
		m.CopyTo(marked)
		spans.Seal(marked, true)
		if _, cut := marked.Get(spans.TruncatedKey); !cut || octets(marked) > spans.MaxAttributesBytes {
			t.Fatalf("%d bytes as PostgreSQL counts, cut %v; want the marker to fit", octets(marked), cut)
		}
		m.PutStr(filler, strings.Repeat("x", room+1))
		spans.Seal(m, false)
		if _, cut := m.Get(spans.TruncatedKey); !cut || octets(m) > spans.MaxAttributesBytes {
			t.Fatalf("%d bytes as PostgreSQL counts, cut %v; want it cut", octets(m), cut)
		}
	})
}
