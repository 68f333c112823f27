package doctor

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// send exports the span and reads the answer as far as it goes.
func (e *examination) send(ctx context.Context, report *Report) *finding {
	credential := bare(e.Credential)
	if f := mistaken(credential); f != nil {
		return f
	}
	body, traceID := request(e.Todo, e.Version, time.Now())
	answer, err := e.post(ctx, body, credential)
	if err != nil {
		f := unreachable(err)
		return &f
	}
	if f := e.refused(answer, credential); f != nil {
		return f
	}
	e.found[stepRequest] = "the span arrived and was read"
	if f := e.bound(answer); f != nil {
		return f
	}
	if report.Stored = e.Todo != ""; report.Stored {
		report.TraceID = traceID
	}
	return nil
}

// refused reads the status: the server checks one thing after the other, so each status also says what held.
func (e *examination) refused(answer *reply, credential string) *finding {
	refusal := answer.message()
	if answer.status == http.StatusUnauthorized {
		return unknown(credential)
	}
	e.found[stepCredential] = "the server knows it"
	switch {
	case answer.status == http.StatusNotFound && refusal != "":
		return &finding{stepPath, "the server serves no such path",
			"use the url that endpoint vend prints: http://HOST:8321/otlp/ENDPOINT"}
	case answer.status == http.StatusForbidden && !strings.Contains(refusal, "heartbeat"):
		return &finding{stepPath, fmt.Sprintf("the credential is not for the endpoint %s", e.Target.endpoint()),
			"use the url and the credential that were printed together; endpoint list shows the names"}
	}
	e.found[stepPath] = fmt.Sprintf("the credential is for the endpoint %s", e.Target.endpoint())
	if answer.status == http.StatusForbidden {
		return &finding{stepGrant, "the endpoint is not granted the verb heartbeat, which spans need",
			"vend another endpoint with heartbeat among its --verbs"}
	}
	e.found[stepGrant] = "it may send spans: heartbeat is among its verbs"
	return undecoded(answer, refusal)
}

// undecoded is about everything after the grant: how much, how often, in which form, and whether it can be stored.
func undecoded(answer *reply, refusal string) *finding {
	f := &finding{step: stepRequest}
	switch status := answer.status; {
	case status == http.StatusOK && answer.isProtobuf():
		return nil
	case status == http.StatusTooManyRequests:
		f.found = "this endpoint sends too many requests"
		f.next = answer.retryAfter() + "; make the exporter send larger batches less often"
	case status == http.StatusServiceUnavailable && refusal != "":
		f.found = "the server cannot store spans at this moment; exporters send them again"
		f.next = answer.retryAfter() + "; if it stays so, /healthz of the server says why"
	case status == http.StatusInternalServerError && refusal != "":
		f.found = "something went wrong on the server"
		f.next = fmt.Sprintf("look in its log for the request %s", answer.header.Get("X-Request-Id"))
	case refusal != "":
		f.found = fmt.Sprintf("the server refused the request (status %d): %s", status, refusal)
		f.next = "a proxy in between may have changed the body, its type or its length; try the server's own address"
	default:
		f.found = fmt.Sprintf("something in between answered instead of the server (status %d)", status)
		f.next = "let the paths below /otlp/ through the proxy as they are; try the server's own address"
	}
	return f
}

// bound reads what became of the span. A span that names no todo must come back unbound.
func (e *examination) bound(answer *reply) *finding {
	var response collectortrace.ExportTraceServiceResponse
	if proto.Unmarshal(answer.body, &response) != nil {
		return &finding{stepRequest, "the answer is not one to an export of spans", "try the server's own address: a proxy in between may have changed it"}
	}
	rejected := response.GetPartialSuccess().GetRejectedSpans() > 0
	reason := response.GetPartialSuccess().GetErrorMessage()
	f := &finding{step: stepBinding}
	switch {
	case e.Todo == "" && rejected && strings.Contains(reason, "unbound"):
		e.found[stepBinding] = "it came back unbound, as a span that names no todo must; nothing was stored"
		return nil
	case e.Todo != "" && !rejected && reason == "":
		e.found[stepBinding] = fmt.Sprintf("it is stored on %s as %q", e.Todo, SpanName)
		return nil
	case e.Todo != "" && strings.Contains(reason, "unbound"):
		f.found = fmt.Sprintf("%s is no todo of this endpoint", e.Todo)
		f.next = "look with todo list which endpoint it is for; an endpoint's spans reach its own todos only"
	case strings.Contains(reason, "cap"):
		f.found = "the todo or its attempt has as many spans as it may have"
		f.next = "try another todo; the settings spans_max_per_attempt and spans_max_per_todo are the caps"
	case strings.Contains(reason, "invalid"):
		f.found = "the server holds the span for invalid"
		f.next = "compare the clocks of this machine and the server"
	case strings.Contains(reason, "filtered"):
		f.found = "the server's own configuration took the span out"
		f.next = "look at the processors of its traces pipeline"
	case e.Todo == "" && !rejected:
		f.found = "the span was taken, although it names no todo: this is not how a Switchboard answers"
		f.next = "check what the url leads to"
	default:
		f.found = "the server did not store the span: " + reason
		f.next = "look at its log"
	}
	return f
}
