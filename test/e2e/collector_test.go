// Package e2e tests the real binaries from outside: as a person, an agent and an exporter meet them.
package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait for a condition. It is no measurement: a slow machine may use all of it.
const patience = 2 * time.Minute

// root is the repository.
var root = func() string {
	dir, err := filepath.Abs("../..")
	if err != nil {
		panic(err)
	}
	return dir
}()

// bin is where this run's binaries are. They are always built, so that no stale one is tested.
var bin string

func TestMain(m *testing.M) {
	if os.Getenv(workerEnv) != "" {
		work()
		return
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "switchboard-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	// An ordinary user runs them too.
	if err := os.Chmod(dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	build := exec.Command("go", "build", "-o", dir, "./cmd/switchboard-collector", "./cmd/switchboard")
	build.Dir, build.Stderr = root, os.Stderr
	build.Env = append(os.Environ(), "GOFLAGS=-trimpath")
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "the binaries do not build:", err)
		return 1
	}
	bin = dir
	return m.Run()
}

// collector is one running bin/switchboard-collector with a data folder.
type collector struct {
	t      *testing.T
	cmd    *exec.Cmd
	url    string
	addr   string
	dir    string
	config string
	args   []string
	env    []string
	user   *syscall.Credential
	home   string // where it runs; its data folder is .switchboard there, as nothing says otherwise
	done   chan struct{}
	err    error
	output *lockedBuffer
}

type option func(*collector)

func withConfig(path string) option  { return func(c *collector) { c.config = path } }
func withArgs(args ...string) option { return func(c *collector) { c.args = append(c.args, args...) } }
func withEnv(env ...string) option   { return func(c *collector) { c.env = append(c.env, env...) } }
func withDir(dir string) option      { return func(c *collector) { c.dir = dir } }
func inFolder(dir string) option {
	return func(c *collector) { c.home, c.dir = dir, filepath.Join(dir, ".switchboard") }
}
func as(user *syscall.Credential) option { return func(c *collector) { c.user = user } }

// start runs the collector with configs/quickstart.yaml on a free port and waits until it is ready.
func start(t *testing.T, options ...option) *collector {
	t.Helper()
	c := prepare(t, options...)
	c.launch()
	c.awaitReady()
	return c
}

func prepare(t *testing.T, options ...option) *collector {
	t.Helper()
	c := &collector{t: t, config: filepath.Join(root, "configs", "quickstart.yaml"), addr: freeAddress(t)}
	for _, o := range options {
		o(c)
	}
	if c.dir == "" {
		c.dir = dataDir(t)
	}
	c.url = "http://" + c.addr
	return c
}

// dataDir makes a folder that an embedded database can live in for the time of a test.
func dataDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sb-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func (c *collector) launch() {
	c.t.Helper()
	c.output = &lockedBuffer{}
	c.cmd = exec.Command(filepath.Join(bin, "switchboard-collector"), append([]string{"--config", c.config}, c.args...)...)
	c.cmd.Dir = os.TempDir()
	c.cmd.Env = append(environment(), append([]string{"SWITCHBOARD_ADDR=" + c.addr}, c.env...)...)
	if c.home != "" {
		c.cmd.Dir = c.home
	} else {
		c.cmd.Env = append(c.cmd.Env, "SWITCHBOARD_DATA_DIR="+c.dir)
	}
	c.cmd.Stdout, c.cmd.Stderr = c.output, c.output
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.user}
	if err := c.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.done = make(chan struct{})
	go func() {
		defer close(c.done)
		c.err = c.cmd.Wait()
	}()
	c.t.Cleanup(func() { c.stop() })
}

// environment is ours without what would configure a Switchboard.
func environment() []string {
	var env []string
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "SWITCHBOARD_") && !strings.HasPrefix(e, "OTEL_") {
			env = append(env, e)
		}
	}
	return env
}

