//go:build linux

package embedded_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/switchboard-otel/switchboard/app/postgres/embedded"
)

// ownerFolder makes this test program an owner process instead: it starts a server in that folder, says so, and closes it
// when its input ends.
const ownerFolder = "SWITCHBOARD_TEST_OWNER_FOLDER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(ownerFolder); dir != "" {
		os.Exit(beOwner(dir))
	}
	goleak.VerifyTestMain(m)
}

func beOwner(dir string) int {
	server, err := embedded.Start(context.Background(), embedded.Options{Dir: dir})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("started", server.URL(embedded.Database))
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := server.Close(); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// ownerProcess is another process that owns a data folder.
type ownerProcess struct {
	url string
	cmd *exec.Cmd
}

// startOwner starts the process, as the user uid when this one is root and uid is not 0, and waits for its server.
func startOwner(t *testing.T, dir string, uid int) *ownerProcess {
	t.Helper()
	o, said := launchOwner(t, dir, uid)
	line, err := bufio.NewReader(said).ReadString('\n')
	url, found := strings.CutPrefix(strings.TrimSpace(line), "started ")
	if !found {
		t.Fatalf("the owner process did not start a server: %q, %v", line, err)
	}
	o.url = url
	return o
}

// launchOwner starts the process and does not wait for it.
func launchOwner(t *testing.T, dir string, uid int) (*ownerProcess, io.Reader) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), ownerFolder+"="+dir)
	if uid != os.Geteuid() {
		cmd.Path = publicCopy(t, os.Args[0])
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
		cmd.Dir = "/"
	}
	if _, err := cmd.StdinPipe(); err != nil { // open until the process is killed or waited for
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	o := &ownerProcess{cmd: cmd}
	t.Cleanup(func() { o.kill(t) })
	return o, out
}

// kill ends the process as kill -9 does.
func (o *ownerProcess) kill(t *testing.T) {
	t.Helper()
	if o.cmd.ProcessState != nil {
		return
	}
	if err := o.cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = o.cmd.Wait() // "signal: killed"
}

// publicCopy copies a program to where every user can start it.
func publicCopy(t *testing.T, program string) string {
	t.Helper()
	dir := publicDir(t)
	if out, err := exec.Command("cp", program, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return filepath.Join(dir, filepath.Base(program))
}

// publicDir is a folder that every user can enter.
func publicDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "switchboard-public-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// eventually waits for a condition. The deadline is only for a test that fails.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("never happened: %s", what)
		case <-tick.C:
		}
	}
}

// serverProcesses are the live processes whose command line names the cluster of the folder, as ps would show them.
func serverProcesses(t *testing.T, dir string) []string {
	t.Helper()
	var st syscall.Stat_t
	if err := syscall.Stat(filepath.Join(dir, "data"), &st); err != nil {
		t.Fatal(err)
	}
	name := fmt.Appendf(nil, "switchboard-%x-%x-", st.Dev, st.Ino)
	cmdlines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range cmdlines {
		if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, name) {
			found = append(found, string(bytes.ReplaceAll(text, []byte{0}, []byte{' '})))
		}
	}
	return found
}
