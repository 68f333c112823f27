// A program with the stock OpenTelemetry SDK, which takes everything from OTEL_* and the trace from TRACEPARENT.
import { context, propagation, trace } from '@opentelemetry/api';
import { NodeSDK } from '@opentelemetry/sdk-node';

const sdk = new NodeSDK();
sdk.start();
const claim = propagation.extract(context.active(), { traceparent: process.env.TRACEPARENT });
const tracer = trace.getTracer('e2e');
const root = tracer.startSpan('invoke_agent', {}, claim);
const within = trace.setSpan(claim, root);
tracer.startSpan('chat', { attributes: {
  'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'claude-fable-5', 'gen_ai.usage.input_tokens': 1200,
  'gen_ai.input.messages': 'CANARY',
} }, within).end();
tracer.startSpan('execute_tool bash', { attributes: {
  'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'bash', 'gen_ai.tool.call.arguments': 'CANARY',
} }, within).end();
root.end();
await sdk.shutdown();
