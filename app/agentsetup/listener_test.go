package agentsetup

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

const credential = "sbk_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"

// export is one span as it arrived, with what its resource said of the todo.
type export struct {
	bearer, todo string
	span         *trace.Span
}

// listen is an endpoint's address. What an exporter posts where an endpoint's traces go arrives in the channel;
// anything else fails the test.
func listen(t *testing.T) (Endpoint, chan export) {
	t.Helper()
	exports := make(chan export, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/otlp/my-bot/v1/traces" {
			t.Errorf("%s %s came", r.Method, r.URL.Path)
			return
		}
		request, err := decode(r)
		if err != nil {
			t.Error(err)
			return
		}
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		for _, rs := range request.ResourceSpans {
			x := export{bearer: r.Header.Get("Authorization")}
			for _, a := range rs.GetResource().GetAttributes() {
				if a.Key == "switchboard.todo.id" {
					x.todo = a.Value.GetStringValue()
				}
			}
			for _, ss := range rs.ScopeSpans {
				for _, x.span = range ss.Spans {
					exports <- x
				}
			}
		}
	}))
	t.Cleanup(server.Close)
	return Endpoint{MCPURL: server.URL + "/mcp/my-bot", OTLPURL: server.URL + "/otlp/my-bot", Credential: credential}, exports
}

// next is what arrived first. Exporters have sent what they had when they were shut down, so nothing is waited for.
func next(t *testing.T, exports chan export) export {
	t.Helper()
	select {
	case x := <-exports:
		return x
	default:
		t.Fatal("no span came")
		return export{}
	}
}

func decode(r *http.Request) (*collectortrace.ExportTraceServiceRequest, error) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, err
		}
		body = unzipped
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	request := &collectortrace.ExportTraceServiceRequest{}
	if r.Header.Get("Content-Type") == "application/json" {
		// Only the ids are not as protojson has them, and nobody looks at those of JSON here.
		return request, protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(text, request)
	}
	return request, proto.Unmarshal(text, request)
}

// environment is what a shell has after a block was pasted into it, as far as the block set it.
func environment(t *testing.T, block string) map[string]string {
	t.Helper()
	shell := exec.Command("sh", "-e", "-c", block+"env")
	shell.Env = []string{"PATH=/usr/bin:/bin"}
	out, err := shell.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, block)
	}
	vars := map[string]string{}
	for entry := range strings.SplitSeq(string(out), "\n") {
		if name, value, found := strings.Cut(entry, "="); found && name != "PATH" && name != "PWD" && name != "_" && name != "SHLVL" && name != "OLDPWD" {
			vars[name] = value
		}
	}
	return vars
}
