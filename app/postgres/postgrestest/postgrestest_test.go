package postgrestest_test

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/postgres/embedded"
	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
)

func TestNew_EveryTestHasItsOwnMigratedDatabase(t *testing.T) {
	t.Parallel()
	for range 2 {
		db := postgrestest.New(t)
		if _, err := db.Pool.Exec(t.Context(), "INSERT INTO settings (key, value) VALUES ('a', 'b')"); err != nil {
			t.Error(err)
		}
	}
}

func TestNew_RefusesARowThatTheProductNeverWrites(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	_, err := db.Pool.Exec(t.Context(), `
		WITH h AS (INSERT INTO humans (id, issuer, subject, name) VALUES (gen_random_uuid(), 'i', 's', 'n') RETURNING id),
		a AS (INSERT INTO agents (id, human_id, name) SELECT gen_random_uuid(), id, 'a' FROM h RETURNING id, human_id),
		e AS (INSERT INTO endpoints (id, human_id, agent_id, slug, queues, verbs)
			SELECT gen_random_uuid(), human_id, id, 'slug', '{default}', '{}' FROM a RETURNING id, human_id)
		INSERT INTO todos (id, endpoint_id, human_id, queue, source, title, max_attempts, created_at, updated_at, owner)
		SELECT gen_random_uuid(), id, human_id, 'default', 'operator', 't', 5, sb_now(), sb_now(), 'agent:x' FROM e`)
	if err == nil || !strings.Contains(err.Error(), "rule_state") {
		t.Errorf("a pending todo with an owner: %v", err)
	}
}

func TestAdvance_MovesTheClockOfOneDatabase(t *testing.T) {
	t.Parallel()
	moved, other := postgrestest.New(t), postgrestest.New(t)
	moved.Advance(t, time.Hour)
	moved.Advance(t, 30*time.Minute)
	for db, want := range map[*postgrestest.DB]time.Duration{moved: 90 * time.Minute, other: 0} {
		var ahead time.Duration
		if err := db.Pool.QueryRow(t.Context(), "SELECT sb_now() - clock_timestamp()").Scan(&ahead); err != nil {
			t.Fatal(err)
		}
		if (ahead - want).Abs() > time.Second {
			t.Errorf("the clock is %v ahead, want %v", ahead, want)
		}
	}
}

func TestAdvance_IsSeenByPreparedStatementsAndOpenTransactions(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	tx, err := db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	now := func() (at time.Time) {
		t.Helper()
		if err := tx.QueryRow(t.Context(), "SELECT sb_now()").Scan(&at); err != nil {
			t.Fatal(err)
		}
		return at
	}
	before := now()
	db.Advance(t, time.Hour)
	if passed := now().Sub(before); passed < time.Hour {
		t.Errorf("%v passed, want an hour", passed)
	}
}

func TestServer_KeepsItsRowsAndItsURLOverStopAndStart(t *testing.T) {
	t.Parallel()
	server := postgrestest.NewServer(t)
	exec := func(statement string) error {
		conn, err := pgx.Connect(t.Context(), server.URL)
		if err != nil {
			return err
		}
		defer conn.Close(t.Context())
		_, err = conn.Exec(t.Context(), statement)
		return err
	}
	if err := exec("CREATE TABLE kept AS SELECT 42 AS n"); err != nil {
		t.Fatal(err)
	}
	server.Stop(t)
	if err := exec("SELECT FROM kept"); err == nil {
		t.Error("a stopped server answered")
	}
	server.Start(t)
	if err := exec("SELECT FROM kept"); err != nil {
		t.Error(err)
	}
}

func TestDataDir_HoldsACluster(t *testing.T) {
	t.Parallel()
	server, err := embedded.Start(t.Context(), embedded.Options{Dir: postgrestest.DataDir(t), FastTests: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
}

// childVariable makes the next test a process that uses a database until its input ends.
const childVariable = "SWITCHBOARD_TEST_CHILD"

func TestProcesses_LeaveNothingBehind(t *testing.T) {
	if os.Getenv(childVariable) != "" {
		fmt.Println("using", postgrestest.New(t).URL)
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	t.Parallel()
	var folders []string
	var ends []func() error
	for i := range 3 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestProcesses_LeaveNothingBehind$")
		cmd.Env = append(os.Environ(), childVariable+"=1", "SWITCHBOARD_TEST_DATABASE_URL=")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill() // already ended, unless the test failed
			_ = cmd.Wait()
		})
		line, err := bufio.NewReader(out).ReadString('\n')
		used, found := strings.CutPrefix(strings.TrimSpace(line), "using ")
		if !found {
			t.Fatalf("the child said %q (%v)", line, err)
		}
		u, err := url.Parse(used)
		if err != nil {
			t.Fatal(err)
		}
		folders = append(folders, filepath.Dir(u.Query().Get("host")))
		end := in.Close
		if i == 0 {
			end = cmd.Process.Kill
		}
		ends = append(ends, end)
	}
	for i, folder := range folders {
		if _, err := os.Stat(folder); err != nil {
			t.Errorf("the folder of process %d is gone while it runs: %v", i, err)
		}
	}
	for _, end := range ends {
		if err := end(); err != nil {
			t.Error(err)
		}
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(20 * time.Second)
	for _, folder := range folders {
		for exists(folder) || served(t, folder) {
			select {
			case <-tick.C:
			case <-deadline:
				t.Fatalf("left behind: the folder %s (%t) or its server (%t)", folder, exists(folder), served(t, folder))
			}
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !os.IsNotExist(err)
}

// served says whether a live process names the folder in its command line.
func served(t *testing.T, folder string) bool {
	t.Helper()
	cmdlines, err := fs.Glob(os.DirFS("/proc"), "[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range cmdlines {
		if text, err := os.ReadFile(filepath.Join("/proc", path)); err == nil && strings.Contains(string(text), folder+"/data") {
			return true
		}
	}
	return false
}
