package e2e

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/settings"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

func shipped(config string) option { return withConfig(filepath.Join(root, "configs", config)) }

// external is a database that no process under test runs, with the stores that stand for a human who is signed in.
type external struct {
	t        *testing.T
	url      string
	identity *identity.Store
	queue    *queue.Store
	owner    *identity.Human
	db       *postgrestest.DB
}

func newExternal(t *testing.T) *external {
	t.Helper()
	db := postgrestest.New(t)
	e := &external{t: t, url: db.URL, db: db, queue: queue.NewStore(db.Pool, settings.NewReader(db.Pool, zap.NewNop()))}
	e.identity = identity.NewStore(db.Pool, e.queue)
	var err error
	if e.owner, err = e.identity.LocalOwner(t.Context()); err != nil {
		t.Fatal(err)
	}
	return e
}

// start runs a shipped configuration on this database.
func (e *external) start(config string, options ...option) *collector {
	e.t.Helper()
	return start(e.t, append(options, shipped(config), withEnv("SWITCHBOARD_DATABASE_URL="+e.url))...)
}

// vend makes an endpoint whose spans one process takes and whose verbs another, or the same, serves.
func (e *external) vend(spans, verbs *collector, granted ...string) vended {
	e.t.Helper()
	v, err := e.identity.Vend(e.t.Context(), e.owner.ID, identity.VendParams{Name: "my bot", Verbs: granted})
	if err != nil {
		e.t.Fatal(err)
	}
	return vended{Slug: v.Slug, ID: typeid.Endpoint.Format(v.ID), Token: v.Token,
		MCPURL: verbs.url + "/mcp/" + v.Slug, OTLPURL: spans.url + "/otlp/" + v.Slug}
}

func (e *external) push(v vended, title string) (id string) {
	e.t.Helper()
	endpoint, err := e.identity.Endpoint(e.t.Context(), e.owner.ID, v.Slug)
	if err != nil {
		e.t.Fatal(err)
	}
	todo, _, err := e.queue.Push(e.t.Context(), e.owner.ID, queue.PushParams{Endpoint: endpoint, Title: title})
	if err != nil {
		e.t.Fatal(err)
	}
	return typeid.Todo.Format(uuid.UUID(todo.ID))
}

// spans counts what is stored of a todo.
func (e *external) spans(id string) (n int) {
	e.t.Helper()
	todo, _ := typeid.Todo.Parse(id)
	if err := e.db.Pool.QueryRow(e.t.Context(), `SELECT count(*) FROM todo_spans WHERE todo_id = $1`, todo).Scan(&n); err != nil {
		e.t.Fatal(err)
	}
	return n
}

// Each answers as its first comment says: behind a proxy, on a database of somebody else.
func TestStandalone_ServesAnAgentOnAnExternalDatabaseBehindAProxy(t *testing.T) {
	t.Parallel()
	e := newExternal(t)
	c := e.start("standalone.yaml", withEnv("SWITCHBOARD_BASE_URL=https://switchboard.example.com"))
	v := e.vend(c, c)
	id := e.push(v, "bind me")
	claim := must[claimed](t, agent(t, v), "claim", map[string]any{"id": id})
	if res := export(t, v, "protobuf", batch(traceOf(t, claim.Traceparent), 3, "")); res.status != http.StatusOK {
		t.Fatalf("%d %s", res.status, res.body)
	}
	if n := e.spans(id); n != 3 {
		t.Errorf("%d spans are stored", n)
	}
	if !strings.Contains(c.output.String(), "https://switchboard.example.com/otlp/<endpoint>") {
		t.Errorf("the proxy's address is not announced:\n%s", c.output)
	}
	if res := request(t, http.MethodPost, c.url+"/login/x", nil); res.status == http.StatusOK {
		t.Errorf("local sign-in answers %d", res.status)
	}
}

func TestExternalConfigs_DoNotStartWithoutADatabase(t *testing.T) {
	t.Parallel()
	for _, config := range []string{"standalone.yaml", "gateway.yaml", "board.yaml"} {
		c := prepare(t, shipped(config))
		c.launch()
		if err := c.await(); err == nil || !strings.Contains(c.output.String(), "SWITCHBOARD_DATABASE_URL") {
			t.Errorf("%s: %v\n%s", config, err, c.output)
		}
		if pids := postgresIn(t, c.dir); len(pids) > 0 {
			t.Errorf("%s started a database of its own: %v", config, pids)
		}
	}
}

