package switchboardextension

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The key that an embedded database brings along is made once, and readable by its user alone.
func TestSealer_IsGeneratedOnceBesideAnEmbeddedDatabase(t *testing.T) {
	s := &switchboard{cfg: &Config{DataDir: t.TempDir()}}
	if sealer, err := s.sealer(); err != nil || sealer == nil {
		t.Fatal(err)
	}
	path := filepath.Join(s.cfg.DataDir, keyFile)
	first, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
	if _, err := s.sealer(); err != nil {
		t.Fatal(err)
	}
	if second, err := os.ReadFile(path); err != nil || string(second) != string(first) {
		t.Errorf("it was made again: %v", err)
	}
	if err := os.WriteFile(path, []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.sealer(); err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "broken") {
		t.Errorf("a broken key: %v", err)
	}
}

func TestSealer_WithADatabaseOfOnesOwnThereIsNoneUntilOneIsSet(t *testing.T) {
	s := &switchboard{cfg: &Config{DatabaseURL: "postgres://localhost/x", DataDir: t.TempDir()}}
	if sealer, err := s.sealer(); sealer != nil || err != nil {
		t.Errorf("%v %v", sealer, err)
	}
	cfg := createDefaultConfig()
	cfg.SecretKey = "too short"
	if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "SWITCHBOARD_SECRET_ENCRYPTION_KEY") || strings.Contains(err.Error(), "too short") {
		t.Errorf("a key that is none: %v", err)
	}
}
