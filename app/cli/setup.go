package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// printSetup is everything an agent needs, ready to copy (REQ-22). The credential is in it; it is never shown
// again.
func (a *app) printSetup(e *endpointDoc) {
	expires := "when revoked"
	if e.ExpiresAt != nil {
		expires = e.ExpiresAt.UTC().Format("2006-01-02 15:04Z")
	}
	w := a.Stdout
	fmt.Fprintf(w, "Endpoint %s for agent %s\n", line(e.Slug), line(e.Agent))
	fmt.Fprintf(w, "  queues   %s\n  verbs    %s\n  expires  %s\n",
		line(strings.Join(e.Queues, ", ")), line(strings.Join(e.Verbs, ", ")), expires)
	fmt.Fprintf(w, "\nIts credential, shown this once:\n\n%s\n", line(e.Token))

	fmt.Fprintf(w, "\nMCP, for Claude Code:\n\nclaude mcp add --transport http switchboard %s --header \"Authorization: Bearer %s\"\n",
		line(e.MCPURL), line(e.Token))
	var config bytes.Buffer
	if json.Indent(&config, e.MCPJSON, "", "  ") == nil {
		fmt.Fprintf(w, "\nMCP, for clients with a JSON file:\n\n%s\n", clean(config.String()))
	}

	fmt.Fprintf(w, `
OpenTelemetry, for any agent or SDK that exports traces:

export OTEL_EXPORTER_OTLP_ENDPOINT=%s
export OTEL_EXPORTER_OTLP_HEADERS="Authorization=Bearer %s"
export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf
`, line(e.OTLPURL), line(e.Token))

	fmt.Fprint(w, `
A span lands on a todo when it is part of the claim's trace: hand the claim's traceparent to the
agent's process as TRACEPARENT, or name the todo in OTEL_RESOURCE_ATTRIBUTES=switchboard.todo.id=td_...
Everyone who can read the todo sees its notes, summaries and kept span attributes: put no secrets there.
`)
}
