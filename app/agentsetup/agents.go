package agentsetup

// What the variables and keys do was seen with the programs of the versions named, or read in their documentation.
var codingAgents = []Guide{
	{
		Kind: "claude-code", Title: "Claude Code", Aliases: []string{"claude", "claude-agent-sdk"},
		Blocks: []Block{
			{Use: "MCP: run once", Language: "sh", text: `claude mcp add --transport http switchboard {{mcp}} --header "Authorization: Bearer {{credential}}"
`},
			{Use: "Spans: set before it starts", Language: "sh", text: `export CLAUDE_CODE_ENABLE_TELEMETRY=1
export CLAUDE_CODE_ENHANCED_TELEMETRY_BETA=1
export CLAUDE_CODE_PROPAGATE_TRACEPARENT=1
export OTEL_TRACES_EXPORTER=otlp
export OTEL_METRICS_EXPORTER=none
export OTEL_LOGS_EXPORTER=none
` + exporter + `export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf
export ENABLE_TOOL_SEARCH=false
`},
			{Use: "For each todo, with the claim's traceparent", Language: "sh", text: `TRACEPARENT=00-... claude -p "Work the todo td_..."
`},
		},
		Mind: []string{
			"An interactive session does not read TRACEPARENT and starts a trace for every prompt: name the todo there, OTEL_RESOURCE_ATTRIBUTES=switchboard.todo.id=td_...",
			"ENABLE_TOOL_SEARCH=false keeps the verbs in the model's sight; otherwise they hide behind a search.",
			"It takes the OTEL_ variables away from the commands that it runs, so their spans do not come along.",
		},
		Checked: "The exporter's variables were run with the Go and JavaScript SDKs; those of Claude Code itself were seen at work with 2.1.332, not run by us in a test.",
	},
	{
		Kind: "codex", Title: "Codex", Aliases: []string{"codex-cli"},
		Blocks: []Block{
			{Use: "MCP and spans: add to ~/.codex/config.toml", Language: "toml", text: `[mcp_servers.switchboard]
url = "{{mcp}}"
http_headers = { Authorization = "Bearer {{credential}}" }

[otel]
exporter = "none"
metrics_exporter = "none"
log_user_prompt = false
trace_exporter = { otlp-http = { endpoint = "{{otlp}}/v1/traces", protocol = "binary", headers = { Authorization = "Bearer {{credential}}" } } }
`},
			{Use: "For each todo, with the claim's traceparent", Language: "sh", text: `TRACEPARENT=00-... codex exec "Work the todo td_..."
`},
		},
		Mind: []string{
			"The endpoint is used as it is written, so it ends in /v1/traces. The [otel] table of a project's own config.toml is not read.",
			"It sends its trace with every MCP request, so a session that claims over MCP binds without TRACEPARENT.",
			"A trivial task is hundreds of spans of its own machinery, and it does not send again what a 503 answered.",
		},
		Checked: "The block was read with a TOML parser. The [otel] keys were seen at work with 0.171, not run by us in a test. http_headers is not confirmed: it was not seen at work.",
	},
	{
		Kind: "gemini", Title: "Gemini CLI", Aliases: []string{"gemini-cli"},
		Blocks: []Block{
			{Use: "MCP and spans: merge into ~/.gemini/settings.json", Language: "json", text: `{
  "telemetry": {
    "enabled": true,
    "traces": true,
    "target": "local",
    "otlpEndpoint": "{{otlp}}",
    "otlpProtocol": "http",
    "logPrompts": false
  },
  "mcpServers": {
    "switchboard": {
      "httpUrl": "{{mcp}}",
      "headers": { "Authorization": "Bearer {{credential}}" }
    }
  }
}
`},
			{Use: "Spans: set before it starts", Language: "sh", text: `export OTEL_EXPORTER_OTLP_HEADERS="Authorization=Bearer {{credential}}"
`},
			{Use: "For each todo", Language: "sh", text: `OTEL_RESOURCE_ATTRIBUTES=switchboard.todo.id=td_... gemini -p "Work the todo td_..."
`},
		},
		Mind: []string{
			"It does not read TRACEPARENT and sends no trace to MCP: only the todo's id binds its spans.",
			"\"traces\" adds model, tool and tokens to the spans, and prompts too: Switchboard drops those, another backend might not.",
			"Its logs and metrics cannot be switched off; they are answered and not stored. The prompt is on the command line, which it sends in process.command_args.",
		},
		Checked: "The blocks were read with a JSON parser; the keys were seen at work with 0.61 or read in its documentation, not run by us in a test.",
	},
	{
		Kind: "copilot", Title: "GitHub Copilot CLI", Aliases: []string{"copilot-cli", "github-copilot"},
		Blocks: []Block{
			{Use: "MCP: merge into ~/.copilot/mcp-config.json", Language: "json", text: mcpServers(`"type": "http",
      "url"`, `,
      "tools": ["*"]`)},
			{Use: "Spans: set before it starts", Language: "sh", text: "export COPILOT_OTEL_ENABLED=true\n" + exporter},
			{Use: "For each todo", Language: "sh", text: `OTEL_RESOURCE_ATTRIBUTES=switchboard.todo.id=td_... copilot -p "Work the todo td_..."
`},
		},
		Mind: []string{
			"It does not read TRACEPARENT and sends no trace to MCP: only the todo's id binds its spans.",
			"Its metrics cannot be switched off; they are answered and not stored. It never sends again what was refused.",
		},
		Checked: "The exporter's variables were run with the Go and JavaScript SDKs, the MCP block was read with a JSON parser; COPILOT_OTEL_ENABLED was seen at work with 1.0.102, not run by us in a test.",
	},
	{
		Kind: "opencode", Title: "OpenCode",
		Blocks: []Block{
			{Use: "MCP and spans: merge into opencode.json", Language: "json", text: `{
  "experimental": { "openTelemetry": true },
  "mcp": {
    "switchboard": {
      "type": "remote",
      "url": "{{mcp}}",
      "enabled": true,
      "headers": { "Authorization": "Bearer {{credential}}" }
    }
  }
}
`},
			{Use: "Spans: set before it starts", Language: "sh", text: exporter + `export OTEL_BSP_SCHEDULE_DELAY=300
`},
			{Use: "For each todo", Language: "sh", text: `OTEL_RESOURCE_ATTRIBUTES=switchboard.todo.id=td_... opencode run "Work the todo td_..."
`},
		},
		Mind: []string{
			"It does not read TRACEPARENT and sends no trace to MCP: only the todo's id binds its spans, which lie in dozens of traces.",
			"Without OTEL_BSP_SCHEDULE_DELAY=300 it ends before its last spans are sent.",
			"A trivial task is a thousand spans, most of them of its own machinery and some marked as errors on good runs.",
			"Keep the plain space in the header and no slash at the end of the url.",
		},
		Checked: "The variables were run with the Go and JavaScript SDKs, the JSON block was read with a parser; OpenCode's own keys were seen at work with 1.18, not run by us in a test.",
	},
	{
		Kind: "qwen", Title: "Qwen Code", Aliases: []string{"qwen-code"},
		Blocks: []Block{
			{Use: "MCP and spans: merge into ~/.qwen/settings.json", Language: "json", text: `{
  "telemetry": {
    "enabled": true,
    "target": "local",
    "otlpEndpoint": "{{otlp}}",
    "otlpProtocol": "http",
    "logPrompts": false
  },
  "tools": { "toolSearch": { "enabled": false } },
  "mcpServers": {
    "switchboard": {
      "httpUrl": "{{mcp}}",
      "headers": { "Authorization": "Bearer {{credential}}" }
    }
  }
}
`},
			{Use: "Spans: set before it starts", Language: "sh", text: `export OTEL_EXPORTER_OTLP_HEADERS="Authorization=Bearer {{credential}}"
`},
			{Use: "For each todo", Language: "sh", text: `OTEL_RESOURCE_ATTRIBUTES=switchboard.todo.id=td_... qwen -p "Work the todo td_..."
`},
		},
		Mind: []string{
			"It does not read TRACEPARENT and sends no trace to MCP: only the todo's id binds its spans.",
			"tools.toolSearch.enabled=false keeps the verbs in the model's sight; otherwise they hide behind a search.",
			"Each tool call is two rows, and its hooks are marked as errors on good runs.",
		},
		Checked: "The blocks were read with a JSON parser; the keys were seen at work with 0.24 or read in its documentation, not run by us in a test.",
	},
	{
		Kind: "goose", Title: "Goose",
		Blocks: []Block{
			{Use: "MCP: merge into ~/.config/goose/config.yaml", Language: "yaml", text: `extensions:
  switchboard:
    type: streamable_http
    name: switchboard
    enabled: true
    timeout: 300
    uri: {{mcp}}
    headers:
      Authorization: Bearer {{credential}}
`},
		},
		Mind:    []string{notesOnly},
		Checked: "The block was read with a YAML parser; its keys are from Goose's documentation, not run by us.",
	},
	{
		Kind: "cline", Title: "Cline",
		Blocks: []Block{
			{Use: "MCP: merge into cline_mcp_settings.json", Language: "json", text: mcpServers(`"type": "streamableHttp",
      "url"`)},
		},
		Mind:    []string{notesOnly},
		Checked: "The block was read with a JSON parser; its keys are from Cline's documentation, not run by us.",
	},
}

const notesOnly = "No spans of it reach an endpoint of yours: ask in its instructions for a heartbeat with a note at every step, that is what the human sees."
