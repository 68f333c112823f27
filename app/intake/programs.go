package intake

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/routing"
)

// maxPrograms bounds how many compiled rule sets a process keeps. A hostile set compiles to about 1 MiB.
const maxPrograms = 48

// programs are compiled rule sets: rules are compiled once for each time they are saved, not for each delivery.
type programs struct {
	byWebhook *lru.Cache[uuid.UUID, program]
}

// program is one version of a webhook's rules. err is why they do not compile any more, which an upgrade of this
// server can bring about: a delivery is then routed into quarantine.
type program struct {
	version int
	run     *routing.Program
	err     error
}

func newPrograms() *programs {
	cache, err := lru.New[uuid.UUID, program](maxPrograms)
	if err != nil {
		panic(err) // only a size below 1 is refused
	}
	return &programs{cache}
}

// program returns the rules of a webhook in the version it has now.
func (s *Store) program(ctx context.Context, id uuid.UUID, version int) (program, error) {
	if p, ok := s.programs.byWebhook.Get(id); ok && p.version == version {
		return p, nil
	}
	set, version, err := s.ruleSet(ctx, id)
	if err != nil {
		return program{}, err
	}
	p := program{version: version}
	p.run, p.err = routing.Compile(set)
	s.programs.byWebhook.Add(id, p)
	return p, nil
}

// ruleSet reads rules with the version they have in the same snapshot. A webhook without a row has none.
func (s *Store) ruleSet(ctx context.Context, id uuid.UUID) (set routing.Set, version int, err error) {
	var rules, fallback, params json.RawMessage
	err = s.pool.QueryRow(ctx, `
		SELECT w.rules_version, r.rules, r.fallback, r.params
		FROM webhooks w LEFT JOIN webhook_rules r ON r.webhook_id = w.id WHERE w.id = $1`, id).
		Scan(&version, &rules, &fallback, &params)
	if errors.Is(err, pgx.ErrNoRows) {
		return set, 0, ErrWebhookNotFound
	}
	if err != nil {
		return set, 0, err
	}
	set, err = setOf(rules, fallback, params)
	return set, version, err
}

func setOf(rules, fallback, params json.RawMessage) (set routing.Set, err error) {
	set.Params = params
	if rules != nil {
		err = json.Unmarshal(rules, &set.Rules)
	}
	if err == nil && fallback != nil {
		err = json.Unmarshal(fallback, &set.Default)
	}
	return set, err
}
