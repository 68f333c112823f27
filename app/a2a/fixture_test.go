package a2a_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/a2a"
	"github.com/switchboard-otel/switchboard/app/doorbell"
	"github.com/switchboard-otel/switchboard/app/gate"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/mcpserver"
	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/ratelimit"
	"github.com/switchboard-otel/switchboard/app/settings"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// bundle is A2A and MCP on one listener and one database, with one vended endpoint.
type bundle struct {
	*postgrestest.DB
	url      string
	identity *identity.Store
	queue    *queue.Store
	server   *a2a.Server
	human    *identity.Human
	vended   *identity.Vended
}

// asking are the drain verbs and those with which a holder asks.
var asking = append(slices.Clone(identity.DrainVerbs), identity.VerbRequestInput, identity.VerbRequestAuth)

func setup(t *testing.T) *bundle {
	t.Helper()
	t.Parallel()
	return build(t)
}

func build(t *testing.T, change ...func(*gate.Config)) *bundle {
	t.Helper()
	db := postgrestest.New(t)
	b := &bundle{DB: db, queue: queue.NewStore(db.Pool, settings.NewReader(db.Pool, zap.NewNop()))}
	b.identity = identity.NewStore(db.Pool, b.queue)
	bell := doorbell.New(b.queue, b.identity, zap.NewNop())
	srv := httptest.NewUnstartedServer(nil)
	b.url = "http://" + srv.Listener.Addr().String()
	limits := gate.Config{Identity: b.identity, PreAuth: ratelimit.New(1000, 1000), PerEndpoint: ratelimit.New(1000, 1000),
		ClientAddress: func(r *http.Request) string { return r.RemoteAddr }, Log: zap.NewNop()}
	for _, c := range change {
		c(&limits)
	}
	b.server = a2a.New(a2a.Config{Identity: b.identity, Queue: b.queue, Gate: gate.New(limits), BaseURL: b.url, Version: "1.2.3", Log: zap.NewNop()})
	mux := http.NewServeMux()
	mux.Handle("/a2a/", b.server)
	mux.Handle("/mcp/", mcpserver.New(mcpserver.Config{Identity: b.identity, Queue: b.queue, Bell: bell, BaseURL: b.url,
		Version: "1.2.3", Log: zap.NewNop(), PreAuth: limits.PreAuth, PerEndpoint: limits.PerEndpoint, ClientAddress: limits.ClientAddress}))
	srv.Config.Handler = mux
	srv.Start()
	t.Cleanup(srv.Close)
	t.Cleanup(bell.Close)
	t.Cleanup(b.server.Close) // before the listener, which waits for open streams
	var err error
	if b.human, err = b.identity.LocalOwner(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.vended = b.vend(t, b.human.ID, identity.VendParams{Name: "my bot", Verbs: asking})
	return b
}

func (b *bundle) vend(t *testing.T, human uuid.UUID, p identity.VendParams) *identity.Vended {
	t.Helper()
	v, err := b.identity.Vend(t.Context(), human, p)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// secondHuman vends an endpoint of another human.
func (b *bundle) secondHuman(t *testing.T) *identity.Vended {
	t.Helper()
	id := uuid.Must(uuid.NewV7())
	if _, err := b.Pool.Exec(t.Context(), `INSERT INTO humans (id, issuer, subject, name) VALUES ($1, 'test', 'second', 'Second')`, id); err != nil {
		t.Fatal(err)
	}
	return b.vend(t, id, identity.VendParams{Name: "their bot", Verbs: asking})
}

type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

// client is the official client of an endpoint, made from its card.
func (b *bundle) client(t *testing.T, v *identity.Vended) *a2aclient.Client {
	t.Helper()
	_, body := b.get(t, v.Slug, v.Token)
	var card sdk.AgentCard
	if err := json.Unmarshal([]byte(body), &card); err != nil {
		t.Fatal(err, body)
	}
	c, err := a2aclient.NewFromCard(t.Context(), &card, a2aclient.WithJSONRPCTransport(&http.Client{Transport: bearer{v.Token}}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Destroy() })
	return c
}

// get asks for an agent card.
func (b *bundle) get(t *testing.T, ref, token string) (*http.Response, string) {
	t.Helper()
	return b.do(t, http.MethodGet, "/a2a/"+ref+"/.well-known/agent-card.json", token, "")
}

// post sends a body as it is.
func (b *bundle) post(t *testing.T, v *identity.Vended, body string) string {
	t.Helper()
	res, answer := b.do(t, http.MethodPost, "/a2a/"+v.Slug, v.Token, body)
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", res.StatusCode, answer)
	}
	return answer
}

func (b *bundle) do(t *testing.T, method, path, token, body string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, b.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(answer)
}

// worker is an agent that works the endpoint's queue with the official MCP client.
type worker struct{ *mcp.ClientSession }

func (b *bundle) worker(t *testing.T, v *identity.Vended) worker {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "worker", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: b.url + "/mcp/" + v.Slug, HTTPClient: &http.Client{Transport: bearer{v.Token}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return worker{session}
}

// call calls a verb that must not be refused.
func (w worker) call(t *testing.T, verb string, args map[string]any) map[string]any {
	t.Helper()
	res, err := w.CallTool(t.Context(), &mcp.CallToolParams{Name: verb, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	if res.IsError {
		t.Fatalf("%s: %s", verb, res.Content[0].(*mcp.TextContent).Text)
	}
	return res.StructuredContent.(map[string]any)
}

func message(text string) *sdk.SendMessageRequest {
	return &sdk.SendMessageRequest{Message: sdk.NewMessage(sdk.MessageRoleUser, sdk.NewTextPart(text))}
}

// send sends work and returns its task.
func send(t *testing.T, c *a2aclient.Client, r *sdk.SendMessageRequest) *sdk.Task {
	t.Helper()
	res, err := c.SendMessage(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return res.(*sdk.Task)
}

func get(t *testing.T, c *a2aclient.Client, id sdk.TaskID) *sdk.Task {
	t.Helper()
	task, err := c.GetTask(t.Context(), &sdk.GetTaskRequest{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func todo(t *testing.T, id sdk.TaskID) uuid.UUID {
	t.Helper()
	u, ok := typeid.Todo.Parse(string(id))
	if !ok {
		t.Fatalf("%q is no todo's id", id)
	}
	return u
}

// trail is what the activity log and the attempts say of a todo: the actions of A2A, then how attempts ended.
func (b *bundle) trail(t *testing.T, id sdk.TaskID) (steps []string) {
	t.Helper()
	d, err := b.queue.HumanTodo(t.Context(), b.human.ID, todo(t, id))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range d.Activity {
		var detail struct{ Action string }
		if err := json.Unmarshal(e.Detail, &detail); err != nil {
			t.Fatal(err)
		}
		said := ""
		if e.Message != nil {
			said = ": " + *e.Message
		}
		steps = append(steps, e.Kind+" "+detail.Action+said)
	}
	for _, a := range slices.Backward(d.Attempts) {
		if a.Outcome != nil {
			steps = append(steps, "attempt "+*a.Outcome)
		}
	}
	return steps
}
