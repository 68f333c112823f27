package switchboardreceiver

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
)

func load(t *testing.T, file string) (*Config, error) {
	t.Helper()
	conf, err := confmaptest.LoadConf(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	conf, err = conf.Sub("switchboard")
	if err != nil {
		t.Fatal(err)
	}
	cfg := createDefaultConfig().(*Config)
	if err := conf.Unmarshal(cfg); err != nil {
		return nil, err
	}
	return cfg, confmap.Validate(cfg)
}

func TestConfig_DefaultUsesTheExtensionsListener(t *testing.T) {
	cfg, err := load(t, "default.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if cfg.HTTP.HasValue() {
		t.Error("the default has a listener of its own")
	}
}

func TestConfig_OwnListenerDecompressesNothing(t *testing.T) {
	cfg, err := load(t, "own_listener.yaml")
	if err != nil {
		t.Fatal(err)
	}
	http := cfg.HTTP.Get()
	if http.NetAddr.Endpoint != "127.0.0.1:4318" || http.ReadHeaderTimeout != 5*time.Second {
		t.Errorf("read %+v", http)
	}
	if http.CompressionAlgorithms == nil || len(http.CompressionAlgorithms) > 0 {
		t.Errorf("compression algorithms %#v, want none, and not nil", http.CompressionAlgorithms)
	}
}

func TestConfig_MistakesAreNamed(t *testing.T) {
	for file, want := range map[string]string{
		"bad_no_endpoint.yaml":           "http::endpoint is missing",
		"bad_compression.yaml":           "http::compression_algorithms must stay empty",
		"bad_max_request_body_size.yaml": "http::max_request_body_size must stay unset; the limit is the setting otlp_max_request_bytes",
		"bad_auth.yaml":                  "http::auth must stay unset",
		"bad_cors.yaml":                  "http::cors must stay unset",
		"bad_unknown_key.yaml":           "https",
	} {
		if _, err := load(t, file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", file, err, want)
		}
	}
}
