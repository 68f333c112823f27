// Package postgres gives the rest of the program its database: it starts the embedded server when no other is
// configured, brings the schema up to date and opens the pools. It also says what an error of the database means.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/postgres/embedded"
	"github.com/switchboard-otel/switchboard/migrations"
)

// Config says which database to use.
type Config struct {
	// URL is a server that somebody else runs. It may hold a password and is never logged or returned in an error.
	URL string

	// DataDir is where the embedded server lives when URL is empty.
	DataDir string

	// Logger receives what happens to the embedded server. Nil logs nothing.
	Logger *zap.Logger

	// FastTests makes an embedded server fast and forgetful.
	FastTests bool

	// Verbs serves the drain verbs and the pages, Spans the ingest. They are apart so that ingest can never starve a claim.
	Verbs, Spans PoolConfig
}

// PoolConfig bounds one pool. Zero values mean the pool's defaults.
type PoolConfig struct {
	MaxConns                 int32
	StatementTimeout         time.Duration // for one statement, its waits for locks included
	LockTimeout              time.Duration // for one wait for a lock
	IdleInTransactionTimeout time.Duration // the server ends a session that forgets its transaction
}

// Together the two stay well below the 100 connections that a server allows by default, also with a second replica.
var (
	verbsDefaults = PoolConfig{MaxConns: 20, StatementTimeout: 10 * time.Second, LockTimeout: 3 * time.Second,
		IdleInTransactionTimeout: 15 * time.Second}
	spansDefaults = PoolConfig{MaxConns: 8, StatementTimeout: 15 * time.Second, LockTimeout: 5 * time.Second,
		IdleInTransactionTimeout: 30 * time.Second}
)

// plansByIndex keeps the plans of ingest on indexes. All of its statements look rows up by key, and a plan that a session
// cached while a table was small would scan all of the table until the next analyze.
var plansByIndex = map[string]string{"enable_seqscan": "off"}

// DB is the open database.
type DB struct {
	Verbs, Spans *pgxpool.Pool

	server     *embedded.Server // nil when the server is somebody else's
	where      string
	closeGrace time.Duration
}

// Open starts the embedded server when cfg has no URL, refuses a PostgreSQL that is too old, applies the migrations and
// opens both pools. Any number of processes may do so at once on one external server. Every error is one sentence
// without secrets. Cancelling ctx gives up and is ignored afterwards.
func Open(ctx context.Context, cfg Config) (_ *DB, err error) {
	db := &DB{closeGrace: closeGrace}
	defer func() {
		if err != nil {
			db.Close()
		}
	}()
	url := cfg.URL
	if url == "" {
		db.server, err = embedded.Start(ctx, embedded.Options{Dir: cfg.DataDir, Logger: cfg.Logger, FastTests: cfg.FastTests})
		if err != nil {
			return nil, err
		}
		url = db.server.URL(embedded.Database)
	}
	conn, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	major, err := checkServer(ctx, conn)
	if err != nil {
		return nil, err
	}
	db.where = describe(cfg, conn, major)
	if err := migrate(ctx, conn, migrations.FS); err != nil {
		return nil, err
	}
	if db.Verbs, err = newPool(url, "switchboard-verbs", cfg.Verbs, verbsDefaults, nil); err != nil {
		return nil, err
	}
	if db.Spans, err = newPool(url, "switchboard-spans", cfg.Spans, spansDefaults, plansByIndex); err != nil {
		return nil, err
	}
	return db, nil
}

// Describe says which PostgreSQL this is and where, for people: never with a user or a password.
func (db *DB) Describe() string { return db.where }

func describe(cfg Config, conn *pgx.ConnConfig, major int) string {
	if cfg.URL == "" {
		return fmt.Sprintf("PostgreSQL %d, embedded in %s/", major, strings.TrimSuffix(filepath.Clean(cfg.DataDir), "/"))
	}
	return fmt.Sprintf("PostgreSQL %d at %s", major, conn.Host)
}

// Ping says whether the database answers. Its error is one sentence without secrets.
func (db *DB) Ping(ctx context.Context) error {
	if err := db.Verbs.Ping(ctx); err != nil {
		return fmt.Errorf("the database does not answer: %s", reason(err))
	}
	return nil
}

// closeGrace is how long Close waits for connections in use. After it an embedded server is stopped under them.
const closeGrace = 10 * time.Second

// Close closes the pools and stops the embedded server. It returns when nothing runs any more.
func (db *DB) Close() error {
	var closed []<-chan struct{}
	for _, pool := range []*pgxpool.Pool{db.Verbs, db.Spans} {
		if pool == nil {
			continue
		}
		done := make(chan struct{})
		go func() {
			pool.Close()
			close(done)
		}()
		closed = append(closed, done)
	}
	var err error
	grace := time.NewTimer(db.closeGrace)
	defer grace.Stop()
	for _, done := range closed {
		select {
		case <-done:
		case <-grace.C:
			err = errors.New("database connections were still in use when the database was closed")
			grace.Reset(0) // the other pool had its time as well
		}
	}
	if db.server != nil {
		err = errors.Join(err, db.server.Close())
	}
	return err
}
