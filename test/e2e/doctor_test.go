package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// examination is what `bin/switchboard doctor --json` prints.
type examination struct {
	OK      bool   `json:"ok"`
	Stored  bool   `json:"stored"`
	TraceID string `json:"trace_id"`
	Steps   []struct {
		Step  string `json:"step"`
		State string `json:"state"`
		Found string `json:"found"`
		Next  string `json:"next"`
	} `json:"steps"`
}

// examine runs the doctor and checks its exit code.
func examine(t *testing.T, c *collector, args ...string) (x examination) {
	t.Helper()
	out, errs, err := c.cli(append([]string{"doctor", "--json"}, args...)...)
	if jsonErr := json.Unmarshal([]byte(out), &x); jsonErr != nil {
		t.Fatalf("%v: %v %s%s", args, jsonErr, out, errs)
	}
	if x.OK != (err == nil) {
		t.Errorf("%v: ok is %v, and it ended with %v", args, x.OK, err)
	}
	return x
}

// failed is the step that did not hold, with what was found.
func (x examination) failed() string {
	for _, s := range x.Steps {
		if s.State == "failed" {
			return s.Step + ": " + s.Found
		}
	}
	return ""
}

// A span of the doctor's proves the path and stores nothing; with a todo it is stored there under a name that says
// where it comes from.
func TestDoctor_ProvesThePathAndStoresOnlyWhereItIsTold(t *testing.T) {
	t.Parallel()
	c := start(t)
	v := c.vend("my bot")
	id := c.push(v, "examined")
	for _, endpoint := range []string{v.Slug, v.ID, v.OTLPURL, v.OTLPURL + "/v1/traces"} {
		if x := examine(t, c, endpoint, "--credential", v.Token); !x.OK || x.Stored {
			t.Errorf("%s: %+v", endpoint, x)
		}
	}
	if spans := c.trail(id).Spans; len(spans) != 0 {
		t.Errorf("%d spans were stored", len(spans))
	}
	x := examine(t, c, v.Slug, "--credential", v.Token, "--todo", id)
	if !x.OK || !x.Stored {
		t.Fatalf("%+v", x)
	}
	if spans := c.trail(id).Spans; len(spans) != 1 || spans[0].Name != "switchboard doctor" || spans[0].TraceID != x.TraceID {
		t.Errorf("stored %+v, said trace %s", spans, x.TraceID)
	}
}

// Whatever keeps spans from showing up, the doctor names the step, says why, and what to do.
func TestDoctor_NamesTheStepThatFails(t *testing.T) {
	t.Parallel()
	c := start(t)
	v, other, revoked := c.vend("my bot"), c.vend("other"), c.vend("revoked")
	if _, errs, err := c.cli("endpoint", "revoke", revoked.Slug, "-y"); err != nil {
		t.Fatal(err, errs)
	}
	var mute vended
	c.cliJSON(&mute, "endpoint", "vend", "mute", "--verbs", "claim,complete")
	foreign := c.push(other, "another endpoint's")
	off := start(t, withEnv("SWITCHBOARD_OTLP=0"))
	for name, x := range map[string]struct {
		args []string
		want string
	}{
		"a closed port":          {[]string{"http://" + freeAddress(t) + "/otlp/" + v.Slug, "--credential", v.Token}, "address: nothing listens"},
		"the Board's path":       {[]string{c.url + "/todos", "--credential", v.Token}, "otlp: something answers there"},
		"OTLP switched off":      {[]string{off.url + "/otlp/" + v.Slug, "--credential", v.Token}, "otlp: the server takes no spans"},
		"a wrong credential":     {[]string{v.Slug, "--credential", v.Token[:46] + "~"}, "credential: the server knows no such credential"},
		"a cut credential":       {[]string{v.Slug, "--credential", v.Token[:40]}, "credential: the server knows no such credential: it has 40 characters"},
		"a revoked credential":   {[]string{revoked.Slug, "--credential", revoked.Token}, "credential: the server knows no such credential"},
		"a human's token":        {[]string{v.Slug, "--credential", cliToken(t, c)}, "credential: this is a person's token"},
		"another's endpoint":     {[]string{other.Slug, "--credential", v.Token}, "path: the credential is not for the endpoint " + other.Slug},
		"no endpoint in the url": {[]string{c.url + "/otlp", "--credential", v.Token}, "path: the server serves no such path"},
		"no heartbeat":           {[]string{mute.Slug, "--credential", mute.Token}, "grant: the endpoint is not granted the verb heartbeat"},
		"a foreign todo":         {[]string{v.Slug, "--credential", v.Token, "--todo", foreign}, "binding: " + foreign + " is no todo of this endpoint"},
	} {
		got := examine(t, c, x.args...)
		if !strings.HasPrefix(got.failed(), x.want) {
			t.Errorf("%s: %q, want %q", name, got.failed(), x.want)
		}
		for _, s := range got.Steps {
			if (s.State == "failed") != (s.Next != "") || strings.Contains(s.Found+s.Next, v.Token) {
				t.Errorf("%s: %+v", name, s)
			}
		}
	}
	if spans := c.trail(foreign).Spans; len(spans) != 0 {
		t.Errorf("%d spans were stored on another endpoint's todo", len(spans))
	}
}

// What vend prints is pasted into a shell as it stands; the doctor started there finds address and credential in it.
func TestVend_TheBlockThatItPrintsGetsSpansThrough(t *testing.T) {
	t.Parallel()
	c := start(t)
	printed, errs, err := c.cli("endpoint", "vend", "my bot", "--agent", "claude-code")
	if err != nil {
		t.Fatal(err, errs)
	}
	var exports []string
	for line := range strings.SplitSeq(printed, "\n") {
		if strings.HasPrefix(line, "export ") {
			exports = append(exports, line)
		}
	}
	shell := exec.Command("sh", "-e", "-c", strings.Join(exports, "\n")+"\n"+
		filepath.Join(bin, "switchboard")+` doctor "$OTEL_EXPORTER_OTLP_ENDPOINT"`)
	shell.Env, shell.Dir = append(environment(), "SWITCHBOARD_DATA_DIR="+c.dir), os.TempDir()
	if out, err := shell.CombinedOutput(); err != nil || !strings.Contains(string(out), "it came back unbound") {
		t.Errorf("%v: %s", err, out)
	}
}
