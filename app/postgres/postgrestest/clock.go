package postgrestest

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// installClock replaces sb_now() by one that adds an offset row. It does so before the test runs any statement: a
// transaction that is open while a function is replaced keeps the old one. The row is in a schema of its own, so that a test
// which looks at the product's tables does not see it. Benchmarks keep the function of the product.
func (db *DB) installClock(t testing.TB) {
	t.Helper()
	_, err := db.Pool.Exec(t.Context(), `
		CREATE SCHEMA sb_test;
		CREATE TABLE sb_test.clock (ahead interval NOT NULL);
		INSERT INTO sb_test.clock VALUES ('0');
		CREATE OR REPLACE FUNCTION sb_now() RETURNS timestamptz LANGUAGE sql VOLATILE
			AS 'SELECT clock_timestamp() + ahead FROM sb_test.clock'`, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatalf("cannot replace the clock: %v", err)
	}
}

// Advance moves the database's clock, as sb_now() tells it to every session, forward by d.
func (db *DB) Advance(t testing.TB, d time.Duration) {
	t.Helper()
	tag, err := db.Pool.Exec(t.Context(), "UPDATE sb_test.clock SET ahead = ahead + $1", d)
	if err != nil || tag.RowsAffected() != 1 {
		t.Fatalf("cannot move the clock: %v", err)
	}
}
