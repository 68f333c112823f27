package board

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap/zaptest"

	"github.com/switchboard-otel/switchboard/app/feed"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/intake"
	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/rungraph"
	"github.com/switchboard-otel/switchboard/app/settings"
	"github.com/switchboard-otel/switchboard/app/spans"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// house is a Board over a database of its own, reached over HTTP.
type house struct {
	t        testing.TB
	db       *postgrestest.DB
	identity *identity.Store
	queue    *queue.Store
	spans    *spans.Store
	intake   *intake.Store
	board    *board
	server   *httptest.Server
	owner    *identity.Human
}

func newHouse(t testing.TB) *house {
	t.Helper()
	db := postgrestest.New(t)
	log := zaptest.NewLogger(t)
	reader := settings.NewReader(db.Pool, log)
	h := &house{t: t, db: db, queue: queue.NewStore(db.Pool, reader), spans: spans.NewStore(db.Pool, reader)}
	h.identity = identity.NewStore(db.Pool, h.queue)
	h.intake = intake.NewStore(intake.Config{Pool: db.Pool, Queue: h.queue, Settings: reader})

	h.server = httptest.NewUnstartedServer(nil)
	h.server.Start()
	t.Cleanup(h.server.Close)
	b, err := newBoard(Config{Identity: h.identity, Queue: h.queue, Spans: h.spans, Intake: h.intake, Feed: feed.NewStore(db.Pool), Settings: reader,
		RunGraphs: rungraph.NewStore(db.Pool, h.queue, h.spans, "test"),
		BaseURL:   h.server.URL, Version: "test", LocalLogin: true, Log: log,
		Health: func(ctx context.Context) (time.Duration, error) { return 3 * time.Millisecond, db.Pool.Ping(ctx) }})
	if err != nil {
		t.Fatal(err)
	}
	b.now = h.now
	h.board = b
	t.Cleanup(b.live.Close)
	if h.server.Config.Handler, err = b.handler(); err != nil {
		t.Fatal(err)
	}
	h.owner = must(h.identity.LocalOwner(t.Context()))(t)
	return h
}

// must fails the test on an error: must(f())(t).
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func ptr[T any](v T) *T { return &v }

// now is the time as the database tells it.
func (h *house) now() time.Time {
	var now time.Time
	if err := h.db.Pool.QueryRow(context.Background(), `SELECT sb_now()`).Scan(&now); err != nil {
		h.t.Error(err)
	}
	return now
}

func (h *house) later(d time.Duration) { h.db.Advance(h.t, d) }

// human makes another human.
func (h *house) human(name string) *identity.Human {
	h.t.Helper()
	id := typeid.New()
	_, err := h.db.Pool.Exec(h.t.Context(), `INSERT INTO humans (id, issuer, subject, name) VALUES ($1, 'test', $2, $2)`, id, name)
	if err != nil {
		h.t.Fatal(err)
	}
	return must(h.identity.Human(h.t.Context(), id))(h.t)
}

func (h *house) vend(human *identity.Human, name string, queues ...string) *identity.Endpoint {
	h.t.Helper()
	return &must(h.identity.Vend(h.t.Context(), human.ID, identity.VendParams{Name: name, Queues: queues, Verbs: identity.DrainVerbs}))(h.t).Endpoint
}

func (h *house) push(ep *identity.Endpoint, title, payload string) uuid.UUID {
	h.t.Helper()
	p := queue.PushParams{Endpoint: ep, Title: title, MaxAttempts: ptr(5)}
	if payload != "" {
		p.Payload = json.RawMessage(payload)
	}
	todo, _, err := h.queue.Push(h.t.Context(), ep.HumanID, p)
	if err != nil {
		h.t.Fatal(err)
	}
	return todo.ID.UUID()
}

// claim is an attempt that a test works.
type claim struct {
	h       *house
	ep      *identity.Endpoint
	todo    uuid.UUID
	seq     int
	trace   [16]byte
	claimed time.Time
	ids     int
}

func (h *house) claim(ep *identity.Endpoint, todo uuid.UUID, claimant string, lease time.Duration) *claim {
	h.t.Helper()
	p := queue.ClaimParams{LeaseTTLSeconds: ptr(int(lease / time.Second)), Claimant: &claimant}
	got := must(h.queue.Claim(h.t.Context(), ep, todo, p))(h.t)
	c := &claim{h: h, ep: ep, todo: todo, seq: got.AttemptSeq, claimed: h.now()}
	if _, err := hex.Decode(c.trace[:], []byte(strings.Split(got.Traceparent, "-")[1])); err != nil {
		h.t.Fatal(err)
	}
	return c
}

