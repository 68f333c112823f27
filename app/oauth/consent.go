package oauth

import (
	"context"
	"errors"
	"net/url"
	"regexp"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/secret"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// ErrUnknownClient says that a request names no client of this server, or an address that the client did not register.
// Nothing may be sent there, so it is a human who hears of it.
var ErrUnknownClient = errors.New("no such client, or not its address")

// AtClient is an error that a client can hear of itself, at an address that it registered. A human decides whether it
// does: clients register as they like, and a redirect to wherever they like is not to be had for a link.
type AtClient struct {
	Client, Origin, Policy string // as in Consent
	Description            string
	Fields                 url.Values
	Redirect               string
}

func (*AtClient) Error() string { return "the client asked for something that cannot be given" }

// Consent is a request that a human can answer: a client wants to act as one of their endpoints.
type Consent struct {
	Client   string // what the client calls itself
	Origin   string // where the answer goes, as a human reads it
	Policy   string // the same, as a Content-Security-Policy names it
	Endpoint *identity.Endpoint
	Fields   url.Values // what the form sends back: the request itself

	client                     uuid.UUID
	redirect, challenge, state string
}

// challengeForm is the SHA-256 of a verifier in base64url (RFC 7636).
var challengeForm = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// parameters are those of a request that mean something here.
var parameters = []string{"response_type", "client_id", "redirect_uri", "code_challenge", "code_challenge_method", "resource", "state", "scope"}

// Ask reads what a client wants of a human. It fails with ErrUnknownClient, an *AtClient, or a refusal of the
// vocabulary: the endpoint is unknown, which is also what a foreign one is.
func (s *Server) Ask(ctx context.Context, human uuid.UUID, q url.Values) (*Consent, error) {
	c := &Consent{Fields: url.Values{}, redirect: q.Get("redirect_uri"), challenge: q.Get("code_challenge"), state: q.Get("state")}
	for _, name := range parameters {
		if q.Has(name) {
			c.Fields[name] = q[name]
		}
	}
	if err := s.client(ctx, q.Get("client_id"), c); err != nil {
		return nil, err
	}
	c.Origin, c.Policy = origin(c.redirect)
	if r := c.check(q); r != nil {
		return nil, s.atClient(c, r)
	}
	ref, ok := s.endpointOf(q.Get("resource"))
	if !ok {
		return nil, s.atClient(c, errResource)
	}
	var err error
	if c.Endpoint, err = s.Identity.LiveEndpoint(ctx, human, ref); err != nil {
		return nil, err
	}
	return c, nil
}

// client finds the client of a request, and whether the address is its own.
func (s *Server) client(ctx context.Context, id string, c *Consent) (err error) {
	var ok bool
	if c.client, ok = typeid.Client.Parse(id); !ok {
		return ErrUnknownClient
	}
	var registered []string
	err = s.Pool.QueryRow(ctx, `SELECT name, redirect_uris FROM oauth_clients WHERE id = $1`, c.client).Scan(&c.Client, &registered)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !redirectRegistered(registered, c.redirect) {
		return ErrUnknownClient
	}
	return err
}

func (c *Consent) check(q url.Values) *refusal {
	for _, name := range parameters {
		if len(q[name]) > 1 {
			return refused("invalid_request", "a parameter stands there twice")
		}
	}
	switch {
	case q.Get("response_type") != "code":
		return refused("unsupported_response_type", "response_type must be code")
	case q.Get("code_challenge_method") != "S256" || !challengeForm.MatchString(c.challenge):
		return refused("invalid_request", "PKCE is needed: code_challenge with code_challenge_method S256")
	}
	return nil
}

func (s *Server) atClient(c *Consent, r *refusal) *AtClient {
	return &AtClient{Client: c.Client, Origin: c.Origin, Policy: c.Policy, Description: r.Description, Fields: c.Fields,
		Redirect: s.answerAt(c, url.Values{"error": {r.Code}, "error_description": {r.Description}})}
}

// answerAt is the address at which the client gets its answer, with its own state and with who answers.
func (s *Server) answerAt(c *Consent, q url.Values) string {
	if c.state != "" {
		q.Set("state", c.state)
	}
	q.Set("iss", s.BaseURL)
	return addressed(c.redirect, q)
}

// Deny is where a human who says no is sent.
func (s *Server) Deny(c *Consent) string {
	return s.answerAt(c, url.Values{"error": {"access_denied"}, "error_description": {"the human said no"}})
}

// Allow records that the endpoint's human said yes, and returns where they are sent: to the client, with a code that
// works once, for five minutes.
func (s *Server) Allow(ctx context.Context, c *Consent) (redirect string, err error) {
	code := secret.New(secret.Code)
	_, err = s.Pool.Exec(ctx, `
		WITH clock AS MATERIALIZED (SELECT sb_now() AS now),
		approved AS (UPDATE oauth_clients SET approved_at = clock.now FROM clock WHERE id = $2)
		INSERT INTO oauth_grants (id, client_id, human_id, endpoint_id, code_hash, redirect_uri, challenge, code_expires_at, created_at)
		SELECT $1, $2, $3, $4, $5, $6, $7, now + $8, now FROM clock`,
		typeid.New(), c.client, c.Endpoint.HumanID, c.Endpoint.ID, secret.Hash(code), c.redirect, c.challenge, codeLifetime)
	if err != nil {
		return "", err
	}
	return s.answerAt(c, url.Values{"code": {code}}), nil
}
