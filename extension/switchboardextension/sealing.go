package switchboardextension

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/switchboard-otel/switchboard/app/intake"
	"github.com/switchboard-otel/switchboard/app/settings"
)

// keyFile holds the generated key, beside the embedded database whose secrets it seals.
const keyFile = "secret.key"

func (s *switchboard) newIntake(pool *pgxpool.Pool, settings *settings.Reader, sealer *intake.Sealer) *intake.Store {
	return intake.NewStore(intake.Config{
		Pool: pool, Queue: s.queue, Settings: settings, Sealer: sealer, BaseURL: s.cfg.baseURL(), Metrics: s.telemetry.Intake,
	})
}

// sealer seals the signing secrets of webhooks: with the configured key, else, beside an embedded database, with
// one that is generated once. Nil means that there is none, and that signed webhooks cannot be made.
func (s *switchboard) sealer() (*intake.Sealer, error) {
	if s.cfg.SecretKey != "" {
		return intake.NewSealer(string(s.cfg.SecretKey))
	}
	if s.cfg.DatabaseURL != "" {
		return nil, nil
	}
	path := filepath.Join(s.cfg.DataDir, keyFile)
	key, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		key, err = generateKey(path)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot keep the key that seals secrets: %w", err)
	}
	sealer, err := intake.NewSealer(string(key))
	if err != nil {
		return nil, fmt.Errorf("%s %w", path, err)
	}
	return sealer, nil
}

// generateKey writes a new key, readable by this user alone, whole or not at all. The database's own lock has made
// sure that no other process uses this folder.
func generateKey(path string) ([]byte, error) {
	var raw [32]byte
	_, _ = rand.Read(raw[:])
	key := []byte(base64.StdEncoding.EncodeToString(raw[:]) + "\n")
	file, err := os.CreateTemp(filepath.Dir(path), "secret-*.key") // mode 0600
	if err != nil {
		return nil, err
	}
	_, err = file.Write(key)
	if err == nil {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
		return nil, err
	}
	return key, nil
}
