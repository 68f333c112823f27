package mcpserver

import "github.com/modelcontextprotocol/go-sdk/mcp"

// Tools returns every verb as tools/list shows it to an endpoint that is granted all of them, in the order in which
// a worker meets them. The reference page of the verbs is generated from it.
func Tools() []*mcp.Tool {
	tools := make([]*mcp.Tool, len(verbs))
	for i, v := range verbs {
		tools[i] = &mcp.Tool{
			Name: v.name, Description: v.description, InputSchema: v.input, OutputSchema: v.output,
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: v.readOnly},
		}
	}
	return tools
}
