package todospansexporter

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/confmap/confmaptest"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
)

func TestConfig(t *testing.T) {
	config := func(timeout time.Duration, requireLedger bool) *Config {
		return &Config{TimeoutConfig: exporterhelper.TimeoutConfig{Timeout: timeout}, RequireLedger: requireLedger}
	}
	for file, c := range map[string]struct {
		want *Config
		err  string
	}{
		"default.yaml":           {want: config(10*time.Second, true)},
		"stock.yaml":             {want: config(3*time.Second, false)},
		"bad_timeout.yaml":       {err: "timeout must be longer than zero"},
		"bad_sending_queue.yaml": {err: "sending_queue"},
	} {
		conf, err := confmaptest.LoadConf("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		got := NewFactory().CreateDefaultConfig()
		err = conf.Unmarshal(got)
		if err == nil {
			err = got.(*Config).Validate()
		}
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: error %v, want one with %q", file, err, c.err)
			}
			continue
		}
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: error %v (-want +got):\n%s", file, err, diff)
		}
	}
}
