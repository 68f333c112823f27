package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// pushed pushes a todo and answers its id.
func (f *fixture) pushed(t *testing.T, slug string, args ...string) string {
	t.Helper()
	return strings.TrimSpace(f.run(t, append([]string{"todo", "push", slug, "t"}, args...)...).ok(t))
}

func (f *fixture) show(t *testing.T, id string) (todo todoDoc) {
	t.Helper()
	f.run(t, "todo", "show", id, "--json").json(t, &todo)
	return todo
}

func TestActions_EachPrintsHowTheTodoStandsAndSaysThatItCameFromHere(t *testing.T) {
	f := setup(t)
	id := f.pushed(t, f.vend(t, "bot").Slug, "--max-attempts", "2")
	const lease, due = ` · lease until [0-9-]+ [0-9:]+Z`, ` · retry due [0-9-]+ [0-9:]+Z`
	var actions []string
	for _, c := range []struct{ args, want string }{
		{"claim", "claimed · attempt 1 of 2" + lease},
		{"extend", "claimed · attempt 1 of 2" + lease},
		{"release --summary later", "pending · attempt 1 of 2"},
		{"retry", ""},
		{"claim", "claimed · attempt 2 of 2" + lease},
		{"fail --summary no", "dead letter · attempt 2 of 2"},
		{"retry", "pending · attempt 0 of 2"},
		{"claim", "claimed · attempt 1 of 2" + lease},
		{"fail --retry-after 0s", "failed · attempt 1 of 2" + due},
		{"retry", "pending · attempt 0 of 2"},
		{"claim", "claimed · attempt 1 of 2" + lease},
		{"fail --no-retry", "dead letter · attempt 1 of 2"},
		{"cancel", ""},
		{"retry", "pending · attempt 0 of 2"},
		{"cancel", "canceled · attempt 0 of 2"},
	} {
		action, flags, _ := strings.Cut(c.args, " ")
		r := f.run(t, append([]string{"todo", action, id}, strings.Fields(flags)...)...)
		if c.want == "" {
			r.failed(t, exitFailed, "conflict: ")
			continue
		}
		if !regexp.MustCompile(`^` + id + ` ` + c.want + "\n$").MatchString(r.ok(t)) {
			t.Errorf("%s printed %q", c.args, r.stdout)
		}
		actions = append(actions, action)
	}
	var logged []string
	for _, e := range f.show(t, id).Activity {
		if e.Kind != "human_action" {
			continue
		}
		logged = append(logged, e.Detail.Action)
		if e.Detail.Via != "cli" {
			t.Errorf("%s came by way of %q", e.Detail.Action, e.Detail.Via)
		}
	}
	if got, want := strings.Join(logged, " "), strings.Join(actions, " "); got != want {
		t.Errorf("the log has %s, want %s", got, want)
	}
}

