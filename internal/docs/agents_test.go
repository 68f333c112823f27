package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchboard-otel/switchboard/app/agentsetup"
)

//go:generate go test . -run TestAgents_ThePagesHoldTheBlocksThatVendPrints -update

// example is what the pages fill the blocks in with.
var example = agentsetup.Endpoint{MCPURL: "http://127.0.0.1:8321/mcp/my-bot", OTLPURL: "http://127.0.0.1:8321/otlp/my-bot", Credential: "sbk_..."}

// What a page says to paste is what endpoint vend prints, and what the tests of app/agentsetup run or parse.
func TestAgents_ThePagesHoldTheBlocksThatVendPrints(t *testing.T) {
	pages := map[string]bool{}
	for _, g := range append([]agentsetup.Guide{agentsetup.Other}, agentsetup.Guides...) {
		rel := "docs/agents/" + g.Kind + ".md"
		pages[rel] = true
		want := agentPage(g)
		if *update {
			if err := os.WriteFile(path(rel), []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if read(t, rel) != want {
			t.Errorf("%s is stale: run go generate ./internal/docs", rel)
		}
	}
	found, err := filepath.Glob(path("docs/agents/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range found {
		if rel := "docs/agents/" + filepath.Base(file); !pages[rel] {
			t.Errorf("%s is of no kind of agent", rel)
		}
	}
}

func agentPage(g agentsetup.Guide) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- generated from app/agentsetup: go generate ./internal/docs -->\n\n# %s\n\n", g.Title)
	if g.Kind == agentsetup.Other.Kind {
		b.WriteString("`bin/switchboard endpoint vend NAME` prints these blocks filled in.\n")
	} else {
		fmt.Fprintf(&b, "`bin/switchboard endpoint vend NAME --agent %s` prints these blocks filled in.\n", g.Kind)
	}
	for _, block := range g.Blocks {
		fmt.Fprintf(&b, "\n## %s\n\n```%s\n%s```\n", block.Use, block.Language, block.Text(example))
	}
	b.WriteString("\n## Mind\n\n")
	for _, sentence := range g.Mind {
		fmt.Fprintf(&b, "- %s\n", sentence)
	}
	fmt.Fprintf(&b, "\n## Checked\n\n%s\n\nAll else is the same for every agent: [connect an agent](../agents.md).\n", g.Checked)
	return b.String()
}

// The guide leads to every agent's page.
func TestAgents_TheGuideNamesEveryKind(t *testing.T) {
	guide := read(t, "docs/agents.md")
	for _, g := range append([]agentsetup.Guide{agentsetup.Other}, agentsetup.Guides...) {
		if !strings.Contains(guide, "](agents/"+g.Kind+".md)") {
			t.Errorf("docs/agents.md does not lead to the page of %s", g.Title)
		}
	}
}

// REQ-22 names what the guide covers.
func TestAgents_TheGuideCoversWhatIsRequired(t *testing.T) {
	guide := strings.Join(strings.Fields(read(t, "docs/agents.md")), " ")
	for what, words := range map[string][]string{
		"a stock exporter":        {"OTEL_EXPORTER_OTLP_ENDPOINT=", "OTEL_EXPORTER_OTLP_HEADERS=", "OTEL_EXPORTER_OTLP_PROTOCOL="},
		"the claim's traceparent": {"TRACEPARENT=", "switchboard.todo.id="},
		"heartbeat notes":         {"## Heartbeat notes"},
		"what is stored":          {"## What is stored", "](stored.md)"},
		"who sees it": {"Notes, summaries and kept attributes are shown to everyone who can read the todo.",
			"A producer must redact what is nobody's business before it sends it."},
	} {
		for _, w := range words {
			if !strings.Contains(guide, w) {
				t.Errorf("the guide does not cover %s: no %q", what, w)
			}
		}
	}
}

// What the forwarding page shows of a configuration is what the file says, which a test starts.
func TestForwarding_ThePageShowsTheShippedConfigurations(t *testing.T) {
	page := read(t, "docs/forwarding.md")
	shown := 0
	for rest := page; ; {
		var block string
		var found bool
		if _, rest, found = strings.Cut(rest, "```yaml "); !found {
			break
		}
		block, rest, _ = strings.Cut(rest, "```")
		file, text, _ := strings.Cut(block, "\n")
		shown++
		if !strings.Contains(read(t, file), text) {
			t.Errorf("%s does not say\n%s", file, text)
		}
	}
	if shown < 3 {
		t.Errorf("only %d configurations are shown", shown)
	}
}
