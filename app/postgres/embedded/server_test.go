//go:build linux

package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/postgres/embedded"
	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
)

func start(t *testing.T, dir string) *embedded.Server {
	t.Helper()
	server, err := embedded.Start(t.Context(), embedded.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func run(t *testing.T, conn *pgx.Conn, statement string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

// postmaster is the process that serves the folder.
func postmaster(t *testing.T, dir string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(line)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// unreachableDir is a folder below one that only root can enter.
func unreachableDir(t *testing.T) string {
	t.Helper()
	dir := postgrestest.EmptyDir(t)
	private := filepath.Join(dir, "private")
	if err := os.Mkdir(private, 0o700); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(private, "data-folder")
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
}

const nobody = 65534

func TestStart_AsAnyUser(t *testing.T) {
	t.Parallel()
	dir := postgrestest.EmptyDir(t)
	uid := os.Geteuid()
	if uid == 0 {
		uid = nobody
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	owner := startOwner(t, dir, uid)
	var st syscall.Stat_t
	if err := syscall.Stat(fmt.Sprintf("/proc/%d", postmaster(t, dir)), &st); err != nil || int(st.Uid) != uid {
		t.Errorf("the server runs as user %d, want %d (%v)", st.Uid, uid, err)
	}
	owner.kill(t)
	eventually(t, "the server ends with its owner", func() bool { return len(serverProcesses(t, dir)) == 0 })
}

func TestStart_AsRootDropsToAnAccount(t *testing.T) {
	t.Parallel()
	needRoot(t)
	dir := postgrestest.EmptyDir(t)
	server := start(t, dir)
	run(t, connect(t, server.URL(embedded.Database)), "SELECT 1")
	var st syscall.Stat_t
	if err := syscall.Stat(fmt.Sprintf("/proc/%d", postmaster(t, dir)), &st); err != nil || st.Uid == 0 {
		t.Errorf("the server runs as user %d (%v)", st.Uid, err)
	}
}

func TestStart_AsRootInAFolderThatNobodyElseReaches(t *testing.T) {
	t.Parallel()
	needRoot(t)
	dir := unreachableDir(t)
	owner := startOwner(t, dir, 0)
	run(t, connect(t, owner.url), "CREATE TABLE kept AS SELECT 42 AS n")
	uids, err := os.ReadFile(fmt.Sprintf("/proc/%d/uid_map", postmaster(t, dir)))
	if err != nil || strings.Join(strings.Fields(string(uids)), " ") != "1000 0 1" {
		t.Errorf("the server's user namespace maps %q (%v)", uids, err)
	}
	owner.kill(t)
	eventually(t, "the server ends with its owner", func() bool { return len(serverProcesses(t, dir)) == 0 })
	run(t, connect(t, start(t, dir).URL(embedded.Database)), "SELECT n FROM kept")
}

func TestStart_RefusesASecondOwnerAndNamesTheFirst(t *testing.T) {
	t.Parallel()
	dir := postgrestest.DataDir(t)
	owner := startOwner(t, dir, os.Geteuid())
	began := time.Now()
	_, err := embedded.Start(t.Context(), embedded.Options{Dir: dir})
	var inUse *embedded.InUseError
	if !errors.As(err, &inUse) || inUse.PID != owner.cmd.Process.Pid {
		t.Fatalf("got %v, want an InUseError with process %d", err, owner.cmd.Process.Pid)
	}
	want := fmt.Sprintf("data folder %s is in use by process %d; stop it or set SWITCHBOARD_DATA_DIR to another folder", dir, inUse.PID)
	if err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the refusal took %v", took)
	}
	run(t, connect(t, owner.url), "SELECT 1")
}

func TestStart_RefusesTheDataOfAVersionThatIsNotInstalled(t *testing.T) {
	t.Parallel()
	dir := postgrestest.DataDir(t)
	if err := os.WriteFile(filepath.Join(dir, "data", "PG_VERSION"), []byte("99\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := embedded.Start(t.Context(), embedded.Options{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "was made by PostgreSQL 99") {
		t.Errorf("got %v", err)
	}
}

func TestStart_LeavesAFolderAloneThatHoldsSomethingElse(t *testing.T) {
	t.Parallel()
	dir := postgrestest.EmptyDir(t)
	theirs := filepath.Join(dir, "data", "letter.txt")
	if err := os.MkdirAll(filepath.Dir(theirs), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(theirs, []byte("dear"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := embedded.Start(t.Context(), embedded.Options{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "holds something, but no PostgreSQL cluster") {
		t.Errorf("%v", err)
	}
	if content, _ := os.ReadFile(theirs); string(content) != "dear" {
		t.Error("it was overwritten")
	}
}

func TestStart_SaysWhyPostgresEnded(t *testing.T) {
	t.Parallel()
	dir := postgrestest.DataDir(t)
	if err := os.WriteFile(filepath.Join(dir, "data", "postgresql.conf"), []byte("no_such_setting = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := embedded.Start(t.Context(), embedded.Options{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "postgres failed in "+dir) || !strings.Contains(err.Error(), "postgresql.conf") {
		t.Errorf("got %v", err)
	}
}

func TestStart_InAFolderWhosePathIsTooLongForASocket(t *testing.T) {
	t.Parallel()
	parent := filepath.Join(postgrestest.DataDir(t), strings.Repeat("long-", 20))
	if err := os.Mkdir(parent, 0o711); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(filepath.Dir(parent), "data"), filepath.Join(parent, "data")); err != nil {
		t.Fatal(err)
	}
	server, err := embedded.Start(t.Context(), embedded.Options{Dir: parent})
	if err != nil {
		t.Fatal(err)
	}
	conn := connect(t, server.URL(embedded.Database))
	run(t, conn, "SELECT 1")
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(conn.Config().Host); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("left the socket folder %s behind (%v)", conn.Config().Host, err)
	}
}

func TestLog_HoldsNoValues(t *testing.T) {
	t.Parallel()
	dir := postgrestest.DataDir(t)
	server := start(t, dir)
	conn := connect(t, server.URL(embedded.Database))
	run(t, conn, "CREATE TABLE secrets (value text PRIMARY KEY)")
	const secret = "sk-never-in-a-log"
	for _, statement := range []string{
		"INSERT INTO secrets VALUES ($1), ($1)",
		"SELECT $1::text::json",
		"SELECT $1::text::int",
		"SELECT '" + secret + "'::int",
	} {
		var args []any
		if strings.Contains(statement, "$1") {
			args = []any{secret}
		}
		if _, err := conn.Exec(t.Context(), statement, args...); err == nil {
			t.Errorf("%s did not fail", statement)
		}
	}
	// A crash is logged with what the process was doing.
	conn.QueryRow(t.Context(), "SELECT pg_terminate_backend(pg_backend_pid(), 0), '"+secret+"'").Scan(nil, nil)
	text, err := os.ReadFile(filepath.Join(dir, "postgres.log"))
	if err != nil || len(text) == 0 {
		t.Fatalf("the log has %d bytes: %v", len(text), err)
	}
	if strings.Contains(string(text), secret) {
		t.Errorf("the log holds a value:\n%s", text)
	}
	if info, err := os.Stat(filepath.Join(dir, "postgres.log")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the log's mode is %v (%v)", info.Mode(), err)
	}
}
