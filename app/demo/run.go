package demo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// run is one attempt as the worker's own tracer sees it: a root span below the claim's traceparent, and the
// calls of models and tools below that. Attribute names are those of the GenAI and HTTP conventions.
type run struct {
	*worker
	ctx    context.Context
	tracer trace.Tracer
	root   trace.Span
}

func (w *worker) begin(ctx context.Context, c *claimed) *run {
	ctx, tracer := w.telemetry.tracer(ctx, c.Traceparent)
	ctx, root := tracer.Start(ctx, "invoke_agent "+w.name, trace.WithAttributes(
		attribute.String("gen_ai.operation.name", "invoke_agent"),
		attribute.String("gen_ai.agent.name", w.name)))
	return &run{worker: w, ctx: ctx, tracer: tracer, root: root}
}

// chat is one call of a model. No model is called here; the numbers are what one would have used.
func (r *run) chat(milliseconds, inputTokens, outputTokens int) {
	const model = "demo-model-1"
	_, span := r.tracer.Start(r.ctx, "chat "+model, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("gen_ai.operation.name", "chat"),
		attribute.String("gen_ai.system", "switchboard.demo"),
		attribute.String("gen_ai.request.model", model),
		attribute.String("gen_ai.response.model", model),
		attribute.Int("gen_ai.usage.input_tokens", inputTokens),
		attribute.Int("gen_ai.usage.output_tokens", outputTokens)))
	r.think(r.ctx, milliseconds)
	span.End()
}

// tool is one tool call; work, if any, happens inside it. An exit code other than 0 is an error.
func (r *run) tool(name, callID string, milliseconds, exitCode int, work ...func(context.Context)) {
	ctx, span := r.tracer.Start(r.ctx, "execute_tool "+name, trace.WithAttributes(
		attribute.String("gen_ai.operation.name", "execute_tool"),
		attribute.String("gen_ai.tool.name", name),
		attribute.String("gen_ai.tool.call.id", callID)))
	r.think(ctx, milliseconds)
	for _, f := range work {
		f(ctx)
	}
	if exitCode != 0 {
		span.SetAttributes(attribute.Int("process.exit.code", exitCode), attribute.String("error.type", "exit"))
		span.SetStatus(codes.Error, fmt.Sprintf("exit status %d", exitCode))
	}
	span.End()
}

// fetch is a real request, recorded as an HTTP client would.
func (r *run) fetch(ctx context.Context) {
	target, err := url.Parse(r.ProbeURL)
	if err != nil {
		return
	}
	ctx, span := r.tracer.Start(ctx, "GET", trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("http.request.method", http.MethodGet),
		attribute.String("server.address", target.Hostname())))
	defer span.End()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.ProbeURL, nil)
	if err != nil {
		span.SetStatus(codes.Error, "bad url")
		return
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		span.SetStatus(codes.Error, "no answer")
		return
	}
	span.SetAttributes(attribute.Int("http.response.status_code", response.StatusCode))
	response.Body.Close()
}

// finish ends the root span, exports everything, and reports with a verb.
func (r *run) finish(ctx context.Context, verb string, c *claimed, args arguments) error {
	if verb == "fail" {
		r.root.SetStatus(codes.Error, "gave up")
	}
	r.root.End()
	if err := r.flush(ctx); err != nil {
		return err
	}
	var row struct {
		State string `json:"state"`
	}
	if err := r.call(ctx, verb, c.with(args), &row); err != nil {
		return err
	}
	r.progress("%-8s %s, now %s", verb, c.Title, row.State)
	return nil
}

// vanish is a crash: what was exported stays, the root span is never ended, and nobody reports.
func (r *run) vanish(ctx context.Context) error {
	if err := r.flush(ctx); err != nil {
		return err
	}
	r.progress("crashed  %s", r.name)
	return errors.Join(r.telemetry.stop(ctx), r.session.Close())
}
