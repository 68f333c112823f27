package intake

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/routing"
	"github.com/switchboard-otel/switchboard/app/secret"
	"github.com/switchboard-otel/switchboard/app/webhook"
)

// Target is a webhook that somebody delivers to, as its address was resolved.
type Target struct {
	ID     WebhookID
	Source webhook.Source

	endpoint       identity.Endpoint // only its ids and what its webhooks may reach
	targetQueue    string
	rulesVersion   int
	secret         []byte // sealed
	previousSecret []byte // sealed; nil when its time has passed
	now            time.Time
	token          string
	addressIsOld   bool
}

// Delivery is what a producer sent.
type Delivery struct {
	Header   http.Header
	Body     []byte
	SourceIP string
}

// Receipt is what a producer is answered: how its delivery's todo is known, and nothing of the rules.
type Receipt struct {
	Todos    []ReceiptTodo `json:"todos"`
	Created  int           `json:"created"`
	Verified bool          `json:"verified"`
	Trust    webhook.Trust `json:"trust_mode"`
	Dropped  bool          `json:"dropped,omitempty"`

	// Challenge is what Slack wants to hear before it sends events; nothing was stored then.
	Challenge *string `json:"-"`
}

// ReceiptTodo is a todo of a delivery.
type ReceiptTodo struct {
	ID      queue.ID `json:"id"`
	Queue   string   `json:"queue"`
	Created bool     `json:"created"`
}

// Refused is a delivery that is not accepted: nothing of it is stored.
type Refused struct{ Verdict webhook.Verdict }

func (r *Refused) Error() string { return "the delivery is refused: " + string(r.Verdict) }

// Resolve finds the webhook behind an address. An unknown one, one of an endpoint that has ended and one that
// was renewed long enough ago are all ErrWebhookNotFound.
func (s *Store) Resolve(ctx context.Context, token string) (*Target, error) {
	t := Target{token: token}
	err := s.pool.QueryRow(ctx, `
		WITH clock AS MATERIALIZED (SELECT sb_now() AS now)
		SELECT w.id, w.source, w.target_queue, w.rules_version, w.secret,
			CASE WHEN w.previous_secret_until > clock.now THEN w.previous_secret END, w.token_hash <> $1, clock.now,
			e.id, e.human_id, e.queues, e.webhook_queues
		FROM clock, webhooks w JOIN endpoints e ON e.id = w.endpoint_id
		WHERE (w.token_hash = $1 OR w.previous_token_hash = $1 AND w.previous_token_until > clock.now)
		  AND e.revoked_at IS NULL AND (e.expires_at IS NULL OR e.expires_at > clock.now)`, secret.Hash(token)).
		Scan((*uuid.UUID)(&t.ID), &t.Source, &t.targetQueue, &t.rulesVersion, &t.secret, &t.previousSecret, &t.addressIsOld, &t.now,
			&t.endpoint.ID, &t.endpoint.HumanID, &t.endpoint.Queues, &t.endpoint.Webhooks.Queues)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, ErrWebhookNotFound
	}
	return &t, err
}

