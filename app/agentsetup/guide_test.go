package agentsetup

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.yaml.in/yaml/v3"
)

// blocks visits every block of every guide.
func blocks(visit func(g Guide, b Block)) {
	for _, g := range append([]Guide{Other}, Guides...) {
		for _, b := range g.Blocks {
			visit(g, b)
		}
	}
}

func setsExporter(b Block) bool {
	return b.Language == "sh" && strings.Contains(b.text, "ENDPOINT={{otlp}}")
}

// The variables that a guide sets are the ones that stock exporters read: one such exporter, with nothing else to go
// by, posts where the endpoint's traces go and shows its credential.
func TestEnvironmentBlocks_AreAllThatAStockExporterNeeds(t *testing.T) {
	ran := 0
	blocks(func(g Guide, b Block) {
		if !setsExporter(b) {
			return
		}
		ran++
		t.Run(g.Kind, func(t *testing.T) {
			endpoint, exports := listen(t)
			for name, value := range environment(t, b.Text(endpoint)) {
				t.Setenv(name, value)
			}
			t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "switchboard.todo.id=td_example")
			if err := inTrace(t, ""); err != nil {
				t.Fatal(err)
			}
			if x := next(t, exports); x.bearer != "Bearer "+credential || x.todo != "td_example" || x.span.Name != "work" {
				t.Errorf("%q came for todo %q with %q", x.span.Name, x.todo, x.bearer)
			}
		})
	})
	if ran < 9 {
		t.Errorf("only %d blocks were run", ran)
	}
}

// The Go block is the text of the function below, which is run in the trace of a claim.
func TestGoBlock_PutsItsSpansIntoTheTraceOfTheClaim(t *testing.T) {
	guide, _ := For("go")
	endpoint, exports := listen(t)
	for name, value := range environment(t, guide.Blocks[0].Text(endpoint)) {
		t.Setenv(name, value)
	}
	if err := inTrace(t, "00-0102030405060708090a0b0c0d0e0f10-0102030405060708-01"); err != nil {
		t.Fatal(err)
	}
	if x := next(t, exports); x.span.TraceId[0] != 1 || x.span.TraceId[15] != 0x10 || x.span.ParentSpanId[7] != 8 {
		t.Errorf("the span is in trace %x below %x", x.span.TraceId, x.span.ParentSpanId)
	}
	if got := body(t, "guide_test.go", "inTrace"); got != guide.Blocks[1].text {
		t.Errorf("the block is\n%s\nand what was run is\n%s", guide.Blocks[1].text, got)
	}
}

func inTrace(t *testing.T, traceparent string) error {
	ctx := t.Context()
	exporter, err := otlptracehttp.New(ctx) // reads OTEL_EXPORTER_OTLP_*
	if err != nil {
		return err
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": traceparent})
	ctx, span := provider.Tracer("my-agent").Start(ctx, "work")
	span.End()
	return provider.Shutdown(ctx) // sends what is left
}

// body is the text of a function after its first line, without its indentation.
func body(t *testing.T, file, name string) string {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == name {
			text := string(source[files.Position(f.Body.List[1].Pos()).Offset:files.Position(f.Body.Rbrace).Offset])
			return strings.ReplaceAll(text, "\n\t", "\n")
		}
	}
	t.Fatalf("no function %s", name)
	return ""
}

// document is a parsed block.
type document map[string]any