func (c *claim) note(text string) {
	c.h.t.Helper()
	must(c.h.queue.Heartbeat(c.h.t.Context(), c.ep, c.todo, queue.HeartbeatParams{LeaseTTLSeconds: ptr(600), Note: &text}))(c.h.t)
}

func (c *claim) complete(summary, artifact, result string) {
	c.h.t.Helper()
	must(c.h.queue.Complete(c.h.t.Context(), c.ep, c.todo, queue.Report{Summary: &summary, Artifact: &artifact}, json.RawMessage(result)))(c.h.t)
}

func (c *claim) fail(summary string, p queue.FailParams) {
	c.h.t.Helper()
	must(c.h.queue.Fail(c.h.t.Context(), c.ep, c.todo, queue.Report{Summary: &summary}, p))(c.h.t)
}

// span records a span of the attempt, from and for a time in milliseconds after its claim. It returns the
// span's number, which children name as their parent; 0 is none.
func (c *claim) span(parent int, category, name string, from, long int, change ...func(*spans.Span)) spans.Span {
	c.ids++
	start := c.claimed.Add(time.Duration(from) * time.Millisecond)
	s := spans.Span{TodoID: c.todo, AttemptSeq: c.seq, TraceID: c.trace, SpanID: [8]byte{0xbb, 7: byte(c.ids)}, Name: name,
		Kind: "internal", StatusCode: "unset", StartAt: start, EndAt: start.Add(time.Duration(long) * time.Millisecond),
		ServiceName: "fixer", Category: category, Attributes: []byte(`{}`), ReceivedAt: start}
	if parent > 0 {
		s.ParentSpanID = [8]byte{0xbb, 7: byte(parent)}
	}
	for _, f := range change {
		f(&s)
	}
	return s
}

func (c *claim) store(all ...spans.Span) {
	c.h.t.Helper()
	must(c.h.spans.Upsert(c.h.t.Context(), c.ep.ID, all))(c.h.t)
}

func tool(name string) func(*spans.Span) {
	return func(s *spans.Span) {
		s.Tool = name
		s.Attributes = []byte(`{"gen_ai.operation.name":"execute_tool","gen_ai.tool.call.id":"toolu_01B5WQz","process.exit.code":0}`)
	}
}

func usage(model string, in, out int) func(*spans.Span) {
	return func(s *spans.Span) {
		s.Attributes = fmt.Appendf(nil, `{"gen_ai.operation.name":"chat","gen_ai.request.model":%q,"gen_ai.usage.input_tokens":%d,"gen_ai.usage.output_tokens":%d}`, model, in, out)
	}
}

func failed(message string) func(*spans.Span) {
	return func(s *spans.Span) { s.StatusCode, s.StatusMessage = "error", message }
}

// browserless is a human's HTTP client that keeps cookies and follows no redirect.
type browserless struct {
	h *house
	*http.Client
}

func (h *house) stranger() *browserless {
	return &browserless{h, &http.Client{Jar: must(cookiejar.New(nil))(h.t),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// signedIn signs a human in through a one-time link.
func (h *house) signedIn(human *identity.Human) *browserless {
	h.t.Helper()
	c := h.stranger()
	token := must(h.identity.NewLoginLink(h.t.Context(), human.ID))(h.t)
	if got := c.post("/login/"+token, nil); got.StatusCode != http.StatusSeeOther {
		h.t.Fatalf("signing in answered %d", got.StatusCode)
	}
	return c
}

// answer is a response with its body read.
type answer struct {
	*http.Response
	body string
}

func (c *browserless) do(r *http.Request) answer {
	c.h.t.Helper()
	resp := must(c.Do(r))(c.h.t)
	defer resp.Body.Close()
	return answer{resp, string(must(io.ReadAll(resp.Body))(c.h.t))}
}

func (c *browserless) get(path string) answer {
	c.h.t.Helper()
	return c.do(must(http.NewRequestWithContext(c.h.t.Context(), http.MethodGet, c.h.server.URL+path, nil))(c.h.t))
}

func (c *browserless) post(path string, form url.Values) answer {
	c.h.t.Helper()
	r := must(http.NewRequestWithContext(c.h.t.Context(), http.MethodPost, c.h.server.URL+path, strings.NewReader(form.Encode())))(c.h.t)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return c.do(r)
}

func todoPath(id uuid.UUID) string { return "/todos/" + typeid.Todo.Format(id) }
