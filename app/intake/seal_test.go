package intake

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"
)

func TestSealer_ReadsAKeyInBase64OrHexAndNothingElse(t *testing.T) {
	raw := bytes.Repeat([]byte{0xfb, 0xff}, 16)
	id := uuid.New()
	first, err := NewSealer(hex.EncodeToString(raw))
	if err != nil {
		t.Fatal(err)
	}
	sealed := first.seal(id, "whsec_secret")
	for _, key := range []string{base64.StdEncoding.EncodeToString(raw), base64.RawStdEncoding.EncodeToString(raw),
		base64.URLEncoding.EncodeToString(raw), strings.ToUpper(hex.EncodeToString(raw)), " " + base64.StdEncoding.EncodeToString(raw) + "\n"} {
		s, err := NewSealer(key)
		if err != nil {
			t.Errorf("%q: %v", key, err)
			continue
		}
		if plain, err := s.open(id, sealed); err != nil || plain != "whsec_secret" {
			t.Errorf("%q opens %q, %v", key, plain, err)
		}
	}
	for _, key := range []string{"", "short", hex.EncodeToString(raw[:31]), base64.StdEncoding.EncodeToString(append(raw, 1)), strings.Repeat("z", 64), strings.Repeat("\x00", 32)} {
		if _, err := NewSealer(key); !errors.Is(err, ErrKey) {
			t.Errorf("%q: %v", key, err)
		}
	}
}

// A sealed secret opens only with its key, for its webhook, and whole.
func TestSealer_OpensNothingElse(t *testing.T) {
	s, err := NewSealer(strings.Repeat("5e", 32))
	if err != nil {
		t.Fatal(err)
	}
	other, err := NewSealer(strings.Repeat("5f", 32))
	if err != nil {
		t.Fatal(err)
	}
	id := uuid.New()
	sealed := s.seal(id, "secret")
	if bytes.Contains(sealed, []byte("secret")) || bytes.Equal(sealed, s.seal(id, "secret")) {
		t.Error("it is not sealed, or twice the same")
	}
	flipped := bytes.Clone(sealed)
	flipped[len(flipped)-1] ^= 1
	for name, open := range map[string]func() (string, error){
		"another key":     func() (string, error) { return other.open(id, sealed) },
		"no key":          func() (string, error) { return (*Sealer)(nil).open(id, sealed) },
		"another webhook": func() (string, error) { return s.open(uuid.New(), sealed) },
		"another byte":    func() (string, error) { return s.open(id, flipped) },
		"a part":          func() (string, error) { return s.open(id, sealed[:8]) },
		"nothing":         func() (string, error) { return s.open(id, nil) },
	} {
		if plain, err := open(); !errors.Is(err, errSealed) || plain != "" {
			t.Errorf("%s: %q %v", name, plain, err)
		}
	}
}
