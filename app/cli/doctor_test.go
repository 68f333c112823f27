package cli

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/switchboard-otel/switchboard/app/doctor"
)

func TestDoctor_SaysInWordsAndInJSONHowFarTheSpanCame(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.NotFoundHandler())
	defer elsewhere.Close()
	vars := map[string]string{"SWITCHBOARD_URL": elsewhere.URL, "SWITCHBOARD_DATA_DIR": t.TempDir(), "SWITCHBOARD_CREDENTIAL": "sbk_EXAMPLE"}
	r := run(t, Env{}, vars, "doctor", "my-bot")
	if r.code != exitFailed || r.stderr != "switchboard: spans do not get through: the step otlp failed\n" {
		t.Errorf("exit code %d, %q", r.code, r.stderr)
	}
	golden(t, "doctor.golden", strings.ReplaceAll(r.stdout, strings.TrimPrefix(elsewhere.URL, "http://"), "HOST"))

	var report doctor.Report
	r = run(t, Env{}, vars, "doctor", "my-bot", "--json")
	if r.code != exitFailed {
		t.Errorf("exit code %d", r.code)
	}
	r.code = exitOK
	if r.json(t, &report); report.OK || len(report.Steps) != 7 || report.Failed() != "otlp" || report.URL != elsewhere.URL+"/otlp/my-bot/v1/traces" {
		t.Errorf("printed %+v", report)
	}
}

func TestDoctor_SaysThatSpansGetThrough(t *testing.T) {
	t.Parallel()
	steps := []doctor.Step{{Name: "address", State: doctor.OK, Found: "127.0.0.1:8321 answers"}, {Name: "binding", State: doctor.OK, Found: "it came back unbound"}}
	golden(t, "doctor-ok.golden", render(Env{}, func(a *app) {
		a.printReport(&doctor.Report{OK: true, URL: "http://127.0.0.1:8321/otlp/my-bot/v1/traces", Steps: steps})
	}))
	stored := render(Env{}, func(a *app) {
		a.printReport(&doctor.Report{OK: true, Stored: true, TraceID: "0102", Steps: steps})
	})
	if !strings.HasSuffix(stored, "\nSpans get through. This one is in the trace 0102.\n") {
		t.Errorf("printed %s", stored)
	}
}

// Each place where an agent or a person has the credential, the nearest first.
func TestDoctor_TakesTheCredentialFromWhereItIs(t *testing.T) {
	t.Parallel()
	var shown string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if shown = r.Header.Get("Authorization"); shown == "" {
			// As the receiver refuses: a google.rpc.Status.
			w.Header().Set("Content-Type", "application/x-protobuf")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte("\x08\x10\x12\x02no"))
		}
	}))
	defer server.Close()
	vars := map[string]string{"SWITCHBOARD_URL": server.URL, "SWITCHBOARD_DATA_DIR": t.TempDir()}
	env := Env{Interactive: true, ReadSecret: func() ([]byte, error) { return []byte("sbk_typed\n"), nil }}
	r := run(t, env, vars, "doctor", "my-bot")
	if shown != "Bearer sbk_typed" || !strings.HasPrefix(r.stderr, "The endpoint's credential (sbk_..., not shown): \n") {
		t.Errorf("%q came after %q", shown, r.stderr)
	}
	for _, place := range []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "SWITCHBOARD_CREDENTIAL"} {
		name := "sbk_" + strings.ToLower(place)
		if vars[place] = "Authorization=Bearer " + name; place == "SWITCHBOARD_CREDENTIAL" {
			vars[place] = name
		}
		if run(t, env, vars, "doctor", "my-bot"); shown != "Bearer "+name {
			t.Errorf("%s: %q came", place, shown)
		}
	}
	if r = run(t, env, vars, "doctor", "my-bot", "--credential", "sbk_flag"); shown != "Bearer sbk_flag" {
		t.Errorf("--credential: %q came", shown)
	}
	for name := range map[string]bool{"typed": true, "flag": true} {
		if strings.Contains(r.stdout+r.stderr, "sbk_"+name) {
			t.Errorf("the credential was printed: %s%s", r.stdout, r.stderr)
		}
	}
	delete(vars, "SWITCHBOARD_CREDENTIAL")
	delete(vars, "OTEL_EXPORTER_OTLP_HEADERS")
	delete(vars, "OTEL_EXPORTER_OTLP_TRACES_HEADERS")
	run(t, Env{}, vars, "doctor", "my-bot").failed(t, exitUsage, "set SWITCHBOARD_CREDENTIAL")
	env.ReadSecret = func() ([]byte, error) { return nil, errors.New("interrupted") }
	if r = run(t, env, vars, "doctor", "my-bot"); r.code != exitUsage || !strings.Contains(r.stderr, "no credential was read") {
		t.Errorf("exit code %d: %s", r.code, r.stderr)
	}
}
