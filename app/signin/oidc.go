package signin

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

const oidcID = "oidc"

// skew is how far a provider's clock may be behind ours before its fresh tokens count as expired.
const skew = time.Minute

// OIDC names a provider of OpenID Connect and what this server is to it. The provider must know the address
// <base URL>/login/with/oidc/callback.
type OIDC struct {
	Issuer       string
	ClientID     string
	ClientSecret string // empty: a public client, which PKCE protects
	Name         string // on the sign-in page; empty: the issuer's host
}

type oidcProvider struct {
	cfg     OIDC
	address string // where people come back to
	client  *http.Client

	mu    sync.Mutex
	known *discovered
}

// discovered is what the provider says of itself. Keys are fetched when they are needed, and again when a token is
// signed by one that is new.
type discovered struct {
	*oidc.Provider
	oauth       oauth2.Config
	verifier    *oidc.IDTokenVerifier
	issRequired bool // it promises to name itself in every answer (RFC 9207)
}

func newOIDC(c OIDC, address string, client *http.Client) *oidcProvider {
	return &oidcProvider{cfg: c, address: address, client: client}
}

func (p *oidcProvider) choice() Choice {
	name := p.cfg.Name
	if u, err := url.Parse(p.cfg.Issuer); err == nil {
		name = cmp.Or(name, u.Host)
	}
	return Choice{oidcID, name}
}

// discover asks the provider for its addresses, once it answers.
func (p *oidcProvider) discover(ctx context.Context) (*discovered, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known != nil {
		return p.known, nil
	}
	// The provider keeps the client of this context, and nothing else of it.
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, p.client), p.cfg.Issuer)
	if err != nil {
		return nil, &faulty{"reading the provider's configuration", reason(err)}
	}
	var more struct {
		IssRequired bool `json:"authorization_response_iss_parameter_supported"`
	}
	if err := provider.Claims(&more); err != nil {
		return nil, &faulty{"reading the provider's configuration", "it is not the JSON that it should be"}
	}
	p.known = &discovered{
		Provider: provider,
		oauth: oauth2.Config{ClientID: p.cfg.ClientID, ClientSecret: p.cfg.ClientSecret, Endpoint: provider.Endpoint(),
			RedirectURL: p.address, Scopes: []string{oidc.ScopeOpenID, "profile", "email"}},
		verifier: provider.Verifier(&oidc.Config{ClientID: p.cfg.ClientID,
			Now: func() time.Time { return time.Now().Add(-skew) }}),
		issRequired: more.IssRequired,
	}
	return p.known, nil
}

func (p *oidcProvider) leave(ctx context.Context, f flow) (string, error) {
	d, err := p.discover(ctx)
	if err != nil {
		return "", err
	}
	return d.oauth.AuthCodeURL(f.state, oidc.Nonce(f.nonce), oauth2.S256ChallengeOption(f.verifier)), nil
}

// claims are those of an id token, or of the user info, that matter here.
type claims struct {
	Subject         string `json:"sub"`
	AuthorizedParty string `json:"azp"`
	Name            string `json:"name"`
	Username        string `json:"preferred_username"`
	Email           string `json:"email"`
	EmailVerified   truth  `json:"email_verified"`
}

// truth reads a boolean; some providers send it as a string.
type truth bool

func (t *truth) UnmarshalJSON(b []byte) error {
	*t = string(b) == "true" || string(b) == `"true"`
	return nil
}

