package identity

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/secret"
	"github.com/switchboard-otel/switchboard/app/typeid"
	"github.com/switchboard-otel/switchboard/app/webhook"
)

// DefaultQueue is granted to an endpoint that names no queue.
const DefaultQueue = "default"

const endpointColumns = `e.id, e.human_id, e.agent_id, e.slug, a.name, a.kind, e.queues, e.verbs,
	e.default_lease_ttl_seconds, e.default_max_attempts, e.require_fence, e.a2a_card_public, e.webhooks_max,
	e.webhook_sources, e.webhook_queues, e.created_at, e.expires_at, e.revoked_at`

func (e *Endpoint) fields() []any {
	return []any{&e.ID, &e.HumanID, &e.AgentID, &e.Slug, &e.AgentName, &e.AgentKind, &e.Queues, &e.Verbs,
		&e.DefaultLeaseTTLSeconds, &e.DefaultMaxAttempts, &e.RequireFence, &e.CardPublic, &e.Webhooks.Max,
		&e.Webhooks.Sources, &e.Webhooks.Queues, &e.CreatedAt, &e.ExpiresAt, &e.RevokedAt}
}

// ResolveCredential finds the endpoint that presents token: its own credential, or the access token of an OAuth client
// that its human allowed it. MCP and the OTLP receiver both come here, on every request: a revocation holds from the
// moment it is committed.
func (s *Store) ResolveCredential(ctx context.Context, token string) (*Endpoint, error) {
	query := resolveCredentialSQL
	switch {
	case strings.HasPrefix(token, string(secret.Access)):
		query = resolveAccessSQL
	case !strings.HasPrefix(token, string(secret.Credential)):
		return nil, ErrUnauthenticated
	}
	var e Endpoint
	err := s.pool.QueryRow(ctx, query, secret.Hash(token)).Scan(e.fields()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, ErrUnauthenticated
	}
	return &e, err
}

const resolveCredentialSQL = `
	WITH clock AS MATERIALIZED (SELECT sb_now() AS now)
	SELECT ` + endpointColumns + `
	FROM clock, credentials c
	JOIN endpoints e ON e.id = c.endpoint_id
	JOIN agents a ON a.id = e.agent_id
	WHERE c.token_hash = $1
	  AND (c.expires_at IS NULL OR c.expires_at > clock.now)
	  AND (e.expires_at IS NULL OR e.expires_at > clock.now)
	  AND e.revoked_at IS NULL`

const resolveAccessSQL = `
	WITH clock AS MATERIALIZED (SELECT sb_now() AS now)
	SELECT ` + endpointColumns + `
	FROM clock, oauth_access_tokens t
	JOIN oauth_grants g ON g.id = t.grant_id
	JOIN endpoints e ON e.id = g.endpoint_id
	JOIN agents a ON a.id = e.agent_id
	WHERE t.token_hash = $1
	  AND t.expires_at > clock.now
	  AND (e.expires_at IS NULL OR e.expires_at > clock.now)
	  AND e.revoked_at IS NULL`

// VendParams describe a new endpoint. Zero values mean: the queue "default", the eight drain verbs, no
// expiry, the server's defaults.
type VendParams struct {
	Name                   string // the agent's, 1 to 128 bytes; the slug is made from it
	Kind                   *string
	Queues, Verbs          []string
	DefaultLeaseTTLSeconds *int // 60 to 86400
	DefaultMaxAttempts     *int // 1 to 1000
	RequireFence           bool
	WebhooksMax            *int           // 0 to 100; absent: 10
	WebhookSources         []string       // nil: every source type
	WebhookQueues          []string       // among Queues; nil: each of them
	ExpiresIn              *time.Duration // at least a minute
}

// defaultWebhooks is how many webhooks an endpoint may have when nothing else is said.
const defaultWebhooks = 10

// Vended is a new endpoint with its credential, which is shown this once.
type Vended struct {
	Endpoint
	Token string
}

