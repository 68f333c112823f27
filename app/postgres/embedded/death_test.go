//go:build linux

package embedded_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/switchboard-otel/switchboard/app/postgres/embedded"
	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
)

func TestKilledOwner_LeavesNoServerAndLosesNothing(t *testing.T) {
	t.Parallel()
	dir := postgrestest.DataDir(t)
	owner := startOwner(t, dir, os.Geteuid())
	conn := connect(t, owner.url)
	run(t, conn, "CREATE TABLE kept (n int)")
	run(t, conn, "INSERT INTO kept VALUES (42)")
	busy := connect(t, owner.url)
	run(t, busy, "BEGIN")
	run(t, busy, "INSERT INTO kept VALUES (43)")
	owner.kill(t)
	eventually(t, "the server ends with its owner", func() bool { return len(serverProcesses(t, dir)) == 0 })

	var sum int
	next := connect(t, start(t, dir).URL(embedded.Database))
	if err := next.QueryRow(t.Context(), "SELECT sum(n) FROM kept").Scan(&sum); err != nil || sum != 42 {
		t.Errorf("the committed rows sum to %d (%v), want 42", sum, err)
	}
}

func TestStart_RightAfterTheOwnerWasKilled(t *testing.T) {
	t.Parallel()
	dir := postgrestest.DataDir(t)
	for range 3 {
		startOwner(t, dir, os.Geteuid()).kill(t) // its server may still be stopping
	}
	run(t, connect(t, start(t, dir).URL(embedded.Database)), "SELECT 1")
}

func TestKilledPostmaster_IsStartedAgain(t *testing.T) {
	t.Parallel()
	dir := postgrestest.DataDir(t)
	server := start(t, dir)
	conn := connect(t, server.URL(embedded.Database))
	run(t, conn, "CREATE TABLE kept AS SELECT 42 AS n")
	for range 2 {
		first := postmaster(t, dir)
		if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the server is back with its rows", func() bool {
			conn, err := pgx.Connect(t.Context(), server.URL(embedded.Database))
			if err != nil {
				return false
			}
			defer conn.Close(t.Context())
			_, err = conn.Exec(t.Context(), "SELECT n FROM kept")
			return err == nil && postmaster(t, dir) != first
		})
	}
}

func TestKilledPostmaster_IsStartedAgainWhenTheCauseIsGone(t *testing.T) {
	t.Parallel()
	dir := postgrestest.DataDir(t)
	core, logs := observer.New(zap.InfoLevel)
	server, err := embedded.Start(t.Context(), embedded.Options{Dir: dir, Logger: zap.New(core)})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	conf := filepath.Join(dir, "data", "postgresql.conf")
	good, err := os.ReadFile(conf)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(conf, []byte("no_such_setting = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(postmaster(t, dir), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "two starts fail", func() bool {
		return logs.FilterMessage("PostgreSQL does not start; trying again").Len() >= 2
	})
	if err := os.WriteFile(conf, good, 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server is back", func() bool { return logs.FilterMessage("PostgreSQL is back").Len() > 0 })
	run(t, connect(t, server.URL(embedded.Database)), "SELECT 1")
}

func TestClose_WhileTheServerDoesNotStart(t *testing.T) {
	t.Parallel()
	dir := postgrestest.DataDir(t)
	core, logs := observer.New(zap.InfoLevel)
	server, err := embedded.Start(t.Context(), embedded.Options{Dir: dir, Logger: zap.New(core)})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "data", "global", "pg_control")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(postmaster(t, dir), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a start fails", func() bool {
		return logs.FilterMessage("PostgreSQL does not start; trying again").Len() > 0
	})
	if err := server.Close(); err != nil {
		t.Error(err)
	}
}

func TestHalfMadeCluster_IsNeverUsed(t *testing.T) {
	t.Parallel()
	dir := postgrestest.EmptyDir(t)
	halfMade := func() []string {
		found, _ := filepath.Glob(filepath.Join(dir, "data.half-made-*"))
		return found
	}
	owner, _ := launchOwner(t, dir, os.Geteuid())
	eventually(t, "initdb is at work", func() bool {
		found, _ := filepath.Glob(filepath.Join(dir, "data.half-made-*", "PG_VERSION"))
		return len(found) > 0
	})
	owner.kill(t)
	if _, err := os.Stat(filepath.Join(dir, "data")); err == nil {
		t.Skip("initdb was done before it could be interrupted")
	}
	if len(halfMade()) == 0 {
		t.Fatal("the interrupted initdb left nothing, so this test shows nothing")
	}
	run(t, connect(t, start(t, dir).URL(embedded.Database)), "SELECT 1")
	if left := halfMade(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestStart_IgnoresALockFileWhoseNumberBelongsToAnotherProcess(t *testing.T) {
	t.Parallel()
	dir := postgrestest.DataDir(t)
	file := filepath.Join(dir, "data", "postmaster.pid")
	if err := os.WriteFile(file, fmt.Appendf(nil, "%d\n%s\n", os.Getppid(), filepath.Join(dir, "data")), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, connect(t, start(t, dir).URL(embedded.Database)), "SELECT 1")
}

func TestStart_RefusesDataThatAServerStartedByHandUses(t *testing.T) {
	t.Parallel()
	dir := postgrestest.DataDir(t)
	data := filepath.Join(dir, "data")
	byHand := exec.Command("sleep", "1000") // all that shows is where it works
	byHand.Dir = data
	if err := byHand.Start(); err != nil {
		t.Fatal(err)
	}
	defer byHand.Wait()
	defer byHand.Process.Kill()
	pid := byHand.Process.Pid
	if err := os.WriteFile(filepath.Join(data, "postmaster.pid"), fmt.Appendf(nil, "%d\n%s\n", pid, data), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := embedded.Start(t.Context(), embedded.Options{Dir: dir})
	want := fmt.Sprintf("PostgreSQL process %d was started by hand in the data folder %s; stop it", pid, dir)
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestClose_LeavesNothingRunning(t *testing.T) {
	t.Parallel()
	dir := postgrestest.DataDir(t)
	server, err := embedded.Start(t.Context(), embedded.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	conn := connect(t, server.URL(embedded.Database))
	run(t, conn, "SELECT 1")
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if left := serverProcesses(t, dir); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
	if err := server.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
}
