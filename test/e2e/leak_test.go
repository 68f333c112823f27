package e2e

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// secrets are texts that no log may carry, by what they are.
type secrets map[string]string

// canary makes a text that stands for what callers write.
func (s secrets) canary(what string) string {
	s[what] = "canary-" + strings.ReplaceAll(what, " ", "-")
	return s[what]
}

// token remembers a credential by a part of it, which shows also where the whole was cut.
func (s secrets) token(what, token string) string {
	_, random, _ := strings.Cut(token, "_")
	s[what] = random[:20]
	return token
}

// in returns what of the secrets a text carries, as it is or in one of the encodings in which bytes are logged.
func (s secrets) in(text string) (found []string) {
	for _, what := range slices.Sorted(maps.Keys(s)) {
		part := []byte(s[what])
		whole := base64.StdEncoding.EncodeToString(part[:len(part)/3*3]) // what does not depend on what follows
		for _, form := range []string{s[what], hex.EncodeToString(part), whole} {
			if at := strings.Index(text, form); at >= 0 {
				found = append(found, fmt.Sprintf("%s: ...%s", what, text[max(0, at-300):min(len(text), at+100)]))
				break
			}
		}
	}
	return found
}

// overheard is what an operator sees of a running server: its log, its database's log, and the statements of its
// database's sessions, collected while it works.
type overheard struct {
	c    *collector
	conn *pgx.Conn

	mu         sync.Mutex
	statements map[string]bool
}

// overhear listens until the test ends.
func overhear(t *testing.T, c *collector) *overheard {
	t.Helper()
	o := &overheard{c: c, conn: embeddedConn(t, c), statements: map[string]bool{}}
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	background := embeddedConn(t, c)
	go func() {
		defer close(stopped)
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			_ = o.sample(ctx, background) // the database ends before the test does
			<-tick.C
		}
	}()
	t.Cleanup(func() {
		stop()
		<-stopped
	})
	return o
}

// embeddedConn connects to the collector's own database over its socket, as its operator can.
func embeddedConn(t *testing.T, c *collector) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), "postgres:///switchboard?user=switchboard&sslmode=disable&port=5432&application_name=overhearing&host="+
		filepath.Join(c.dir, "sock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// sample looks at every session. One that is idle shows what it did last.
func (o *overheard) sample(ctx context.Context, conn *pgx.Conn) error {
	rows, err := conn.Query(ctx, `SELECT query, application_name FROM pg_stat_activity WHERE application_name <> 'overhearing'`)
	if err != nil {
		return err
	}
	var query, application string
	o.mu.Lock()
	defer o.mu.Unlock()
	_, err = pgx.ForEachRow(rows, []any{&query, &application}, func() error {
		o.statements[query+" /* "+application+" */"] = true
		return nil
	})
	return err
}

// now samples once, after something that must not be missed.
func (o *overheard) now() {
	o.c.t.Helper()
	if err := o.sample(o.c.t.Context(), o.conn); err != nil {
		o.c.t.Fatal(err)
	}
}

const (
	collectorLog = "the collector's log"
	databaseLog  = "the database's log"
	activity     = "pg_stat_activity"
)

// places is everything that was overheard.
func (o *overheard) places() map[string]string {
	o.c.t.Helper()
	log, err := os.ReadFile(filepath.Join(o.c.dir, "postgres.log"))
	if err != nil {
		o.c.t.Fatal(err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return map[string]string{
		collectorLog: o.c.output.String(),
		databaseLog:  string(log),
		activity:     strings.Join(slices.Sorted(maps.Keys(o.statements)), "\n"),
	}
}

// Whatever is sent, however it is refused and however the store fails: no log and no statement that an operator can see
// carries a credential, a lease token or anything that a human, an agent or an exporter wrote.
func TestLogs_CarryNothingThatCallersSend(t *testing.T) {
	t.Parallel()
	c := start(t, unhurried(t), withEnv("SWITCHBOARD_LOG_LEVEL=debug", "SWITCHBOARD_METRICS_TOKEN="+metricsToken,
		"SWITCHBOARD_A2A=1", "SWITCHBOARD_A2UI=1"))
	r := newTraffic(t, c)
	for _, part := range []struct {
		name string
		run  func()
	}{
		{"work", r.work}, {"bad arguments of verbs", r.badVerbs}, {"bad arguments of routes", r.badRoutes},
		{"bad requests", r.badRequests}, {"bad credentials", r.badCredentials}, {"bad spans", r.badSpans},
		{"a store that refuses", r.refusingStore}, {"a store that waits", r.waitingStore},
		{"a store that cannot be read", r.unreadableStore},
	} {
		part.run()
		for place, text := range r.places() {
			for _, leak := range r.secrets.in(text) {
				t.Errorf("after %s %s carries %s", part.name, place, leak)
			}
		}
	}
	if err := c.stop(); err != nil {
		t.Errorf("%v\n%s", err, c.output)
	}
	places := r.places()
	for place, text := range places {
		for _, leak := range r.secrets.in(text) {
			t.Errorf("after the end %s carries %s", place, leak)
		}
	}
	// What must be there, or the scan looked at nothing.
	for place, sign := range map[string]string{collectorLog: "an mcp call failed", databaseLog: "shut down", activity: "UPDATE todos t SET state"} {
		if !strings.Contains(places[place], sign) {
			t.Errorf("%s does not say %q:\n%s", place, sign, excerpt(places[place]))
		}
	}
}

// A test of the test: a canary in each of the places is found, in each form.
func TestLogs_TheScanFindsACanaryInEachPlace(t *testing.T) {
	t.Parallel()
	s := secrets{}
	planted := s.canary("planted")
	quick, err := os.ReadFile(filepath.Join(root, "configs", "quickstart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dataDir(t), "planted.yaml")
	if err := os.WriteFile(config, []byte(strings.ReplaceAll(string(quick), "switchboard_masking", "switchboard_masking/"+planted)), 0o644); err != nil {
		t.Fatal(err)
	}
	o := overhear(t, start(t, withConfig(config), withEnv("SWITCHBOARD_LOG_LEVEL=debug")))
	if _, err := o.conn.Exec(t.Context(), `DO $$ BEGIN RAISE LOG '`+planted+`'; END $$`); err != nil {
		t.Fatal(err)
	}
	cfg := o.conn.Config().Copy()
	cfg.RuntimeParams["application_name"] = "planting"
	other, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close(context.Background()) }()
	if _, err := other.Exec(t.Context(), `SELECT '`+planted+`'`); err != nil {
		t.Fatal(err)
	}
	o.now()
	for place, text := range o.places() {
		if found := s.in(text); len(found) != 1 {
			t.Errorf("the canary in %s was not found", place)
		}
	}
	s.token("token", "sbk_abcdefghijklmnopqrstuvwxyz0123456789abcdefg")
	for _, text := range []string{"as it is: abcdefghijklmnopqrstuv", "bytea: \\x" + hex.EncodeToString([]byte("abcdefghijklmnopqrstuvw")),
		base64.StdEncoding.EncodeToString([]byte("canary-planted"))} {
		if len(s.in(text)) != 1 {
			t.Errorf("nothing is found in %q", text)
		}
	}
}
