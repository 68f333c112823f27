package mcpserver_test

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/switchboard-otel/switchboard/app/a2ui"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/mcpserver"
)

func surface(t *testing.T, s *mcp.ClientSession, uri string) (text string, err error) {
	t.Helper()
	res, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return "", err
	}
	if len(res.Contents) != 1 || res.Contents[0].MIMEType != a2ui.MIME || res.Contents[0].URI != uri {
		t.Errorf("%s: %+v", uri, res.Contents)
	}
	return res.Contents[0].Text, nil
}

// REQ-17: whoever may read a todo may see its surface, without the payload.
func TestSurfaces_ShowWhatTheEndpointMayRead(t *testing.T) {
	b := setup(t)
	id := b.push(t, "retry on 502")
	s := b.connect(t, b.vended)
	must(t, s, "claim", map[string]any{"id": id})
	must(t, s, "heartbeat", map[string]any{"id": id, "note": "half way"})
	must(t, s, "complete", map[string]any{"id": id, "summary": "Fixed."})
	shown, err := surface(t, s, "switchboard://todo/"+id+"/a2ui")
	for _, want := range []string{"retry on 502", "note: half way", "Fixed.", "completed"} {
		if err != nil || !strings.Contains(shown, want) {
			t.Errorf("%q is missing of %s, %v", want, shown, err)
		}
	}
	if strings.Contains(shown, `\"n\"`) {
		t.Error("the payload is shown")
	}
	if list, err := surface(t, s, "switchboard://queue/default/a2ui"); err != nil || !strings.Contains(list, "retry on 502") {
		t.Errorf("%s, %v", list, err)
	}
	claims := b.connect(t, b.vend(t, identity.VendParams{Name: "claims", Verbs: []string{identity.VerbClaim}}))
	sibling := b.connect(t, b.vend(t, identity.VendParams{Name: "sibling", Queues: []string{"other"}}))
	for name, c := range map[string]struct {
		by  *mcp.ClientSession
		uri string
	}{
		"a foreign todo":      {sibling, "switchboard://todo/" + id + "/a2ui"},
		"an unknown todo":     {s, "switchboard://todo/td_01m8pd3vrzfkjtyscm7tf3qe1k/a2ui"},
		"no id":               {s, "switchboard://todo/x/a2ui"},
		"without get_todo":    {claims, "switchboard://todo/" + id + "/a2ui"},
		"an ungranted queue":  {sibling, "switchboard://queue/default/a2ui"},
		"an unknown queue":    {s, "switchboard://queue/nowhere/a2ui"},
		"quarantine":          {s, "switchboard://queue/quarantine/a2ui"},
		"without list_todos":  {claims, "switchboard://queue/default/a2ui"},
		"another of our URIs": {s, "switchboard://todo/" + id + "/html"},
	} {
		if text, err := surface(t, c.by, c.uri); err == nil || !strings.Contains(err.Error(), "Resource not found") {
			t.Errorf("%s: %s, %v", name, text, err)
		}
	}
}

func TestSurfaces_AreNotThereUnlessTheyAreSwitchedOn(t *testing.T) {
	b := setup(t, func(c *mcpserver.Config) { c.Spans = nil })
	if _, err := surface(t, b.connect(t, b.vended), "switchboard://queue/default/a2ui"); err == nil {
		t.Error("a surface is drawn")
	}
}
