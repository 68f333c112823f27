package intake

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/google/uuid"
)

// keyBytes is the length of the key under which secrets are sealed: AES-256.
const keyBytes = 32

// ErrKey refuses a key that is not of its form. It says nothing of the key.
var ErrKey = errors.New("must be 32 bytes in base64 or hex, such as openssl rand -base64 32 prints")

// Sealer encrypts signing secrets with AES-256-GCM. Unlike a credential's, their plain text is needed again.
type Sealer struct{ aead cipher.AEAD }

// NewSealer reads a key of 32 bytes, in base64 or in hex.
func NewSealer(key string) (*Sealer, error) {
	key = strings.TrimSpace(key)
	raw, err := hex.DecodeString(key)
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if err == nil && len(raw) == keyBytes {
			break
		}
		raw, err = encoding.DecodeString(key)
	}
	if err != nil || len(raw) != keyBytes {
		return nil, ErrKey
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return nil, ErrKey
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, ErrKey
	}
	return &Sealer{aead}, nil
}

// seal encrypts a webhook's secret. The id is bound to it: a sealed secret that is moved to another row does
// not open there.
func (s *Sealer) seal(webhook uuid.UUID, secret string) []byte {
	nonce := make([]byte, s.aead.NonceSize())
	_, _ = rand.Read(nonce)
	return s.aead.Seal(nonce, nonce, []byte(secret), webhook[:])
}

var errSealed = errors.New("a webhook's secret does not open: was it sealed under another SWITCHBOARD_SECRET_ENCRYPTION_KEY?")

func (s *Sealer) open(webhook uuid.UUID, sealed []byte) (string, error) {
	if s == nil || len(sealed) < s.aead.NonceSize() {
		return "", errSealed
	}
	n := s.aead.NonceSize()
	secret, err := s.aead.Open(nil, sealed[:n], sealed[n:], webhook[:])
	if err != nil {
		return "", errSealed
	}
	return string(secret), nil
}
