package cli

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

// receive is the OTLP side of the fixture.
func (f *fixture) receive(w http.ResponseWriter, r *http.Request) {
	body, err := gzip.NewReader(r.Body)
	if err != nil {
		http.Error(w, "not gzip", http.StatusBadRequest)
		return
	}
	text, err := io.ReadAll(body)
	request := ptraceotlp.NewExportRequest()
	if err != nil || request.UnmarshalProto(text) != nil || !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer sbk_") {
		http.Error(w, "not an export", http.StatusBadRequest)
		return
	}
	f.traces <- request.Traces()
	answer, err := f.partial.MarshalProto()
	if err != nil {
		http.Error(w, "no answer", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(answer)
}

func TestDemo_WorksItsTodosForReal(t *testing.T) {
	f := setup(t)
	r := f.run(t, "demo", "--pace", "0", "--json")
	var out struct {
		Todos    []demoTodo
		LoginURL string `json:"login_url"`
	}
	r.json(t, &out)
	if len(out.Todos) != 3 || !strings.HasPrefix(out.LoginURL, f.url+"/login/") ||
		!strings.HasSuffix(out.LoginURL, "?next=%2Ftodos%2F"+out.Todos[0].ID) {
		t.Fatalf("printed %+v", out)
	}
	endings := []string{"completed failed", "completed died", "completed"}
	minted := map[string]bool{}
	for i, page := range out.Todos {
		if page.URL != f.url+"/todos/"+page.ID {
			t.Errorf("url %s", page.URL)
		}
		var todo struct {
			todoDoc
			Attempts []struct {
				attemptDoc
				TraceID string `json:"trace_id"`
			} `json:"attempts"`
		}
		f.run(t, "todo", "show", page.ID, "--json").json(t, &todo)
		var ended []string
		for _, at := range todo.Attempts {
			minted[at.TraceID] = true
			if at.Died {
				ended = append(ended, "died")
				continue
			}
			ended = append(ended, *at.Outcome)
		}
		if got := strings.Join(ended, " "); got != endings[i] || todo.State != "done" || len(todo.Activity) == 0 || len(todo.Result) == 0 {
			t.Errorf("%s ended %q, is %s with %d notes; want %q", todo.Title, got, todo.State, len(todo.Activity), endings[i])
		}
	}
	f.checkSpans(t, minted)
	for _, step := range []string{"vended ", "pushed ", "claimed ", "note ", "exported ", "crashed ", "fail ", "complete "} {
		if !strings.Contains(r.stderr, step) {
			t.Errorf("no line about %q in the progress:\n%s", step, r.stderr)
		}
	}
}

// checkSpans reads what the exporters sent: every span is in the trace of an attempt, every attempt has some.
func (f *fixture) checkSpans(t *testing.T, minted map[string]bool) {
	t.Helper()
	close(f.traces)
	seen, operations := map[string]bool{}, map[string]bool{}
	for traces := range f.traces {
		for _, rs := range traces.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, span := range ss.Spans().All() {
					id := span.TraceID()
					trace := hex.EncodeToString(id[:])
					if !minted[trace] {
						t.Errorf("span %s is in the trace of no attempt", span.Name())
					}
					seen[trace] = true
					for _, key := range []string{"gen_ai.operation.name", "http.response.status_code", "error.type"} {
						if v, found := span.Attributes().Get(key); found {
							operations[key+"="+v.AsString()] = true
						}
					}
				}
			}
		}
	}
	if len(seen) != len(minted) {
		t.Errorf("spans of %d attempts, want of %d", len(seen), len(minted))
	}
	for _, want := range []string{"gen_ai.operation.name=chat", "gen_ai.operation.name=execute_tool", "http.response.status_code=200", "error.type=exit"} {
		if !operations[want] {
			t.Errorf("no span with %s among %v", want, operations)
		}
	}
}

func TestDemo_PrintsPagesAndASignInLink(t *testing.T) {
	f := setup(t)
	out := f.run(t, "demo", "--pace", "0").ok(t)
	for _, want := range []string{"Fix the flaky checkout test", f.url + "/todos/td_", f.url + "/login/", "?next=%2Ftodos%2Ftd_"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
}

func TestDemo_GoesWithoutALinkWhereLocalSignInIsOff(t *testing.T) {
	f := setup(t, func(f *fixture) { f.localLogin = false })
	if out := f.run(t, "demo", "--pace", "0").ok(t); strings.Contains(out, "/login/") || !strings.Contains(out, "/todos/td_") {
		t.Errorf("printed %s", out)
	}
}

// A demo that shows spans which are not there would be a lie.
func TestDemo_APartialSuccessFailsIt(t *testing.T) {
	f := setup(t, func(f *fixture) {
		f.partial.PartialSuccess().SetRejectedSpans(2)
		f.partial.PartialSuccess().SetErrorMessage("rejected spans: unbound")
	})
	r := f.run(t, "demo", "--pace", "0")
	if r.code != exitFailed || !strings.Contains(r.stderr, "spans were not stored") || !strings.Contains(r.stderr, "unbound") {
		t.Errorf("exit code %d: %s", r.code, r.stderr)
	}
}
