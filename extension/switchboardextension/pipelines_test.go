package switchboardextension

import (
	"strings"
	"testing"

	"go.opentelemetry.io/collector/confmap"
	"go.yaml.in/yaml/v3"
)

const ours = "switchboard_dialect, switchboard_binding, switchboard_allowlist, switchboard_masking"

// A configuration under which 200 would not mean stored, or under which something unbound or unmasked
// would be stored, does not start; the sentence says which stage and what to write instead.
func TestPipelines(t *testing.T) {
	for name, c := range map[string]struct{ yaml, want string }{
		"the one we ship": {`
traces: {receivers: [switchboard], processors: [` + ours + `], exporters: [switchboard_todospans]}`, ""},
		"a synchronous stage of the operator's": {`
traces: {receivers: [switchboard], processors: [memory_limiter, ` + ours + `, filter/mine], exporters: [switchboard_todospans]}`, ""},
		"forwarding into a pipeline that batches": {`
traces: {receivers: [switchboard], processors: [` + ours + `], exporters: [switchboard_todospans, forward]}
traces/tempo: {receivers: [forward], processors: [batch], exporters: [otlp_grpc]}`, ""},
		"a stock receiver with its own store": {`
traces: {receivers: [switchboard], processors: [` + ours + `], exporters: [switchboard_todospans]}
traces/stock: {receivers: [otlp], processors: [memory_limiter, ` + ours + `], exporters: [switchboard_todospans/stock]}
metrics: {receivers: [otlp], processors: [batch], exporters: [debug]}`, ""},
		"batch": {`
traces: {receivers: [switchboard], processors: [` + ours + `, batch/mine], exporters: [switchboard_todospans]}`,
			"processor batch/mine between receiver switchboard and exporter switchboard_todospans answers before spans are stored"},
		"tail sampling behind a connector": {`
traces: {receivers: [switchboard], processors: [` + ours + `], exporters: [forward]}
traces/2: {receivers: [forward], processors: [tail_sampling], exporters: [switchboard_todospans]}`,
			"processor tail_sampling between receiver switchboard"},
		"a receiver and an exporter of one name": {`
traces: {receivers: [switchboard], processors: [` + ours + `], exporters: [switchboard_todospans, forward]}
traces/out: {receivers: [forward], processors: [batch], exporters: [otlp]}
traces/stock: {receivers: [otlp], processors: [` + ours + `], exporters: [switchboard_todospans/stock]}`, ""},
		"batch in front of a stock receiver's store": {`
traces/stock: {receivers: [otlp], processors: [batch, ` + ours + `], exporters: [switchboard_todospans/stock]}`,
			"processor batch between receiver otlp and exporter switchboard_todospans/stock"},
		"two bindings": {`
traces: {receivers: [switchboard], processors: [` + ours + `], exporters: [switchboard_todospans]}
traces/tempo: {receivers: [switchboard], processors: [` + ours + `], exporters: [debug]}`,
			"receiver switchboard reaches switchboard_binding in pipeline traces and in pipeline traces/tempo"},
		"two stores": {`
traces: {receivers: [switchboard], processors: [` + ours + `], exporters: [switchboard_todospans, switchboard_todospans/2]}`,
			"a request can only be stored once"},
		"one store by two ways": {`
traces: {receivers: [switchboard], processors: [` + ours + `], exporters: [switchboard_todospans]}
traces/2: {receivers: [switchboard], processors: [` + ours + `], exporters: [switchboard_todospans]}`,
			"a request can only be stored once"},
		"no store": {`
traces: {receivers: [switchboard], processors: [` + ours + `], exporters: [debug]}`,
			"no switchboard_todospans exporter can be reached from receiver switchboard"},
		"no masking": {`
traces: {receivers: [switchboard], processors: [switchboard_binding, switchboard_allowlist], exporters: [switchboard_todospans]}`,
			"pipeline traces ends in switchboard_todospans without switchboard_masking"},
		"no processors at all on a stock receiver": {`
traces/stock: {receivers: [otlp], exporters: [switchboard_todospans/stock]}`,
			"pipeline traces/stock ends in switchboard_todospans/stock without switchboard_binding"},
		"the wrong order": {`
traces: {receivers: [switchboard], processors: [switchboard_allowlist, switchboard_binding, switchboard_masking], exporters: [switchboard_todospans]}`,
			"pipeline traces has switchboard_allowlist in the wrong place"},
	} {
		t.Run(name, func(t *testing.T) {
			var pipelines map[string]any
			if err := yaml.Unmarshal([]byte(c.yaml), &pipelines); err != nil {
				t.Fatal(err)
			}
			err := checkPipelines(confmap.NewFromStringMap(map[string]any{
				"connectors": map[string]any{"forward": nil}, "service": map[string]any{"pipelines": pipelines}}))
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got  %v\nwant %q", err, c.want)
			}
		})
	}
}

func TestReceivers_TwoOnOneListenerAreRefused(t *testing.T) {
	for _, c := range []struct {
		receivers map[string]any
		refused   bool
	}{
		{map[string]any{"switchboard": nil}, false},
		{map[string]any{"switchboard": nil, "switchboard/2": map[string]any{"http": map[string]any{"endpoint": ":1"}}}, false},
		{map[string]any{"switchboard": nil, "switchboard/2": nil}, true},
	} {
		if err := checkReceivers(confmap.NewFromStringMap(map[string]any{"receivers": c.receivers})); (err != nil) != c.refused {
			t.Errorf("%v: %v", c.receivers, err)
		}
	}
}
