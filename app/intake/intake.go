// Package intake is where work comes in from outside: webhooks, what was delivered to them, and the rules by
// which deliveries become todos (intake.md). It alone writes webhooks, webhook_rules and events. One delivery is
// one event with its todo, in one transaction, or nothing.
package intake

import (
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/settings"
	"github.com/switchboard-otel/switchboard/app/typeid"
	"github.com/switchboard-otel/switchboard/app/webhook"
)

// AddressPrefix is where webhooks are delivered; the unguessable token follows.
const AddressPrefix = "/webhooks/w/"

// Store keeps webhooks, their rules and their events.
type Store struct {
	pool     *pgxpool.Pool
	queue    *queue.Store
	settings *settings.Reader
	sealer   *Sealer
	baseURL  string
	metrics  Metrics
	programs *programs
}

// Config is what a store works with.
type Config struct {
	Pool     *pgxpool.Pool
	Queue    *queue.Store // where todos are made, and whose waiting claims are woken
	Settings *settings.Reader
	Sealer   *Sealer // nil: no key is set, so signed webhooks can be neither made nor verified
	BaseURL  string  // what addresses are built from, without a slash at its end
	Metrics  Metrics // nil counts nothing
}

// NewStore returns a store.
func NewStore(cfg Config) *Store {
	if cfg.Metrics == nil {
		cfg.Metrics = uncounted{}
	}
	return &Store{pool: cfg.Pool, queue: cfg.Queue, settings: cfg.Settings, sealer: cfg.Sealer, baseURL: cfg.BaseURL,
		metrics: cfg.Metrics, programs: newPrograms()}
}

// Metrics counts deliveries and decisions, after the commit where there is one.
type Metrics interface {
	// Delivery counts a delivery to a known address by what became of it.
	Delivery(source webhook.Source, verdict webhook.Verdict)
	// Routed counts a new event by what was decided: queue, drop, fault or default.
	Routed(decision string)
}

// The decisions, as the metrics name them.
const (
	decidedQueue   = "queue"
	decidedDrop    = "drop"
	decidedFault   = "fault"
	decidedDefault = "default"
)

// Decisions lists every decision.
var Decisions = []string{decidedQueue, decidedDrop, decidedFault, decidedDefault}

type uncounted struct{}

func (uncounted) Delivery(webhook.Source, webhook.Verdict) {}
func (uncounted) Routed(string)                            {}

// Scope is on whose behalf something is read or changed: all that a human has, or one endpoint of it. Every
// statement names it, so that what lies outside is unknown.
type Scope struct {
	human    uuid.UUID
	endpoint *uuid.UUID
}

// OfHuman is everything of a human.
func OfHuman(human uuid.UUID) Scope { return Scope{human: human} }

// OfEndpoint is what an agent sees: its endpoint's own.
func OfEndpoint(e *identity.Endpoint) Scope { return Scope{human: e.HumanID, endpoint: &e.ID} }

// The refusals that must not differ by a byte, whatever their cause.
var (
	ErrWebhookNotFound = fault.New(fault.NotFound, "no such webhook")
	ErrEventNotFound   = fault.New(fault.NotFound, "no such event")
)

// WebhookID is the id of a webhook. It is spelled wh_... on every surface.
type WebhookID uuid.UUID

func (id WebhookID) String() string { return typeid.Webhook.Format(uuid.UUID(id)) }

// UUID returns the id as the database knows it.
func (id WebhookID) UUID() uuid.UUID { return uuid.UUID(id) }

// MarshalText spells the id.
func (id WebhookID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// EventID is the id of an event. It is spelled ev_... on every surface.
type EventID uuid.UUID

func (id EventID) String() string { return typeid.Event.Format(uuid.UUID(id)) }

// UUID returns the id as the database knows it.
func (id EventID) UUID() uuid.UUID { return uuid.UUID(id) }

// MarshalText spells the id.
func (id EventID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }
