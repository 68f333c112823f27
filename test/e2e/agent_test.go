package e2e

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
)

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// connect opens an MCP session with the official client.
func connect(ctx context.Context, url, token string) (*mcp.ClientSession, error) {
	return mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, nil).Connect(ctx,
		&mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer(token)}}, nil)
}

func agent(t *testing.T, v vended) *mcp.ClientSession {
	t.Helper()
	s, err := connect(t.Context(), v.MCPURL, v.Token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// verb calls one of the drain verbs and reads its answer.
func verb[T any](ctx context.Context, s *mcp.ClientSession, name string, args map[string]any) (answer T, err error) {
	res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		return answer, err
	}
	text := res.Content[0].(*mcp.TextContent).Text
	if res.IsError {
		return answer, fmt.Errorf("%s refused: %s", name, text)
	}
	return answer, json.Unmarshal([]byte(text), &answer)
}

func must[T any](t *testing.T, s *mcp.ClientSession, name string, args map[string]any) T {
	t.Helper()
	answer, err := verb[T](t.Context(), s, name, args)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// claimed is what a claim answers, as far as the tests look.
type claimed struct {
	Empty bool `json:"empty"`
	Todo  struct {
		ID string `json:"id"`
	} `json:"todo"`
	ID            string `json:"id"`
	AttemptSeq    int    `json:"attempt_seq"`
	Traceparent   string `json:"traceparent"`
	PriorAttempts []struct {
		Seq     int    `json:"seq"`
		Died    bool   `json:"died"`
		Outcome string `json:"outcome"`
	} `json:"prior_attempts"`
}

// A worker is this test binary, run again as a process of its own so that it can be killed.
const workerEnv = "SWITCHBOARD_E2E_WORKER"

// work claims the next todo under a short lease, says which, and then waits for its end.
func work() {
	url, token, _ := strings.Cut(os.Getenv(workerEnv), " ")
	ctx := context.Background()
	s, err := connect(ctx, url, token)
	if err == nil {
		var c claimed
		if c, err = verb[claimed](ctx, s, "claim_next", map[string]any{"lease_ttl_seconds": 1, "claimant": "doomed"}); err == nil {
			fmt.Println(c.Todo.ID)
			<-ctx.Done()
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// stockSpans exports a small trace with the stock SDK and its stock OTLP exporter: a model call and a tool
// call below the root, as children of the claim's traceparent when there is one.
func stockSpans(t *testing.T, v vended, traceparent string, resources ...attribute.KeyValue) {
	t.Helper()
	ctx := t.Context()
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(v.OTLPURL+"/v1/traces"),
		otlptracehttp.WithHeaders(map[string]string{"Authorization": "Bearer " + v.Token}))
	if err != nil {
		t.Fatal(err)
	}
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter),
		trace.WithResource(resource.NewSchemaless(append(resources, attribute.String("service.name", "e2e-agent"))...)))
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": traceparent})
	tracer := provider.Tracer("e2e")
	ctx, root := tracer.Start(ctx, "invoke_agent")
	_, chat := tracer.Start(ctx, "chat")
	chat.SetAttributes(attribute.String("gen_ai.operation.name", "chat"), attribute.String("gen_ai.request.model", "claude-fable-5"),
		attribute.Int("gen_ai.usage.input_tokens", 1200), attribute.String("gen_ai.input.messages", "CANARY"))
	chat.End()
	_, tool := tracer.Start(ctx, "execute_tool bash")
	tool.SetAttributes(attribute.String("gen_ai.operation.name", "execute_tool"), attribute.String("gen_ai.tool.name", "bash"),
		attribute.String("gen_ai.tool.call.arguments", "CANARY"))
	tool.End()
	root.End()
	if err := provider.Shutdown(t.Context()); err != nil {
		t.Fatalf("the stock exporter reports: %v", err)
	}
}

// batch makes a request of n spans within one trace.
func batch(trace pcommon.TraceID, n int, todo string) ptrace.Traces {
	traces := ptrace.NewTraces()
	rs := traces.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "by-hand")
	if todo != "" {
		rs.Resource().Attributes().PutStr("switchboard.todo.id", todo)
	}
	scope := rs.ScopeSpans().AppendEmpty()
	begin := time.Now()
	for i := range n {
		s := scope.Spans().AppendEmpty()
		s.SetTraceID(trace)
		s.SetSpanID([8]byte{0xe2, 0xe0, byte(i + 1)})
		s.SetName(fmt.Sprintf("step %d", i+1))
		s.SetStartTimestamp(pcommon.NewTimestampFromTime(begin))
		s.SetEndTimestamp(pcommon.NewTimestampFromTime(begin.Add(time.Second)))
	}
	return traces
}

func protobuf(t *testing.T, traces ptrace.Traces) []byte {
	t.Helper()
	body, err := ptraceotlp.NewExportRequestFromTraces(traces).MarshalProto()
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func gzippedJSON(t *testing.T, traces ptrace.Traces) []byte {
	t.Helper()
	body, err := ptraceotlp.NewExportRequestFromTraces(traces).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// export posts a batch in one of the two encodings and returns the answer.
func export(t *testing.T, v vended, encoding string, traces ptrace.Traces) reply {
	t.Helper()
	if encoding == "protobuf" {
		return request(t, http.MethodPost, v.OTLPURL+"/v1/traces", protobuf(t, traces),
			"Authorization", "Bearer "+v.Token, "Content-Type", "application/x-protobuf")
	}
	return request(t, http.MethodPost, v.OTLPURL+"/v1/traces", gzippedJSON(t, traces),
		"Authorization", "Bearer "+v.Token, "Content-Type", "application/json", "Content-Encoding", "gzip")
}

// traceOf is the trace id within a traceparent.
func traceOf(t *testing.T, traceparent string) (id pcommon.TraceID) {
	t.Helper()
	parts := strings.Split(traceparent, "-")
	if len(parts) != 4 {
		t.Fatalf("traceparent %q", traceparent)
	}
	if _, err := hex.Decode(id[:], []byte(parts[1])); err != nil {
		t.Fatal(err)
	}
	return id
}
