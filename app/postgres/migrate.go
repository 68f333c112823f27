package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/switchboard-otel/switchboard/migrations"
)

// Migrate brings the schema of the database behind url up to date, as Open does.
func Migrate(ctx context.Context, url string) error {
	conn, err := parseURL(url)
	if err != nil {
		return err
	}
	return migrate(ctx, conn, migrations.FS)
}

// How long a process waits for another one that migrates: goose asks for its lock every second, for ten minutes.
const (
	migrationLockSeconds = 1
	migrationLockTries   = 600
)

// migrate applies what is missing, one process at a time. It refuses a schema that a newer version made: rows may
// mean what this version does not know.
func migrate(ctx context.Context, conn *pgx.ConnConfig, files fs.FS) error {
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(migrationLockSeconds, migrationLockTries))
	if err != nil {
		return fmt.Errorf("cannot prepare the migrations: %w", err)
	}
	db := stdlib.OpenDB(*conn)
	defer db.Close()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files,
		goose.WithSessionLocker(locker), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("cannot prepare the migrations: %w", err)
	}
	current, newest, err := provider.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("cannot read the schema version: %s", reason(err))
	}
	if current > newest {
		return fmt.Errorf("the database has schema %d and this version of Switchboard knows only up to %d; start the newer version", current, newest)
	}
	if current == newest {
		return nil
	}
	if _, err := provider.Up(ctx); err != nil {
		var partial *goose.PartialError
		if errors.As(err, &partial) && partial.Failed != nil {
			return fmt.Errorf("migration %s failed: %s", partial.Failed.Source.Path, reason(partial.Err))
		}
		return fmt.Errorf("the migrations failed: %s", reason(err))
	}
	return nil
}
