package identity

import (
	"context"
	"strings"
	"unicode"

	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/text"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// maxName is how much of a human's name is kept, in bytes.
const maxName = 256

// Known finds the human whom an issuer knows as subject, under the name that the issuer gives today. It returns
// ErrUnauthenticated for somebody who never signed in here.
func (s *Store) Known(ctx context.Context, issuer, subject, name string) (*Human, error) {
	return scanHuman(s.pool.QueryRow(ctx, `
		UPDATE humans AS h SET name = $3 WHERE h.issuer = $1 AND h.subject = $2
		RETURNING `+humanColumns, issuer, subject, humanName(name)))
}

// Enroll makes a human of whom an issuer knows as subject. Who may become one is decided before (protocols.md 1).
func (s *Store) Enroll(ctx context.Context, issuer, subject, name string) (*Human, error) {
	return scanHuman(s.pool.QueryRow(ctx, `
		INSERT INTO humans AS h (id, issuer, subject, name, created_at) VALUES ($1, $2, $3, $4, sb_now())
		ON CONFLICT (issuer, subject) DO UPDATE SET name = EXCLUDED.name
		RETURNING `+humanColumns, typeid.New(), issuer, subject, humanName(name)))
}

// humanName makes a name from elsewhere showable.
func humanName(name string) string {
	name = strings.TrimSpace(strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return -1
		}
		return c
	}, text.Clean(name)))
	if name, _ = text.Cut(name, maxName); name == "" {
		return "Somebody without a name"
	}
	return name
}

// LiveEndpoint finds one of a human's endpoints that still works, by slug or ep_ id. Any other is unknown.
func (s *Store) LiveEndpoint(ctx context.Context, human uuid.UUID, ref string) (*Endpoint, error) {
	id, slug := splitRef(ref)
	return scanEndpoint(s.pool.QueryRow(ctx, `
		SELECT `+endpointColumns+` FROM endpoints e JOIN agents a ON a.id = e.agent_id
		WHERE e.human_id = $1 AND (e.id = $2 OR e.slug = $3)
		  AND e.revoked_at IS NULL AND (e.expires_at IS NULL OR e.expires_at > sb_now())`, human, id, slug))
}
