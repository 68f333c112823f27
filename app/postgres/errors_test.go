package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
)

func TestClasses_OfRealErrors(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	exec := func(ctx context.Context, statement string, args ...any) error {
		_, err := db.Pool.Exec(ctx, statement, args...)
		return err
	}
	if err := exec(t.Context(), "CREATE TABLE things (id int PRIMARY KEY, name varchar(3))"); err != nil {
		t.Fatal(err)
	}
	if err := exec(t.Context(), "INSERT INTO things VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	const unavailable, refused, retryable = "unavailable", "refused", "unavailable and retryable"
	for name, c := range map[string]struct {
		want string
		err  func() error
	}{
		"no error":            {"", func() error { return nil }},
		"an error of another": {"", func() error { return errors.New("else") }},
		"no rows": {"", func() error {
			var id int
			return db.Pool.QueryRow(t.Context(), "SELECT id FROM things WHERE id = 99").Scan(&id)
		}},
		"a wrong statement":   {"", func() error { return exec(t.Context(), "SELEC") }},
		"a missing table":     {"", func() error { return exec(t.Context(), "SELECT FROM nothing") }},
		"a duplicate":         {refused, func() error { return exec(t.Context(), "INSERT INTO things VALUES (1)") }},
		"a value too long":    {refused, func() error { return exec(t.Context(), "INSERT INTO things VALUES (2, 'long')") }},
		"a zero byte":         {refused, func() error { return exec(t.Context(), "SELECT $1::text", "a\x00b") }},
		"a number too large":  {refused, func() error { return exec(t.Context(), "SELECT 2147483647 + 1") }},
		"a deadline":          {unavailable, func() error { return exec(expired(t), "SELECT 1") }},
		"a deadline midway":   {unavailable, func() error { return within(t, 20*time.Millisecond, exec, "SELECT pg_sleep(10)") }},
		"a cancelled context": {unavailable, func() error { return exec(cancelled(t), "SELECT 1") }},
		"a statement timeout": {unavailable, func() error { return inSession(t, db.Pool, "SET LOCAL statement_timeout = 10", "SELECT pg_sleep(10)") }},
		"a lock timeout": {unavailable, func() error {
			return inSession(t, db.Pool, "LOCK TABLE things", "SELECT", func() error {
				return inSession(t, db.Pool, "SET LOCAL lock_timeout = 10", "LOCK TABLE things")
			})
		}},
		"a terminated session": {unavailable, func() error { return exec(t.Context(), "SELECT pg_terminate_backend(pg_backend_pid())") }},
		"a read-only server":   {unavailable, func() error { return inSession(t, db.Pool, "SET TRANSACTION READ ONLY", "DELETE FROM things") }},
		"a missing database":   {unavailable, func() error { return connectTo(t, strings.Replace(db.URL, "/sb_test_", "/nothing_", 1)) }},
		"nobody listening":     {unavailable, func() error { return connectTo(t, "postgres://u@127.0.0.1:1/db?sslmode=disable") }},
		"a closed pool": {unavailable, func() error {
			pool, err := pgxpool.New(t.Context(), db.URL)
			if err != nil {
				return err
			}
			pool.Close()
			return pool.Ping(t.Context())
		}},
		"a closed connection": {unavailable, func() error {
			conn, err := pgx.Connect(t.Context(), db.URL)
			if err != nil {
				return err
			}
			conn.Close(t.Context())
			return conn.Ping(t.Context())
		}},
		"a serialization failure": {retryable, func() error { return &pgconn.PgError{Code: "40001"} }}, // real ones: TestInTx
		"a full disk":             {unavailable, func() error { return &pgconn.PgError{Code: "53100"} }},
		"too many connections":    {unavailable, func() error { return &pgconn.PgError{Code: "53300"} }},
		"a starting server":       {unavailable, func() error { return &pgconn.PgError{Code: "57P03"} }},
		"a broken connection":     {unavailable, func() error { return fmt.Errorf("reading: %w", io.ErrUnexpectedEOF) }},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.err()
			for wrapped, err := range map[bool]error{false: err, true: fmt.Errorf("while working: %w", err)} {
				if got := postgres.Unavailable(err); got != strings.HasPrefix(c.want, unavailable) {
					t.Errorf("Unavailable(%v) = %t, wrapped %t", err, got, wrapped)
				}
				if got := postgres.Refused(err); got != (c.want == refused) {
					t.Errorf("Refused(%v) = %t, wrapped %t", err, got, wrapped)
				}
				if got := postgres.Retryable(err); got != (c.want == retryable) {
					t.Errorf("Retryable(%v) = %t, wrapped %t", err, got, wrapped)
				}
			}
		})
	}
}

func expired(t *testing.T) context.Context {
	ctx, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	t.Cleanup(cancel)
	return ctx
}

func cancelled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func within(t *testing.T, d time.Duration, exec func(context.Context, string, ...any) error, statement string) error {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	return exec(ctx, statement)
}

// inSession runs two statements in one transaction, then the functions, then rolls back.
func inSession(t *testing.T, pool *pgxpool.Pool, first, second string, then ...func() error) error {
	tx, err := pool.Begin(t.Context())
	if err != nil {
		return err
	}
	defer tx.Rollback(context.Background())
	for _, statement := range []string{first, second} {
		if _, err := tx.Exec(t.Context(), statement); err != nil {
			return err
		}
	}
	for _, f := range then {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

func connectTo(t *testing.T, url string) error {
	conn, err := pgx.Connect(t.Context(), url)
	if err == nil {
		conn.Close(t.Context())
	}
	return err
}
