package api

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/zap/zaptest"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/intake"
	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/rungraph"
	"github.com/switchboard-otel/switchboard/app/settings"
	"github.com/switchboard-otel/switchboard/app/spans"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

const baseURL = "http://switchboard.test"

// fixture is the API over a database of its own, with two humans.
type fixture struct {
	Config
	db         *postgrestest.DB
	url        string
	alice, bob person
}

type person struct {
	*identity.Human
	token string
}

// reply is what came back; it has been held against the OpenAPI document.
type reply struct {
	status int
	header http.Header
	body   string
}

func setup(t *testing.T, change ...func(*Config)) *fixture {
	t.Helper()
	t.Parallel()
	db := postgrestest.New(t)
	live := settings.NewReader(db.Pool, zaptest.NewLogger(t))
	todos := queue.NewStore(db.Pool, live)
	f := &fixture{db: db, Config: Config{
		Identity:   identity.NewStore(db.Pool, todos),
		Queue:      todos,
		Spans:      spans.NewStore(db.Pool, live),
		Intake:     intake.NewStore(intake.Config{Pool: db.Pool, Queue: todos, Settings: live, Sealer: sealer(t), BaseURL: baseURL}),
		BaseURL:    baseURL,
		Version:    "1.2.3",
		LocalLogin: true,
		Describe:   func() string { return "PostgreSQL of a test" },
		Log:        zaptest.NewLogger(t),
	}}
	f.RunGraphs = rungraph.NewStore(db.Pool, todos, f.Spans, f.Version)
	for _, c := range change {
		c(&f.Config)
	}
	owner, err := f.Identity.LocalOwner(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f.alice = f.person(t, owner)
	id := typeid.New()
	if _, err := db.Pool.Exec(t.Context(), `INSERT INTO humans (id, issuer, subject, name) VALUES ($1, 'test', 'bob', 'Bob')`, id); err != nil {
		t.Fatal(err)
	}
	bob, err := f.Identity.Human(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	f.bob = f.person(t, bob)
	server := httptest.NewServer(New(f.Config))
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

func sealer(t *testing.T) *intake.Sealer {
	t.Helper()
	s, err := intake.NewSealer(strings.Repeat("5e", 32))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (f *fixture) person(t *testing.T, h *identity.Human) person {
	t.Helper()
	token, err := f.Identity.NewAccessToken(t.Context(), h.ID, "test")
	if err != nil {
		t.Fatal(err)
	}
	return person{h, token}
}

// do sends a request as p; nobody sends it without a token. The answer must be one that the document
// promises.
func (f *fixture) do(t *testing.T, p *person, method, path, body string) reply {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, f.url+Prefix+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if p != nil {
		request.Header.Set("Authorization", "Bearer "+p.token)
	}
	r := send(t, request)
	checkAgainstDocument(t, method, path, r)
	return r
}

func send(t *testing.T, request *http.Request) reply {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{response.StatusCode, response.Header, string(text)}
}

// into checks the status and reads the body.
func (r reply) into(t *testing.T, status int, out any) {
	t.Helper()
	if r.status != status {
		t.Fatalf("status %d, want %d: %.500s", r.status, status, r.body)
	}
	if err := json.Unmarshal([]byte(r.body), out); err != nil {
		t.Fatal(err)
	}
}

// refused checks a refusal's status and code and answers its sentence.
func (r reply) refused(t *testing.T, status int, code string) string {
	t.Helper()
	var body refusal
	r.into(t, status, &body)
	if body.Code != code {
		t.Fatalf("code %q, want %q: %s", body.Code, code, r.body)
	}
	return body.Error
}

// vend makes an endpoint over the API.
func (f *fixture) vend(t *testing.T, p *person, body string) vendedBody {
	t.Helper()
	var vended vendedBody
	f.do(t, p, "POST", "/endpoints", body).into(t, http.StatusCreated, &vended)
	return vended
}

// pushed is what the tests read of a push.
type pushed struct {
	Todo struct {
		ID, State, Queue, Source, URL string
		Kind                          *string
		Payload                       json.RawMessage
		MaxAttempts                   int `json:"max_attempts"`
	}
	Created bool
}

func (f *fixture) push(t *testing.T, p *person, ref, body string, status int) pushed {
	t.Helper()
	var out pushed
	f.do(t, p, "POST", "/endpoints/"+ref+"/todos", body).into(t, status, &out)
	return out
}

// endpoint is the vended endpoint as the drain verbs take it.
func (f *fixture) endpoint(t *testing.T, token string) *identity.Endpoint {
	t.Helper()
	e, err := f.Identity.ResolveCredential(context.WithoutCancel(t.Context()), token)
	if err != nil {
		t.Fatal(err)
	}
	return e
}
