//go:build linux

package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
)

// childEnvironment is all that PostgreSQL's programs get: nothing of ours, which holds secrets and PG* variables.
var childEnvironment = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C.UTF-8", "TZ=UTC"}

// ensureCluster makes the cluster when there is none. It is made in a sibling folder and renamed when it is complete, so
// a half-made one is never used.
func (s *Server) ensureCluster(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(s.data, "PG_VERSION")); err == nil {
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("data folder %s cannot be read: %w", s.dir, err)
	}
	// An empty folder may be a mount point; anything else in it is not ours to overwrite.
	if err := os.Remove(s.data); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s holds something, but no PostgreSQL cluster; move it away, or set SWITCHBOARD_DATA_DIR to another folder", s.data)
	}
	began := time.Now()
	s.removeHalfMade()
	// Absolute, as s.data is: PostgreSQL's programs run in another working folder than we do.
	half, err := os.MkdirTemp(filepath.Dir(s.data), halfMadePrefix)
	if err != nil {
		return fmt.Errorf("data folder %s cannot be written: %w", s.dir, err)
	}
	if err := s.account.give(half); err != nil {
		return fmt.Errorf("data folder %s cannot be given to user %d: %w", s.dir, s.account.uid, err)
	}
	cmd := exec.Command(s.programs.path("initdb"), "--pgdata", half, "--username", role, "--auth", "trust",
		"--encoding", "UTF8", "--locale", "C.UTF-8", "--data-checksums", "--no-instructions")
	if s.fast {
		cmd.Args = append(cmd.Args, "--no-sync", "--wal-segsize", "1") // small to copy
	}
	cmd.Dir, cmd.Env, cmd.SysProcAttr = "/", childEnvironment, s.account.attributes()
	if out, err := s.launcher.output(ctx, cmd); err != nil {
		s.removeHalfMade()
		return s.startError("initdb", err, complaint(out))
	}
	// The socket folder is the fence: no other way in.
	if err := os.WriteFile(filepath.Join(half, "pg_hba.conf"), []byte("local all all trust\n"), 0o600); err != nil {
		return fmt.Errorf("data folder %s cannot be written: %w", s.dir, err)
	}
	if err := os.Rename(half, s.data); err != nil {
		return fmt.Errorf("data folder %s cannot be written: %w", s.dir, err)
	}
	s.removeHalfMade() // once more: a child of an interrupted initdb may have outlived it for a moment
	s.log.Info("made a PostgreSQL data folder", zap.String("folder", s.data), zap.Int("postgresql", s.programs.major),
		zap.Duration("took", time.Since(began)))
	return nil
}

const halfMadePrefix = "data.half-made-"

// removeHalfMade removes what an interrupted initdb left. Failing is harmless: the next one gets a name of its own.
func (s *Server) removeHalfMade() {
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(s.data), halfMadePrefix+"*"))
	for _, path := range left {
		_ = os.RemoveAll(path)
	}
}

// startError puts into one sentence why a program of PostgreSQL did not start or did not go on.
func (s *Server) startError(program string, err error, said string) error {
	var fork *fs.PathError // the child never came to be
	if s.account.namespace && errors.As(err, &fork) {
		return fmt.Errorf("PostgreSQL does not run as root, no unprivileged account reaches the data folder %s and this system "+
			"allows no user namespace (%w); set SWITCHBOARD_DATA_DIR to a folder that everybody may enter", s.dir, fork.Err)
	}
	if said != "" {
		return fmt.Errorf("%s failed in %s: %w: %s", program, s.dir, err, said)
	}
	return fmt.Errorf("%s failed in %s: %w", program, s.dir, err)
}

// complaint is the last line of a program's output that is an error, without its time stamp; programs say after it that they
// clean up or shut down.
func complaint(out string) string {
	lines := strings.Split(out, "\n")
	for _, line := range slices.Backward(lines) {
		for _, mark := range []string{"FATAL: ", "PANIC: ", "error: "} {
			if _, text, found := strings.Cut(line, mark); found {
				return strings.TrimSpace(text)
			}
		}
	}
	return ""
}