// at follows a path; nil where it leads nowhere.
func (d document) at(path ...string) any {
	var v any = map[string]any(d)
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

func parse(t *testing.T, b Block, e Endpoint) document {
	t.Helper()
	var d map[string]any
	text, err := []byte(b.Text(e)), error(nil)
	switch b.Language {
	case "json":
		err = json.Unmarshal(text, &d)
	case "toml":
		err = toml.Unmarshal(text, &d)
	case "yaml":
		err = yaml.Unmarshal(text, &d)
	default:
		return nil
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", b.Use, err, text)
	}
	return d
}

var example = Endpoint{MCPURL: "http://127.0.0.1:8321/mcp/my-bot", OTLPURL: "http://127.0.0.1:8321/otlp/my-bot", Credential: credential}

// Every file block says where MCP is and shows the credential, under the keys of its own client.
func TestFileBlocks_NameTheMCPEndpointAndShowTheCredential(t *testing.T) {
	t.Parallel()
	where := map[string][]string{ // the server's entry, then its key for the url and the one for headers
		"other":       {"mcpServers", "switchboard", "url", "headers"},
		"copilot":     {"mcpServers", "switchboard", "url", "headers"},
		"cline":       {"mcpServers", "switchboard", "url", "headers"},
		"gemini":      {"mcpServers", "switchboard", "httpUrl", "headers"},
		"qwen":        {"mcpServers", "switchboard", "httpUrl", "headers"},
		"opencode":    {"mcp", "switchboard", "url", "headers"},
		"codex":       {"mcp_servers", "switchboard", "url", "http_headers"},
		"goose":       {"extensions", "switchboard", "uri", "headers"},
		"claude-code": nil, // a command, below
	}
	blocks(func(g Guide, b Block) {
		d := parse(t, b, example)
		if d == nil {
			return
		}
		path := where[g.Kind]
		delete(where, g.Kind)
		if len(path) != 4 {
			t.Errorf("%s has a file block that nobody checks", g.Kind)
			return
		}
		if got := d.at(path[0], path[1], path[2]); got != example.MCPURL {
			t.Errorf("%s: the url is %v", g.Kind, got)
		}
		if got := d.at(path[0], path[1], path[3], "Authorization"); got != "Bearer "+credential {
			t.Errorf("%s: the header is %v", g.Kind, got)
		}
	})
	delete(where, "claude-code")
	for kind := range where {
		t.Errorf("%s has no file block", kind)
	}
	claude, _ := For("claude-code")
	want := `claude mcp add --transport http switchboard ` + example.MCPURL + ` --header "Authorization: Bearer ` + credential + "\"\n"
	if got := claude.Blocks[0].Text(example); got != want {
		t.Errorf("claude-code: %s", got)
	}
}

// Whoever has telemetry in a file: the endpoint in the form that the program wants, traces on, the rest off.
func TestFileBlocks_SendTracesAndNothingElse(t *testing.T) {
	t.Parallel()
	checks := map[string]map[string]any{
		"codex": {
			"otel trace_exporter otlp-http endpoint":              example.OTLPURL + "/v1/traces",
			"otel trace_exporter otlp-http protocol":              "binary",
			"otel trace_exporter otlp-http headers Authorization": "Bearer " + credential,
			"otel exporter":         "none",
			"otel metrics_exporter": "none",
			"otel log_user_prompt":  false,
		},
		"gemini": {
			"telemetry enabled": true, "telemetry traces": true, "telemetry otlpEndpoint": example.OTLPURL, "telemetry otlpProtocol": "http",
			"telemetry logPrompts": false,
		},
		"qwen": {
			"telemetry enabled": true, "telemetry otlpEndpoint": example.OTLPURL, "telemetry otlpProtocol": "http", "telemetry logPrompts": false,
			"tools toolSearch enabled": false,
		},
		"opencode": {"experimental openTelemetry": true},
	}
	blocks(func(g Guide, b Block) {
		d := parse(t, b, example)
		for path, want := range checks[g.Kind] {
			if d == nil {
				return
			}
			if got := d.at(strings.Fields(path)...); got != want {
				t.Errorf("%s: %s is %v, want %v", g.Kind, path, got, want)
			}
		}
		if d != nil {
			delete(checks, g.Kind)
		}
	})
	for kind := range checks {
		t.Errorf("%s was not checked", kind)
	}
}

// What an agent needs beyond the exporter's variables, so that its spans and its verbs are there at all.
func TestEnvironmentBlocks_SetWhatEachAgentNeeds(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"claude-code": "CLAUDE_CODE_ENABLE_TELEMETRY=1 CLAUDE_CODE_ENHANCED_TELEMETRY_BETA=1 CLAUDE_CODE_PROPAGATE_TRACEPARENT=1 " +
			"OTEL_TRACES_EXPORTER=otlp OTEL_METRICS_EXPORTER=none OTEL_LOGS_EXPORTER=none ENABLE_TOOL_SEARCH=false",
		"copilot":  "COPILOT_OTEL_ENABLED=true",
		"opencode": "OTEL_BSP_SCHEDULE_DELAY=300",
		"js":       "OTEL_TRACES_EXPORTER=otlp OTEL_METRICS_EXPORTER=none OTEL_LOGS_EXPORTER=none",
	} {
		g, known := For(kind)
		vars := map[string]string{}
		for _, b := range g.Blocks {
			if setsExporter(b) {
				vars = environment(t, b.Text(example))
			}
		}
		for pair := range strings.FieldsSeq(want) {
			if name, value, _ := strings.Cut(pair, "="); !known || vars[name] != value {
				t.Errorf("%s: %s is %q, want %q", kind, name, vars[name], value)
			}
		}
	}
	for _, kind := range []string{"gemini", "qwen"} { // they have the endpoint in their file
		g, _ := For(kind)
		if got := environment(t, g.Blocks[1].Text(example))["OTEL_EXPORTER_OTLP_HEADERS"]; got != "Authorization=Bearer "+credential {
			t.Errorf("%s: the header is %q", kind, got)
		}
	}
}

// Two widely used agents send a percent-encoded header as it stands, and one doubles the slash of a url that ends in
// one.
func TestBlocks_HaveAPlainSpaceAndNoTrailingSlash(t *testing.T) {
	t.Parallel()
	blocks(func(g Guide, b Block) {
		text := b.Text(example)
		if strings.Contains(text, "%20") || strings.Contains(text, "my-bot/\n") || strings.Contains(text, `my-bot/"`) {
			t.Errorf("%s: %s", g.Kind, text)
		}
		if strings.Contains(text, "{{") || !strings.HasSuffix(text, "\n") {
			t.Errorf("%s is not filled in, or does not end its line: %q", g.Kind, text)
		}
	})
}

func TestFor_FindsAGuideByItsKindAndByWhatElseItIsCalled(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, g := range Guides {
		for _, kind := range append([]string{g.Kind, strings.ToUpper(g.Kind) + " "}, g.Aliases...) {
			if found, known := For(kind); !known || found.Kind != g.Kind {
				t.Errorf("%q is connected as %s", kind, found.Kind)
			}
			if seen[kind] {
				t.Errorf("%q is said twice", kind)
			}
			seen[kind] = true
		}
		if g.Title == "" || g.Checked == "" || len(g.Mind) == 0 || len(g.Blocks) == 0 {
			t.Errorf("%s is not complete", g.Kind)
		}
	}
	for _, kind := range []string{"", "aider", "something new"} {
		if g, known := For(kind); known || g.Kind != "other" {
			t.Errorf("%q is connected as %s", kind, g.Kind)
		}
	}
	if len(Kinds()) != len(Guides) {
		t.Error("a kind is missing")
	}
}