// keys are what a delivery may be signed with: the secret, and the one before it while both count. It fails where one
// does not open, because the key under which it was sealed was lost, and still returns the secret when that opens: a
// rotation is how one recovers.
func (s *Store) keys(t *Target) (keys [][]byte, err error) {
	for _, sealed := range [][]byte{t.secret, t.previousSecret} {
		if sealed == nil {
			continue
		}
		plain, err := s.sealer.open(t.ID.UUID(), sealed)
		if err != nil {
			return keys, err
		}
		key, ok := t.Source.Key(plain)
		if !ok {
			return keys, errSealed
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// Deliver verifies a delivery, stores it as an event, routes it by its webhook's rules and creates its todo: all
// of it is committed when it returns a receipt, and nothing when it returns an error. The same delivery again
// gets the todo it has.
func (s *Store) Deliver(ctx context.Context, t *Target, d Delivery) (*Receipt, error) {
	keys, unread := s.keys(t)
	if unread != nil && len(keys) == 0 {
		return nil, unread
	}
	verdict, key := t.Source.Verify(d.Header, d.Body, keys, t.now)
	if verdict == webhook.BadSignature && unread != nil {
		return nil, unread // it may be signed with the secret that cannot be read
	}
	if verdict != webhook.Verified {
		s.metrics.Delivery(t.Source, verdict)
		return nil, &Refused{verdict}
	}
	e := newEvent(t, d, key)
	if challenge, ok := t.Source.Challenge(e.document); ok {
		s.metrics.Delivery(t.Source, webhook.Verified)
		return &Receipt{Verified: true, Trust: t.Source.Trust(), Challenge: &challenge}, nil
	}
	if receipt, err := s.seen(ctx, s.pool, t, e.ExternalID); receipt != nil || err != nil {
		return receipt, err
	}
	decision, err := s.decide(ctx, t, e)
	if err != nil {
		return nil, err
	}
	return s.store(ctx, t, e, decision)
}

// receipt is an answer without its todo.
func (t *Target) receipt() *Receipt {
	return &Receipt{Todos: []ReceiptTodo{}, Verified: true, Trust: t.Source.Trust()}
}

type rowQuerier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// seen returns the receipt of a delivery that is stored already, nil when there is none. A todo that a human had
// run again is not the delivery's: the first one is.
func (s *Store) seen(ctx context.Context, on rowQuerier, t *Target, externalID string) (*Receipt, error) {
	r := t.receipt()
	var disposition Disposition
	var todo *uuid.UUID
	var name *string
	err := on.QueryRow(ctx, `
		SELECT v.disposition, t.id, t.queue FROM events v
		LEFT JOIN LATERAL (SELECT o.id, o.queue FROM todos o WHERE o.event_id = v.id ORDER BY o.id LIMIT 1) t ON true
		WHERE v.webhook_id = $1 AND v.external_id = $2`, t.ID.UUID(), externalID).Scan(&disposition, &todo, &name)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if todo != nil {
		r.Todos = append(r.Todos, ReceiptTodo{ID: queue.ID(*todo), Queue: *name})
	}
	r.Dropped = disposition == Dropped
	s.metrics.Delivery(t.Source, webhook.Duplicate)
	return r, nil
}

// store writes the event and its todo. Of two deliveries of the same at once, one waits for the other and finds
// what that has stored.
func (s *Store) store(ctx context.Context, t *Target, e *event, d decision) (*Receipt, error) {
	var created *queue.Todo
	var committed func()
	var before *Receipt
	err := postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		created, committed, before = nil, nil, nil
		inserted, err := e.insert(ctx, tx, t, d)
		if err != nil {
			return err
		}
		if !inserted {
			before, err = s.seen(ctx, tx, t, e.ExternalID)
			return err
		}
		if d.disposition == Dropped {
			return nil
		}
		n, err := e.todo(t, d)
		if err != nil {
			return err
		}
		created, committed, err = s.queue.Create(ctx, tx, n)
		return err
	})
	switch {
	case errors.Is(err, queue.ErrEndpointEnded):
		return nil, ErrWebhookNotFound
	case err != nil:
		return nil, err
	case before != nil:
		return before, nil
	}
	s.metrics.Delivery(t.Source, webhook.Verified)
	s.metrics.Routed(d.counted)
	r := t.receipt()
	r.Dropped = d.disposition == Dropped
	if created != nil {
		committed()
		r.Created = 1
		r.Todos = append(r.Todos, ReceiptTodo{created.ID, created.Queue, true})
	}
	return r, nil
}

// Disposition is what became of an event.
type Disposition string

// The dispositions.
const (
	Routed  Disposition = "routed"  // a todo in one of the endpoint's queues
	Dropped Disposition = "dropped" // a rule wanted no todo
	Faulted Disposition = "faulted" // a rule failed: its todo went into quarantine
)

// decision is what the rules made of an event.
type decision struct {
	disposition Disposition
	queue       string
	workOrder   bool
	trace       routing.Trace
	counted     string
}

// decide runs a webhook's rules. What goes wrong in them is a decision too; an error is the store's.
func (s *Store) decide(ctx context.Context, t *Target, e *event) (decision, error) {
	p, err := s.program(ctx, t.ID.UUID(), t.rulesVersion)
	if err != nil {
		return decision{}, err
	}
	d := t.decisionOf(ctx, p, e.input(t))
	return d, ctx.Err() // a sender that has gone must not leave a fault behind
}

// decisionOf is the decision of one version of the rules. A queue that webhooks of this endpoint may not use was
// refused when the rules were saved, and is a fault here.
func (t *Target) decisionOf(ctx context.Context, p program, in routing.Input) decision {
	if p.err != nil {
		return faulted(routing.Trace{Evaluated: []routing.Evaluated{}}, "the saved rules do not compile on this server; save them again")
	}
	got := p.run.Route(ctx, in)
	trace := got.Trace
	if got.Fault {
		return decision{disposition: Faulted, queue: queue.Quarantine, trace: trace, counted: decidedFault}
	}
	if got.Action.Drop {
		return decision{disposition: Dropped, trace: trace, counted: decidedDrop}
	}
	d := decision{disposition: Routed, queue: got.Action.Queue, trace: trace, counted: decidedQueue}
	if d.queue == "" {
		d.queue = t.targetQueue
		d.trace.Action.Queue = d.queue
	}
	if trace.Stage == routing.StageDefault {
		d.counted = decidedDefault
	}
	if !t.endpoint.Routes(d.queue) {
		return faulted(trace, "its queue is not among those that webhooks of this endpoint may use")
	}
	d.workOrder = got.Action.WorkOrder != nil && *got.Action.WorkOrder
	return d
}

// faulted is the decision where not an expression is to blame.
func faulted(trace routing.Trace, reason string) decision {
	trace.Faults = append(trace.Faults, routing.Fault{RuleID: trace.RuleID, Reason: reason})
	trace.Stage = routing.StageFault
	return decision{disposition: Faulted, queue: queue.Quarantine, trace: trace, counted: decidedFault}
}

// workOrder says why a todo exists. It grants nothing, and nothing that is delivered can set it: all but the
// subject comes from the webhook and its rules.
type workOrder struct {
	Version      int            `json:"version"`
	Lane         string         `json:"lane"`
	Source       webhook.Source `json:"source"`
	WebhookID    WebhookID      `json:"webhook_id"`
	Trust        webhook.Trust  `json:"trust_mode"`
	Verified     bool           `json:"verified"`
	AuthorizedBy authority      `json:"authorized_by"`
	Subject      string         `json:"subject,omitempty"`
}

type authority struct {
	Stage    routing.Stage `json:"stage"`
	RuleID   *string       `json:"rule_id"`
	RuleName *string       `json:"rule_name"`
}

func (t *Target) workOrder(d decision, subject string) (json.RawMessage, error) {
	by := authority{Stage: d.trace.Stage}
	if d.trace.RuleID != "" {
		by.RuleID = &d.trace.RuleID
	}
	if d.trace.RuleName != "" {
		by.RuleName = &d.trace.RuleName
	}
	return json.Marshal(workOrder{1, d.queue, t.Source, t.ID, t.Source.Trust(), true, by, subject})
}
