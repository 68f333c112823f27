package api

import (
	"encoding/json"
	"time"

	"github.com/switchboard-otel/switchboard/app/arguments"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// endpointBody is an endpoint as its human sees it.
type endpointBody struct {
	Slug                   string     `json:"slug"`
	ID                     string     `json:"id"`
	Agent                  string     `json:"agent"`
	AgentKind              *string    `json:"agent_kind"`
	Queues                 []string   `json:"queues"`
	Verbs                  []string   `json:"verbs"`
	DefaultLeaseTTLSeconds *int       `json:"default_lease_ttl_seconds"`
	DefaultMaxAttempts     *int       `json:"default_max_attempts"`
	RequireFence           bool       `json:"require_fence"`
	AgentCardPublic        bool       `json:"agent_card_public"`
	WebhooksMax            int        `json:"webhooks_max"`
	WebhookSources         []string   `json:"webhook_sources"`
	WebhookQueues          []string   `json:"webhook_queues"`
	MCPURL                 string     `json:"mcp_url"`
	OTLPURL                string     `json:"otlp_url"`
	CreatedAt              time.Time  `json:"created_at"`
	ExpiresAt              *time.Time `json:"expires_at"`
	RevokedAt              *time.Time `json:"revoked_at"`
}

// vendedBody adds what is shown once.
type vendedBody struct {
	endpointBody
	Token   string          `json:"token"`
	MCPJSON json.RawMessage `json:"mcp_json"`
}

func (s *server) endpointBody(e *identity.Endpoint) endpointBody {
	return endpointBody{
		Slug:                   e.Slug,
		ID:                     typeid.Endpoint.Format(e.ID),
		Agent:                  e.AgentName,
		AgentKind:              e.AgentKind,
		Queues:                 e.Queues,
		Verbs:                  e.Verbs,
		DefaultLeaseTTLSeconds: e.DefaultLeaseTTLSeconds,
		DefaultMaxAttempts:     e.DefaultMaxAttempts,
		RequireFence:           e.RequireFence,
		AgentCardPublic:        e.CardPublic,
		WebhooksMax:            e.Webhooks.Max,
		WebhookSources:         e.Webhooks.Sources,
		WebhookQueues:          e.Webhooks.Queues,
		MCPURL:                 s.BaseURL + "/mcp/" + e.Slug,
		OTLPURL:                s.BaseURL + "/otlp/" + e.Slug,
		CreatedAt:              e.CreatedAt.UTC(),
		ExpiresAt:              utc(e.ExpiresAt),
		RevokedAt:              utc(e.RevokedAt),
	}
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}

func (s *server) vendEndpoint(c *call) (*answer, error) {
	in := bodyOf(c.Request)
	p := identity.VendParams{
		Name:                   orEmpty(in.Exact("name")),
		Kind:                   in.Word("agent_kind"),
		Queues:                 in.Texts("queues"),
		Verbs:                  in.Texts("verbs"),
		DefaultLeaseTTLSeconds: in.Whole("default_lease_ttl_seconds"),
		DefaultMaxAttempts:     in.Whole("default_max_attempts"),
		WebhooksMax:            in.Whole("webhooks_max"),
		WebhookSources:         in.Texts("webhook_sources"),
		WebhookQueues:          in.Texts("webhook_queues"),
	}
	if fence := in.Bool("require_fence"); fence != nil {
		p.RequireFence = *fence
	}
	if seconds := in.Whole("expires_in_seconds"); seconds != nil {
		d := time.Duration(*seconds) * time.Second
		p.ExpiresIn = &d
	}
	if in.Err() != nil {
		return nil, in.Err()
	}
	vended, err := s.Identity.Vend(c.Context(), c.human.ID, p)
	if err != nil {
		return nil, err
	}
	return s.shownOnce(vended)
}

// shownOnce answers with an endpoint's new credential.
func (s *server) shownOnce(vended *identity.Vended) (*answer, error) {
	body := vendedBody{endpointBody: s.endpointBody(&vended.Endpoint), Token: vended.Token}
	var err error
	if body.MCPJSON, err = mcpJSON(body.MCPURL, vended.Token); err != nil {
		return nil, err
	}
	return created(body)
}

// mcpJSON is the block that MCP clients with a JSON file take as it is.
func mcpJSON(url, token string) (json.RawMessage, error) {
	type server struct {
		Type    string            `json:"type"`
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
	}
	return json.Marshal(map[string]map[string]server{"mcpServers": {
		"switchboard": {Type: "http", URL: url, Headers: map[string]string{"Authorization": "Bearer " + token}},
	}})
}

func (s *server) listEndpoints(c *call) (*answer, error) {
	endpoints, err := s.Identity.Endpoints(c.Context(), c.human.ID)
	if err != nil {
		return nil, err
	}
	list := make([]endpointBody, len(endpoints))
	for i := range endpoints {
		list[i] = s.endpointBody(&endpoints[i])
	}
	return ok(map[string]any{"endpoints": list})
}

// editEndpoint changes an endpoint's defaults. Here null is no absence: it returns to the server's default.
func (s *server) editEndpoint(c *call) (*answer, error) {
	in := bodyOf(c.Request)
	edit := identity.DefaultsEdit{
		LeaseTTLSeconds: changeOf(in, "default_lease_ttl_seconds"),
		MaxAttempts:     changeOf(in, "default_max_attempts"),
		RequireFence:    in.Bool("require_fence"),
		CardPublic:      in.Bool("agent_card_public"),
	}
	if in.Err() != nil {
		return nil, in.Err()
	}
	endpoint, err := s.Identity.EditDefaults(c.Context(), c.human.ID, c.PathValue("ref"), edit)
	if err != nil {
		return nil, err
	}
	return ok(s.endpointBody(endpoint))
}

func changeOf(in *arguments.Arguments, name string) identity.Change[int] {
	n := in.Whole(name)
	return identity.Change[int]{Set: n != nil || in.IsNull(name), Value: n}
}

// rotateCredential gives an endpoint a new credential and ends the earlier ones, at once or after an overlap.
func (s *server) rotateCredential(c *call) (*answer, error) {
	in := bodyOf(c.Request)
	var overlap time.Duration
	if seconds := in.Whole("overlap_seconds"); seconds != nil {
		overlap = time.Duration(*seconds) * time.Second
	}
	if in.Err() != nil {
		return nil, in.Err()
	}
	vended, err := s.Identity.Rotate(c.Context(), c.human.ID, c.PathValue("ref"), overlap)
	if err != nil {
		return nil, err
	}
	return s.shownOnce(vended)
}

func (s *server) revokeEndpoint(c *call) (*answer, error) {
	endpoint, err := s.Identity.Revoke(c.Context(), c.human.ID, c.PathValue("ref"))
	if err != nil {
		return nil, err
	}
	return ok(s.endpointBody(endpoint))
}
