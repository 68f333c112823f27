package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
	"go.uber.org/goleak"

	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/postgres/embedded"
	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
)

func open(t *testing.T, cfg postgres.Config) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func setting(t *testing.T, db postgresQuerier, name string) string {
	t.Helper()
	var value string
	if err := db.QueryRow(t.Context(), "SELECT current_setting($1)", name).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

type postgresQuerier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func TestOpen_WithoutURLRunsItsOwnServer(t *testing.T) {
	leaks := goleak.IgnoreCurrent()
	dir := postgrestest.DataDir(t)
	db, err := postgres.Open(t.Context(), postgres.Config{DataDir: dir, FastTests: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if got, want := db.Describe(), fmt.Sprintf("embedded in %s/", dir); !strings.HasPrefix(got, "PostgreSQL 1") || !strings.HasSuffix(got, want) {
		t.Errorf("Describe() = %q", got)
	}
	_, err = postgres.Open(t.Context(), postgres.Config{DataDir: dir, FastTests: true})
	var inUse *embedded.InUseError
	if !errors.As(err, &inUse) {
		t.Errorf("a second owner got %v", err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	goleak.VerifyNone(t, leaks)
}

func TestOpen_PoolsHaveTheirOwnLimits(t *testing.T) {
	t.Parallel()
	db := open(t, postgres.Config{URL: postgrestest.New(t).URL, Spans: postgres.PoolConfig{MaxConns: 3, LockTimeout: time.Second}})
	for name, want := range map[string][2]string{
		"application_name":                    {"switchboard-verbs", "switchboard-spans"},
		"statement_timeout":                   {"10s", "15s"},
		"lock_timeout":                        {"3s", "1s"},
		"idle_in_transaction_session_timeout": {"15s", "30s"},
		"TimeZone":                            {"UTC", "UTC"},
	} {
		if got := [2]string{setting(t, db.Verbs, name), setting(t, db.Spans, name)}; got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if got := [2]int32{db.Verbs.Config().MaxConns, db.Spans.Config().MaxConns}; got != [2]int32{20, 3} {
		t.Errorf("the pools hold %v connections", got)
	}
}

func TestOpen_SurvivesThatTheDatabaseStopsAndStarts(t *testing.T) {
	t.Parallel()
	server := postgrestest.NewServer(t)
	db := open(t, postgres.Config{URL: server.URL})
	if err := db.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.Stop(t)
	for range 3 {
		_, err := db.Verbs.Exec(t.Context(), "SELECT 1")
		if !postgres.Unavailable(err) {
			t.Errorf("with the server stopped: %v is not Unavailable", err)
		}
	}
	if err := db.Ping(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "the database does not answer: ") {
		t.Errorf("Ping with the server stopped: %v", err)
	}
	server.Start(t)
	if err := db.Ping(t.Context()); err != nil {
		t.Errorf("Ping with the server back: %v", err)
	}
	if _, err := db.Spans.Exec(t.Context(), "SELECT 1"); err != nil {
		t.Errorf("with the server back: %v", err)
	}
}

func TestClose_DoesNotWaitForEverForAConnectionInUse(t *testing.T) {
	t.Parallel()
	db, err := postgres.Open(t.Context(), postgres.Config{DataDir: postgrestest.DataDir(t), FastTests: true})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Verbs.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	db.SetCloseGrace(10 * time.Millisecond)
	if err := db.Close(); err == nil || !strings.Contains(err.Error(), "still in use") {
		t.Errorf("Close() = %v", err)
	}
	conn.Release()
}

// TestOpen_ErrorsAreSentencesWithoutSecrets covers what an operator sees who got the URL wrong.
func TestOpen_ErrorsAreSentencesWithoutSecrets(t *testing.T) {
	t.Parallel()
	good := postgrestest.New(t).URL
	for name, c := range map[string]struct{ url, want string }{
		"nobody listens":       {"postgres://someone:s3cret@127.0.0.1:1/db?sslmode=disable", "cannot reach PostgreSQL at 127.0.0.1: connect: connection refused"},
		"no such host":         {"postgres://someone:s3cret@host.invalid/db", "cannot reach PostgreSQL at host.invalid: the host name host.invalid was not found"},
		"no URL":               {"someone:s3cret@db", "write SWITCHBOARD_DATABASE_URL as postgres://user:password@host:5432/database"},
		"a password with an @": {"postgres://someone:p@s3cret@127.0.0.1:1/db", "write SWITCHBOARD_DATABASE_URL as postgres://user:password@host:5432/database"},
		"a bad port":           {"postgres://someone:s3cret@db:port/db", "write SWITCHBOARD_DATABASE_URL as postgres://user:password@host:5432/database"},
		"no database":          {strings.Replace(good, "/sb_test_", "/nothing_", 1) + "&password=s3cret", "does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := postgres.Open(t.Context(), postgres.Config{URL: c.url})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got  %v\nwant %s", err, c.want)
			}
			if text := err.Error(); strings.Contains(text, "s3cret") || strings.Contains(text, "\n") || strings.Contains(text, "someone") {
				t.Errorf("got %q", text)
			}
		})
	}
}

func TestOpen_RefusesAnOldOrForeignServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ version, encoding, want string }{
		{"14.9 (Debian 14.9-1)", "UTF8", "PostgreSQL 14 is too old: Switchboard needs PostgreSQL 15 or newer"},
		{"9.6.24", "UTF8", "PostgreSQL 9 is too old: Switchboard needs PostgreSQL 15 or newer"},
		{"16beta1", "LATIN1", "database db has the encoding LATIN1: Switchboard needs one that was created with ENCODING 'UTF8'"},
	} {
		_, err := postgres.Open(t.Context(), postgres.Config{URL: "postgres://u@" + greet(t, c.version, c.encoding) + "/db?sslmode=disable"})
		if err == nil || err.Error() != c.want {
			t.Errorf("version %s, encoding %s:\ngot  %v\nwant %s", c.version, c.encoding, err, c.want)
		}
	}
}

// greet listens like a server of that version, up to the end of the handshake, and returns its address.
func greet(t *testing.T, version, encoding string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return // the test is over
		}
		defer conn.Close()
		backend := pgproto3.NewBackend(conn, conn)
		if _, err := backend.ReceiveStartupMessage(); err != nil {
			t.Error(err)
			return
		}
		backend.Send(&pgproto3.AuthenticationOk{})
		backend.Send(&pgproto3.ParameterStatus{Name: "server_version", Value: version})
		backend.Send(&pgproto3.ParameterStatus{Name: "server_encoding", Value: encoding})
		backend.Send(&pgproto3.BackendKeyData{ProcessID: 1, SecretKey: []byte{0, 0, 0, 1}})
		backend.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		if err := backend.Flush(); err != nil {
			t.Error(err)
		}
		_, _ = backend.Receive() // the goodbye
	}()
	return listener.Addr().String()
}
