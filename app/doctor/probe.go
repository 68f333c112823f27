package doctor

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// probe asks without a credential. A Switchboard that takes spans answers 401 to that wherever the path leads
// below /otlp/; only then is the credential shown to it.
func (e *examination) probe(ctx context.Context) *finding {
	answer, err := e.post(ctx, nil, "")
	if err != nil {
		f := unreachable(err)
		return &f
	}
	e.found[stepAddress] = e.Target.url.Host + " answers"
	if f := notTaking(answer); f != nil {
		return f
	}
	e.found[stepOTLP] = "a Switchboard takes spans there"
	return nil
}

func notTaking(answer *reply) *finding {
	f := &finding{step: stepOTLP}
	refusal := answer.message()
	switch status := answer.status; {
	case status == http.StatusUnauthorized && refusal != "":
		return nil
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusProxyAuthRequired:
		f.found = fmt.Sprintf("something in between wants a sign-in of its own (status %d)", status)
		f.next = "let the paths below /otlp/ through the proxy as they are, with their Authorization header"
	case status == http.StatusNotFound && refusal != "":
		f.found = "the server takes no spans: " + refusal
		f.next = "set SWITCHBOARD_OTLP=1 and start the server again (configs/quickstart.yaml has it on)"
	case status == http.StatusTooManyRequests && refusal != "":
		f.found = "too many requests came from this address"
		f.next = answer.retryAfter() + "; whoever sends without a valid credential uses the same allowance"
	case status == http.StatusServiceUnavailable && refusal != "":
		f.found = "the server is there and cannot take spans at this moment: " + refusal
		f.next = answer.retryAfter() + "; if it stays so, /healthz of the server says why"
	case status >= 300 && status < 400:
		f.found = fmt.Sprintf("the server sends elsewhere (status %d), which exporters do not follow", status)
		f.next = "give the url that it leads to, often the same with https://"
	case status == http.StatusBadRequest && strings.Contains(string(answer.body), "HTTPS server"):
		f.found = "the server speaks https, not plain http"
		f.next = "write https:// in the url"
	default:
		f.found = fmt.Sprintf("something answers there, but not a Switchboard's OTLP path (status %d)", status)
		f.next = "use the url that endpoint vend prints: http://HOST:8321/otlp/ENDPOINT"
	}
	return f
}
