package intake

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/routing"
)

// dryRunEvents is how many of the latest deliveries rules are tried on before they are saved.
const dryRunEvents = 20

// Rules are a webhook's rules as they stand.
type Rules struct {
	WebhookID   WebhookID       `json:"webhook_id"`
	Version     int             `json:"version"` // grows by one with each save
	TargetQueue string          `json:"target_queue"`
	Rules       []routing.Rule  `json:"rules"`
	Default     *routing.Action `json:"default"` // null: the target queue
	Params      json.RawMessage `json:"params"`
}

// RuleChange is a new set of rules. Rules and Default replace what is there; Params are kept unless ChangeParams.
type RuleChange struct {
	Rules        []routing.Rule
	Default      *routing.Action
	Params       json.RawMessage // nil clears them
	ChangeParams bool
}

// strictly refuses members that mean nothing: a misspelt one would make a rule do something else than it says.
func strictly(text json.RawMessage, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// target reads a webhook of a scope as its deliveries would find it.
func (s *Store) target(ctx context.Context, in Scope, id uuid.UUID) (*Target, error) {
	var t Target
	err := s.pool.QueryRow(ctx, `
		SELECT w.id, w.source, w.target_queue, w.rules_version, e.id, e.human_id, e.queues, e.webhook_queues
		FROM webhooks w JOIN endpoints e ON e.id = w.endpoint_id
		WHERE `+inScope+` AND w.id = $3`, in.human, in.endpoint, id).
		Scan((*uuid.UUID)(&t.ID), &t.Source, &t.targetQueue, &t.rulesVersion,
			&t.endpoint.ID, &t.endpoint.HumanID, &t.endpoint.Queues, &t.endpoint.Webhooks.Queues)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, ErrWebhookNotFound
	}
	return &t, err
}

// Rules returns a webhook's rules.
func (s *Store) Rules(ctx context.Context, in Scope, id uuid.UUID) (*Rules, error) {
	t, err := s.target(ctx, in, id)
	if err != nil {
		return nil, err
	}
	return s.rules(ctx, t)
}

func (s *Store) rules(ctx context.Context, t *Target) (*Rules, error) {
	set, version, err := s.ruleSet(ctx, t.ID.UUID())
	if err != nil {
		return nil, err
	}
	r := Rules{WebhookID: t.ID, Version: version, TargetQueue: t.targetQueue, Rules: set.Rules, Default: set.Default, Params: set.Params}
	if r.Rules == nil {
		r.Rules = []routing.Rule{}
	}
	return &r, nil
}

// SetRules saves a webhook's rules: they compile, they name only queues that webhooks of the endpoint may use,
// and none of the latest deliveries makes them fail.
func (s *Store) SetRules(ctx context.Context, in Scope, id uuid.UUID, change RuleChange) (*Rules, error) {
	t, err := s.target(ctx, in, id)
	if err != nil {
		return nil, err
	}
	set, err := s.changed(ctx, t, change)
	if err != nil {
		return nil, err
	}
	p, err := t.compile(set)
	if err != nil {
		return nil, err
	}
	if err := s.dryRun(ctx, in, t, p); err != nil {
		return nil, err
	}
	if err := s.save(ctx, in, id, set, change.ChangeParams); err != nil {
		return nil, err
	}
	return s.rules(ctx, t)
}

// changed is the set that a change leads to.
func (s *Store) changed(ctx context.Context, t *Target, change RuleChange) (routing.Set, error) {
	set := routing.Set{Rules: change.Rules, Default: change.Default, Params: change.Params}
	if change.ChangeParams {
		return set, nil
	}
	now, _, err := s.ruleSet(ctx, t.ID.UUID())
	set.Params = now.Params
	return set, err
}

// compile checks a set for this webhook.
func (t *Target) compile(set routing.Set) (program, error) {
	run, err := routing.Compile(set)
	if err != nil {
		return program{}, err
	}
	for i, rule := range set.Rules {
		if !t.reaches(rule.Action) {
			return program{}, fault.New(fault.Forbidden, fmt.Sprintf("rules[%d] (%s): its queue is not among those that webhooks of this endpoint may use", i, rule.ID))
		}
	}
	if set.Default != nil && !t.reaches(*set.Default) {
		return program{}, fault.New(fault.Forbidden, "default: its queue is not among those that webhooks of this endpoint may use")
	}
	return program{run: run}, nil
}

func (t *Target) reaches(a routing.Action) bool {
	return a.Queue == "" || t.endpoint.Routes(a.Queue)
}

// dryRun tries rules on the latest deliveries.
func (s *Store) dryRun(ctx context.Context, in Scope, t *Target, p program) error {
	ids, err := s.latest(ctx, in, t.ID.UUID(), dryRunEvents)
	if err != nil {
		return err
	}
	for _, id := range ids {
		// One at a time: their payloads together could be large.
		event, err := s.Event(ctx, in, id)
		if errors.Is(err, ErrEventNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		d := t.decisionOf(ctx, p, event.input())
		if err := ctx.Err(); err != nil {
			return err
		}
		if d.disposition == Faulted {
			f := d.trace.Faults[0]
			return fault.New(fault.Invalid, fmt.Sprintf("rule %s fails on the delivery %s: %s", f.RuleID, event.ID, f.Reason))
		}
	}
	return nil
}

const saveRulesSQL = `
	WITH clock AS MATERIALIZED (SELECT sb_now() AS now)
	INSERT INTO webhook_rules AS r (webhook_id, rules, fallback, params, saved_at)
	SELECT $1, $2, $3, $4, now FROM clock
	ON CONFLICT (webhook_id) DO UPDATE SET rules = EXCLUDED.rules, fallback = EXCLUDED.fallback,
		params = CASE WHEN $5 THEN EXCLUDED.params ELSE r.params END, saved_at = EXCLUDED.saved_at`

func (s *Store) save(ctx context.Context, in Scope, id uuid.UUID, set routing.Set, changeParams bool) error {
	rules, err := json.Marshal(set.Rules)
	if err != nil {
		return err
	}
	var fallback, params *string
	if set.Default != nil {
		text, err := json.Marshal(set.Default)
		if err != nil {
			return err
		}
		fallback = textOf(text)
	}
	if set.Params != nil {
		params = textOf(set.Params)
	}
	if set.Rules == nil {
		rules = []byte("[]")
	}
	return postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			UPDATE webhooks w SET rules_version = w.rules_version + 1 WHERE `+inScope+` AND w.id = $3`, in.human, in.endpoint, id)
		if err == nil && tag.RowsAffected() == 0 {
			err = ErrWebhookNotFound
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, saveRulesSQL, id, string(rules), fallback, params, changeParams)
		return err
	})
}

func textOf(doc []byte) *string {
	text := string(doc)
	return &text
}
