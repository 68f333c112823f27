package agentsetup

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// These blocks run with packages from npm, which take minutes to install: only make test-long does that.
func node(t *testing.T, packages ...string) (dir string) {
	t.Helper()
	if os.Getenv("SWITCHBOARD_LONG") == "" {
		t.Skip("set SWITCHBOARD_LONG=1 to install packages from npm and run this")
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
	}
	dir = t.TempDir()
	// Without a package.json of its own npm would install into a folder above.
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"private": true}`), 0o600); err != nil {
		t.Fatal(err)
	}
	install := exec.CommandContext(t.Context(), "npm", append([]string{"install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"}, packages...)...)
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// agent runs a program within the environment that a guide sets.
func agent(t *testing.T, dir string, vars map[string]string, program string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "agent.mjs"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), "node", "agent.mjs")
	run.Dir, run.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	for name, value := range vars {
		run.Env = append(run.Env, name+"="+value)
	}
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

const traceparent = "00-0102030405060708090a0b0c0d0e0f10-0102030405060708-01"

// The JavaScript SDK reads the variables of every guide that sets an exporter's, and the block puts its span into the
// trace of the claim.
func TestJavaScriptBlock_RunsWithTheVariablesOfEveryGuide(t *testing.T) {
	dir := node(t, "@opentelemetry/api", "@opentelemetry/sdk-node")
	js, _ := For("js")
	blocks(func(g Guide, b Block) {
		if !setsExporter(b) {
			return
		}
		t.Run(g.Kind, func(t *testing.T) {
			endpoint, exports := listen(t)
			vars := environment(t, b.Text(endpoint))
			vars["OTEL_RESOURCE_ATTRIBUTES"], vars["TRACEPARENT"] = "switchboard.todo.id=td_example", traceparent
			agent(t, dir, vars, js.Blocks[1].Text(endpoint))
			x := next(t, exports)
			if x.bearer != "Bearer "+credential || x.todo != "td_example" || x.span.TraceId[0] != 1 || x.span.TraceId[15] != 0x10 {
				t.Errorf("%q came for todo %q in trace %x with %q", x.span.Name, x.todo, x.span.TraceId, x.bearer)
			}
		})
	})
}

// Neither reads OTEL_RESOURCE_ATTRIBUTES; with the block the todo is named all the same.
func TestFrameworkBlocks_NameTheTodoInCode(t *testing.T) {
	for kind, c := range map[string]struct {
		packages []string
		work     string
	}{
		"google-adk": {[]string{"@google/adk", "@opentelemetry/api", "@opentelemetry/resources"}, `
import { trace } from '@opentelemetry/api';
trace.getTracer('agent').startSpan('work').end();
await trace.getTracerProvider().getDelegate().forceFlush();
process.exit(0);
`},
		"langsmith": {[]string{"langsmith", "@opentelemetry/api", "@opentelemetry/sdk-trace-base", "@opentelemetry/exporter-trace-otlp-proto", "@opentelemetry/context-async-hooks"}, `
import { trace } from '@opentelemetry/api';
trace.getTracer('ai').startSpan('work', { attributes: { 'ai.operationId': 'ai.generateText' } }).end();
await trace.getTracerProvider().getDelegate().forceFlush();
process.exit(0);
`},
	} {
		t.Run(kind, func(t *testing.T) {
			dir := node(t, c.packages...)
			g, _ := For(kind)
			endpoint, exports := listen(t)
			vars := environment(t, g.Blocks[0].Text(endpoint))
			vars["TODO_ID"] = "td_example"
			agent(t, dir, vars, g.Blocks[1].Text(endpoint)+c.work)
			x := next(t, exports)
			todo := x.todo
			for _, a := range x.span.Attributes {
				if a.Key == "switchboard.todo.id" {
					todo = a.Value.GetStringValue()
				}
			}
			if x.bearer != "Bearer "+credential || todo != "td_example" {
				t.Errorf("%q came for todo %q with %q", x.span.Name, todo, strings.TrimPrefix(x.bearer, "Bearer "))
			}
		})
	}
}
