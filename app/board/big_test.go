package board

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/spans"
)

// mostPage is what the page of the largest todo may weigh, in bytes.
const mostPage = 1_500_000

// big is a todo at its caps: five attempts of 2,000 spans with eight attributes of 40 bytes, the first of them 500
// deep, a hundred notes each, and a payload of 64 KiB.
func (h *house) big(ep *identity.Endpoint) uuid.UUID {
	h.t.Helper()
	payload := must(json.Marshal(map[string]string{"log": strings.Repeat("0123456789abcdef\n", 3600)}))(h.t)
	id := h.push(ep, "Ten thousand spans", string(payload))
	attributes := map[string]string{}
	for i := range 8 {
		attributes[fmt.Sprintf("switchboard.attribute.%d", i)] = strings.Repeat("x", 40)
	}
	raw := must(json.Marshal(attributes))(h.t)
	for attempt := range 5 {
		c := h.claim(ep, id, fmt.Sprintf("run-%d", attempt), 10*time.Minute)
		for range 100 {
			c.note("tests pass locally, now the linter; two of five packages are done")
		}
		all := make([]spans.Span, 2000)
		for i := range all {
			s := c.span(0, []string{"reason", "tool", "net", "read", "internal"}[i%5], fmt.Sprintf("execute_tool bash %d", i), i, 4000-i)
			s.SpanID, s.Attributes = [8]byte{0xbb, 6: byte(i >> 8), 7: byte(i)}, raw
			s.SpanID[1] = 1
			if i > 0 && (i%4 > 0 || attempt == 4 && i < 500) {
				s.ParentSpanID = [8]byte{0xbb, 1, 6: byte((i - 1) >> 8), 7: byte(i - 1)}
			}
			all[i] = s
		}
		for len(all) > 0 {
			n := min(1000, len(all))
			c.store(all[:n]...)
			all = all[n:]
		}
		if attempt < 4 {
			must(h.queue.Release(h.t.Context(), ep, id, queue.Report{}))(h.t)
		}
	}
	return id
}

// The largest todo is one page: 500 rows of an attempt, 2,000 in all, then a link; and what it leaves out is one
// click away.
func TestTodo_OfTenThousandSpansIsOnePage(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	id := h.big(h.vend(h.owner, "bugfix", "lane-s"))
	me := h.signedIn(h.owner)
	got := me.get(todoPath(id))
	if got.StatusCode != http.StatusOK || len(got.body) > mostPage {
		t.Fatalf("%d, %d bytes", got.StatusCode, len(got.body))
	}
	t.Logf("the page weighs %d bytes", len(got.body))
	rows := strings.Count(got.body, `class="wf-row`)
	if rows > 2000 || rows < 1900 {
		t.Errorf("%d rows", rows)
	}
	if open := strings.Count(got.body, `<details class="wf"`); open != strings.Count(got.body, `class="wf" id=`) || strings.Count(got.body, ` open><summary>`) != 1 {
		t.Error("not one attempt alone is open")
	}
	if !strings.Contains(got.body, "depth 499") || !strings.Contains(got.body, "first 500 of 2,000 spans") {
		t.Error("the depth, or what is left out, is not told")
	}
	if !strings.Contains(got.body, "The first 64 KiB") && !strings.Contains(got.body, "0123456789abcdef") {
		t.Error("the payload is not there")
	}
	alone := me.get(todoPath(id) + "?attempts=1")
	if n := strings.Count(alone.body, `class="wf-row`); n != 500 || !strings.Contains(alone.body, "All attempts") {
		t.Errorf("alone, the attempt has %d rows", n)
	}
}
