//go:build linux

package embedded

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// launcher starts every child from one OS thread that lives until close. The kernel sends a child its death signal
// when the thread that forked it ends, and Go ends idle threads as it likes.
type launcher struct{ work chan func() }

func newLauncher() *launcher {
	l := &launcher{work: make(chan func())}
	go l.run()
	return l
}

func (l *launcher) run() {
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	for f := range l.work {
		f()
	}
}

// close ends the thread, and with it every child that still runs.
func (l *launcher) close() { close(l.work) }

// start starts the command and watches it.
func (l *launcher) start(cmd *exec.Cmd) (*process, error) {
	started := make(chan error)
	l.work <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	go p.watch()
	return p, nil
}

// process is a child that was started.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the child has ended
	err  error         // why it ended; read it after done
}

func (p *process) watch() {
	p.err = p.cmd.Wait()
	close(p.done)
}

// stop sends signals, each after the patience of the one before ran out, until the child has ended.
func (p *process) stop(steps ...stopStep) {
	for _, step := range steps {
		// An error means that the child has ended, which done says as well.
		_ = p.cmd.Process.Signal(step.signal)
		patience := time.NewTimer(step.patience)
		select {
		case <-p.done:
			patience.Stop()
			return
		case <-patience.C:
		}
	}
	_ = p.cmd.Process.Kill()
	<-p.done
}

type stopStep struct {
	signal   syscall.Signal
	patience time.Duration
}

// output runs the command to its end and returns what it printed. Cancelling ctx interrupts it.
func (l *launcher) output(ctx context.Context, cmd *exec.Cmd) (string, error) {
	var out tail
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 5 * time.Second // for a grandchild that keeps the pipe
	p, err := l.start(cmd)
	if err != nil {
		return "", err
	}
	select {
	case <-p.done:
		return out.String(), p.err
	case <-ctx.Done():
		p.stop(stopStep{syscall.SIGINT, 5 * time.Second})
		return out.String(), errors.Join(ctx.Err(), p.err)
	}
}

// tail keeps the last part of what is written to it: programs say at the end why they gave up.
type tail struct{ kept []byte }

const tailBytes = 2048

func (t *tail) Write(b []byte) (int, error) {
	t.kept = append(t.kept, b...)
	if extra := len(t.kept) - tailBytes; extra > 0 {
		t.kept = append(t.kept[:0], t.kept[extra:]...)
	}
	return len(b), nil
}

func (t *tail) String() string { return string(t.kept) }
