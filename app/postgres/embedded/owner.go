//go:build linux

package embedded

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
	"time"
)

// ownership is the exclusive right to one data folder: a lock that the kernel drops when this process ends, so
// nothing that a killed process leaves behind can block the next one.
type ownership struct{ file *os.File }

func errNotOurs(shown string) error {
	return fmt.Errorf("data folder %s belongs to another user; start as that user or set SWITCHBOARD_DATA_DIR to another folder", shown)
}

// own takes the folder or fails at once with an InUseError.
func own(ctx context.Context, dir, shown string) (*ownership, error) {
	file, err := os.OpenFile(filepath.Join(dir, "owner.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrPermission) {
		return nil, errNotOurs(shown)
	}
	if err != nil {
		return nil, fmt.Errorf("data folder %s cannot be locked: %w", shown, err)
	}
	switch err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		defer file.Close()
		return nil, &InUseError{Dir: shown, PID: holder(ctx, file)}
	case err != nil:
		file.Close()
		return nil, fmt.Errorf("data folder %s cannot be locked: %w", shown, err)
	}
	// One write of a fixed length: whoever reads in between sees the old or the new number, never a mix.
	if _, err := file.WriteAt(fmt.Appendf(nil, "%-20d\n", os.Getpid()), 0); err != nil {
		file.Close()
		return nil, fmt.Errorf("data folder %s cannot be written: %w", shown, err)
	}
	return &ownership{file}, nil
}

// holderPatience bounds how long a refused process waits to learn the holder's number: the holder writes it
// right after it took the lock.
const holderPatience = time.Second

// holder is the process that wrote its number into the lock file, 0 when none that lives did.
func holder(ctx context.Context, file *os.File) int {
	ctx, cancel := context.WithTimeout(ctx, holderPatience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		text := make([]byte, 21)
		n, _ := file.ReadAt(text, 0) // a short read is an empty or foreign file, which parses to nothing
		pid, err := strconv.Atoi(strings.TrimSpace(string(text[:n])))
		if err == nil && pid > 0 && syscall.Kill(pid, 0) != syscall.ESRCH {
			return pid
		}
		select {
		case <-ctx.Done():
			return 0
		case <-tick.C:
		}
	}
}

// release gives the folder back. The file stays: removing a lock file lets two processes hold two of them.
func (o *ownership) release() error {
	return errors.Join(o.file.Truncate(0), o.file.Close())
}
