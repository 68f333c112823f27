package postgrestest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/switchboard-otel/switchboard/app/postgres/embedded"
)

// Every test process runs a server of its own on a copy of one prepared cluster, which costs a third of a second. A
// server shared by the processes would save that, and would need somebody to outlive the process that started it,
// to know when the last user is gone, and to collect the databases of all packages until then. This way the kernel
// ends the server with its process, killed or not, and a fault that a test injects hits that test's package only.
type base struct {
	// dir holds the lock, which is held while folders are made, copied and removed, and cluster-<version>, the prepared
	// cluster: initdb done, template database made.
	dir  string
	lock *os.File

	// runs holds run-<random>, the copy of one process or private server, which keeps run-<random>/in-use locked.
	runs string
}

// enterBase makes this user's folders, locks them and removes the copies whose processes are gone. The caller leaves it.
func enterBase() (*base, error) {
	name := fmt.Sprintf("switchboard-test-%d", os.Geteuid())
	b := &base{dir: filepath.Join(os.TempDir(), name), runs: filepath.Join(runsParent(), name)}
	for _, dir := range []string{b.dir, b.runs} {
		if err := makePrivate(dir); err != nil {
			return nil, err
		}
	}
	var err error
	if b.lock, err = os.OpenFile(filepath.Join(b.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, err
	}
	if err := flock(b.lock, syscall.LOCK_EX); err != nil {
		b.leave()
		return nil, fmt.Errorf("cannot lock %s: %w", b.lock.Name(), err)
	}
	b.sweep()
	return b, nil
}

// sharedMemory is a file system in memory that every Linux has. ext4 avoids the numbers of recently deleted files, so
// after some test runs it makes the 400 files of a database ten times slower.
const (
	sharedMemory     = "/dev/shm"
	sharedMemoryRoom = 1 << 30 // bytes; a container often has much less
)

// runsParent is where copies live: in memory when there is room, unless TMPDIR says where to work.
func runsParent() string {
	var stat syscall.Statfs_t
	if os.Getenv("TMPDIR") == "" && syscall.Statfs(sharedMemory, &stat) == nil && stat.Bavail*uint64(stat.Bsize) >= sharedMemoryRoom {
		return sharedMemory
	}
	return os.TempDir()
}

// makePrivate makes a folder that only this user writes to. Root's lets others pass, for its server runs as one of them.
func makePrivate(dir string) error {
	mode := os.FileMode(0o700)
	if os.Geteuid() == 0 {
		mode = 0o711
	}
	if err := os.Mkdir(dir, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if st := info.Sys().(*syscall.Stat_t); !info.IsDir() || int(st.Uid) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s belongs to somebody else; remove it", dir)
	}
	return nil
}

func (b *base) leave() { b.lock.Close() }

// unusedClusterAge is how long a prepared cluster is kept for other states of the migrations, such as another branch.
const unusedClusterAge = 24 * time.Hour

// sweep removes what no process uses. What cannot be removed now is swept another time.
func (b *base) sweep() {
	runs, _ := filepath.Glob(filepath.Join(b.runs, "run-*"))
	for _, run := range runs {
		inUse, err := os.OpenFile(filepath.Join(run, "in-use"), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			continue
		}
		if flock(inUse, syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.RemoveAll(run)
		}
		inUse.Close()
	}
	clusters, _ := filepath.Glob(filepath.Join(b.dir, "cluster-*"))
	for _, cluster := range clusters {
		if info, err := os.Stat(cluster); err == nil && time.Since(info.ModTime()) > unusedClusterAge {
			_ = os.RemoveAll(cluster)
		}
	}
}

// prepared is the folder of the prepared cluster, which it makes when there is none for these migrations and this
// PostgreSQL.
func (b *base) prepared(ctx context.Context) (string, error) {
	hash, err := schemaHash()
	if err != nil {
		return "", err
	}
	major, err := embedded.Installed(ctx)
	if err != nil {
		return "", err
	}
	cluster := filepath.Join(b.dir, fmt.Sprintf("cluster-%d-%s", major, hash))
	now := time.Now()
	if err := os.Chtimes(cluster, now, now); err == nil {
		return cluster, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	half := filepath.Join(b.dir, "half-made")
	if err := os.RemoveAll(half); err != nil {
		return "", err
	}
	server, err := embedded.Start(ctx, embedded.Options{Dir: half, FastTests: true})
	if err != nil {
		return "", err
	}
	_, err = ensureTemplate(ctx, server.URL("postgres"))
	if err := errors.Join(err, server.Close()); err != nil {
		return "", err
	}
	return cluster, os.Rename(half, cluster)
}

// run is a folder that this process uses.
type run struct {
	dir   string
	inUse *os.File
}

// newRun makes an empty folder that is swept when this process has ended, if release did not remove it before.
func (b *base) newRun() (*run, error) {
	dir, err := os.MkdirTemp(b.runs, "run-")
	if err != nil {
		return nil, err
	}
	inUse, err := os.OpenFile(filepath.Join(dir, "in-use"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	r := &run{dir, inUse}
	if err := flock(inUse, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, r.release())
	}
	if os.Geteuid() == 0 {
		if err := os.Chmod(dir, 0o711); err != nil {
			return nil, errors.Join(err, r.release())
		}
	}
	return r, nil
}

// emptyRun makes a folder without a cluster.
func emptyRun() (*run, error) {
	b, err := enterBase()
	if err != nil {
		return nil, err
	}
	defer b.leave()
	return b.newRun()
}

// preparedRun makes a folder with a copy of the prepared cluster.
func preparedRun(ctx context.Context) (*run, error) {
	b, err := enterBase()
	if err != nil {
		return nil, err
	}
	defer b.leave()
	cluster, err := b.prepared(ctx)
	if err != nil {
		return nil, err
	}
	r, err := b.newRun()
	if err != nil {
		return nil, err
	}
	// cp keeps owners and shares blocks where the file system can.
	if out, err := exec.CommandContext(ctx, "cp", "-a", filepath.Join(cluster, "data"), r.dir).CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot copy the prepared cluster: %w: %s", err, bytes.TrimSpace(out)), r.release())
	}
	return r, nil
}

func (r *run) release() error {
	return errors.Join(os.RemoveAll(r.dir), r.inUse.Close())
}

// flock locks the file; a signal, such as Go's own for preemption, does not end the wait.
func flock(file *os.File, how int) error {
	for {
		if err := syscall.Flock(int(file.Fd()), how); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
