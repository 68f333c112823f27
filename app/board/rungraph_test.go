package board

import (
	"net/http"
	"strings"
	"testing"

	"github.com/switchboard-otel/switchboard/app/rungraph"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// broughtGraph is another program's account, with an outcome that does not say how it is known and a text that tries
// something.
const broughtGraph = `{"ocp":"0.3","producer":{"name":"<b>other</b>","version":"7"},"privacy":{"profile":"full"},
	"run":{"id":"run-9","title":"<script>alert(1)</script> nightly"},
	"nodes":[{"id":"n","kind":"task","title":"the work"}],
	"attempts":[
		{"id":"n.a1","node":"n","n":1,"status":"lost","outcome":{"result":"lost","evidence":"heuristic"}},
		{"id":"n.a2","node":"n","n":2,"status":"done","outcome":{"result":"done"},"model":{"raw":"large-2"},"actor":"robot",
			"started_at":"2026-04-02T10:00:00Z","cost":{"input_tokens":1200,"cached_input_tokens":800,"output_tokens":90,"basis":"measured"}}]}`

func TestRunGraph_IsShownToItsHumanWithWhatIsKnownOfIt(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	kept, _, err := h.board.RunGraphs.Import(t.Context(), h.owner.ID, []byte(broughtGraph))
	if err != nil {
		t.Fatal(err)
	}
	page := h.signedIn(h.owner).get("/rungraph/" + kept.ID.String())
	if page.StatusCode != http.StatusOK {
		t.Fatalf("status %d", page.StatusCode)
	}
	for _, words := range []string{"nightly", "n.a1", "heuristic", "n.a2", "asserted", "the work", "large-2", "1200 in", "800 cached", "90 out", "measured", "2 attempts"} {
		if !strings.Contains(page.body, words) {
			t.Errorf("the page does not say %q", words)
		}
	}
	for _, never := range []string{"<script>alert", "<b>other", `method="post" action="/rungraph`} {
		if strings.Contains(page.body, never) {
			t.Errorf("the page holds %s", never)
		}
	}

	// REQ-18: to anybody else it is what was never there, byte for byte.
	other := h.signedIn(h.human("Second"))
	foreign := other.get("/rungraph/" + kept.ID.String())
	for _, id := range []string{rungraph.ID(typeid.New()).String(), "rg_", "x"} {
		unknown := other.get("/rungraph/" + id)
		if foreign.StatusCode != http.StatusNotFound || unknown.StatusCode != http.StatusNotFound || foreign.body != unknown.body {
			t.Errorf("%s: %d and %d, alike %v", id, foreign.StatusCode, unknown.StatusCode, foreign.body == unknown.body)
		}
	}
}