func (p *oidcProvider) arrive(ctx context.Context, f flow, answer url.Values) (*person, error) {
	d, err := p.discover(ctx)
	if err != nil {
		return nil, err
	}
	if iss := answer.Get("iss"); iss != p.cfg.Issuer && (iss != "" || d.issRequired) {
		return nil, &faulty{"reading the provider's answer", "another provider sent it"}
	}
	ctx = oidc.ClientContext(ctx, p.client)
	token, err := d.oauth.Exchange(ctx, answer.Get("code"), oauth2.VerifierOption(f.verifier))
	if err != nil {
		return nil, &faulty{"exchanging the code", reason(err)}
	}
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return nil, &faulty{"exchanging the code", "there is no id token"}
	}
	id, err := d.verifier.Verify(ctx, raw)
	if err != nil {
		return nil, &faulty{"checking the id token", tokenReason(err)}
	}
	if id.Nonce != f.nonce {
		return nil, &faulty{"checking the id token", "it was made for another sign-in"}
	}
	var c claims
	if err := id.Claims(&c); err != nil {
		return nil, &faulty{"checking the id token", "its claims cannot be read"}
	}
	// Who is one of several audiences must be the one that it was issued to (OpenID Connect Core 3.1.3.7).
	if c.AuthorizedParty != p.cfg.ClientID && (c.AuthorizedParty != "" || len(id.Audience) > 1) {
		return nil, &faulty{"checking the id token", "it was issued to another client"}
	}
	if c.Email == "" && d.UserInfoEndpoint() != "" {
		if err := d.ask(ctx, token, &c); err != nil {
			return nil, err
		}
	}
	return c.person(p.cfg.Issuer)
}

// ask completes claims from the user info: many providers keep the id token short.
func (d *discovered) ask(ctx context.Context, token *oauth2.Token, c *claims) error {
	info, err := d.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return &faulty{"asking for the user info", reason(err)}
	}
	if info.Subject != c.Subject {
		return &faulty{"asking for the user info", "it is about somebody else"}
	}
	var more claims
	if err := info.Claims(&more); err != nil {
		return &faulty{"asking for the user info", "its claims cannot be read"}
	}
	c.Name, c.Username = cmp.Or(c.Name, more.Name), cmp.Or(c.Username, more.Username)
	c.Email, c.EmailVerified = more.Email, more.EmailVerified
	return nil
}

func (c *claims) person(issuer string) (*person, error) {
	if c.Subject == "" || len(c.Subject) > 255 || !printable(c.Subject) {
		return nil, &faulty{"checking the id token", "its subject is not 1 to 255 printable ASCII characters"}
	}
	who := &person{issuer: issuer, subject: c.Subject, name: cmp.Or(c.Name, c.Username, c.Email)}
	if c.EmailVerified {
		who.email = c.Email
	}
	return who, nil
}

// printable reports whether s is what OpenID Connect Core section 2 lets a subject be.
func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// reason says why a provider could not be asked, without anything of its answer's body.
func reason(err error) string {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) {
		if slices.Contains(oauthErrors, refused.ErrorCode) {
			return refused.ErrorCode
		}
		return "it answered " + http.StatusText(refused.Response.StatusCode)
	}
	var request *url.Error
	if errors.As(err, &request) {
		return request.Err.Error()
	}
	if strings.Contains(err.Error(), "issuer did not match") || strings.Contains(err.Error(), "issuer URL provided to client") {
		return "it calls itself by another issuer than the configured one"
	}
	return "it did not answer as OpenID Connect has it"
}

// oauthErrors are those of RFC 6749 section 5.2.
var oauthErrors = []string{"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type", "invalid_scope"}

// tokenReason says what is wrong with an id token, without anything of it.
func tokenReason(err error) string {
	var expired *oidc.TokenExpiredError
	if errors.As(err, &expired) {
		return "it has expired: compare the clocks of the two servers"
	}
	for _, known := range [][2]string{
		{"id token issued by a different provider", "another issuer made it"},
		{"expected audience", "it is for another client"},
		{"before the nbf", "it is not valid yet: compare the clocks of the two servers"},
		{"fetching keys", "the provider's keys cannot be read"},
		{"signature", "its signature is not the provider's"},
		{"unsupported algorithm", "it is signed in a way that the provider does not announce"},
	} {
		if strings.Contains(err.Error(), known[0]) {
			return known[1]
		}
	}
	return "it is no valid id token"
}