// Two processes that share nothing but the database are one Switchboard.
func TestGatewayAndBoard_ShareTheWork(t *testing.T) {
	t.Parallel()
	e := newExternal(t)
	gateway, board := e.start("gateway.yaml"), e.start("board.yaml")
	v := e.vend(gateway, board)
	id := e.push(v, "bind me")
	s := agent(t, v)
	claim := must[claimed](t, s, "claim", map[string]any{"id": id})
	if res := export(t, v, "protobuf", batch(traceOf(t, claim.Traceparent), 3, "")); res.status != http.StatusOK {
		t.Fatalf("the gateway answered %d %s", res.status, res.body)
	}
	must[any](t, s, "complete", map[string]any{"id": id})

	token, err := e.identity.NewAccessToken(t.Context(), e.owner.ID, "test")
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		path   string
		of     *collector
		status int
		says   string
	}{
		"the board shows what the gateway stored": {"/api/v1/todos/" + id + "?include=spans", board, 200, "step 3"},
		"the gateway has no API":                  {"/api/v1/todos/" + id, gateway, 404, ""},
		"the gateway has no pages":                {"/login", gateway, 404, ""},
		"the gateway has no verbs":                {"/mcp/" + v.Slug, gateway, 404, ""},
		"the board takes no spans":                {"/otlp/" + v.Slug + "/v1/traces", board, 404, "otlp is switched off"},
		"the board has pages":                     {"/login", board, 200, "html"},
		"the gateway is healthy":                  {"/healthz", gateway, 200, "ok"},
	} {
		res := request(t, http.MethodGet, c.of.url+c.path, nil, "Authorization", "Bearer "+token)
		if res.status != c.status || !strings.Contains(res.body, c.says) {
			t.Errorf("%s: %d %s", what, res.status, excerpt(res.body))
		}
	}
}

// sink is a second backend: it keeps the spans it takes.
type sink struct {
	*httptest.Server
	got chan ptrace.Traces
}

func newSink(t *testing.T) *sink {
	s := &sink{got: make(chan ptrace.Traces, 100)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request := ptraceotlp.NewExportRequest()
		body, err := gunzip(r.Body)
		if err = errors.Join(err, request.UnmarshalProto(body)); err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("the second backend was sent %s, %v", r.URL.Path, err)
		}
		s.got <- request.Traces()
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(s.Close)
	return s
}

// A second backend gets what the first one stores: bound, kept, masked. It decides nothing here.
func TestForwardToTempo_SendsMaskedSpansOnAndAsksNobody(t *testing.T) {
	t.Parallel()
	tempo := newSink(t)
	c := start(t, shipped("forward-to-tempo.yaml"), withEnv("TEMPO_ENDPOINT="+tempo.URL))
	v := c.vend("my bot")
	id := c.push(v, "bind me")
	traces := batch(pcommon.TraceID{7}, 1, id)
	batch(pcommon.TraceID{8}, 1, "").ResourceSpans().MoveAndAppendTo(traces.ResourceSpans())
	const secret = "sbk_abcdefghijklmnopqrstuvwxyz0123456789abcdefg"
	for _, rs := range traces.ResourceSpans().All() {
		span := rs.ScopeSpans().At(0).Spans().At(0)
		span.SetName("used " + secret)
		span.Attributes().PutStr("gen_ai.input.messages", "CANARY")
		span.Attributes().PutStr("gen_ai.request.model", "claude-fable-5")
	}
	if res := export(t, v, "json+gzip", traces); res.status != http.StatusOK || !strings.Contains(res.body, `"rejectedSpans":"1"`) {
		t.Fatalf("%d %s", res.status, res.body)
	}
	tr := c.trail(id)
	if len(tr.Spans) != 1 {
		t.Fatalf("%+v", tr)
	}
	got := <-tempo.got
	text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(got)
	if err != nil {
		t.Fatal(err)
	}
	if got.SpanCount() != 1 || strings.Contains(string(text), secret) || strings.Contains(string(text), "CANARY") {
		t.Fatalf("the second backend got %s", text)
	}
	span := got.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
	if todo, _ := span.Attributes().Get("switchboard.bound.todo_id"); span.Name() != tr.Spans[0].Name || todo.Str() != id {
		t.Errorf("the second backend got %s", text)
	}

	tempo.Close()
	again := batch(pcommon.TraceID{9}, 1, id)
	if res := export(t, v, "protobuf", again); res.status != http.StatusOK {
		t.Errorf("while the second backend is down: %d %s", res.status, res.body)
	}
	if n := len(c.trail(id).Spans); n != 2 {
		t.Errorf("%d spans are stored while the second backend is down", n)
	}
}

func gunzip(r io.Reader) ([]byte, error) {
	unpacked, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(unpacked)
}
