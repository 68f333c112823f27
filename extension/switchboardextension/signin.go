package switchboardextension

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/config/configopaque"

	"github.com/switchboard-otel/switchboard/app/oauth"
	"github.com/switchboard-otel/switchboard/app/signin"
)

// The modes in which somebody may become a human by signing in for the first time.
const (
	enrollOpen      = "open"
	enrollAllowlist = "allowlist"
)

// SignIn names the identity providers, and who may become a human through them.
type SignIn struct {
	// Enrollment is allowlist, or open: whomever a provider knows. Open is refused unless local_login is on, so that only
	// this machine can be reached (SWITCHBOARD_ENROLLMENT, allowlist).
	Enrollment string `mapstructure:"enrollment"`
	// Allow lists verified e-mail addresses, ann@example.com, and whole domains, @example.com. It counts at the first
	// sign-in (SWITCHBOARD_ALLOWLIST, separated by commas).
	Allow  []string `mapstructure:"allow"`
	OIDC   OIDC     `mapstructure:"oidc"`
	GitHub GitHub   `mapstructure:"github"`
}

// OIDC is a provider of OpenID Connect. It must know <base_url>/login/with/oidc/callback as a redirect address.
type OIDC struct {
	Issuer       string              `mapstructure:"issuer"`        // SWITCHBOARD_OIDC_ISSUER
	ClientID     string              `mapstructure:"client_id"`     // SWITCHBOARD_OIDC_CLIENT_ID
	ClientSecret configopaque.String `mapstructure:"client_secret"` // empty for a public client (SWITCHBOARD_OIDC_CLIENT_SECRET)
	Name         string              `mapstructure:"name"`          // on the sign-in page; the issuer's host when empty
}

// GitHub is an OAuth app. Its callback address is <base_url>/login/with/github/callback.
type GitHub struct {
	ClientID     string              `mapstructure:"client_id"`     // SWITCHBOARD_GITHUB_CLIENT_ID
	ClientSecret configopaque.String `mapstructure:"client_secret"` // SWITCHBOARD_GITHUB_CLIENT_SECRET
	URL          string              `mapstructure:"url"`           // of a GitHub Enterprise server; github.com when empty
}

func defaultSignIn() SignIn {
	return SignIn{
		Enrollment: env("SWITCHBOARD_ENROLLMENT", enrollAllowlist),
		Allow:      listed(os.Getenv("SWITCHBOARD_ALLOWLIST")),
		OIDC: OIDC{Issuer: os.Getenv("SWITCHBOARD_OIDC_ISSUER"), ClientID: os.Getenv("SWITCHBOARD_OIDC_CLIENT_ID"),
			ClientSecret: configopaque.String(os.Getenv("SWITCHBOARD_OIDC_CLIENT_SECRET"))},
		GitHub: GitHub{ClientID: os.Getenv("SWITCHBOARD_GITHUB_CLIENT_ID"),
			ClientSecret: configopaque.String(os.Getenv("SWITCHBOARD_GITHUB_CLIENT_SECRET"))},
	}
}

func listed(text string) []string {
	var list []string
	for entry := range strings.SplitSeq(text, ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			list = append(list, entry)
		}
	}
	return list
}

// Validate checks what can be known before a provider is asked.
func (c *SignIn) Validate() error {
	if !slices.Contains([]string{enrollOpen, enrollAllowlist}, c.Enrollment) {
		return errors.New("enrollment (SWITCHBOARD_ENROLLMENT) must be open or allowlist")
	}
	if err := c.enrollment().Validate(); err != nil {
		return fmt.Errorf("allow (SWITCHBOARD_ALLOWLIST) %w", err)
	}
	if (c.OIDC.Issuer == "") != (c.OIDC.ClientID == "") {
		return errors.New("oidc needs both issuer and client_id (SWITCHBOARD_OIDC_ISSUER, SWITCHBOARD_OIDC_CLIENT_ID)")
	}
	if c.OIDC.Issuer != "" && !confidential(c.OIDC.Issuer) {
		return errors.New("oidc issuer (SWITCHBOARD_OIDC_ISSUER) must be an https address without a query; http on loopback only")
	}
	if (c.GitHub.ClientID == "") != (c.GitHub.ClientSecret == "") {
		return errors.New("github needs both client_id and client_secret (SWITCHBOARD_GITHUB_CLIENT_ID, SWITCHBOARD_GITHUB_CLIENT_SECRET)")
	}
	if c.GitHub.URL != "" && !confidential(c.GitHub.URL) {
		return errors.New("github url must be the https address of a GitHub Enterprise server; http on loopback only")
	}
	return nil
}

// confidential reports whether nobody on the way can read what is said to an address.
func confidential(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == "" &&
		(u.Scheme == "https" || u.Scheme == "http" && loopback(u.Hostname()))
}

func (c *SignIn) enrollment() signin.Enrollment {
	return signin.Enrollment{Open: c.Enrollment == enrollOpen, Allow: c.Allow}
}

// newSignIn returns the ways in at identity providers. There may be none.
func (s *switchboard) newSignIn() *signin.Service {
	c := &s.cfg.SignIn
	return signin.New(signin.Config{
		Pool: s.db.Verbs, Identity: s.identity, BaseURL: s.cfg.baseURL(), Enroll: c.enrollment(), Log: s.log,
		OIDC:   signin.OIDC{Issuer: c.OIDC.Issuer, ClientID: c.OIDC.ClientID, ClientSecret: string(c.OIDC.ClientSecret), Name: c.OIDC.Name},
		GitHub: signin.GitHub{ClientID: c.GitHub.ClientID, ClientSecret: string(c.GitHub.ClientSecret), URL: c.GitHub.URL},
	})
}

func (s *switchboard) newOAuth() *oauth.Server {
	return oauth.New(oauth.Config{
		Pool: s.db.Verbs, Identity: s.identity, BaseURL: s.cfg.baseURL(), Log: s.log,
		PreAuth: s.preAuth, Registrations: s.registrations, ClientAddress: s.ClientAddress,
	})
}

// authorizationServers name who gives tokens for MCP: this server, where it has the pages on which a human says yes.
func (s *switchboard) authorizationServers() []string {
	if !s.cfg.Features.Board.On() {
		return nil
	}
	return []string{s.cfg.baseURL()}
}
