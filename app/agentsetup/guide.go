// Package agentsetup holds what a person pastes to connect an agent: one guide for each kind of agent and SDK
// (REQ-22). The command line prints the blocks filled in, docs/agents/ holds the same ones with example values, and
// the tests run or read them.
package agentsetup

import (
	"slices"
	"strings"
)

// Guide is how to connect one kind of agent.
type Guide struct {
	// Kind names it in `endpoint vend --agent`, and its page docs/agents/KIND.md.
	Kind string
	// Title is what its makers call it.
	Title string
	// Aliases are other kinds that are connected in the same way.
	Aliases []string
	// Blocks are in the order in which they are used.
	Blocks []Block
	// Mind is what goes wrong most easily, a sentence each.
	Mind []string
	// Checked says how far the blocks were proved, so that nobody takes for tested what was only read.
	Checked string
}

// Block is one text to paste.
type Block struct {
	// Use says where it goes.
	Use string
	// Language is the block's, as Markdown names it.
	Language string
	// text has {{mcp}}, {{otlp}} and {{credential}} where an endpoint's own values belong.
	text string
}

// Endpoint is what the blocks are filled in with.
type Endpoint struct{ MCPURL, OTLPURL, Credential string }

// Text is the block for an endpoint. It ends with a line break.
func (b Block) Text(e Endpoint) string {
	return strings.NewReplacer("{{mcp}}", e.MCPURL, "{{otlp}}", e.OTLPURL, "{{credential}}", e.Credential).Replace(b.text)
}

// For is the guide of a kind of agent. A kind that has none gets the one that suits every client and exporter, and
// known is false.
func For(kind string) (guide Guide, known bool) {
	kind = strings.ToLower(strings.TrimSpace(kind))
	for _, g := range Guides {
		if g.Kind == kind || slices.Contains(g.Aliases, kind) {
			return g, true
		}
	}
	return Other, false
}

// Kinds are the names of all guides.
func Kinds() []string {
	kinds := make([]string, len(Guides))
	for i, g := range Guides {
		kinds[i] = g.Kind
	}
	return kinds
}

// Guides are all guides, in the order of docs/agents.md.
var Guides = slices.Concat(codingAgents, sdks)

// Other is for every client and exporter that has no guide of its own.
var Other = Guide{
	Kind:  "other",
	Title: "Any other client or exporter",
	Blocks: []Block{
		{Use: "MCP, for clients with a JSON file", Language: "json", text: mcpServers(`"type": "http",
      "url"`)},
		{Use: "OpenTelemetry, for any agent or SDK that exports traces", Language: "sh", text: exporter + `export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf
`},
	},
	Mind:    []string{"An agent that exports no traces is seen by its heartbeat notes alone: ask for them in its instructions."},
	Checked: "The variables were run with the Go and JavaScript SDKs, the MCP block was read with a JSON parser.",
}

// exporter is what stock exporters read. The header has a plain space: two widely used agents send a percent-encoded
// one as it stands.
const exporter = `export OTEL_EXPORTER_OTLP_ENDPOINT={{otlp}}
export OTEL_EXPORTER_OTLP_HEADERS="Authorization=Bearer {{credential}}"
`

// mcpServers is the JSON file that most clients share; they differ in the keys that name transport and url.
func mcpServers(url string, more ...string) string {
	return `{
  "mcpServers": {
    "switchboard": {
      ` + url + `: "{{mcp}}",
      "headers": { "Authorization": "Bearer {{credential}}" }` + strings.Join(more, "") + `
    }
  }
}
`
}
