package spans_test

import (
	"testing"

	"github.com/switchboard-otel/switchboard/app/spans"
)

func TestAllowList_REQ6_KeepsTheSpecsKeysAndNoOther(t *testing.T) {
	byDefault := spans.NewAllowList(false, nil)
	opened := spans.NewAllowList(true, []string{"gen_ai.provider.name"})
	for _, c := range []struct {
		key               string
		byDefault, opened bool
		bytes             int
	}{
		{"gen_ai.system", true, true, 1024},
		{"gen_ai.request.model", true, true, 1024},
		{"gen_ai.response.model", true, true, 1024},
		{"gen_ai.usage.input_tokens", true, true, 1024},
		{"gen_ai.usage.anything.else", true, true, 1024},
		{"gen_ai.operation.name", true, true, 1024},
		{"gen_ai.tool.call.id", true, true, 1024},
		{"code.function.name", true, true, 1024},
		{"code.file.path", true, true, 1024},
		{"process.exit.code", true, true, 1024},
		{"error.type", true, true, 1024},
		{"http.response.status_code", true, true, 1024},
		{"switchboard.todo.id", true, true, 1024},
		{"switchboard.", true, true, 1024},
		// the tool input and output group
		{"gen_ai.tool.call.arguments", false, true, 4096},
		{"gen_ai.tool.call.result", false, true, 4096},
		{"gen_ai.input.messages", false, true, 4096},
		{"gen_ai.output.messages", false, true, 4096},
		{"process.command_args", false, true, 4096},
		// the operator's
		{"gen_ai.provider.name", false, true, 1024},
		// near misses
		{"", false, false, 1024},
		{"gen_ai.usage", false, false, 1024},
		{"gen_ai.tool.name", false, false, 1024},
		{"gen_ai.prompt", false, false, 1024},
		{"gen_ai.system_instructions", false, false, 1024},
		{"gen_ai.tool.call.arguments.x", false, false, 1024},
		{"Gen_ai.system", false, false, 1024},
		{"switchboard", false, false, 1024},
		{"switchboards.x", false, false, 1024},
		{"db.statement", false, false, 1024},
	} {
		if got := byDefault.Keeps(c.key); got != c.byDefault {
			t.Errorf("%q: kept by default %v, want %v", c.key, got, c.byDefault)
		}
		if got := opened.Keeps(c.key); got != c.opened {
			t.Errorf("%q: kept with tool input and output and an additional key %v, want %v", c.key, got, c.opened)
		}
		if got := spans.ValueBytes(c.key); got != c.bytes {
			t.Errorf("%q: cap of %d bytes, want %d", c.key, got, c.bytes)
		}
		if got, want := spans.IsToolIO(c.key), c.bytes == 4096; got != want {
			t.Errorf("%q: in the tool group %v, want %v", c.key, got, want)
		}
	}
}
