package switchboardreceiver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// REQ-24: the log of a failure carries the request id, the span count, the encoding, the status and what kind of error
// it was, and nothing else; the answer carries the same request id.
func TestLog_OfAFailureHasTheRequestIDAndNoContent(t *testing.T) {
	const secret = "the-secret-value"
	for status, err := range map[int]error{
		http.StatusInternalServerError: consumererror.NewPermanent(errors.New("cannot store " + secret)),
		http.StatusServiceUnavailable:  errors.New("cannot reach the store for " + secret),
	} {
		b := start(t, newFakeOwner(t), sink(func(context.Context, ptrace.Traces) error { return err }))
		body := strings.Replace(string(jsonOf(2)), "chat", secret, 1)
		response := b.do(post(tracesPath, "application/json", []byte(body)))
		if strings.Contains(bodyOf(t, response), secret) {
			t.Error("the answer repeats the pipeline's error")
		}
		entries := b.log.All()
		if len(entries) != 1 {
			t.Fatalf("%d log entries, want 1", len(entries))
		}
		want := map[string]any{"request_id": response.Header.Get("X-Request-Id"), "spans": int64(2), "encoding": "json", "status": int64(status), "error": "*errors.errorString"}
		if diff := cmp.Diff(want, entries[0].ContextMap()); diff != "" || entries[0].Message != "otlp request" {
			t.Errorf("%q (-want +got):\n%s", entries[0].Message, diff)
		}
	}
}

func TestLog_OfNoAnswerHoldsACredentialAPathOrTheBody(t *testing.T) {
	for _, f := range append([]fault{{name: "stored"}}, faultsInOrder...) {
		owner, request := newFakeOwner(t), post(tracesPath, "application/json", jsonOf(1))
		f.apply(owner, request)
		b := start(t, owner, sink(storeAll))
		b.do(request)
		for _, entry := range b.log.All() {
			text := fmt.Sprint(entry.Message, entry.ContextMap())
			for _, secret := range []string{"sbk_", "my-bot", "other-bot", "chat", "no otlp"} {
				if strings.Contains(text, secret) {
					t.Errorf("%s: the log says %s", f.name, text)
				}
			}
		}
	}
}
