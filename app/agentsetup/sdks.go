package agentsetup

var sdks = []Guide{
	{
		Kind: "go", Title: "Go", Aliases: []string{"golang"},
		Blocks: []Block{
			{Use: "Spans: set before it starts", Language: "sh", text: exporter},
			{Use: "Spans: in the program, with the traceparent of its claim", Language: "go", text: `exporter, err := otlptracehttp.New(ctx) // reads OTEL_EXPORTER_OTLP_*
if err != nil {
	return err
}
provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))
ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": traceparent})
ctx, span := provider.Tracer("my-agent").Start(ctx, "work")
span.End()
return provider.Shutdown(ctx) // sends what is left
`},
		},
		Mind:    []string{"The SDK reads OTEL_RESOURCE_ATTRIBUTES too, and not TRACEPARENT: a child process takes it from its environment into that line."},
		Checked: "Both blocks are run by a test.",
	},
	{
		Kind: "js", Title: "JavaScript and TypeScript",
		Aliases: []string{"javascript", "node", "typescript", "ai-sdk", "anthropic", "openai", "openinference", "traceloop", "langchain", "genkit", "strands"},
		Blocks: []Block{
			{Use: "Spans: set before it starts", Language: "sh", text: `export OTEL_TRACES_EXPORTER=otlp
export OTEL_METRICS_EXPORTER=none
export OTEL_LOGS_EXPORTER=none
` + exporter + `export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf
`},
			{Use: "Spans: in the program, with TRACEPARENT from its environment", Language: "js", text: `import { context, propagation, trace } from '@opentelemetry/api';
import { NodeSDK } from '@opentelemetry/sdk-node';

const sdk = new NodeSDK();
sdk.start();
const parent = propagation.extract(context.active(), { traceparent: process.env.TRACEPARENT });
const span = trace.getTracer('my-agent').startSpan('work', {}, parent);
span.end();
await sdk.shutdown(); // sends what is left
`},
		},
		Mind: []string{
			"The AI SDK 6 and 7, OpenInference, Traceloop, Genkit, Strands, LangChain and the SDKs of Anthropic and OpenAI export through this SDK, or read the same variables: give them OTEL_RESOURCE_ATTRIBUTES=switchboard.todo.id=td_...",
			"Only Claude's agent SDK reads TRACEPARENT by itself.",
		},
		Checked: "Both blocks are run by a test of make test-long, with the packages from npm.",
	},
	{
		Kind: "python", Title: "Python", Aliases: []string{"py"},
		Blocks: []Block{
			{Use: "Spans: set before it starts", Language: "sh", text: exporter},
			{Use: "Spans: in the program, with TRACEPARENT from its environment", Language: "python", text: `import os

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
parent = TraceContextTextMapPropagator().extract({"traceparent": os.environ.get("TRACEPARENT", "")})
with provider.get_tracer("my-agent").start_as_current_span("work", context=parent):
    pass
provider.shutdown()  # sends what is left
`},
		},
		Mind:    []string{"The SDK reads OTEL_RESOURCE_ATTRIBUTES too. Install opentelemetry-sdk and opentelemetry-exporter-otlp-proto-http."},
		Checked: "Not run by us.",
	},
	{
		Kind: "google-adk", Title: "Google's Agent Development Kit for JavaScript", Aliases: []string{"adk"},
		Blocks: []Block{
			{Use: "Spans: set before it starts", Language: "sh", text: `export OTEL_EXPORTER_OTLP_TRACES_ENDPOINT={{otlp}}/v1/traces
export OTEL_EXPORTER_OTLP_HEADERS="Authorization=Bearer {{credential}}"
`},
			{Use: "Spans: at the program's start", Language: "js", text: `import { maybeSetOtelProviders } from '@google/adk';
import { resourceFromAttributes } from '@opentelemetry/resources';

maybeSetOtelProviders([], resourceFromAttributes({ 'switchboard.todo.id': process.env.TODO_ID }));
`},
		},
		Mind: []string{
			"It does not read OTEL_RESOURCE_ATTRIBUTES, so the program itself names the todo, here from a variable TODO_ID of yours.",
			"With OTEL_EXPORTER_OTLP_ENDPOINT instead it would send logs and metrics as well.",
		},
		Checked: "Both blocks are run by a test of make test-long, with the packages from npm.",
	},
	{
		Kind: "langsmith", Title: "LangSmith for JavaScript",
		Blocks: []Block{
			{Use: "Spans: set before it starts", Language: "sh", text: `export LANGSMITH_TRACING=true
export LANGSMITH_TRACING_MODE=otel
` + exporter},
			{Use: "Spans: at the program's start", Language: "js", text: `import { initializeOTEL } from 'langsmith/experimental/otel/setup';

initializeOTEL({
  exporterConfig: {
    transformExportedSpan: (span) => {
      span.attributes['switchboard.todo.id'] = process.env.TODO_ID;
      return span;
    },
  },
});
`},
		},
		Mind:    []string{"It does not read OTEL_RESOURCE_ATTRIBUTES, so the program itself names the todo, here from a variable TODO_ID of yours."},
		Checked: "Both blocks are run by a test of make test-long, with the packages from npm.",
	},
	{
		Kind: "mastra", Title: "Mastra",
		Blocks: []Block{
			{Use: "Spans: in the program, where Mastra is made", Language: "js", text: `import { Mastra } from '@mastra/core/mastra';
import { Observability } from '@mastra/observability';
import { OtelExporter } from '@mastra/otel-exporter';

const exporter = new OtelExporter({
  provider: {
    custom: {
      endpoint: '{{otlp}}/v1/traces',
      protocol: 'http/protobuf',
      headers: { Authorization: 'Bearer {{credential}}' },
    },
  },
  resourceAttributes: { 'switchboard.todo.id': process.env.TODO_ID },
  signals: { logs: false },
});

export const mastra = new Mastra({
  observability: new Observability({
    configs: { otel: { serviceName: 'my-agent', exporters: [exporter] } },
  }),
});
`},
		},
		Mind: []string{
			"It does not read OTEL_RESOURCE_ATTRIBUTES, so the program itself names the todo, here from a variable TODO_ID of yours.",
			"The endpoint is used as it is written, so it ends in /v1/traces. Install @opentelemetry/exporter-trace-otlp-proto beside it.",
		},
		Checked: "The keys are those of @mastra/otel-exporter 1.4; not run by us.",
	},
}
