package e2e

import (
	"bufio"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/otel/attribute"
)

// An agent claims over MCP, exports with the stock SDK within the claim's traceparent, and reports; its
// human sees the attempt with its spans.
func TestAgent_ClaimsExportsAndCompletes(t *testing.T) {
	t.Parallel()
	c := start(t, withEnv("TZ=Asia/Tokyo"))
	v := c.vend("my bot")
	id := c.push(v, "retry on 502")
	s := agent(t, v)
	claim := must[claimed](t, s, "claim_next", nil)
	stockSpans(t, v, claim.Traceparent)
	must[any](t, s, "complete", map[string]any{"id": id, "summary": "done", "result": map[string]any{"pr": 7}})
	res := request(t, http.MethodGet, c.url+"/api/v1/todos/"+id, nil, "Authorization", "Bearer "+cliToken(t, c))
	if strings.Contains(res.body, "+09:00") || !strings.Contains(res.body, `Z"`) {
		t.Errorf("times are shown in the server's zone: %s", res.body)
	}
	tr := c.trail(id)
	if tr.State != "done" || len(tr.Attempts) != 1 || len(tr.Spans) != 3 {
		t.Fatalf("%+v", tr)
	}
	want := map[string]string{"invoke_agent": "internal", "chat": "reason", "execute_tool bash": "tool"}
	for _, sp := range tr.Spans {
		if sp.TraceID != tr.Attempts[0].TraceID || sp.AttemptSeq == nil || *sp.AttemptSeq != 1 || want[sp.Name] != sp.Category {
			t.Errorf("span %+v", sp)
		}
		for key, value := range sp.Attributes {
			if strings.Contains(key, "messages") || strings.Contains(key, "arguments") || value == "CANARY" {
				t.Errorf("%s was stored", key)
			}
		}
	}
}

// The four ways in that the issue names: each encoding, bound by the minted trace and by the attribute.
func TestSpans_BindInEachEncodingByTraceAndByAttribute(t *testing.T) {
	t.Parallel()
	c := start(t)
	v := c.vend("my bot")
	s := agent(t, v)
	for _, encoding := range []string{"protobuf", "json+gzip"} {
		for _, way := range []string{"trace id", "attribute"} {
			t.Run(encoding+", by "+way, func(t *testing.T) {
				id := c.push(v, "bind me")
				claim := must[claimed](t, s, "claim", map[string]any{"id": id})
				trace, todo := traceOf(t, claim.Traceparent), ""
				if way == "attribute" {
					trace, todo = pcommon.TraceID{0xab, byte(len(encoding))}, id
				}
				traces := batch(trace, 10, todo)
				for range 2 {
					res := export(t, v, encoding, traces)
					if empty := map[string]string{"protobuf": "", "json+gzip": `{}`}[encoding]; res.status != http.StatusOK || res.body != empty && !strings.Contains(res.body, `"partialSuccess":{}`) {
						t.Fatalf("%d %q", res.status, res.body)
					}
					tr := c.trail(id)
					if len(tr.Spans) != 10 {
						t.Fatalf("%d spans are stored", len(tr.Spans))
					}
					for _, sp := range tr.Spans {
						if sp.AttemptSeq == nil || *sp.AttemptSeq != 1 {
							t.Errorf("span %+v", sp)
						}
					}
				}
			})
		}
	}
}

// REQ-3, "Foreign todo attribute": told apart by nothing, not by one byte.
func TestSpans_AForeignTodoAndARandomOneAreOneAnswer(t *testing.T) {
	t.Parallel()
	c := start(t)
	mine, theirs := c.vend("mine"), c.vend("theirs")
	foreign := c.push(theirs, "not mine")
	random := foreign[:len(foreign)-4] + "0000"
	for _, encoding := range []string{"protobuf", "json+gzip"} {
		post := func(todo string) reply { return export(t, mine, encoding, batch(pcommon.TraceID{1}, 2, todo)) }
		a, b := post(foreign), post(random)
		if a.status != http.StatusOK || a.status != b.status || a.body != b.body || !strings.Contains(a.body, "rejected spans: unbound") {
			t.Errorf("%s: foreign %d %q, random %d %q", encoding, a.status, a.body, b.status, b.body)
		}
		for _, volatile := range []string{"Date", "X-Request-Id"} {
			a.header.Del(volatile)
			b.header.Del(volatile)
		}
		if !maps.EqualFunc(a.header, b.header, slices.Equal[[]string]) {
			t.Errorf("headers differ: %v, %v", a.header, b.header)
		}
	}
	if tr := c.trail(foreign); len(tr.Spans) != 0 {
		t.Errorf("the foreign todo got %d spans", len(tr.Spans))
	}
}

// A worker that is killed says nothing; the next one to claim is told that it died.
func TestWorker_ThatIsKilledIsADiedAttemptOfTheNextClaim(t *testing.T) {
	t.Parallel()
	c := start(t)
	v := c.vend("my bot")
	id := c.push(v, "hard one")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	worker := exec.Command(exe)
	worker.Env = append(os.Environ(), workerEnv+"="+v.MCPURL+" "+v.Token)
	worker.Stderr = os.Stderr
	out, err := worker.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || strings.TrimSpace(line) != id {
		t.Fatalf("the worker claimed %q, %v", line, err)
	}
	if err := worker.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = worker.Wait()
	s := agent(t, v)
	var next claimed
	await(t, "the lapsed lease to be taken over", func() (err error) {
		next, err = verb[claimed](t.Context(), s, "claim", map[string]any{"id": id})
		return err
	})
	if next.AttemptSeq != 2 || len(next.PriorAttempts) != 1 || !next.PriorAttempts[0].Died {
		t.Errorf("%+v", next)
	}
}

// The resource attribute works with the stock SDK as OTEL_RESOURCE_ATTRIBUTES would set it.
func TestAgent_WithAResourceAttributeNeedsNoTraceparent(t *testing.T) {
	t.Parallel()
	c := start(t)
	v := c.vend("my bot")
	id := c.push(v, "bind me")
	stockSpans(t, v, "", attribute.String("switchboard.todo.id", id))
	tr := c.trail(id)
	if len(tr.Spans) != 3 || tr.Spans[0].AttemptSeq != nil {
		t.Errorf("%+v", tr)
	}
}

// REQ-8, "A mixed batch": what binds is stored and the rest is counted, in one answer of 200.
func TestSpans_AMixedBatchStoresWhatBinds(t *testing.T) {
	t.Parallel()
	c := start(t)
	v := c.vend("my bot")
	id := c.push(v, "bind me")
	traces := batch(pcommon.TraceID{7}, 3, id)
	batch(pcommon.TraceID{8}, 2, "").ResourceSpans().MoveAndAppendTo(traces.ResourceSpans())
	res := export(t, v, "json+gzip", traces)
	if res.status != http.StatusOK || !strings.Contains(res.body, `"rejectedSpans":"2"`) || !strings.Contains(res.body, `"rejected spans: unbound"`) {
		t.Errorf("%d %s", res.status, res.body)
	}
	if tr := c.trail(id); len(tr.Spans) != 3 {
		t.Errorf("%d spans are stored", len(tr.Spans))
	}
}
