// Package identity knows who is who: humans, their agents, the endpoints that a human vends to an agent,
// the credentials that those present, and the ways in which a human signs in. It alone writes its tables.
package identity

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/switchboard-otel/switchboard/app/typeid"
)

// ErrUnauthenticated is the one answer to a token that is missing, unknown, revoked, used or expired.
var ErrUnauthenticated = errors.New("no valid credential")

// The verbs an endpoint can be granted.
const (
	VerbListTodos = "list_todos"
	VerbGetTodo   = "get_todo"
	VerbClaim     = "claim"
	VerbClaimNext = "claim_next"
	VerbHeartbeat = "heartbeat"
	VerbComplete  = "complete"
	VerbFail      = "fail"
	VerbRelease   = "release"

	VerbGetDefaultLease = "get_default_lease"
	VerbSetDefaultLease = "set_default_lease"

	VerbRequestInput = "request_input"
	VerbRequestAuth  = "request_auth"

	VerbCreateWebhook     = "create_webhook"
	VerbListWebhooks      = "list_webhooks"
	VerbRotateWebhook     = "rotate_webhook"
	VerbDeleteWebhook     = "delete_webhook"
	VerbListWebhookRules  = "list_webhook_rules"
	VerbSetWebhookRules   = "set_webhook_rules"
	VerbTestWebhookRules  = "test_webhook_rules"
	VerbListWebhookEvents = "list_webhook_events"
	VerbGetWebhookEvent   = "get_webhook_event"
)

// DrainVerbs are granted when nothing else is asked for.
var DrainVerbs = []string{
	VerbListTodos, VerbGetTodo, VerbClaim, VerbClaimNext, VerbHeartbeat, VerbComplete, VerbFail, VerbRelease,
}

// Verbs are all that can be granted. Those beyond the drain verbs are granted only by name.
var Verbs = append(slices.Clone(DrainVerbs), VerbGetDefaultLease, VerbSetDefaultLease,
	VerbRequestInput, VerbRequestAuth,
	VerbCreateWebhook, VerbListWebhooks, VerbRotateWebhook, VerbDeleteWebhook,
	VerbListWebhookRules, VerbSetWebhookRules, VerbTestWebhookRules, VerbListWebhookEvents, VerbGetWebhookEvent)

// Human is an accountable person, identified by the pair of issuer and subject.
type Human struct {
	ID              uuid.UUID
	Issuer, Subject string
	Name            string
}

// Endpoint is what one agent may do: a fixed set of queues and verbs, with defaults for its claims.
type Endpoint struct {
	ID, HumanID, AgentID   uuid.UUID
	Slug                   string
	AgentName              string
	AgentKind              *string
	Queues, Verbs          []string
	DefaultLeaseTTLSeconds *int
	DefaultMaxAttempts     *int
	RequireFence           bool
	CardPublic             bool // everybody may see its A2A agent card
	Webhooks               WebhookCeiling
	CreatedAt              time.Time
	ExpiresAt, RevokedAt   *time.Time
}

// WebhookCeiling bounds the webhooks of an endpoint, whoever makes them (intake.md section 1).
type WebhookCeiling struct {
	Max     int      // how many; 0 allows none
	Sources []string // source types; nil allows every one
	Queues  []string // where they may put todos, among the endpoint's queues; nil allows each of these
}

// AllowsSource reports whether a webhook of a source type may be made.
func (c *WebhookCeiling) AllowsSource(source string) bool {
	return c.Sources == nil || slices.Contains(c.Sources, source)
}

// Routes reports whether a webhook of this endpoint may put todos into a queue.
func (e *Endpoint) Routes(queue string) bool {
	return e.GrantsQueue(queue) && (e.Webhooks.Queues == nil || slices.Contains(e.Webhooks.Queues, queue))
}

// Grants reports whether the endpoint may call verb. list_todos implies get_todo; nothing implies release.
func (e *Endpoint) Grants(verb string) bool {
	return slices.Contains(e.Verbs, verb) ||
		verb == VerbGetTodo && slices.Contains(e.Verbs, VerbListTodos)
}

// GrantsQueue reports whether the endpoint may see the queue.
func (e *Endpoint) GrantsQueue(queue string) bool { return slices.Contains(e.Queues, queue) }

// Matches reports whether ref, a slug or an ep_ id out of a route, names this endpoint.
func (e *Endpoint) Matches(ref string) bool {
	return ref == e.Slug || ref == typeid.Endpoint.Format(e.ID)
}

// Work is what must happen to an endpoint's todos when it is revoked, in the revocation's transaction;
// committed is called after its commit.
type Work interface {
	DeadLetterEndpoint(ctx context.Context, tx pgx.Tx, endpoint uuid.UUID) (committed func(), err error)
}

// Store reads and writes identities.
type Store struct {
	pool *pgxpool.Pool
	work Work
}

// NewStore returns a store over pool.
func NewStore(pool *pgxpool.Pool, work Work) *Store { return &Store{pool: pool, work: work} }
