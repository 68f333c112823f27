package oauth

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/text"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// maxClientName is how much of a client's name is kept, in bytes.
const maxClientName = 128

// maxUnapproved bounds the clients to which no human has said yes. The oldest go first, long after anybody would have
// answered their page.
const maxUnapproved = 10_000

// registration is what a client says of itself and what it is told (RFC 7591). What else it sends is ignored.
type registration struct {
	ClientID      string   `json:"client_id,omitempty"`
	IssuedAt      int64    `json:"client_id_issued_at,omitempty"`
	ClientName    string   `json:"client_name,omitempty"`
	RedirectURIs  []string `json:"redirect_uris"`
	GrantTypes    []string `json:"grant_types,omitempty"`
	ResponseTypes []string `json:"response_types,omitempty"`
	AuthMethod    string   `json:"token_endpoint_auth_method,omitempty"`
	Scope         string   `json:"scope,omitempty"`
}

// register makes a client known. It proves nothing and gets nothing: a human decides on the consent page.
func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	var ask registration
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if media != "application/json" || json.NewDecoder(r.Body).Decode(&ask) != nil {
		s.fail(w, refused("invalid_client_metadata", "the body must be a JSON object of at most 16 KiB, with Content-Type: application/json"))
		return
	}
	if err := ask.check(); err != nil {
		s.fail(w, err)
		return
	}
	id, name := typeid.New(), clientName(ask.ClientName)
	issued, err := s.addClient(r.Context(), id, name, ask.RedirectURIs)
	if err != nil {
		s.fail(w, err)
		return
	}
	answer(w, http.StatusCreated, registration{
		ClientID: typeid.Client.Format(id), IssuedAt: issued.Unix(), ClientName: name, RedirectURIs: ask.RedirectURIs,
		GrantTypes: grantTypes, ResponseTypes: []string{"code"}, AuthMethod: "none", Scope: scope,
	})
}

// check refuses what this server cannot be for a client. A client that asks for more is told what it gets instead.
func (r *registration) check() error {
	switch {
	case len(r.RedirectURIs) < 1 || len(r.RedirectURIs) > 10:
		return refused("invalid_redirect_uri", "redirect_uris must be 1 to 10 addresses")
	case slices.ContainsFunc(r.RedirectURIs, func(a string) bool { return !redirectAllowed(a) }):
		return refused("invalid_redirect_uri", "a redirect_uri must be https, http on loopback, or a private-use scheme; without credentials or a fragment, at most 1024 bytes")
	case len(r.GrantTypes) > 0 && !slices.Contains(r.GrantTypes, "authorization_code"):
		return refused("invalid_client_metadata", "grant_types must have authorization_code")
	case len(r.ResponseTypes) > 0 && !slices.Contains(r.ResponseTypes, "code"):
		return refused("invalid_client_metadata", "response_types must have code")
	}
	return nil
}

// clientName makes what a client calls itself showable. Direction marks go too: they could dress up one name as another.
func clientName(name string) string {
	name = strings.TrimSpace(strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || unicode.Is(unicode.Cf, c) {
			return -1
		}
		return c
	}, text.Clean(name)))
	name, _ = text.Cut(name, maxClientName)
	if name == "" {
		return "A client without a name"
	}
	return name
}

func (s *Server) addClient(ctx context.Context, id uuid.UUID, name string, redirects []string) (issued time.Time, err error) {
	err = s.Pool.QueryRow(ctx, `
		WITH clock AS MATERIALIZED (SELECT sb_now() AS now),
		crowded AS (
			DELETE FROM oauth_clients WHERE id IN (
				SELECT id FROM oauth_clients WHERE approved_at IS NULL ORDER BY created_at DESC OFFSET $4 LIMIT 100
			)
		)
		INSERT INTO oauth_clients (id, name, redirect_uris, created_at) SELECT $1, $2, $3, now FROM clock
		RETURNING created_at`, id, name, redirects, maxUnapproved).Scan(&issued)
	return issued, err
}
