package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// endless is a file without an end.
type endless struct{ read int }

func (e *endless) Read(into []byte) (int, error) {
	for i := range into {
		into[i] = '7'
	}
	e.read += len(into)
	return len(into), nil
}

// What a flag names is read up to what the server takes, and no further.
func TestFile_IsReadUpToTheCapOfARequest(t *testing.T) {
	t.Parallel()
	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, []byte(strings.Repeat("7", maxFile+1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"todo push e t --payload", "todo complete t --result", "webhook create e stripe --secret", "webhook rules set w"} {
		for _, from := range []string{"@-", "@" + large} {
			stdin := &endless{}
			r := run(t, Env{Stdin: stdin}, nil, append(strings.Fields(args), from)...)
			r.failed(t, exitUsage, "is larger than 1 MiB")
			if stdin.read > 3*maxFile {
				t.Errorf("%s: read %d bytes", args, stdin.read)
			}
		}
	}
}

// What agents write must not steer a terminal through --json either, and the document still says the same.
func TestJSON_EscapesWhatSteersATerminal(t *testing.T) {
	f := setup(t)
	slug := f.vend(t, "bot").Slug
	const title = "a\u009b31m\u202eb\u2028c\u007f é🚀"
	payload, err := json.Marshal(map[string]string{title: title + "\x1b[2J\r"})
	if err != nil {
		t.Fatal(err)
	}
	id := strings.TrimSpace(f.run(t, "todo", "push", slug, title, "--payload", string(payload)).ok(t))
	for _, args := range []string{"todo show " + id, "todo list", "todo claim " + id} {
		out := f.run(t, append(strings.Fields(args), "--json")...).ok(t)
		if strings.ContainsFunc(out, steers) || !strings.Contains(out, "é🚀") {
			t.Errorf("%s prints %q", args, out)
		}
	}
	var shown struct {
		Title   string            `json:"title"`
		Payload map[string]string `json:"payload"`
	}
	f.run(t, "todo", "show", id, "--json").json(t, &shown)
	if shown.Title != title || shown.Payload[title] != title+"\x1b[2J\r" {
		t.Errorf("%q", shown)
	}
}

func TestPush_PrintsTheIDAndKeepsThePayloadExact(t *testing.T) {
	f := setup(t)
	slug := f.vend(t, "bot", "-q", "fix", "-q", "review").Slug
	file := filepath.Join(t.TempDir(), "payload.json")
	const payload = `{"n":9007199254740993,"s":"a<b"}`
	if err := os.WriteFile(file, []byte(payload), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{payload, "@" + file, "@-"} {
		out := f.runWith(t, Env{Stdin: strings.NewReader(payload)}, "todo", "push", slug, "Do it", "-q", "review", "--kind", "k",
			"--max-attempts", "2", "--payload", from).ok(t)
		var todo todoDoc
		f.run(t, "todo", "show", strings.TrimSpace(out), "--json").json(t, &todo)
		var compact strings.Builder
		for _, l := range strings.Split(string(todo.Payload), "\n") {
			compact.WriteString(strings.ReplaceAll(strings.TrimSpace(l), ": ", ":"))
		}
		if compact.String() != payload || todo.Queue != "review" || *todo.Kind != "k" || todo.MaxAttempts != 2 {
			t.Errorf("%s: %s, %+v", from, compact.String(), todo)
		}
	}
}

func TestPush_TheSameKeyAnswersTheSameTodo(t *testing.T) {
	f := setup(t)
	slug := f.vend(t, "bot").Slug
	var first, again pushAnswer
	f.run(t, "todo", "push", slug, "t", "--key", "k", "--json").json(t, &first)
	f.run(t, "todo", "push", slug, "t", "--key", "k", "--json").json(t, &again)
	if !first.Created || again.Created || first.Todo.ID != again.Todo.ID {
		t.Errorf("first %+v, again %+v", first, again)
	}
}

func TestTodoList_FiltersAndPages(t *testing.T) {
	f := setup(t)
	a, b := f.vend(t, "a", "-q", "fix", "-q", "review").Slug, f.vend(t, "b").Slug
	f.run(t, "todo", "push", a, "one", "-q", "fix").ok(t)
	f.run(t, "todo", "push", a, "two", "-q", "review").ok(t)
	f.run(t, "todo", "push", b, "three").ok(t)
	for args, want := range map[string]string{
		"": "three two one", "-q fix": "one", "--endpoint " + b: "three", "--state claimed": "", "--dead-letter": "", "--limit 2": "three two",
	} {
		out := f.run(t, append([]string{"todo", "list"}, strings.Fields(args)...)...).ok(t)
		var titles []string
		for _, l := range strings.Split(strings.TrimSpace(out), "\n") {
			titles = append(titles, l[strings.LastIndex(l, "\t")+1:])
		}
		if got := strings.Join(titles, " "); got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
	r := f.runWith(t, Env{Width: 80}, "todo", "list", "--limit", "2")
	_, cursor, found := strings.Cut(r.stderr, "--cursor ")
	if !found {
		t.Fatalf("no cursor in %q", r.stderr)
	}
	if out := f.run(t, "todo", "list", "--cursor", strings.TrimSpace(cursor)).ok(t); !strings.HasSuffix(out, "\tone\n") {
		t.Errorf("the next page is %q", out)
	}
}
