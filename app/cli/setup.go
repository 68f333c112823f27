package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/switchboard-otel/switchboard/app/agentsetup"
	"github.com/switchboard-otel/switchboard/app/identity"
)

// printSetup is everything an agent needs, ready to copy (REQ-22): the blocks for its kind, filled in. The
// credential is in it; it is never shown again.
func (a *app) printSetup(e *endpointDoc) {
	expires := "when revoked"
	if e.ExpiresAt != nil {
		expires = e.ExpiresAt.UTC().Format("2006-01-02 15:04Z")
	}
	w := a.Stdout
	fmt.Fprintf(w, "Endpoint %s for agent %s\n", line(e.Slug), line(e.Agent))
	fmt.Fprintf(w, "  queues   %s\n  verbs    %s\n  expires  %s\n  mcp      %s\n  otlp     %s\n",
		line(strings.Join(e.Queues, ", ")), line(strings.Join(e.Verbs, ", ")), expires, line(e.MCPURL), line(e.OTLPURL))
	fmt.Fprintf(w, "\nIts credential, shown this once:\n\n%s\n", line(e.Token))

	guide, known := agentsetup.For(text(e.AgentKind))
	fmt.Fprintf(w, "\n%s\n", guide.Title)
	if !known {
		own := "These kinds have blocks of their own, printed with --agent: " + strings.Join(agentsetup.Kinds(), ", ")
		fmt.Fprintf(w, "\n%s\n", strings.Join(wrap(own, min(a.columns(), maxTextColumns)), "\n"))
	}
	filled := agentsetup.Endpoint{MCPURL: line(e.MCPURL), OTLPURL: line(e.OTLPURL), Credential: line(e.Token)}
	for _, block := range guide.Blocks {
		fmt.Fprintf(w, "\n%s:\n\n%s", block.Use, block.Text(filled))
	}
	fmt.Fprintln(w, "\nMind:")
	mind := append(slices.Clone(guide.Mind),
		"A span lands on a todo when it is part of the claim's trace (TRACEPARENT), or names the todo: OTEL_RESOURCE_ATTRIBUTES=switchboard.todo.id=td_...",
		"Everyone who can read the todo sees its notes, summaries and kept span attributes: put no secrets there.")
	if !slices.Contains(e.Verbs, identity.VerbHeartbeat) {
		mind = append(mind, "This endpoint is not granted heartbeat, so its spans are refused.")
	}
	for _, sentence := range mind {
		lines := wrap(sentence, min(a.columns(), maxTextColumns)-4)
		fmt.Fprintf(w, "  - %s\n", strings.Join(lines, "\n    "))
	}
	fmt.Fprintf(w, "\nTry it: switchboard doctor %s\n", line(e.Slug))
}
