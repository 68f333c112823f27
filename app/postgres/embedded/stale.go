//go:build linux

package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"go.uber.org/zap"
)

// clusterName names the cluster after its folder's identity. Every process of the server carries it in its command
// line, which, unlike its working directory, root may read in a container without ptrace rights.
func clusterName(data string) (string, error) {
	var st syscall.Stat_t
	if err := syscall.Stat(data, &st); err != nil {
		return "", err
	}
	return fmt.Sprintf("switchboard-%x-%x-cluster", st.Dev, st.Ino), nil
}

// How long processes that an earlier owner left behind get at each step before the next, harsher one.
const (
	staleFastPatience      = 10 * time.Second // SIGINT to the postmaster: a clean, fast stop
	staleImmediatePatience = 5 * time.Second  // SIGQUIT to all: stop without a checkpoint
	staleKillPatience      = 5 * time.Second  // SIGKILL to all
)

// clearStale ends what an earlier owner left running and removes its lock files. Our lock on the folder says that
// this owner is gone; its server got SIGINT and may just be writing its last checkpoint.
func (s *Server) clearStale(ctx context.Context) error {
	name, err := clusterName(s.data)
	if err != nil {
		return fmt.Errorf("data folder %s cannot be read: %w", s.dir, err)
	}
	postmaster, _ := readPostmaster(s.data)
	began := time.Now()
	steps := []struct {
		after  time.Duration
		signal syscall.Signal
		all    bool
	}{
		{0, syscall.SIGINT, false},
		{staleFastPatience, syscall.SIGQUIT, true},
		{staleFastPatience + staleImmediatePatience, syscall.SIGKILL, true},
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		left := s.serverProcesses(name)
		if len(left) == 0 {
			break
		}
		if len(steps) > 0 && time.Since(began) >= steps[0].after {
			step := steps[0]
			steps = steps[1:]
			s.log.Info("stopping a PostgreSQL that an earlier process left behind", zap.Ints("processes", left), zap.Stringer("signal", step.signal))
			for _, pid := range left {
				switch {
				case step.all || pid == postmaster:
					_ = syscall.Kill(pid, step.signal)
				case !slices.Contains(left, postmaster):
					// The postmaster was killed. A busy child notices only when it is done.
					_ = syscall.Kill(pid, syscall.SIGQUIT)
				}
			}
		}
		if time.Since(began) > staleFastPatience+staleImmediatePatience+staleKillPatience {
			return fmt.Errorf("processes %v of an earlier PostgreSQL still use the data folder %s; stop them", left, s.dir)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return s.removeLockFiles(postmaster)
}

// removeLockFiles removes the files by which a postmaster that is gone would still be respected when its number was
// given to another process. PostgreSQL's own shared memory check stays as the second line.
func (s *Server) removeLockFiles(postmaster int) error {
	if s.worksIn(postmaster) {
		return fmt.Errorf("PostgreSQL process %d was started by hand in the data folder %s; stop it", postmaster, s.dir)
	}
	for _, path := range []string{
		filepath.Join(s.data, "postmaster.pid"),
		filepath.Join(s.sockets, ".s.PGSQL."+port),
		filepath.Join(s.sockets, ".s.PGSQL."+port+".lock"),
	} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("data folder %s cannot be written: %w", s.dir, err)
		}
	}
	return nil
}

// serverProcesses are the processes of the named cluster that are not gone. A zombie is: in a container without a
// reaping init it would stay for ever.
func (s *Server) serverProcesses(name string) []int {
	entries, _ := os.ReadDir("/proc")
	var found []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		cmdline, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		if err != nil {
			continue
		}
		ours := bytes.Contains(cmdline, []byte(name)) && s.runsAsAccount(entry)
		// A process that is ending loses its memory, and with it its command line, before its working directory.
		ending := len(cmdline) == 0 && s.worksIn(pid)
		if ours || ending {
			found = append(found, pid)
		}
	}
	return found
}

// runsAsAccount keeps us from signalling a stranger: anybody may write anything into a command line.
func (s *Server) runsAsAccount(process fs.DirEntry) bool {
	info, err := process.Info()
	return err == nil && int(info.Sys().(*syscall.Stat_t).Uid) == s.account.uid
}

// worksIn says whether the process has the cluster as its working directory, as every server process does.
func (s *Server) worksIn(pid int) bool {
	cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	return err == nil && cwd == s.data
}

// readPostmaster reads which process serves data, 0 for none, and whether it accepts connections: the first and the
// eighth line of postmaster.pid, as pg_ctl reads them.
func readPostmaster(data string) (pid int, ready bool) {
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return 0, false
	}
	lines := strings.Split(string(text), "\n")
	pid, _ = strconv.Atoi(strings.TrimSpace(lines[0])) // 0 for what is no number
	const state = 7
	return pid, len(lines) > state && strings.TrimSpace(lines[state]) == "ready"
}
