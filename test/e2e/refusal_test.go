package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

func cliToken(t *testing.T, c *collector) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(c.dir, "cli.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cli struct {
		Token string `json:"token"`
	}
	if err := json.Unmarshal(content, &cli); err != nil {
		t.Fatal(err)
	}
	return cli.Token
}

// Bad input: each a clear error, nothing stored, the process stays up.
func TestBadInput_IsRefusedAndStoresNothing(t *testing.T) {
	t.Parallel()
	c := start(t)
	v, other, revoked := c.vend("my bot"), c.vend("other"), c.vend("revoked")
	if _, errs, err := c.cli("endpoint", "revoke", revoked.Slug, "-y"); err != nil {
		t.Fatal(err, errs)
	}
	id := c.push(v, "untouched")
	good := protobuf(t, batch(pcommon.TraceID{1}, 1, id))
	for name, r := range map[string]struct {
		url, token string
		body       []byte
		kind       string
		status     int
		says       string
	}{
		"no credential":           {v.OTLPURL, "", good, "application/x-protobuf", 401, ""},
		"a wrong credential":      {v.OTLPURL, "sbk_wrong", good, "application/x-protobuf", 401, ""},
		"a revoked credential":    {revoked.OTLPURL, revoked.Token, good, "application/x-protobuf", 401, ""},
		"a foreign slug":          {other.OTLPURL, v.Token, good, "application/x-protobuf", 403, ""},
		"an unknown slug":         {c.url + "/otlp/nosuch", v.Token, good, "application/x-protobuf", 403, ""},
		"no OTLP, as protobuf":    {v.OTLPURL, v.Token, []byte("CANARY \xff\xff"), "application/x-protobuf", 400, "otlp-decode-failed"},
		"no OTLP, as JSON":        {v.OTLPURL, v.Token, []byte(`{"resourceSpans": "CANARY"}`), "application/json", 400, "otlp-decode-failed"},
		"an empty JSON body":      {v.OTLPURL, v.Token, nil, "application/json", 400, "otlp-decode-failed"},
		"another content type":    {v.OTLPURL, v.Token, good, "text/plain", 415, ""},
		"a body over the cap":     {v.OTLPURL, v.Token, make([]byte, 5<<20), "application/x-protobuf", 413, ""},
		"more spans than allowed": {v.OTLPURL, v.Token, protobuf(t, manySpans(1001)), "application/x-protobuf", 400, "1000"},
	} {
		headers := []string{"Content-Type", r.kind}
		if r.token != "" {
			headers = append(headers, "Authorization", "Bearer "+r.token)
		}
		res := request(t, http.MethodPost, r.url+"/v1/traces", r.body, headers...)
		if res.status != r.status || !strings.Contains(res.body, r.says) {
			t.Errorf("%s: %d %q", name, res.status, res.body)
		}
		if strings.Contains(res.body, "CANARY") {
			t.Errorf("%s: the answer quotes the body: %q", name, res.body)
		}
		if res.header.Get("X-Content-Type-Options") != "nosniff" || res.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: headers %v", name, res.header)
		}
	}
	if tr := c.trail(id); len(tr.Spans) != 0 {
		t.Errorf("%d spans were stored", len(tr.Spans))
	}
	if strings.Contains(c.output.String(), "CANARY") || strings.Contains(c.output.String(), v.Token) {
		t.Errorf("the log quotes a body or a credential:\n%s", c.output)
	}
	for name, token := range map[string]string{"wrong": "sbk_wrong", "revoked": revoked.Token} {
		if res := request(t, http.MethodPost, v.MCPURL, []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`),
			"Content-Type", "application/json", "Authorization", "Bearer "+token); res.status != http.StatusUnauthorized {
			t.Errorf("MCP answered a %s credential with %d", name, res.status)
		}
	}
}

func manySpans(n int) (traces ptrace.Traces) {
	traces = batch(pcommon.TraceID{1}, n, "")
	spans := traces.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
	for i := range n {
		spans.At(i).SetSpanID(pcommon.SpanID{1, byte(i >> 8), byte(i)})
	}
	return traces
}

// A configuration under which 200 would not mean stored does not start, and says what to write instead.
func TestAsynchronousStage_IsRefusedAtStart(t *testing.T) {
	t.Parallel()
	quick, err := os.ReadFile(filepath.Join(root, "configs", "quickstart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(quick), "switchboard_masking]", "switchboard_masking, batch]", 1)
	text = strings.Replace(text, "processors:\n", "processors:\n  batch:\n", 1)
	config := filepath.Join(dataDir(t), "batch.yaml")
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	c := prepare(t, withConfig(config))
	c.launch()
	if err := c.await(); err == nil {
		t.Error("it started")
	}
	if want := "processor batch between receiver switchboard and exporter switchboard_todospans answers before spans are stored"; !strings.Contains(c.output.String(), want) {
		t.Errorf("%q is not in\n%s", want, c.output)
	}
	if pids := postgresIn(t, c.dir); len(pids) > 0 {
		t.Errorf("processes %v were left behind", pids)
	}
}

// What operators expect of a distribution is in it, beside our own parts.
func TestComponents_ListsOurPartsAndThoseThatOperatorsExpect(t *testing.T) {
	t.Parallel()
	out, err := exec.Command(filepath.Join(bin, "switchboard-collector"), "components").CombinedOutput()
	if err != nil {
		t.Fatal(err, string(out))
	}
	for section, names := range map[string][]string{
		"receivers":  {"switchboard", "otlp", "kafka"},
		"processors": {"switchboard_binding", "switchboard_allowlist", "switchboard_masking", "batch", "memory_limiter"},
		"exporters":  {"switchboard_todospans", "debug", "otlp_grpc", "otlp_http", "kafka"},
		"connectors": {"forward", "span_metrics"},
		"extensions": {"switchboard", "health_check", "pprof", "zpages", "file_storage", "bearertokenauth", "oidc"},
	} {
		_, after, found := strings.Cut(string(out), "\n"+section+":\n")
		if !found {
			t.Errorf("no %s", section)
		}
		list, _, _ := strings.Cut(after+"\nzz:", "\n"+"zz:")
		for _, name := range names {
			if !strings.Contains(list, "- name: "+name+"\n") {
				t.Errorf("%s: no %s", section, name)
			}
		}
	}
}

func TestValidate_AcceptsEveryFileInConfigs(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(root, "configs", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		cmd := exec.Command(filepath.Join(bin, "switchboard-collector"), "validate", "--config", file)
		cmd.Env = append(environment(), "SWITCHBOARD_DATABASE_URL=postgres://db.example.com/switchboard",
			"SWITCHBOARD_BASE_URL=https://switchboard.example.com", "SWITCHBOARD_DEV_LOGIN=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", filepath.Base(file), err, out)
		}
	}
}
