package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/settings"
	"github.com/switchboard-otel/switchboard/app/spans"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// product is Switchboard on a database of its own.
type product struct {
	*postgres.DB
	name     string
	queue    *queue.Store
	spans    *spans.Store
	identity *identity.Store
	human    uuid.UUID
}

// newProduct makes the database. conns bounds the pool that claims.
func (s *server) newProduct(ctx context.Context, name string, conns int32) (*product, error) {
	url, err := s.database(ctx, name)
	if err != nil {
		return nil, err
	}
	db, err := postgres.Open(ctx, postgres.Config{URL: url, Verbs: postgres.PoolConfig{MaxConns: conns}})
	if err != nil {
		return nil, err
	}
	p := &product{DB: db, name: name, queue: newQueue(db)}
	p.spans = spans.NewStore(db.Spans, settings.NewReader(db.Spans, zap.NewNop()))
	p.identity = identity.NewStore(db.Verbs, p.queue)
	owner, err := p.identity.LocalOwner(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	p.human = owner.ID
	return p, nil
}

// newQueue is what one process of Switchboard has: two of them share nothing but the database.
func newQueue(db *postgres.DB) *queue.Store {
	return queue.NewStore(db.Verbs, settings.NewReader(db.Verbs, zap.NewNop()))
}

func (p *product) vend(ctx context.Context, name string) (*identity.Endpoint, error) {
	v, err := p.identity.Vend(ctx, p.human, identity.VendParams{Name: name})
	if err != nil {
		return nil, err
	}
	return &v.Endpoint, nil
}

// fill puts n pending todos on an endpoint. It writes the rows that Push writes, many at a time.
func (p *product) fill(ctx context.Context, ep *identity.Endpoint, n int, payload string) error {
	ids := make([]uuid.UUID, n)
	for i := range ids {
		ids[i] = typeid.New()
	}
	_, err := p.Verbs.Exec(ctx, `
		INSERT INTO todos (id, endpoint_id, human_id, queue, source, title, payload, payload_size, max_attempts, created_at, updated_at)
		SELECT id, $2, $3, $4, 'operator', 'retry on 502', $5::text::json, octet_length($5::text), 5, sb_now(), sb_now()
		FROM unnest($1::uuid[]) AS id`, ids, ep.ID, p.human, ep.Queues[0], payload)
	if err != nil {
		return fmt.Errorf("fill the queue: %w", err)
	}
	return nil
}

func (p *product) claim(ctx context.Context, ep *identity.Endpoint) (uuid.UUID, error) {
	c, err := p.queue.ClaimNext(ctx, ep, "", queue.ClaimParams{})
	if err != nil {
		return uuid.Nil, err
	}
	if c == nil {
		return uuid.Nil, errors.New("the queue ran empty")
	}
	return c.ID.UUID(), nil
}

func (p *product) heartbeat(ctx context.Context, ep *identity.Endpoint, id uuid.UUID, note *string) error {
	_, err := p.queue.Heartbeat(ctx, ep, id, queue.HeartbeatParams{Note: note})
	return err
}

func (p *product) complete(ctx context.Context, ep *identity.Endpoint, id uuid.UUID) error {
	summary := "the client retries on 502 now"
	_, err := p.queue.Complete(ctx, ep, id, queue.Report{Summary: &summary}, json.RawMessage(`{"ok":true}`))
	return err
}

// note is what a heartbeat says.
func note() *string {
	text := "tests pass locally, now the linter; two of five packages are done"
	return &text
}
