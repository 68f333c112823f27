package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/switchboard-otel/switchboard/app/postgres/embedded"
)

// server is a PostgreSQL with the product's own settings: durable, every commit flushed. Both sides of a
// comparison run on it.
type server struct {
	dir     string
	version string
	db      *embedded.Server
	admin   *pgxpool.Pool // of another database, so that what it costs is counted on neither side
}

func startServer(ctx context.Context) (_ *server, err error) {
	s := &server{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.dir, err = os.MkdirTemp("", "switchboard-bench-"); err != nil {
		return nil, err
	}
	if err = os.Chmod(s.dir, 0o711); err != nil { // for root, whose server runs as another account
		return nil, err
	}
	if s.db, err = embedded.Start(ctx, embedded.Options{Dir: filepath.Join(s.dir, "postgres")}); err != nil {
		return nil, err
	}
	if s.admin, err = pgxpool.New(ctx, s.db.URL("postgres")); err != nil {
		return nil, err
	}
	var commit string
	if err = s.admin.QueryRow(ctx, `SELECT current_setting('server_version'), current_setting('fsync') || current_setting('synchronous_commit')`).
		Scan(&s.version, &commit); err != nil {
		return nil, err
	}
	if commit != "onon" {
		return nil, errors.New("the server is not durable: figures would compare nothing that runs in production")
	}
	return s, nil
}

func (s *server) close() error {
	var err error
	if s.admin != nil {
		s.admin.Close()
	}
	if s.db != nil {
		err = s.db.Close()
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// database makes an empty database and returns its URL.
func (s *server) database(ctx context.Context, name string) (url string, err error) {
	_, err = s.admin.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize())
	return s.db.URL(name), err
}

// settle vacuums a database and writes out what is dirty, so that a measurement neither pays for the
// preparation nor runs on plans for empty tables.
func (s *server) settle(ctx context.Context, database string) error {
	conn, err := pgx.Connect(ctx, s.db.URL(database)) // the pools of the product bound how long a statement may take
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for _, sql := range []string{"VACUUM ANALYZE", "CHECKPOINT"} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

// backends are the server processes that serve a database now.
func (s *server) backends(ctx context.Context, database string) ([]int, error) {
	rows, err := s.admin.Query(ctx, `SELECT pid FROM pg_stat_activity WHERE datname = $1 AND backend_type = 'client backend'`, database)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int])
}

// until polls for a condition of the server that no event tells.
func until(ctx context.Context, met func() (bool, error)) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := met()
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
