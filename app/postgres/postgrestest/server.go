package postgrestest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/postgres/embedded"
)

// testServer is where this process's test databases are made.
type testServer struct {
	admin    string // URL of a database to make others from
	template string

	// Of a server of our own, for the life of the process. A file that nothing refers to is closed by the garbage
	// collector, and these two tell others by being closed that this process has ended.
	folder   *run
	exitPipe *os.File
}

// shared is the server of this process: found or started once.
var shared = sync.OnceValues(func() (*testServer, error) {
	ctx := context.Background()
	s := &testServer{admin: os.Getenv("SWITCHBOARD_TEST_DATABASE_URL")}
	if s.admin == "" {
		if err := s.start(ctx); err != nil {
			return nil, fmt.Errorf("cannot start a PostgreSQL for the tests: %w", err)
		}
	}
	var err error
	s.template, err = ensureTemplate(ctx, s.admin)
	return s, err
})

func (s *testServer) exec(ctx context.Context, statement string) error {
	conn, err := pgx.Connect(ctx, s.admin)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, statement)
	return err
}

func (s *testServer) start(ctx context.Context) (err error) {
	if s.folder, err = preparedRun(ctx); err != nil {
		return err
	}
	if s.exitPipe, err = removeAtExit(s.folder.dir); err != nil {
		return err
	}
	server, err := embedded.Start(ctx, embedded.Options{Dir: s.folder.dir, FastTests: true})
	if err != nil {
		return err
	}
	s.admin = server.URL("postgres")
	return nil
}

// removeAtExit removes the folder when this process has ended, however it did: Go has no hook for that. A cleaner waits
// for the end of the pipe that is returned, then for the server, which the kernel stops at the same time.
func removeAtExit(dir string) (*os.File, error) {
	const script = `read -r _
tries=0
while [ -e "$1/data/postmaster.pid" ] && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
rm -rf "$1"`
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer read.Close()
	cleaner := exec.Command("/bin/sh", "-c", script, "sh", dir)
	cleaner.Dir = "/"
	cleaner.Stdin = read
	cleaner.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C at the terminal must not reach it
	if err := cleaner.Start(); err != nil {
		write.Close()
		return nil, err
	}
	return write, nil
}

// DataDir is a folder to start an embedded server in, with a cluster already made: that saves the test half a second.
// It is removed when the test ends. Prefer it to t.TempDir, which the server's account of a test run as root cannot reach.
func DataDir(t testing.TB) string {
	t.Helper()
	r, err := preparedRun(t.Context())
	return removedAfter(t, r, err)
}

// EmptyDir is DataDir without a cluster.
func EmptyDir(t testing.TB) string {
	t.Helper()
	r, err := emptyRun()
	return removedAfter(t, r, err)
}

func removedAfter(t testing.TB, r *run, err error) string {
	t.Helper()
	if err != nil {
		t.Fatalf("cannot make a data folder: %v", err)
	}
	t.Cleanup(func() {
		if err := r.release(); err != nil {
			t.Errorf("cannot remove the data folder: %v", err)
		}
	})
	return r.dir
}

// Server is a PostgreSQL of one test's own, to be stopped and started under the code that uses it.
type Server struct {
	// URL is a database without a schema; postgres.Open migrates it. It stays the same over Stop and Start.
	URL string

	dir    string
	server *embedded.Server
}

// NewServer starts a private server, which ends with the test.
func NewServer(t testing.TB) *Server {
	t.Helper()
	s := &Server{dir: DataDir(t)}
	t.Cleanup(func() { s.Stop(t) })
	s.Start(t)
	s.URL = s.server.URL(embedded.Database)
	return s
}

// Stop stops the server and breaks all connections to it. What was committed stays.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	if s.server == nil {
		return
	}
	if err := s.server.Close(); err != nil {
		t.Errorf("cannot stop the private server: %v", err)
	}
	s.server = nil
}

// Start starts the server again after Stop and returns when it accepts connections.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	if s.server != nil {
		return
	}
	// Not the test's context: cancelled before cleanups run, it would be of no use here either.
	server, err := embedded.Start(context.Background(), embedded.Options{Dir: s.dir, FastTests: true})
	if err != nil {
		t.Fatalf("cannot start the private server: %v", err)
	}
	s.server = server
}
