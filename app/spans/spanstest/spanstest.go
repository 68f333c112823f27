// Package spanstest puts the rows that spans hang on into a test's database: an endpoint with its owner,
// todos, attempts. It writes SQL of its own, so that tests of ingest depend on no state machine. Besides, it
// reads the metrics that ingest counts into.
package spanstest

import (
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/switchboard-otel/switchboard/app/telemetry"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// Tenant is a human with one agent and its endpoint.
type Tenant struct {
	Human, Endpoint uuid.UUID
	pool            *pgxpool.Pool
}

// NewTenant adds a human, an agent and an endpoint.
func NewTenant(t testing.TB, pool *pgxpool.Pool) *Tenant {
	t.Helper()
	tenant := &Tenant{Human: typeid.New(), Endpoint: typeid.New(), pool: pool}
	agent := typeid.New()
	tenant.exec(t, `INSERT INTO humans (id, issuer, subject, name) VALUES ($1, 'test', $2, 'Somebody')`,
		tenant.Human, tenant.Human.String())
	tenant.exec(t, `INSERT INTO agents (id, human_id, name) VALUES ($1, $2, 'worker')`, agent, tenant.Human)
	tenant.exec(t, `INSERT INTO endpoints (id, human_id, agent_id, slug, queues, verbs)
		VALUES ($1, $2, $3, $4, '{default}', '{heartbeat}')`, tenant.Endpoint, tenant.Human, agent, tenant.Endpoint.String())
	return tenant
}

// EndpointID spells the endpoint as a request's identity does.
func (tenant *Tenant) EndpointID() string { return typeid.Endpoint.Format(tenant.Endpoint) }

// Todo adds a pending todo.
func (tenant *Tenant) Todo(t testing.TB) uuid.UUID {
	t.Helper()
	id := typeid.New()
	tenant.exec(t, `INSERT INTO todos (id, endpoint_id, human_id, queue, source, title, max_attempts, created_at, updated_at)
		VALUES ($1, $2, $3, 'default', 'operator', 'a test', 5, sb_now(), sb_now())`, id, tenant.Endpoint, tenant.Human)
	return id
}

// Attempt is one attempt of a todo. Zero ids are made up, a zero end means that it is open.
type Attempt struct {
	Seq                int
	Trace, CallerTrace [16]byte
	ClaimedAt, EndedAt time.Time
}

// Attempt adds an attempt and returns the trace id it was minted.
func (tenant *Tenant) Attempt(t testing.TB, todo uuid.UUID, a Attempt) [16]byte {
	t.Helper()
	if a.Trace == ([16]byte{}) {
		rand.Read(a.Trace[:])
	}
	var callerTrace []byte
	if a.CallerTrace != ([16]byte{}) {
		callerTrace = a.CallerTrace[:]
	}
	var endedAt *time.Time
	var outcome, disposition *string
	if !a.EndedAt.IsZero() {
		released, requeued := "released", "requeued"
		endedAt, outcome, disposition = &a.EndedAt, &released, &requeued
	}
	tenant.exec(t, `INSERT INTO todo_attempts (todo_id, seq, attempt, claimer_kind, endpoint_id, trace_id, caller_trace_id,
			lease_ttl_seconds, claimed_at, ended_at, outcome, disposition)
		VALUES ($1, $2, $2, 'endpoint', $3, $4, $5, 300, $6, $7, $8, $9)`,
		todo, a.Seq, tenant.Endpoint, a.Trace[:], callerTrace, a.ClaimedAt, endedAt, outcome, disposition)
	return a.Trace
}

// Set writes a row of the settings table. A reader sees it when it reads for the first time, or a second later.
func (tenant *Tenant) Set(t testing.TB, key, value string) {
	t.Helper()
	tenant.exec(t, `INSERT INTO settings (key, value) VALUES ($1, $2)
		ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value`, key, value)
}

func (tenant *Tenant) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := tenant.pool.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// Scrape returns the metrics as an operator's scraper reads them.
func Scrape(t testing.TB, metrics *telemetry.Metrics) string {
	t.Helper()
	const token = "a token of the length that is asked for"
	request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	request.Header.Set("Authorization", "Bearer "+token)
	answer := httptest.NewRecorder()
	metrics.Handler(token).ServeHTTP(answer, request)
	return answer.Body.String()
}