func (c *collector) awaitReady() {
	c.t.Helper()
	await(c.t, "the collector to be ready", func() error {
		select {
		case <-c.done:
			c.t.Fatalf("the collector ended: %v\n%s", c.err, c.output)
		default:
		}
		res, err := http.Get(c.url + "/readyz")
		if err != nil {
			return err
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return errors.New(res.Status)
		}
		return nil
	})
}

// await repeats try until it succeeds.
func await(t *testing.T, what string, try func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s: %v", what, err)
		}
		<-tick.C
	}
}

// stop asks the collector to end, as Ctrl-C does, and returns how it ended.
func (c *collector) stop() error {
	_ = c.cmd.Process.Signal(syscall.SIGINT)
	return c.await()
}

func (c *collector) kill() {
	_ = c.cmd.Process.Kill()
	<-c.done
}

func (c *collector) await() error {
	c.t.Helper()
	select {
	case <-c.done:
	case <-time.After(patience):
		_ = c.cmd.Process.Kill()
		c.t.Errorf("the collector did not end\n%s", c.output)
		<-c.done
	}
	return c.err
}

// cli runs bin/switchboard against this collector.
func (c *collector) cli(args ...string) (stdout, stderr string, err error) {
	cmd := exec.Command(filepath.Join(bin, "switchboard"), args...)
	cmd.Env = append(environment(), "SWITCHBOARD_DATA_DIR="+c.dir)
	cmd.Dir = os.TempDir()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// cliJSON runs a command with --json and reads its answer.
func (c *collector) cliJSON(into any, args ...string) {
	c.t.Helper()
	out, errs, err := c.cli(append(args, "--json")...)
	if err != nil {
		c.t.Fatalf("switchboard %s: %v\n%s%s", strings.Join(args, " "), err, out, errs)
	}
	if err := json.Unmarshal([]byte(out), into); err != nil {
		c.t.Fatalf("switchboard %s printed no JSON: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// vended is an endpoint with its credential, as `endpoint vend --json` prints it.
type vended struct {
	Slug    string `json:"slug"`
	ID      string `json:"id"`
	Token   string `json:"token"`
	MCPURL  string `json:"mcp_url"`
	OTLPURL string `json:"otlp_url"`
}

func (c *collector) vend(name string) vended {
	c.t.Helper()
	var v vended
	c.cliJSON(&v, "endpoint", "vend", name)
	return v
}

func (c *collector) push(v vended, title string) (id string) {
	c.t.Helper()
	var answer struct {
		Todo struct {
			ID string `json:"id"`
		} `json:"todo"`
	}
	c.cliJSON(&answer, "todo", "push", v.Slug, title)
	if answer.Todo.ID == "" {
		c.t.Fatal("todo push printed no id")
	}
	return answer.Todo.ID
}

// trail is what `todo show --json` prints, as far as the tests look.
type trail struct {
	State    string `json:"state"`
	Attempts []struct {
		Seq     int     `json:"seq"`
		Outcome *string `json:"outcome"`
		Died    bool    `json:"died"`
		TraceID string  `json:"trace_id"`
	} `json:"attempts"`
	Spans []struct {
		TraceID    string         `json:"trace_id"`
		SpanID     string         `json:"span_id"`
		AttemptSeq *int           `json:"attempt_seq"`
		Name       string         `json:"name"`
		Category   string         `json:"category"`
		Tool       *string        `json:"tool"`
		Attributes map[string]any `json:"attributes"`
	} `json:"spans"`
}

func (c *collector) trail(id string) trail {
	c.t.Helper()
	var tr trail
	c.cliJSON(&tr, "todo", "show", id, "--attempts", "--spans", "--activity")
	return tr
}

// lockedBuffer is written by the process under test while a test reads it.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// reply is an HTTP answer that was read whole.
type reply struct {
	status int
	header http.Header
	body   string
}

func request(t *testing.T, method, url string, body []byte, headers ...string) reply {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{res.StatusCode, res.Header, string(text)}
}
