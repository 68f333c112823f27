package signin

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/oauth2"

	"github.com/switchboard-otel/switchboard/app/secret"
)

// flowLifetime is how long somebody may take at a provider.
const flowLifetime = 10 * time.Minute

// flow is one way to a provider and back: what the provider is told, and what must come back.
type flow struct {
	state    string // names the flow in the provider's answer
	nonce    string // must be in the id token that the flow leads to
	verifier string // proves to the provider that who asks for the token began the flow (PKCE)
}

// flows keeps what is on its way.
type flows struct{ pool *pgxpool.Pool }

func (fs flows) begin(ctx context.Context, provider, browser string) (f flow, keep string, err error) {
	if len(browser) != len(newBrowser()) {
		browser = newBrowser()
	}
	f = flow{state: rand.Text(), nonce: rand.Text(), verifier: oauth2.GenerateVerifier()}
	_, err = fs.pool.Exec(ctx, `
		INSERT INTO sign_ins (state_hash, browser_hash, provider, nonce, verifier, expires_at)
		VALUES ($1, $2, $3, $4, $5, sb_now() + $6::interval)`,
		secret.Hash(f.state), secret.Hash(browser), provider, f.nonce, f.verifier, flowLifetime)
	return f, browser, err
}

// newBrowser makes the secret by which a browser is known again.
func newBrowser() string {
	var b [32]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// finish spends a flow: it works once, at the provider and in the browser that it was begun for.
func (fs flows) finish(ctx context.Context, provider, browser, state string) (flow, error) {
	f := flow{state: state}
	var live bool
	err := fs.pool.QueryRow(ctx, `
		DELETE FROM sign_ins WHERE state_hash = $1 AND browser_hash = $2 AND provider = $3
		RETURNING nonce, verifier, expires_at > sb_now()`,
		secret.Hash(state), secret.Hash(browser), provider).Scan(&f.nonce, &f.verifier, &live)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !live {
		return flow{}, ErrStale
	}
	return f, err
}

// Sweep deletes the sign-ins that nobody came back from.
func (s *Service) Sweep(ctx context.Context) error {
	_, err := s.flows.pool.Exec(ctx, `DELETE FROM sign_ins WHERE expires_at <= sb_now()`)
	return err
}
