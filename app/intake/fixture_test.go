package intake_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/zap/zaptest"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/intake"
	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/ratelimit"
	"github.com/switchboard-otel/switchboard/app/settings"
	"github.com/switchboard-otel/switchboard/app/webhook"
)

// counts are the deliveries and decisions that were counted.
type counts struct {
	mu sync.Mutex
	of map[string]int
}

func (c *counts) add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of[name]++
}

func (c *counts) Delivery(source webhook.Source, verdict webhook.Verdict) {
	c.add(string(source) + " " + string(verdict))
}

func (c *counts) Routed(decision string) { c.add(decision) }

// since returns what was counted after an earlier take.
func (c *counts) take() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := maps.Clone(c.of)
	clear(c.of)
	return taken
}

// world is one human with one endpoint, and the address of its webhooks over HTTP.
type world struct {
	t        *testing.T
	db       *postgrestest.DB
	identity *identity.Store
	queue    *queue.Store
	intake   *intake.Store
	handler  *intake.Handler
	counts   *counts
	human    *identity.Human
	endpoint *identity.Endpoint
	url      string
}

func setup(t *testing.T, change ...func(*intake.Config)) *world {
	t.Helper()
	t.Parallel()
	db := postgrestest.New(t)
	w := newWorld(t, db.Pool, change...)
	w.db = db
	return w
}

func newWorld(t *testing.T, pool *pgxpool.Pool, change ...func(*intake.Config)) *world {
	t.Helper()
	log := zaptest.NewLogger(t)
	live := settings.NewReader(pool, log)
	sealer, err := intake.NewSealer(strings.Repeat("5e", 32))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, counts: &counts{of: map[string]int{}}, queue: queue.NewStore(pool, live)}
	w.identity = identity.NewStore(pool, w.queue)
	cfg := intake.Config{Pool: pool, Queue: w.queue, Settings: live, Sealer: sealer, Metrics: w.counts}
	unlimited := ratelimit.New(1e6, 1e6)
	w.handler = &intake.Handler{Settings: live, PreAuth: unlimited, PerWebhook: unlimited, Log: log,
		ClientAddress: func(*http.Request) string { return "192.0.2.1" }}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	w.url = server.URL
	cfg.BaseURL = w.url
	for _, c := range change {
		c(&cfg)
	}
	w.intake = intake.NewStore(cfg)
	w.handler.Intake = w.intake
	mux.Handle(intake.AddressPrefix, w.handler)
	if w.human, err = w.identity.LocalOwner(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.endpoint = w.vend(w.human.ID)
	return w
}

func (w *world) vend(human uuid.UUID, change ...func(*identity.VendParams)) *identity.Endpoint {
	w.t.Helper()
	p := identity.VendParams{Name: "my bot", Queues: []string{"lane-s", "lane-m"}}
	for _, c := range change {
		c(&p)
	}
	v, err := w.identity.Vend(w.t.Context(), human, p)
	if err != nil {
		w.t.Fatal(err)
	}
	return &v.Endpoint
}

func (w *world) create(source webhook.Source) *intake.Shown {
	w.t.Helper()
	shown, err := w.intake.Create(w.t.Context(), w.endpoint, intake.CreateParams{Source: source})
	if err != nil {
		w.t.Fatal(err)
	}
	return shown
}

func (w *world) rules(of *intake.Shown, text string) {
	w.t.Helper()
	var change intake.RuleChange
	if err := json.Unmarshal([]byte(text), &change.Rules); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.intake.SetRules(w.t.Context(), intake.OfHuman(w.human.ID), of.ID.UUID(), change); err != nil {
		w.t.Fatal(err)
	}
}

// reply is an answer over HTTP.
type reply struct {
	status int
	header http.Header
	body   string
}

func (r reply) receipt(t *testing.T) (out struct {
	Todos []struct {
		ID, Queue string
		Created   bool
	}
	Created  int
	Verified bool
	Trust    string `json:"trust_mode"`
	Dropped  bool
}) {
	t.Helper()
	if r.status != http.StatusAccepted {
		t.Fatalf("a delivery is answered %d %s", r.status, r.body)
	}
	if err := json.Unmarshal([]byte(r.body), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// send posts a body to an address with headers, given as names and values in turn.
func (w *world) send(address, body string, headers ...string) reply {
	w.t.Helper()
	return w.request(http.MethodPost, address, strings.NewReader(body), headers...)
}

func (w *world) request(method, address string, body io.Reader, headers ...string) reply {
	w.t.Helper()
	got, err := w.roundTrip(method, address, body, headers...)
	if err != nil {
		w.t.Fatal(err)
	}
	return got
}

// try is send where the connection may break.
func (w *world) try(address, body string, headers ...string) (reply, error) {
	return w.roundTrip(http.MethodPost, address, strings.NewReader(body), headers...)
}

func (w *world) roundTrip(method, address string, body io.Reader, headers ...string) (reply, error) {
	request, err := http.NewRequestWithContext(w.t.Context(), method, address, body)
	if err != nil {
		return reply{}, err
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return reply{response.StatusCode, response.Header, string(text)}, err
}

// signed is GitHub's header for a body.
func signed(secret, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

func (w *world) github(to *intake.Shown, id, body string) reply {
	w.t.Helper()
	return w.send(to.URL, body, "Content-Type", "application/json", "X-GitHub-Event", "issues", "X-GitHub-Delivery", id,
		"X-Hub-Signature-256", signed(to.Secret, body))
}

func (w *world) count(sql string, args ...any) (n int) {
	w.t.Helper()
	if err := w.db.Pool.QueryRow(w.t.Context(), sql, args...).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

// stored is how many events and todos there are.
func (w *world) stored() [2]int {
	w.t.Helper()
	return [2]int{w.count(`SELECT count(*) FROM events`), w.count(`SELECT count(*) FROM todos`)}
}

func ptr[T any](v T) *T { return &v }