func TestComplete_KeepsTheResultExactWhereverItComesFrom(t *testing.T) {
	f := setup(t)
	slug := f.vend(t, "bot").Slug
	const result = `{"n":9007199254740993,"s":"a<b"}`
	file := filepath.Join(t.TempDir(), "result.json")
	if err := os.WriteFile(file, []byte(result), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{result, "@" + file, "@-"} {
		id := f.pushed(t, slug)
		f.run(t, "todo", "claim", id).ok(t)
		var done struct {
			ID, State string
			Payload   json.RawMessage
		}
		f.runWith(t, Env{Stdin: strings.NewReader(result)}, "todo", "complete", id, "--result", from, "--summary", "as asked",
			"--artifact", "mcp://cairn/run-7", "--json").json(t, &done)
		todo := f.show(t, id)
		if done.ID != id || done.State != "done" || len(todo.Attempts) != 1 || text(todo.Attempts[0].Summary) != "as asked" ||
			text(todo.Attempts[0].Artifact) != "mcp://cairn/run-7" {
			t.Errorf("%s: %+v, %+v", from, done, todo.Attempts)
		}
		if !strings.Contains(string(todo.Result), "9007199254740993") || !strings.Contains(string(todo.Result), "a<b") {
			t.Errorf("%s: result %s", from, todo.Result)
		}
	}
}

func TestComplete_ABadArtifactIsRefusedAndTheTodoStaysClaimed(t *testing.T) {
	f := setup(t)
	id := f.pushed(t, f.vend(t, "bot").Slug)
	f.run(t, "todo", "claim", id).ok(t)
	f.run(t, "todo", "complete", id, "--artifact", "ftp://x").failed(t, exitFailed, "invalid: artifact must be")
	if todo := f.show(t, id); todo.State != "claimed" {
		t.Errorf("it is %s", todo.State)
	}
}

// deadLetter makes a todo of slug a dead letter.
func (f *fixture) deadLetter(t *testing.T, slug string, args ...string) string {
	t.Helper()
	id := f.pushed(t, slug, args...)
	f.run(t, "todo", "claim", id).ok(t)
	f.run(t, "todo", "fail", id, "--no-retry").ok(t)
	return id
}

func TestRetry_OfDeadLettersInBulkPrintsIdsAndProgress(t *testing.T) {
	f := setup(t)
	slug, gone := f.vend(t, "bot", "-q", "fix", "-q", "review").Slug, f.vend(t, "gone").Slug
	one, two := f.deadLetter(t, slug, "-q", "fix"), f.deadLetter(t, slug, "-q", "review")
	f.deadLetter(t, gone)
	f.run(t, "endpoint", "revoke", gone, "-y").ok(t)

	r := f.run(t, "todo", "retry", "--dead-letter", "-q", "fix")
	if r.ok(t) != one+"\n" || r.stderr != "retried 1, refused 0\n" {
		t.Errorf("of one queue: %q, %q", r.stdout, r.stderr)
	}
	r = f.run(t, "todo", "retry", "--dead-letter", "--json")
	var all map[string]any
	r.json(t, &all)
	if text, _ := json.Marshal(all); string(text) != `{"refused":1,"retried":["`+two+`"]}` || r.stderr != "retried 1, refused 1\n" {
		t.Errorf("of all: %s, %q", text, r.stderr)
	}
	r = f.runWith(t, Env{Width: 80}, "todo", "retry", "--dead-letter")
	if r.ok(t) != "" || !strings.Contains(r.stderr, "retried 0, refused 1\n") || !strings.Contains(r.stderr, "revoked") {
		t.Errorf("of none: %q, %q", r.stdout, r.stderr)
	}
	if todo := f.show(t, one); todo.State != "pending" || len(todo.Activity) == 0 {
		t.Errorf("%s with %+v", todo.State, todo.Activity)
	}
}

// More are refused than one call works through: without its cursor the next call would meet them again.
func TestRetry_InBulkGoesOnUntilTheServerIsThrough(t *testing.T) {
	f := setup(t)
	slug, gone := f.vend(t, "bot").Slug, f.vend(t, "gone").Slug
	f.deadLetter(t, slug)
	f.deadLetter(t, gone)
	f.run(t, "endpoint", "revoke", gone, "-y").ok(t)
	_, err := f.db.Pool.Exec(t.Context(), `
		INSERT INTO todos SELECT (jsonb_populate_record(t, jsonb_build_object('id', gen_random_uuid(), 'activity_seq', 0))).*
		FROM todos t JOIN endpoints e ON e.id = t.endpoint_id, generate_series(2, 1102) n
		WHERE e.revoked_at IS NOT NULL OR n <= 103`)
	if err != nil {
		t.Fatal(err)
	}
	r := f.run(t, "todo", "retry", "--dead-letter")
	if got := strings.Count(r.ok(t), "td_"); got != 103 || strings.Count(r.stderr, "\n") != 2 || !strings.HasSuffix(r.stderr, "retried 103, refused 1102\n") {
		t.Errorf("printed %d ids; %s", got, r.stderr)
	}
}

func TestFail_RetryAfterIsAnyTime(t *testing.T) {
	f := setup(t)
	slug := f.vend(t, "bot").Slug
	for after, want := range map[string]time.Duration{"0s": 0, "90s": 90 * time.Second, "12h": 12 * time.Hour, "1d": 24 * time.Hour} {
		id := f.pushed(t, slug)
		f.run(t, "todo", "claim", id).ok(t)
		f.run(t, "todo", "fail", id, "--retry-after", after).ok(t)
		todo := f.show(t, id)
		if wait := todo.NextRetryAt.Sub(todo.UpdatedAt); wait != want {
			t.Errorf("%s: retried after %v", after, wait)
		}
	}
}
