package toggle

import (
	"testing"

	"go.opentelemetry.io/collector/confmap"
)

type config struct {
	Feature Toggle `mapstructure:"feature"`
}

func TestToggle_ReadsWhatOperatorsWrite(t *testing.T) {
	for _, c := range []struct {
		value any
		on    bool
		bad   bool
	}{
		{true, true, false}, {false, false, false}, {1, true, false}, {0, false, false}, {"1", true, false}, {"true", true, false},
		{"0", false, false}, {"false", false, false}, {"", false, false}, {nil, false, false},
		{"yes", false, true}, {"on", false, true}, {2, false, true}, {"TRUE", false, true}, {1.5, false, true},
	} {
		var cfg config
		if err := confmap.NewFromStringMap(map[string]any{"feature": c.value}).Unmarshal(&cfg); err != nil {
			t.Errorf("%#v: %v", c.value, err)
			continue
		}
		err := confmap.Validate(cfg)
		if cfg.Feature.On() != c.on || (err != nil) != c.bad {
			t.Errorf("%#v: on %v, %v", c.value, cfg.Feature.On(), err)
		}
	}
}

func TestToggle_KeepsItsDefaultWhenTheKeyIsAbsent(t *testing.T) {
	t.Setenv("SWITCHBOARD_TEST_FEATURE", "1")
	cfg := config{Feature: FromEnv("SWITCHBOARD_TEST_FEATURE")}
	if err := confmap.New().Unmarshal(&cfg); err != nil || !cfg.Feature.On() {
		t.Errorf("on %v, %v", cfg.Feature.On(), err)
	}
	if err := confmap.NewFromStringMap(map[string]any{"feature": false}).Unmarshal(&cfg); err != nil || cfg.Feature.On() {
		t.Errorf("the key did not win: %v", err)
	}
}
