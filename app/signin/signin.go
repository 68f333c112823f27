// Package signin lets people in by what an identity provider vouches for: an OpenID Connect provider, or GitHub. A
// human is a pair of issuer and subject; everything else that a provider says of them may change (protocols.md
// section 1).
package signin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/identity"
)

// The ways in which a sign-in ends without a human. None of them says more, because none is the provider's word.
var (
	// ErrUnknownProvider says that no such provider is configured.
	ErrUnknownProvider = errors.New("no such identity provider is configured")
	// ErrStale says that what came back belongs to no sign-in that this browser began here in the last ten minutes, or
	// that it came a second time.
	ErrStale = errors.New("this sign-in was not begun in this browser, or is over")
	// ErrDeclined says that the provider, or the human there, said no.
	ErrDeclined = errors.New("the identity provider let nobody in")
	// ErrUnverified says that the provider vouches for no e-mail address, and that one is needed.
	ErrUnverified = errors.New("the identity provider vouches for no e-mail address")
	// ErrNotEnrolled says that somebody is new and that nothing lets them become a human here.
	ErrNotEnrolled = errors.New("this account is not on the list of those who may sign in")
	// ErrProvider says that the provider does not answer, or not as its protocol has it. The log says what.
	ErrProvider = errors.New("the identity provider did not answer as it should")
)

// providerTimeout bounds one request to a provider.
const providerTimeout = 10 * time.Second

// Config is what signing in needs. A provider without a client id is not offered.
type Config struct {
	Pool     *pgxpool.Pool
	Identity *identity.Store
	BaseURL  string // providers send people back below it; without a slash at its end
	OIDC     OIDC
	GitHub   GitHub
	Enroll   Enrollment
	Log      *zap.Logger
}

// Choice is a provider as the sign-in page offers it.
type Choice struct{ ID, Name string }

// person is whom a provider vouches for.
type person struct {
	issuer, subject string
	name            string
	email           string // empty: none that is verified
}

// provider is one way to find out who somebody is.
type provider interface {
	choice() Choice
	// leave is the address at which the provider asks somebody who they are.
	leave(ctx context.Context, f flow) (address string, err error)
	// arrive finds out who came back with answer.
	arrive(ctx context.Context, f flow, answer url.Values) (*person, error)
}

// Service signs people in.
type Service struct {
	flows     flows
	identity  *identity.Store
	enroll    Enrollment
	log       *zap.Logger
	providers []provider
}

// New returns the service, with the providers that are configured. It asks none of them anything yet: a provider that is
// down must not keep this server from starting.
func New(c Config) *Service {
	s := &Service{flows: flows{c.Pool}, identity: c.Identity, enroll: c.Enroll, log: c.Log}
	client := &http.Client{Timeout: providerTimeout}
	if c.OIDC.ClientID != "" {
		s.providers = append(s.providers, newOIDC(c.OIDC, returnAddress(c.BaseURL, oidcID), client))
	}
	if c.GitHub.ClientID != "" {
		s.providers = append(s.providers, newGitHub(c.GitHub, returnAddress(c.BaseURL, githubID), client))
	}
	return s
}

// Path is where people leave for a provider; they come back below it. Each provider has its own, so that the answer
// of one is never taken for another's.
func Path(provider string) string { return "/login/with/" + provider }

func returnAddress(base, provider string) string { return base + Path(provider) + "/callback" }

// Choices are the providers to offer.
func (s *Service) Choices() []Choice {
	var all []Choice
	for _, p := range s.providers {
		all = append(all, p.choice())
	}
	return all
}

func (s *Service) provider(id string) (provider, error) {
	for _, p := range s.providers {
		if p.choice().ID == id {
			return p, nil
		}
	}
	return nil, ErrUnknownProvider
}

// Begin starts a sign-in in a browser, which is known by a secret that only it has; empty makes a new one. It returns
// where to send the browser and the secret to keep there for the next ten minutes.
func (s *Service) Begin(ctx context.Context, providerID, browser string) (address, keep string, err error) {
	p, err := s.provider(providerID)
	if err != nil {
		return "", "", err
	}
	f, keep, err := s.flows.begin(ctx, providerID, browser)
	if err != nil {
		return "", "", err
	}
	address, err = p.leave(ctx, f)
	return address, keep, s.judged(providerID, err)
}

// Finish ends what Begin started: answer is the query with which the provider sent the browser back.
func (s *Service) Finish(ctx context.Context, providerID, browser string, answer url.Values) (*identity.Human, error) {
	p, err := s.provider(providerID)
	if err != nil {
		return nil, err
	}
	f, err := s.flows.finish(ctx, providerID, browser, answer.Get("state"))
	if err != nil {
		return nil, err
	}
	if answer.Has("error") {
		return nil, ErrDeclined
	}
	who, err := p.arrive(ctx, f, answer)
	if err != nil {
		return nil, s.judged(providerID, err)
	}
	return s.admit(ctx, who)
}

// admit finds the human that somebody is, or makes one if they may become one.
func (s *Service) admit(ctx context.Context, who *person) (*identity.Human, error) {
	human, err := s.identity.Known(ctx, who.issuer, who.subject, who.name)
	if !errors.Is(err, identity.ErrUnauthenticated) {
		return human, err
	}
	switch {
	case s.enroll.Admits(who.email):
		return s.identity.Enroll(ctx, who.issuer, who.subject, who.name)
	case who.email == "":
		return nil, ErrUnverified
	default:
		return nil, ErrNotEnrolled
	}
}

// faulty is an answer of a provider that cannot be used.
type faulty struct {
	step string // what was being done
	why  string // fit for a log: nothing of a token or of a body
}

func (f *faulty) Error() string { return f.step + ": " + f.why }

// judged logs what is wrong with a provider and makes one error of it. Other errors pass.
func (s *Service) judged(providerID string, err error) error {
	var f *faulty
	if !errors.As(err, &f) {
		return err
	}
	s.log.Warn("somebody could not sign in", zap.String("provider", providerID), zap.String("step", f.step), zap.String("reason", f.why))
	return fmt.Errorf("%w while %s", ErrProvider, f.step)
}