func (p *VendParams) normalize() error {
	if len(p.Queues) == 0 {
		p.Queues = []string{DefaultQueue}
	}
	if len(p.Verbs) == 0 {
		p.Verbs = DrainVerbs
	}
	if p.WebhooksMax == nil {
		n := defaultWebhooks
		p.WebhooksMax = &n
	}
	p.Queues, p.Verbs = unique(p.Queues), unique(p.Verbs)
	if p.WebhookSources != nil {
		p.WebhookSources = unique(p.WebhookSources)
	}
	if p.WebhookQueues != nil {
		p.WebhookQueues = unique(p.WebhookQueues)
	}
	switch {
	case !printable(p.Name, 128):
		return fault.InvalidArgument("name", "must be 1 to 128 bytes of printable text")
	case p.Kind != nil && !printable(*p.Kind, 64):
		return fault.InvalidArgument("agent_kind", "must be 1 to 64 bytes of printable text")
	case len(p.Queues) > 64 || slices.ContainsFunc(p.Queues, func(q string) bool { return !ValidQueue(q) }):
		return fault.InvalidArgument("queues", "must be at most 64 names of lower-case letters, digits, '.', '_' or '-', 64 bytes at most; quarantine is reserved")
	case slices.ContainsFunc(p.Verbs, func(v string) bool { return !slices.Contains(Verbs, v) }):
		return fault.InvalidArgument("verbs", "must be among "+strings.Join(Verbs, ", "))
	case *p.WebhooksMax < 0 || *p.WebhooksMax > 100:
		return fault.InvalidArgument("webhooks_max", "must be 0 to 100")
	case slices.ContainsFunc(p.WebhookSources, func(s string) bool { return !webhook.Source(s).Known() }):
		return fault.InvalidArgument("webhook_sources", "must be among github, gitea, stripe, slack, standard, generic")
	case slices.ContainsFunc(p.WebhookQueues, func(q string) bool { return !slices.Contains(p.Queues, q) }):
		return fault.InvalidArgument("webhook_queues", "must be among the endpoint's queues")
	case p.ExpiresIn != nil && (*p.ExpiresIn < time.Minute || *p.ExpiresIn > 100*365*24*time.Hour):
		return fault.InvalidArgument("expires_in_seconds", "must be 60 to 3153600000")
	}
	if err := checkLease(p.DefaultLeaseTTLSeconds); err != nil {
		return err
	}
	return checkMaxAttempts(p.DefaultMaxAttempts)
}

// ValidQueue reports whether name can be a queue that agents see (decisions.md 45).
func ValidQueue(name string) bool {
	if name == "quarantine" || len(name) < 1 || len(name) > 64 {
		return false
	}
	for i, c := range []byte(name) {
		alnum := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		if !alnum && (i == 0 || c != '.' && c != '_' && c != '-') {
			return false
		}
	}
	return true
}

func printable(s string, most int) bool {
	return s != "" && len(s) <= most && utf8.ValidString(s) && strings.TrimSpace(s) != "" &&
		!strings.ContainsFunc(s, unicode.IsControl)
}

