package postgrestest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/url"

	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/migrations"
)

// schemaHash names the state of the migration files, so that a template of other files is never used.
func schemaHash() (string, error) {
	sum := sha256.New()
	err := fs.WalkDir(migrations.FS, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(migrations.FS, path)
		fmt.Fprintf(sum, "%s %d\n%s", path, len(text), text)
		return err
	})
	return fmt.Sprintf("%x", sum.Sum(nil)[:8]), err
}

// ensureTemplate makes the template database of the present migrations when the server has none, and returns its name.
// It is renamed when complete, so a half-made one is never cloned. Processes that share a server wait for each other.
func ensureTemplate(ctx context.Context, admin string) (string, error) {
	hash, err := schemaHash()
	if err != nil {
		return "", err
	}
	conn, err := pgx.Connect(ctx, admin)
	if err != nil {
		return "", fmt.Errorf("cannot reach the test database server: %w", err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock(hashtext('sb_template'))"); err != nil {
		return "", err
	}
	name := "sb_template_" + hash
	var exists bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&exists); err != nil || exists {
		return name, err
	}
	half, err := databaseURL(admin, "sb_half_made")
	if err != nil {
		return "", err
	}
	for _, statement := range []string{
		"DROP DATABASE IF EXISTS sb_half_made WITH (FORCE)",
		"CREATE DATABASE sb_half_made TEMPLATE template0 ENCODING 'UTF8'",
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return "", fmt.Errorf("cannot make the template database: %w", err)
		}
	}
	if err := postgres.Migrate(ctx, half); err != nil {
		return "", err
	}
	for _, statement := range []string{
		"ALTER DATABASE sb_half_made ALLOW_CONNECTIONS false",
		"ALTER DATABASE sb_half_made RENAME TO " + name,
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return "", fmt.Errorf("cannot make the template database: %w", err)
		}
	}
	return name, nil
}

// databaseURL is the URL of another database on the same server.
func databaseURL(server, database string) (string, error) {
	u, err := url.Parse(server)
	if err != nil || u.Scheme == "" {
		// The URL is not repeated: it may hold a password.
		return "", errors.New("SWITCHBOARD_TEST_DATABASE_URL is not of the form postgres://user:password@host:5432/database")
	}
	u.Path = "/" + database
	return u.String(), nil
}
