// Package secret makes the tokens that callers present. Only a token's SHA-256 is ever stored: 32 random
// bytes cannot be guessed, so a plain hash is enough and a lookup is one index probe.
package secret

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
)

// Kind is a token's prefix. It tells a person, a log scanner and our own masker what leaked.
type Kind string

// The kinds of tokens (decisions.md 36).
const (
	Credential Kind = "sbk_" // an endpoint's
	Lease      Kind = "sbl_" // a fenced attempt's
	Personal   Kind = "sbp_" // a human's, for the API and the command line
	LoginLink  Kind = "sbi_" // a one-time sign-in link's
	Access     Kind = "sbo_" // an OAuth client's, for one endpoint
	Refresh    Kind = "sbr_" // an OAuth client's, for its next access token
	Code       Kind = "sbc_" // an OAuth client's, once, for its first tokens
)

// NewWebhook makes a webhook's signing secret: whsec_ and 32 random bytes in standard base64, as Standard
// Webhooks libraries read it (decisions.md 36).
func NewWebhook() string {
	var b [32]byte
	_, _ = rand.Read(b[:])
	return "whsec_" + base64.StdEncoding.EncodeToString(b[:])
}

// NewAddress makes the part of a webhook's address that nobody can guess: 128 random bits.
func NewAddress() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// New makes a token: the prefix and 32 random bytes in base64url without padding.
func New(kind Kind) string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: it ends the process when the system has no randomness
	return string(kind) + base64.RawURLEncoding.EncodeToString(b[:])
}

// Hash is what is stored of a token.
func Hash(token string) []byte {
	h := sha256.Sum256([]byte(token))
	return h[:]
}
