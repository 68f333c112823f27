package signin

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/oauth2"
)

const githubID = "github"

const githubURL = "https://github.com"

// maxGitHubAnswer caps what is read of an answer, in bytes.
const maxGitHubAnswer = 1 << 20

// GitHub names an OAuth app. It must know the address <base URL>/login/with/github/callback.
type GitHub struct {
	ClientID     string
	ClientSecret string
	URL          string // of a GitHub Enterprise server; empty: github.com
}

type githubProvider struct {
	oauth  oauth2.Config
	issuer string // the server's own address
	api    string
	client *http.Client
}

func newGitHub(c GitHub, address string, client *http.Client) *githubProvider {
	site := strings.TrimRight(cmp.Or(c.URL, githubURL), "/")
	api := site + "/api/v3"
	if site == githubURL {
		api = "https://api.github.com"
	}
	return &githubProvider{issuer: site, api: api, client: client, oauth: oauth2.Config{
		ClientID: c.ClientID, ClientSecret: c.ClientSecret, RedirectURL: address, Scopes: []string{"user:email"},
		Endpoint: oauth2.Endpoint{AuthURL: site + "/login/oauth/authorize", TokenURL: site + "/login/oauth/access_token",
			AuthStyle: oauth2.AuthStyleInParams},
	}}
}

func (p *githubProvider) choice() Choice { return Choice{githubID, "GitHub"} }

func (p *githubProvider) leave(_ context.Context, f flow) (string, error) {
	return p.oauth.AuthCodeURL(f.state, oauth2.S256ChallengeOption(f.verifier)), nil
}

// arrive asks GitHub who came. The token is used for these two questions and forgotten. Without a verified primary
// address nobody comes in, also not somebody who was here before.
func (p *githubProvider) arrive(ctx context.Context, f flow, answer url.Values) (*person, error) {
	ctx = context.WithValue(ctx, oauth2.HTTPClient, p.client)
	token, err := p.oauth.Exchange(ctx, answer.Get("code"), oauth2.VerifierOption(f.verifier))
	if err != nil {
		return nil, &faulty{"exchanging the code", reason(err)}
	}
	var user struct {
		ID    int64  `json:"id"`
		Login string `json:"login"`
		Name  string `json:"name"`
	}
	if err := p.get(ctx, token, "/user", &user); err != nil {
		return nil, err
	}
	if user.ID < 1 {
		return nil, &faulty{"asking who it is", "the account has no id"}
	}
	var addresses []struct {
		Email    string `json:"email"`
		Primary  bool   `json:"primary"`
		Verified bool   `json:"verified"`
	}
	if err := p.get(ctx, token, "/user/emails", &addresses); err != nil {
		return nil, err
	}
	for _, a := range addresses {
		if a.Primary && a.Verified && a.Email != "" {
			return &person{issuer: p.issuer, subject: strconv.FormatInt(user.ID, 10),
				name: cmp.Or(user.Name, user.Login, a.Email), email: a.Email}, nil
		}
	}
	return nil, ErrUnverified
}

func (p *githubProvider) get(ctx context.Context, token *oauth2.Token, path string, into any) error {
	const step = "asking who it is"
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.api+path, nil)
	if err != nil {
		return &faulty{step, "the address of the server is none"}
	}
	token.SetAuthHeader(r)
	r.Header.Set("Accept", "application/vnd.github+json")
	res, err := p.client.Do(r)
	if err != nil {
		return &faulty{step, reason(err)}
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return &faulty{step, "it answered " + res.Status}
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxGitHubAnswer)).Decode(into); err != nil {
		return &faulty{step, "the answer is not the JSON that it should be"}
	}
	return nil
}
