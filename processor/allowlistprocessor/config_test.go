package allowlistprocessor

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
)

// load reads a configuration as the collector does.
func load(t *testing.T, file string) (*Config, error) {
	t.Helper()
	conf, err := confmaptest.LoadConf("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	cfg := NewFactory().CreateDefaultConfig().(*Config)
	if err := conf.Unmarshal(cfg); err != nil {
		return nil, err
	}
	return cfg, confmap.Validate(cfg)
}

func TestConfig_REQ21_ToolInputAndOutputAreKeptOnlyWhenToldSo(t *testing.T) {
	for _, c := range []struct {
		variable, file string
		on             bool
	}{
		{"", "default.yaml", false}, {"1", "default.yaml", true}, {"true", "default.yaml", true}, {"0", "default.yaml", false},
		{"0", "full.yaml", true}, {"", "keep_tool_io_number.yaml", true}, {"1", "keep_tool_io_empty.yaml", false},
	} {
		t.Setenv("SWITCHBOARD_OTLP_KEEP_TOOL_IO", c.variable)
		cfg, err := load(t, c.file)
		if err != nil {
			t.Errorf("%s with %q: %v", c.file, c.variable, err)
		} else if cfg.KeepToolIO.On() != c.on {
			t.Errorf("%s with %q: on %v, want %v", c.file, c.variable, cfg.KeepToolIO.On(), c.on)
		}
	}
}

func TestConfig_RefusesAVariableItCannotRead(t *testing.T) {
	t.Setenv("SWITCHBOARD_OTLP_KEEP_TOOL_IO", "yes")
	if _, err := load(t, "default.yaml"); err == nil || !strings.Contains(err.Error(), "must be 1, true, 0, false or empty") {
		t.Errorf("error %v", err)
	}
}

func TestConfig_ReadsAdditionalKeys(t *testing.T) {
	cfg, err := load(t, "full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"gen_ai.provider.name", "gen_ai.agent.name", "mcp.method.name"}, cfg.AdditionalKeys); diff != "" {
		t.Error(diff)
	}
}

func TestConfig_SaysWhatIsWrong(t *testing.T) {
	for file, want := range map[string]string{
		"bad_keep_tool_io.yaml": "keep_tool_io: must be 1, true, 0, false or empty",
		"bad_tool_io_key.yaml":  `additional_keys: "gen_ai.tool.call.result" is tool input or output; keep it with keep_tool_io: true`,
		"bad_pattern.yaml":      `additional_keys: "gen_ai.*" is a pattern; write out each key`,
		"bad_reserved_key.yaml": `additional_keys: "switchboard.bound.todo_id" is reserved for the pipeline itself; remove it`,
		"bad_empty_key.yaml":    `additional_keys: "" is no key; remove it`,
		"bad_unknown_key.yaml":  "keep_everything",
	} {
		if _, err := load(t, file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", file, err, want)
		}
	}
}
