package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.uber.org/zap/zaptest"

	"github.com/switchboard-otel/switchboard/app/api"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/intake"
	"github.com/switchboard-otel/switchboard/app/mcpserver"
	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/ratelimit"
	"github.com/switchboard-otel/switchboard/app/rungraph"
	"github.com/switchboard-otel/switchboard/app/settings"
	"github.com/switchboard-otel/switchboard/app/spans"
)

var update = flag.Bool("update", false, "write the golden files")

// fixture is a server with the real API and MCP verbs over a database of its own. Its OTLP side decodes and
// keeps what the exporters send; the pipeline behind it has tests of its own.
type fixture struct {
	db         *postgrestest.DB
	url, token string
	traces     chan ptrace.Traces
	partial    ptraceotlp.ExportResponse // what an export is answered with
	localLogin bool
}

func setup(t *testing.T, change ...func(*fixture)) *fixture {
	t.Helper()
	t.Parallel()
	f := &fixture{db: postgrestest.New(t), localLogin: true, traces: make(chan ptrace.Traces, 100), partial: ptraceotlp.NewExportResponse()}
	for _, c := range change {
		c(f)
	}
	log := zaptest.NewLogger(t)
	live := settings.NewReader(f.db.Pool, log)
	todos := queue.NewStore(f.db.Pool, live)
	people := identity.NewStore(f.db.Pool, todos)
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	f.url = server.URL
	sealer, err := intake.NewSealer(strings.Repeat("5e", 32))
	if err != nil {
		t.Fatal(err)
	}
	webhooks := intake.NewStore(intake.Config{Pool: f.db.Pool, Queue: todos, Settings: live, Sealer: sealer, BaseURL: f.url})
	stored := spans.NewStore(f.db.Pool, live)
	unlimited := ratelimit.New(1e6, 1e6)
	mux.Handle(intake.AddressPrefix, &intake.Handler{Intake: webhooks, Settings: live, PreAuth: unlimited, PerWebhook: unlimited,
		ClientAddress: func(r *http.Request) string { return r.RemoteAddr }, Log: log})
	mux.Handle("/api/v1/", api.New(api.Config{Identity: people, Queue: todos, Intake: webhooks, Spans: stored,
		RunGraphs: rungraph.NewStore(f.db.Pool, todos, stored, "1.2.3"), BaseURL: f.url,
		Version: "1.2.3", LocalLogin: f.localLogin, Describe: func() string { return "PostgreSQL of a test" }, Log: log}))
	mux.Handle("/mcp/{endpoint}", mcpserver.New(mcpserver.Config{Identity: people, Queue: todos, BaseURL: f.url, Version: "1.2.3", Log: log,
		PreAuth: unlimited, PerEndpoint: unlimited,
		ClientAddress: func(r *http.Request) string { return r.RemoteAddr }}))
	mux.HandleFunc("POST /otlp/{endpoint}/v1/traces", f.receive)
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	owner, err := people.LocalOwner(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if f.token, err = people.NewAccessToken(t.Context(), owner.ID, "cli"); err != nil {
		t.Fatal(err)
	}
	return f
}

// result is what a run of the command left.
type result struct {
	code           int
	stdout, stderr string
}

// run runs the command against the fixture's server.
func (f *fixture) run(t *testing.T, args ...string) result {
	t.Helper()
	return f.runWith(t, Env{}, args...)
}

func (f *fixture) runWith(t *testing.T, env Env, args ...string) result {
	t.Helper()
	return run(t, env, map[string]string{"SWITCHBOARD_URL": f.url, "SWITCHBOARD_TOKEN": f.token}, args...)
}

func run(t *testing.T, env Env, vars map[string]string, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	env.Stdout, env.Stderr, env.Now, env.Version = &stdout, &stderr, time.Now, "9.9.9"
	env.Getenv = func(name string) string { return vars[name] }
	if env.Stdin == nil {
		env.Stdin = strings.NewReader("")
	}
	code := Main(t.Context(), args, env)
	return result{code, stdout.String(), stderr.String()}
}

// ok fails the test unless the command succeeded, and answers what it printed.
func (r result) ok(t *testing.T) string {
	t.Helper()
	if r.code != exitOK {
		t.Fatalf("exit code %d: %s", r.code, r.stderr)
	}
	return r.stdout
}

// failed checks the exit code, that nothing was printed, and that the error holds the given words.
func (r result) failed(t *testing.T, code int, words string) {
	t.Helper()
	if r.code != code || r.stdout != "" || !strings.Contains(r.stderr, words) || !strings.HasPrefix(r.stderr, "switchboard: ") {
		t.Errorf("exit code %d, want %d; stdout %q; stderr %q should hold %q", r.code, code, r.stdout, r.stderr, words)
	}
	if n := strings.Count(r.stderr, "\n"); n > 2 {
		t.Errorf("the error has %d lines: %s", n, r.stderr)
	}
}

func (r result) json(t *testing.T, out any) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.ok(t)), out); err != nil {
		t.Fatalf("%v: %s", err, r.stdout)
	}
}

func (f *fixture) vend(t *testing.T, args ...string) (e endpointDoc) {
	t.Helper()
	f.run(t, append([]string{"--json", "endpoint", "vend"}, args...)...).json(t, &e)
	return e
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: want (-), got (+); if it should change, run the test with -update\n%s", path, diff)
	}
}
