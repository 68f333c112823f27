package queue_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/settings"
)

// bundle is one human with one endpoint on a fresh database.
type bundle struct {
	*postgrestest.DB
	identity *identity.Store
	queue    *queue.Store
	human    *identity.Human
	endpoint *identity.Endpoint
}

func setup(t *testing.T) *bundle {
	t.Helper()
	t.Parallel()
	db := postgrestest.New(t)
	b := &bundle{DB: db, queue: queue.NewStore(db.Pool, settings.NewReader(db.Pool, zap.NewNop()))}
	b.identity = identity.NewStore(db.Pool, b.queue)
	var err error
	if b.human, err = b.identity.LocalOwner(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.endpoint = b.vend(t, b.human.ID, identity.VendParams{Name: "my bot", Queues: []string{"lane-s", "lane-m"}})
	return b
}

func (b *bundle) vend(t *testing.T, human uuid.UUID, p identity.VendParams) *identity.Endpoint {
	t.Helper()
	v, err := b.identity.Vend(t.Context(), human, p)
	if err != nil {
		t.Fatal(err)
	}
	return &v.Endpoint
}

// secondHuman makes another human with an endpoint of the same queues.
func (b *bundle) secondHuman(t *testing.T) (*identity.Human, *identity.Endpoint) {
	t.Helper()
	id := uuid.Must(uuid.NewV7())
	if _, err := b.Pool.Exec(t.Context(), `INSERT INTO humans (id, issuer, subject, name) VALUES ($1, 'test', 'second', 'Second')`, id); err != nil {
		t.Fatal(err)
	}
	return &identity.Human{ID: id}, b.vend(t, id, identity.VendParams{Name: "their bot", Queues: b.endpoint.Queues})
}

func (b *bundle) push(t *testing.T, change ...func(*queue.PushParams)) uuid.UUID {
	t.Helper()
	p := queue.PushParams{Endpoint: b.endpoint, Title: "retry on 502"}
	for _, c := range change {
		c(&p)
	}
	todo, created, err := b.queue.Push(t.Context(), b.human.ID, p)
	if err != nil || !created {
		t.Fatalf("push: created %v, %v", created, err)
	}
	return todo.ID.UUID()
}

func (b *bundle) claim(t *testing.T, id uuid.UUID, p queue.ClaimParams) *queue.Claimed {
	t.Helper()
	c, err := b.queue.Claim(t.Context(), b.endpoint, id, p)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (b *bundle) get(t *testing.T, id uuid.UUID) *queue.Detail {
	t.Helper()
	d, err := b.queue.Get(t.Context(), b.endpoint, id, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func maxAttempts(n int) func(*queue.PushParams) {
	return func(p *queue.PushParams) { p.MaxAttempts = &n }
}

func ptr[T any](v T) *T { return &v }

func wantCode(t *testing.T, err error, code fault.Code) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != code {
		t.Fatalf("got %v, want %s", err, code)
	}
}

// shape is what a transition must leave behind.
type shape struct {
	State       queue.State
	Attempt     int
	DeadLetter  bool
	Outcome     string
	Disposition string
	Died        bool
}

func shapeOf(d *queue.Detail) shape {
	s := shape{State: d.State, Attempt: d.Attempt, DeadLetter: d.DeadLetter}
	if len(d.Attempts) > 0 {
		a := d.Attempts[0]
		s.Died = a.Died
		if a.Outcome != nil {
			s.Outcome, s.Disposition = *a.Outcome, *a.Disposition
		}
	}
	return s
}

func (b *bundle) wantShape(t *testing.T, id uuid.UUID, want shape) {
	t.Helper()
	if got := shapeOf(b.get(t, id)); got != want {
		t.Fatalf("got  %+v\nwant %+v", got, want)
	}
}

// lapse lets the lease of everything claimed run out.
func (b *bundle) lapse(t *testing.T) { b.Advance(t, 25*time.Hour) }

func (b *bundle) count(t *testing.T, sql string, args ...any) (n int) {
	t.Helper()
	if err := b.Pool.QueryRow(context.Background(), sql, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }
