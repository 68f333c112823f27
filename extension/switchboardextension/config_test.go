package switchboardextension

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
)

// Each file of testdata is one configuration; a bad one opens with the sentence that refuses it.
func TestConfig(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(string(text), "\n")
			want, bad := strings.CutPrefix(first, "# refused: ")
			conf, err := confmaptest.LoadConf(file)
			if err != nil {
				t.Fatal(err)
			}
			cfg := createDefaultConfig()
			err = conf.Unmarshal(cfg)
			if err == nil {
				err = confmap.Validate(cfg)
			}
			if bad != (err != nil) || bad && !strings.Contains(err.Error(), want) {
				t.Errorf("got  %v\nwant %q", err, want)
			}
		})
	}
}

func TestConfig_TheYAMLWinsOverTheEnvironment(t *testing.T) {
	t.Setenv("SWITCHBOARD_OTLP", "1")
	t.Setenv("SWITCHBOARD_ADDR", "127.0.0.1:1")
	cfg := createDefaultConfig()
	if !cfg.Features.OTLP.On() || cfg.Endpoint != "127.0.0.1:1" {
		t.Errorf("the environment gave no default: %+v", cfg)
	}
	err := confmap.NewFromStringMap(map[string]any{"endpoint": "127.0.0.1:2", "features": map[string]any{"otlp": false}}).Unmarshal(cfg)
	if err != nil || cfg.Features.OTLP.On() || cfg.Endpoint != "127.0.0.1:2" || !cfg.Features.MCP.On() {
		t.Errorf("%+v, %v", cfg, err)
	}
}

func TestConfig_SecretsDoNotShow(t *testing.T) {
	cfg := createDefaultConfig()
	cfg.DatabaseURL, cfg.MetricsToken = "postgres://u:hunter2@db/x", "0123456789abcdef0123456789abcdef"
	conf := confmap.New()
	if err := conf.Marshal(cfg); err != nil {
		t.Fatal(err)
	}
	for key, value := range conf.ToStringMap() {
		if text, _ := value.(string); strings.Contains(text, "hunter2") || strings.Contains(text, "abcdef") {
			t.Errorf("%s shows its secret", key)
		}
	}
}
