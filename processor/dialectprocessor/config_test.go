package dialectprocessor

import (
	"strings"
	"testing"

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

func TestConfig_DropsPlumbingOnlyWhenToldSo(t *testing.T) {
	for file, want := range map[string]bool{"default.yaml": false, "full.yaml": true} {
		cfg, err := load(t, file)
		if err != nil {
			t.Errorf("%s: %v", file, err)
		} else if cfg.DropPlumbing.On() != want {
			t.Errorf("%s: on %v, want %v", file, cfg.DropPlumbing.On(), want)
		}
	}
}

func TestConfig_SaysWhatIsWrong(t *testing.T) {
	for file, want := range map[string]string{
		"bad_drop_plumbing.yaml": "drop_plumbing: must be 1, true, 0, false or empty",
		"bad_unknown_key.yaml":   "keep_everything",
	} {
		if _, err := load(t, file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", file, err, want)
		}
	}
}
