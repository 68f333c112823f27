package e2e

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
)

// keepsake is what must be there after a restore: a todo with an attempt and its spans, a credential, a session, and a
// webhook whose secret is sealed.
type keepsake struct {
	v            vended
	todo, cookie string
	hook         struct{ URL, Secret string }
}

func (c *collector) keep() *keepsake {
	c.t.Helper()
	k := &keepsake{v: c.vend("my bot")}
	k.todo = c.push(k.v, "still here")
	s := agent(c.t, k.v)
	claim := must[claimed](c.t, s, "claim_next", nil)
	stockSpans(c.t, k.v, claim.Traceparent)
	must[any](c.t, s, "release", map[string]any{"id": k.todo, "summary": "out of quota"})
	c.cliJSON(&k.hook, "webhook", "create", k.v.Slug, "github")
	link, errs, err := c.cli("login-link")
	if err != nil {
		c.t.Fatal(errs)
	}
	k.cookie = c.signIn(regexp.MustCompile(`http\S+`).FindString(link))
	return k
}

func (k *keepsake) isIn(c *collector) {
	c.t.Helper()
	if tr := c.trail(k.todo); tr.State != "pending" || len(tr.Attempts) != 1 || *tr.Attempts[0].Outcome != "released" || len(tr.Spans) != 3 {
		c.t.Errorf("of the todo is left: %+v", tr)
	}
	claim := must[claimed](c.t, agent(c.t, k.v), "claim_next", nil)
	if claim.Todo.ID != k.todo || claim.AttemptSeq != 2 || len(claim.PriorAttempts) != 1 {
		c.t.Errorf("the next worker claims %+v", claim)
	}
	if page := request(c.t, http.MethodGet, c.url+"/settings", nil, "Cookie", k.cookie); page.status != http.StatusOK || !strings.Contains(page.body, "Local owner") {
		c.t.Errorf("the session of before opens %d", page.status)
	}
	body := labelled("agent")
	if got := deliverGitHub(c.t, k.hook.URL, k.hook.Secret, "issues", "d-1", strings.Replace(body, "%s", `"repository": {"full_name": "acme/web"}`, 1)); len(got.Todos) != 1 {
		c.t.Errorf("a delivery signed with the secret of before becomes %+v", got)
	}
}

// backupCommands are the commands of docs/backup.md that begin with a program, as they stand.
func backupCommands(t *testing.T, program string) (script string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs", "backup.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```sh\n("+program+" .*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 1 {
		t.Fatalf("the page has %d blocks that begin with %s", len(blocks), program)
	}
	return blocks[0][1]
}

// sh runs commands in a folder and stops at the first one that fails.
func sh(t *testing.T, folder, script string, env ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-eu", "-c", script)
	cmd.Dir, cmd.Env = folder, append(environment(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

func TestBackup_OfADatabaseOfOnesOwnIsRestoredAsThePageSays(t *testing.T) {
	t.Parallel()
	db, folder := postgrestest.New(t), dataDir(t)
	key := "SWITCHBOARD_SECRET_ENCRYPTION_KEY=" + strings.Repeat("5c", 32)
	first := start(t, withEnv("SWITCHBOARD_DATABASE_URL="+db.URL, key))
	kept := first.keep()
	sh(t, folder, backupCommands(t, "pg_dump"), "SWITCHBOARD_DATABASE_URL="+db.URL) // while it runs
	if err := first.stop(); err != nil {
		t.Fatal(err)
	}

	to, err := url.Parse(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	to.Path += "_restored"
	name := strings.TrimPrefix(to.Path, "/")
	t.Cleanup(func() { dropDatabase(t, db.URL, name) })
	script := strings.Replace(backupCommands(t, "createdb"), "createdb switchboard\n", "createdb --maintenance-db='"+db.URL+"' "+name+"\n", 1)
	sh(t, folder, script, "SWITCHBOARD_DATABASE_URL="+to.String())
	kept.isIn(start(t, withEnv("SWITCHBOARD_DATABASE_URL="+to.String(), key), func(c *collector) { c.addr = first.addr }))
}

func dropDatabase(t *testing.T, admin, name string) {
	ctx := context.Background() // the test's own has ended
	conn, err := pgx.Connect(ctx, admin)
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
		t.Error(err)
	}
}

func TestBackup_OfTheDataFolderIsRestoredAsThePageSays(t *testing.T) {
	t.Parallel()
	folder, before, after := dataDir(t), dataDir(t), dataDir(t)
	c := start(t, withDir(filepath.Join(before, "switchboard")))
	kept := c.keep()
	if err := c.stop(); err != nil {
		t.Fatal(err)
	}
	sh(t, folder, strings.ReplaceAll(backupCommands(t, "tar --create"), "/var/lib", before))
	if err := os.RemoveAll(c.dir); err != nil {
		t.Fatal(err)
	}
	sh(t, folder, strings.ReplaceAll(backupCommands(t, "tar --extract"), "/var/lib", after))
	c.dir = filepath.Join(after, "switchboard")
	c.launch()
	c.awaitReady()
	kept.isIn(c)
}
