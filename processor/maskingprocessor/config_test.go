package maskingprocessor

import (
	"testing"

	"go.opentelemetry.io/collector/confmap/confmaptest"
)

func TestConfig_HasNoKeys(t *testing.T) {
	for file, wantErr := range map[string]bool{"testdata/default.yaml": false, "testdata/bad_unknown_key.yaml": true} {
		conf, err := confmaptest.LoadConf(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := conf.Unmarshal(NewFactory().CreateDefaultConfig()); (err != nil) != wantErr {
			t.Errorf("%s: %v", file, err)
		}
	}
}
