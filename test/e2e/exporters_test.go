package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
)

// installed returns a folder with what testdata has under a name, and its packages, installed once.
func installed(name string) func() (dir string, err error) {
	return sync.OnceValues(func() (dir string, err error) {
		dir = filepath.Join(bin, name)
		if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", name))); err != nil {
			return "", err
		}
		install := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error")
		install.Dir = dir
		if out, err := install.CombinedOutput(); err != nil {
			return "", fmt.Errorf("npm cannot install the packages of testdata/%s that this test runs, so make its registry reachable and try again: %w\n%s", name, err, out)
		}
		return dir, nil
	})
}

var javaScript = installed("js")

// runJavaScript runs testdata/js/agent.mjs, which the environment alone configures.
func runJavaScript(t *testing.T, env ...string) {
	t.Helper()
	dir, err := javaScript()
	if err != nil {
		t.Fatal(err)
	}
	program := exec.CommandContext(t.Context(), "node", "agent.mjs")
	program.Dir = dir
	program.Env = append(environment(), env...)
	if out, err := program.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("the JavaScript SDK reports %v\n%s", err, out)
	}
}

// Both ways that JavaScript's exporters encode, by the trace of a claim and by the attribute that OTEL_RESOURCE_ATTRIBUTES sets.
func TestJavaScriptSDK_ExportsInEachEncodingByTraceAndByAttribute(t *testing.T) {
	t.Parallel()
	c := start(t, measured)
	between := watch(t, c.url)
	v := c.vend("my bot")
	s := agent(t, v)
	for _, protocol := range []string{"http/json", "http/protobuf"} {
		for _, compression := range []string{"none", "gzip"} {
			for _, way := range []string{"trace", "attribute"} {
				id := c.push(v, "bind me")
				claim := must[claimed](t, s, "claim", map[string]any{"id": id})
				bound := "TRACEPARENT=" + claim.Traceparent
				if way == "attribute" {
					bound = "OTEL_RESOURCE_ATTRIBUTES=switchboard.todo.id=" + id
				}
				runJavaScript(t, bound, "OTEL_SERVICE_NAME=js-agent", "OTEL_EXPORTER_OTLP_PROTOCOL="+protocol, "OTEL_EXPORTER_OTLP_COMPRESSION="+compression,
					"OTEL_EXPORTER_OTLP_ENDPOINT="+between.URL+"/otlp/"+v.Slug, "OTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer "+v.Token)
				want := exchange{map[string]string{"none": "", "gzip": "gzip"}[compression], http.StatusOK}
				if got := <-between.seen; got != want {
					t.Errorf("%s, %s, by %s: sent as %q, answered %d", protocol, compression, way, got.encoding, got.status)
				}
				for _, wrong := range wrongSpans(c.trail(id)) {
					t.Errorf("%s, %s, by %s: %s", protocol, compression, way, wrong)
				}
			}
		}
	}
	if n := c.metric(accepted); n != 8*3 {
		t.Errorf("%d spans were taken", n)
	}
}

// wrongSpans says what differs from the three spans that the stock programs export.
func wrongSpans(tr trail) (wrong []string) {
	want := map[string]string{"invoke_agent": "internal", "chat": "reason", "execute_tool bash": "tool"}
	if len(tr.Spans) != len(want) {
		wrong = append(wrong, fmt.Sprintf("%d spans are stored", len(tr.Spans)))
	}
	for _, span := range tr.Spans {
		if span.AttemptSeq == nil || *span.AttemptSeq != 1 || want[span.Name] != span.Category {
			wrong = append(wrong, fmt.Sprintf("%+v", span))
		}
		if strings.Contains(fmt.Sprint(span), "CANARY") {
			wrong = append(wrong, span.Name+" holds what must not be stored")
		}
	}
	return wrong
}

// The Go SDK's exporter sends again what an outage of the database refused; nothing is stored twice.
func TestGoSDK_SendsAgainWhatAnOutageRefused(t *testing.T) {
	t.Parallel()
	db := outage{postgrestest.NewServer(t)}
	c := start(t, measured, withEnv("SWITCHBOARD_DATABASE_URL="+db.URL))
	between := watch(t, c.url)
	v := c.vend("my bot")
	v.OTLPURL = between.URL + "/otlp/" + v.Slug
	claim := must[claimed](t, agent(t, v), "claim", map[string]any{"id": c.push(v, "bind me")})

	db.Stop(t)
	exported := make(chan struct{})
	go func() {
		defer close(exported)
		stockSpans(t, v, claim.Traceparent)
	}()
	select {
	case got := <-between.seen:
		if got.status != http.StatusServiceUnavailable {
			t.Errorf("during the outage: %d", got.status)
		}
	case <-exported:
		t.Fatalf("the exporter gave up before it was answered; the collector says\n%s", c.output)
	case <-c.done:
		t.Fatalf("the collector did not survive the outage: %v\n%s", c.err, c.output)
	}
	db.Start(t)
	<-exported
	if n, took := db.count(t, `SELECT count(*) FROM todo_spans`), c.metric(accepted); n != 3 || took != 3 {
		t.Errorf("%d spans are stored and %d were taken", n, took)
	}
}
