package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const smallGraph = `{"ocp":"0.3","producer":{"name":"x"},"privacy":{"profile":"metadata_only"},"run":{"id":"r"},"nodes":[%s]}`

func written(t *testing.T, name, doc string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(doc), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRunGraphValidate_TellsEachFileAndExitsByTheWorst(t *testing.T) {
	fine := written(t, "fine.ocp.json", fmt.Sprintf(smallGraph, ""))
	broken := written(t, "broken.ocp.json", fmt.Sprintf(smallGraph, `{"id":"n","kind":"task","group":"ghost\u001b[2J"}`))
	if got := run(t, Env{}, nil, "rungraph", "validate", fine).ok(t); !strings.HasPrefix(got, "PASS  "+fine+"  (0 errors, 1 warning)\n  warning W180 $['producer']: ") {
		t.Errorf("%q", got)
	}
	r := run(t, Env{}, nil, "rungraph", "validate", fine, broken)
	want := "FAIL  " + broken + "  (1 error, 1 warning)\n"
	if r.code != exitFailed || !strings.Contains(r.stdout, want) || !strings.Contains(r.stdout, "  error E115 $['nodes'][0]['group']: ") ||
		strings.Contains(r.stdout, "\x1b") || r.stderr != "switchboard: 1 of 2 documents do not conform\n" {
		t.Errorf("%d\n%s%s", r.code, r.stdout, r.stderr)
	}
	r = run(t, Env{}, nil, "rungraph", "validate", broken, filepath.Join(t.TempDir(), "absent"), fine)
	if r.code != exitUsage || !strings.Contains(r.stdout, want) || !strings.Contains(r.stdout, "E001 $: no such file") || !strings.Contains(r.stdout, "PASS") {
		t.Errorf("%d\n%s%s", r.code, r.stdout, r.stderr)
	}
	run(t, Env{}, nil, "rungraph", "validate").failed(t, exitUsage, "validate takes files")
}

func TestRunGraphValidate_JSONIsAsScriptsReadIt(t *testing.T) {
	path := written(t, "broken.ocp.json", `{"ocp":"0.3"}`)
	r := run(t, Env{}, nil, "--json", "rungraph", "validate", path)
	want := `{
  "ok": false,
  "files": [
    {
      "path": "` + path + `",
      "ocp": "0.3",
      "ok": false,
      "errors": 4,
      "warnings": 0,
      "left_off": 0,
      "findings": [
        {
          "level": "error",
          "code": "E010",
          "path": "$",
          "message": "schema: 'producer' is required"
        },`
	if r.code != exitFailed || !strings.HasPrefix(r.stdout, want) {
		t.Errorf("%d %s", r.code, r.stdout)
	}
}

// A document of 50 MB has a line on the terminal that says how far its check is, and a pipe has none.
func TestRunGraphValidate_ShowsHowFarItIsWithALargeDocument(t *testing.T) {
	node := `{"id":"node","kind":"task","state":"done","labels":{"queue":"default","claimer_kind":"endpoint"}},`
	path := written(t, "large.ocp.json", fmt.Sprintf(smallGraph, strings.Repeat(node, 50_000_000/len(node))+`{"id":"last","kind":"task"}`))
	r := run(t, Env{Width: 80}, nil, "rungraph", "validate", path)
	if r.code != exitFailed || !strings.Contains(r.stdout, "E100 $['nodes'][1]: ") || !strings.Contains(r.stdout, "  and ") {
		t.Errorf("%d %.500s", r.code, r.stdout)
	}
	for _, percent := range []string{"\r  2% checked: ", "\r 50% checked: ", "\r 98% checked: "} {
		if !strings.Contains(r.stderr, percent) {
			t.Errorf("no line says %s: %.300q", percent, r.stderr)
		}
	}
	if r := run(t, Env{}, nil, "rungraph", "validate", path); strings.Contains(r.stderr, "%") {
		t.Errorf("a pipe got %.300q", r.stderr)
	}
}

func TestRunGraph_ATodoGoesOutAndComesBackIn(t *testing.T) {
	f := setup(t)
	bot := f.vend(t, "bot").Slug
	var pushed struct{ Todo struct{ ID string } }
	f.run(t, "--json", "todo", "push", bot, "A title").json(t, &pushed)
	id := pushed.Todo.ID
	doc := f.run(t, "rungraph", "export", "--todo", id).ok(t)
	if !strings.Contains(doc, `"id": "`+id+`"`) || strings.Contains(doc, "A title") {
		t.Fatal(doc)
	}
	path := written(t, "todo.ocp.json", doc)
	if got := f.run(t, "rungraph", "validate", path).ok(t); got != "PASS  "+path+"  (0 errors, 0 warnings)\n" {
		t.Errorf("%q", got)
	}
	if got := f.run(t, "rungraph", "import", path).ok(t); !strings.HasPrefix(got, f.url+"/rungraph/rg_") {
		t.Errorf("%q", got)
	}
	if doc := f.run(t, "rungraph", "export", "--queue", "default", "--since", "30d").ok(t); !strings.Contains(doc, `"id": "`+id+`"`) {
		t.Error(doc)
	}
	f.run(t, "rungraph", "export").failed(t, exitUsage, "either --todo or --queue")
	f.run(t, "rungraph", "export", "--queue", "default", "--since", "soon").failed(t, exitUsage, "--since must be a time")
	f.run(t, "rungraph", "export", "--todo", "td_none").failed(t, exitFailed, "no such todo")
	f.run(t, "rungraph", "import", filepath.Join(t.TempDir(), "absent")).failed(t, exitUsage, "no such file")
	f.run(t, "rungraph", "import", written(t, "bad.ocp.json", `{}`)).failed(t, exitFailed, "does not conform")
}
