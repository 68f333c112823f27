package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
)

// postgresIn lists the processes that work in a data folder: a PostgreSQL server has it as its working folder.
func postgresIn(t *testing.T, dir string) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if cwd, err := os.Readlink(filepath.Join("/proc", e.Name(), "cwd")); err == nil && strings.HasPrefix(cwd, dir) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// kill -9 leaves no stray database and loses no acknowledged span; the next start needs no help.
func TestKill_LosesNothingThatWasAcknowledged(t *testing.T) {
	t.Parallel()
	c := start(t)
	v := c.vend("my bot")
	id := c.push(v, "survive")
	s := agent(t, v)
	claim := must[claimed](t, s, "claim", map[string]any{"id": id})
	trace := traceOf(t, claim.Traceparent)

	// The kill falls into a stream of requests: each one that was answered 200 must be there afterwards.
	acknowledged := make(chan int)
	go func() {
		stored := 0
		for i := 0; ; i++ {
			traces := batch(trace, 1, "")
			span := traces.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
			span.SetSpanID(pcommon.SpanID{byte(i >> 8), byte(i), 1})
			req, err := http.NewRequest(http.MethodPost, v.OTLPURL+"/v1/traces", strings.NewReader(string(protobuf(t, traces))))
			if err != nil {
				break
			}
			req.Header.Set("Authorization", "Bearer "+v.Token)
			req.Header.Set("Content-Type", "application/x-protobuf")
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				break
			}
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				stored++
			}
			if i == 20 {
				go func() { _ = c.cmd.Process.Signal(syscall.SIGKILL) }()
			}
		}
		acknowledged <- stored
	}()
	stored := <-acknowledged
	<-c.done
	if stored == 0 {
		t.Fatal("nothing was acknowledged before the kill")
	}
	await(t, "the database to end with its collector", func() error {
		if pids := postgresIn(t, c.dir); len(pids) > 0 {
			return fmt.Errorf("processes %v still work in the data folder", pids)
		}
		return nil
	})

	c.launch()
	c.awaitReady()
	if got := len(c.trail(id).Spans); got < stored {
		t.Errorf("%d spans were acknowledged and %d are stored", stored, got)
	}
}

// A second `make run` finds its data again, and Ctrl-C ends both processes cleanly.
func TestRestart_FindsItsDataAgain(t *testing.T) {
	t.Parallel()
	for name, options := range runners(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := start(t, options(t)...)
			v := c.vend("my bot")
			id := c.push(v, "still here")
			if err := c.stop(); err != nil {
				t.Fatalf("Ctrl-C: %v\n%s", err, c.output)
			}
			if pids := postgresIn(t, c.dir); len(pids) > 0 {
				t.Errorf("processes %v were left behind", pids)
			}
			c.launch()
			c.awaitReady()
			if tr := c.trail(id); tr.State != "pending" {
				t.Errorf("%+v", tr)
			}
			if s := agent(t, v); must[claimed](t, s, "claim_next", nil).Todo.ID != id {
				t.Error("the credential or the todo did not survive")
			}
		})
	}
}

// runners are the users as whom the collector must run: whoever tests, and an ordinary user when that is root.
func runners(t *testing.T) map[string]func(*testing.T) []option {
	t.Helper()
	all := map[string]func(*testing.T) []option{
		"as this user":                      func(*testing.T) []option { return nil },
		"where it is started, as make run":  func(t *testing.T) []option { return []option{inFolder(dataDir(t))} },
		"in a folder that is closed to all": func(t *testing.T) []option { return []option{inFolder(closed(t, dataDir(t)))} },
	}
	if os.Geteuid() != 0 {
		return all
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.Atoi(nobody.Uid)
	gid, _ := strconv.Atoi(nobody.Gid)
	all["as an ordinary user"] = func(t *testing.T) []option {
		dir := dataDir(t)
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
		return []option{as(&syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}), inFolder(dir)}
	}
	return all
}

// closed lets nobody but the owner into a folder, as a home often is.
func closed(t *testing.T, dir string) string {
	t.Helper()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestSecondStart_OnTheSameFolderSaysWhoHoldsIt(t *testing.T) {
	t.Parallel()
	c := start(t)
	second := prepare(t, withDir(c.dir))
	second.launch()
	if err := second.await(); err == nil {
		t.Error("a second collector ended well")
	}
	if want := fmt.Sprintf("process %d", c.cmd.Process.Pid); !strings.Contains(second.output.String(), want) {
		t.Errorf("%q is not in\n%s", want, second.output)
	}
	if res := request(t, http.MethodGet, c.url+"/readyz", nil); res.status != http.StatusOK {
		t.Errorf("the first one answers %d", res.status)
	}
}

// A database that stops is 503 everywhere and nothing is lost: what was refused can be sent again.
func TestStoppedDatabase_IsSaidEverywhereAndSurvived(t *testing.T) {
	t.Parallel()
	db := postgrestest.NewServer(t)
	c := start(t, withEnv("SWITCHBOARD_DATABASE_URL="+db.URL))
	v := c.vend("my bot")
	id := c.push(v, "outage")
	s := agent(t, v)
	claim := must[claimed](t, s, "claim", map[string]any{"id": id})
	traces := batch(traceOf(t, claim.Traceparent), 5, "")

	var hook struct{ URL string }
	c.cliJSON(&hook, "webhook", "create", v.Slug, "generic")

	db.Stop(t)
	deliver := func() reply { return request(t, http.MethodPost, hook.URL, []byte(`{"n":1}`)) }
	if res := deliver(); res.status != http.StatusServiceUnavailable || res.header.Get("Retry-After") == "" {
		t.Errorf("a delivery while the database is stopped: %d %s", res.status, res.body)
	}
	for _, encoding := range []string{"protobuf", "json+gzip"} {
		res := export(t, v, encoding, traces)
		if after, err := strconv.Atoi(res.header.Get("Retry-After")); res.status != http.StatusServiceUnavailable || err != nil || after < 1 || after > 5 {
			t.Errorf("%s while the database is stopped: %d, Retry-After %q, %q", encoding, res.status, res.header.Get("Retry-After"), res.body)
		}
	}
	if _, err := verb[any](t.Context(), s, "heartbeat", map[string]any{"id": id}); err == nil {
		t.Error("a heartbeat went through without a database")
	}
	for path, want := range map[string]int{"/healthz": 503, "/readyz": 503, "/api/v1/todos": 503, "/login": 200} {
		if res := request(t, http.MethodGet, c.url+path, nil, "Authorization", "Bearer "+cliToken(t, c)); res.status != want {
			t.Errorf("%s answered %d, want %d: %s", path, res.status, want, res.body)
		}
	}
	select {
	case <-c.done:
		t.Fatalf("the process ended: %v\n%s", c.err, c.output)
	default:
	}

	db.Start(t)
	await(t, "the database to answer again", func() error {
		// Of the connections that the outage broke, each is found broken once.
		if _, errs, err := c.cli("todo", "show", id); err != nil {
			return errors.New(errs)
		}
		return nil
	})
	await(t, "deliveries to be taken again", func() error {
		if res := deliver(); res.status != http.StatusAccepted || !strings.Contains(res.body, `"created":1`) {
			return errors.New(res.body)
		}
		return nil
	})
	await(t, "spans to be taken again", func() error {
		if res := export(t, v, "protobuf", traces); res.status != http.StatusOK {
			return errors.New(res.body)
		}
		return nil
	})
	if tr := c.trail(id); len(tr.Spans) != 5 || tr.State != "claimed" {
		t.Errorf("%+v", tr)
	}
}
