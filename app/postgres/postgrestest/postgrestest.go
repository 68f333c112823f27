// Package postgrestest gives every test a fresh, migrated PostgreSQL database of its own.
//
// Databases are cloned from a template, which costs tens of milliseconds, so a test need not share one. They live on
// the server of SWITCHBOARD_TEST_DATABASE_URL, or on one that this test process runs itself; see cluster.go.
//
// The server lives until the process ends. A package that looks for leaked goroutines ignores these functions of
// app/postgres/embedded: (*Server).supervise, (*launcher).run, (*process).watch.
package postgrestest

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/switchboard-otel/switchboard/app/postgres/values"
)

// DB is a database that no other test sees.
type DB struct {
	Pool *pgxpool.Pool // closed when the test ends
	URL  string        // for postgres.Open, or for programs under test
}

// New gives the test a fresh database with all migrations applied. Its clock is right until Advance moves it.
func New(t testing.TB) *DB {
	t.Helper()
	server, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	name := "sb_test_" + strings.ToLower(rand.Text())
	url, err := databaseURL(server.admin, name)
	if err != nil {
		t.Fatal(err)
	}
	if err := server.exec(t.Context(), "CREATE DATABASE "+name+" TEMPLATE "+server.template+" STRATEGY FILE_COPY"); err != nil {
		t.Fatalf("cannot clone the template database: %v", err)
	}
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	values.Configure(cfg)
	cfg.MaxConns = 16 // enough for tests of contention whatever the number of cores
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		closePool(t, pool)
		if err := server.exec(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("cannot drop the test database: %v", err)
		}
	})
	db := &DB{Pool: pool, URL: url}
	if _, benchmark := t.(*testing.B); !benchmark {
		db.installClock(t)
		db.installRules(t)
	}
	return db
}

// closePool fails a test that forgot a connection instead of hanging in it.
func closePool(t testing.TB, pool *pgxpool.Pool) {
	done := make(chan struct{})
	go func() {
		pool.Close()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Errorf("%d connections of the test's pool were never released", pool.Stat().AcquiredConns())
	}
}