func unique(list []string) []string {
	out := make([]string, 0, len(list))
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// Vend makes an agent, its endpoint and its credential, for a human.
func (s *Store) Vend(ctx context.Context, human uuid.UUID, p VendParams) (*Vended, error) {
	if err := p.normalize(); err != nil {
		return nil, err
	}
	v := Vended{Token: secret.New(secret.Credential)}
	var expires *float64
	if p.ExpiresIn != nil {
		seconds := p.ExpiresIn.Seconds()
		expires = &seconds
	}
	// Four random characters can meet a slug that exists; a few tries cannot, in any number of endpoints that
	// one server has.
	for try := 1; ; try++ {
		err := s.pool.QueryRow(ctx, vendSQL, typeid.New(), human, p.Name, p.Kind, typeid.New(), newSlug(p.Name), p.Queues, p.Verbs,
			p.DefaultLeaseTTLSeconds, p.DefaultMaxAttempts, p.RequireFence, expires, secret.Hash(v.Token),
			*p.WebhooksMax, p.WebhookSources, p.WebhookQueues).Scan(v.fields()...)
		if !slugTaken(err) || try == 5 {
			return &v, err
		}
	}
}

const vendSQL = `
	WITH clock AS MATERIALIZED (SELECT sb_now() AS now),
	a AS (
		INSERT INTO agents (id, human_id, name, kind, created_at)
		SELECT $1, $2, $3, $4, now FROM clock RETURNING id, name, kind
	), e AS (
		INSERT INTO endpoints (id, human_id, agent_id, slug, queues, verbs, default_lease_ttl_seconds,
			default_max_attempts, require_fence, created_at, expires_at, webhooks_max, webhook_sources, webhook_queues)
		SELECT $5, $2, a.id, $6, $7, $8, $9, $10, $11, now, now + make_interval(secs => $12), $14, $15, $16
		FROM a, clock RETURNING *
	), c AS (
		INSERT INTO credentials (token_hash, endpoint_id, created_at)
		SELECT $13, e.id, now FROM e, clock
	)
	SELECT ` + endpointColumns + ` FROM e, a`

func slugTaken(err error) bool {
	var violated *pgconn.PgError
	return errors.As(err, &violated) && violated.ConstraintName == "endpoints_slug_key"
}

// newSlug makes a public name out of an agent's: what is left of its letters, and four random characters
// that tell endpoints of one name apart.
func newSlug(name string) string {
	const random = "abcdefghjkmnpqrstvwxyz23456789"
	var b strings.Builder
	for _, c := range strings.ToLower(name) {
		switch {
		case b.Len() >= 40:
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			b.WriteRune(c)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	base := strings.TrimRight(b.String(), "-")
	if base == "" {
		base = "agent"
	}
	var tail [4]byte
	_, _ = rand.Read(tail[:])
	for i := range tail {
		tail[i] = random[int(tail[i])%len(random)]
	}
	return base + "-" + string(tail[:])
}

// Endpoints lists a human's endpoints, revoked ones included, newest first.
func (s *Store) Endpoints(ctx context.Context, human uuid.UUID) ([]Endpoint, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT `+endpointColumns+` FROM endpoints e JOIN agents a ON a.id = e.agent_id
		WHERE e.human_id = $1 ORDER BY e.id DESC`, human)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (e Endpoint, err error) {
		return e, row.Scan(e.fields()...)
	})
}

// Endpoint finds one of a human's endpoints by slug or ep_ id; a foreign one is unknown.
func (s *Store) Endpoint(ctx context.Context, human uuid.UUID, ref string) (*Endpoint, error) {
	id, slug := splitRef(ref)
	return scanEndpoint(s.pool.QueryRow(ctx, `
		SELECT `+endpointColumns+` FROM endpoints e JOIN agents a ON a.id = e.agent_id
		WHERE e.human_id = $1 AND (e.id = $2 OR e.slug = $3)`, human, id, slug))
}

// splitRef reads a reference as an id or as a slug; the other stays null and matches nothing.
func splitRef(ref string) (id *uuid.UUID, slug *string) {
	if u, ok := typeid.Endpoint.Parse(ref); ok {
		return &u, nil
	}
	if !utf8.ValidString(ref) || strings.ContainsRune(ref, 0) {
		return nil, nil
	}
	return nil, &ref
}

// Revoke ends an endpoint at once: its credentials stop working and its live todos are dead-lettered, their
// open attempts closed as revoked, in one transaction. Revoking again changes nothing.
func (s *Store) Revoke(ctx context.Context, human uuid.UUID, ref string) (*Endpoint, error) {
	id, slug := splitRef(ref)
	return s.revoke(ctx, `e.human_id = $1 AND (e.id = $2 OR e.slug = $3)`, human, id, slug)
}

func (s *Store) revoke(ctx context.Context, which string, args ...any) (e *Endpoint, err error) {
	var committed func()
	err = postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		e, err = scanEndpoint(tx.QueryRow(ctx, `
			WITH clock AS MATERIALIZED (SELECT sb_now() AS now),
			e AS (
				UPDATE endpoints e SET revoked_at = coalesce(e.revoked_at, clock.now) FROM clock
				WHERE `+which+` RETURNING e.*
			)
			SELECT `+endpointColumns+` FROM e JOIN agents a ON a.id = e.agent_id`, args...))
		if err != nil {
			return err
		}
		committed, err = s.work.DeadLetterEndpoint(ctx, tx, e.ID)
		return err
	})
	if err != nil {
		return nil, err
	}
	committed()
	return e, nil
}
