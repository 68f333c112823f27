//go:build linux

package embedded

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"
)

// Server is a running PostgreSQL that this process owns. When it dies it is started again, for as long as the
// Server is not closed.
type Server struct {
	dir      string // as configured, for messages
	data     string
	sockets  string
	fast     bool
	log      *zap.Logger
	programs programs
	account  account
	owner    *ownership
	launcher *launcher

	closing   context.Context // cancelled by Close
	beginStop context.CancelFunc
	stopped   chan struct{} // closed when nothing runs any more
	closeOnce sync.Once
	closeErr  error
}

// port names the socket; nothing listens on a network.
const port = "5432"

// Start takes the folder, makes the cluster when there is none, starts the server and returns when it accepts
// connections, also after it had to recover first. Cancelling ctx gives up the start and is ignored afterwards.
// The error is one sentence; an InUseError when another process owns the folder.
func Start(ctx context.Context, o Options) (_ *Server, err error) {
	s := &Server{dir: o.Dir, fast: o.FastTests, log: o.Logger, stopped: make(chan struct{})}
	if s.log == nil {
		s.log = zap.NewNop()
	}
	dir, err := makeDataDir(o.Dir)
	if err != nil {
		return nil, err
	}
	s.data = filepath.Join(dir, "data")
	if s.owner, err = own(ctx, dir, o.Dir); err != nil {
		return nil, err
	}
	s.launcher = newLauncher()
	s.closing, s.beginStop = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			s.beginStop()
			s.launcher.close()
			err = errors.Join(err, s.owner.release())
		}
	}()
	if s.programs, err = findPrograms(ctx, s.data); err != nil {
		return nil, err
	}
	if s.account, err = chooseAccount(dir, s.data, o.Dir); err != nil {
		return nil, err
	}
	if s.sockets, err = s.account.makeSocketDir(dir); err != nil {
		return nil, err
	}
	if err = s.ensureCluster(ctx); err != nil {
		return nil, err
	}
	running, err := s.launch(ctx)
	if err != nil {
		return nil, err
	}
	if err = s.ensureDatabase(ctx); err != nil {
		running.stop(shutdownSteps...)
		return nil, err
	}
	go s.supervise(running)
	return s, nil
}

// URL is the connection string of one database of the server. It holds no secret.
func (s *Server) URL(database string) string {
	query := url.Values{"host": {s.sockets}, "port": {port}, "sslmode": {"disable"}}
	return (&url.URL{Scheme: "postgres", User: url.User(role), Path: "/" + database, RawQuery: query.Encode()}).String()
}

// shutdownSteps let the server finish its writes before it is made to stop.
var shutdownSteps = []stopStep{
	{syscall.SIGINT, 20 * time.Second}, // fast: roll back, checkpoint, exit
	{syscall.SIGQUIT, 5 * time.Second}, // immediate: the next start recovers
}

// Close stops the server cleanly and gives the folder back.
func (s *Server) Close() error {
	s.closeOnce.Do(func() {
		s.beginStop()
		<-s.stopped
		s.launcher.close()
		if filepath.Dir(s.sockets) != filepath.Dir(s.data) {
			_ = os.Remove(s.sockets) // empty now; where it is not ours to remove, it serves again
		}
		s.closeErr = s.owner.release()
	})
	return s.closeErr
}

// How long to wait before a server that died is started again: at once the first time, then doubling. A
// server that stayed up for steadyAfter starts from the beginning.
const (
	firstRestartDelay = 250 * time.Millisecond
	lastRestartDelay  = 15 * time.Second
	steadyAfter       = time.Minute
)

// supervise starts the server again whenever it ends, until Close.
func (s *Server) supervise(running *process) {
	defer close(s.stopped)
	var delay time.Duration
	for {
		began := time.Now()
		select {
		case <-s.closing.Done():
			running.stop(shutdownSteps...)
			return
		case <-running.done:
		}
		s.log.Error("PostgreSQL ended unexpectedly; starting it again", zap.NamedError("ended", running.err))
		if time.Since(began) > steadyAfter {
			delay = 0
		}
		for running = nil; running == nil; {
			if !s.pause(delay) {
				return
			}
			delay = min(max(2*delay, firstRestartDelay), lastRestartDelay)
			var err error
			if running, err = s.launch(s.closing); err != nil && s.closing.Err() == nil {
				s.log.Error("PostgreSQL does not start; trying again", zap.Error(err), zap.Duration("in", delay))
			}
		}
		s.log.Info("PostgreSQL is back")
	}
}

func (s *Server) logPath() string { return filepath.Join(filepath.Dir(s.data), "postgres.log") }

// pause waits and says whether the server is still wanted.
func (s *Server) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-s.closing.Done():
		return false
	case <-timer.C:
		return true
	}
}

// launch starts the server and returns when it accepts connections.
func (s *Server) launch(ctx context.Context) (*process, error) {
	if err := s.clearStale(ctx); err != nil {
		return nil, err
	}
	arguments, err := s.arguments()
	if err != nil {
		return nil, err
	}
	log, err := openLog(s.logPath())
	if err != nil {
		return nil, fmt.Errorf("data folder %s cannot be written: %w", s.dir, err)
	}
	defer log.Close()
	cmd := exec.Command(s.programs.path("postgres"), arguments...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = "/", childEnvironment, s.account.attributes()
	cmd.Stdout, cmd.Stderr = log, log
	running, err := s.launcher.start(cmd)
	if err != nil {
		return nil, s.startError("postgres", err, "")
	}
	if err := s.awaitReady(ctx, running); err != nil {
		running.stop(shutdownSteps...)
		return nil, err
	}
	return running, nil
}

// awaitReady returns when the server accepts connections or has ended. Recovery may take long, so only the caller's
// context bounds it. The server writes its state into postmaster.pid; asking by connecting would fill its log.
func (s *Server) awaitReady(ctx context.Context, running *process) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if pid, ready := readPostmaster(s.data); ready && pid == running.cmd.Process.Pid {
			return nil
		}
		select {
		case <-running.done:
			return s.startError("postgres", running.err, loggedComplaint(s.logPath()))
		case <-ctx.Done():
			return fmt.Errorf("postgres did not accept connections in time: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

// ensureDatabase creates the product's database once.
func (s *Server) ensureDatabase(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return fmt.Errorf("the embedded PostgreSQL does not answer: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var exists bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", Database).Scan(&exists); err != nil {
		return fmt.Errorf("the embedded PostgreSQL does not answer: %w", err)
	}
	if exists {
		return nil
	}
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{Database}.Sanitize()); err != nil {
		return fmt.Errorf("cannot create the database: %w", err)
	}
	return nil
}

// makeDataDir makes the folder and returns its real path. Root's lets others pass, because the server runs as an
// account that must reach its own folders in it; what is in it is private file by file.
func makeDataDir(dir string) (string, error) {
	if dir == "" {
		return "", errors.New("no data folder is configured; set SWITCHBOARD_DATA_DIR or SWITCHBOARD_DATABASE_URL")
	}
	path, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("data folder %s: %w", dir, err)
	}
	mode := os.FileMode(0o700)
	if os.Geteuid() == 0 {
		mode = 0o711
	}
	if err := os.MkdirAll(path, mode); err != nil {
		return "", fmt.Errorf("data folder %s cannot be made: %w", dir, err)
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", fmt.Errorf("data folder %s: %w", dir, err)
	}
	return path, nil
}
