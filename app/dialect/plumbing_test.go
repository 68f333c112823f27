package dialect_test

import (
	"testing"

	"github.com/switchboard-otel/switchboard/app/dialect"
)

func TestPlumbing_GoesByScopeAndName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		scope, name string
		want        bool
	}{
		{"opencode", "sql.execute", true},
		{"opencode", "State.reload.update", true},
		{"opencode", "InstanceBootstrap", true},
		{"opencode", "SessionProcessor.readToolCall", true},
		{"opencode", "SessionProcessor.process", false},
		{"opencode", "SessionPrompt.run", false},
		{"opencode", "ai.streamText.doStream", false},
		{"opencode", "Tool.execute", false},
		{"opencode", "Permission.ask", false},
		{"opencode", "http.server POST", false},
		{"opencode", "State", false},
		{"opencode", "", false},
		{"codex_exec", "fs.get_metadata", true},
		{"codex_cli_rs", "handle_responses", true},
		{"codex_exec", "load", true},
		{"codex_exec", "load.other", false},
		{"codex_exec", "exec_command", false},
		{"codex_exec", "run_turn", false},
		{"codex_exec", "run_turn.prepare_sampling_request_input", true},
		{"codex_exec", "sql.execute", false},
		{"qwen-code", "qwen-code.hook", true},
		{"qwen-code", "qwen-code.tool", false},
		{"demo-agent", "sql.execute", false},
		{"", "fs.get_metadata", false},
	} {
		if got := dialect.Plumbing(c.scope, c.name); got != c.want {
			t.Errorf("%s of %s is plumbing: %v, want %v", c.name, c.scope, got, c.want)
		}
	}
}
