package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUsage_MistakesExitWith2AndSayWhatToDo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, words string }{
		{"nothing", `unknown command "nothing"`},
		{"endpoint nothing", `unknown command "nothing"`},
		{"todo push one", "ENDPOINT and TITLE"},
		{"todo list extra", "takes no arguments"},
		{"todo list --nothing", "unknown flag"},
		{"todo list --limit x", "invalid argument"},
		{"endpoint vend", "NAME"},
		{"endpoint vend n --expires soon", "--expires"},
		{"endpoint vend n --expires 0d", "--expires"},
		{"endpoint vend n --expires -5m", "--expires"},
		{"todo push e t --payload {", "--payload must be JSON"},
		{"todo push e t --payload @testdata/nothing", "cannot read the payload"},
		{"endpoint revoke e", "add -y"},
		{"status", "SWITCHBOARD_TOKEN"},
		{"status --url ftp://x", "must look like"},
		{"status --url http://user:secret@x", "must look like"},
		{"demo --pace -1", "--pace"},
		{"endpoint edit e", "nothing to change"},
		{"endpoint edit e --no-lease-ttl=false", "nothing to change"},
		{"endpoint edit e --lease-ttl 60 --no-lease-ttl", "exclude each other"},
		{"endpoint edit e --max-attempts 3 --no-max-attempts", "exclude each other"},
		{"endpoint edit e --require-fence=maybe", "invalid argument"},
		{"endpoint edit --no-lease-ttl", "ENDPOINT"},
		{"endpoint rotate e --overlap soon", "--overlap"},
		{"endpoint rotate e --overlap -5m", "--overlap"},
		{"endpoint rotate", "ENDPOINT"},
		{"todo claim", "TODO"},
		{"todo claim t --summary s", "unknown flag"},
		{"todo release t --result 1", "unknown flag"},
		{"todo complete t --result {", "--result must be JSON"},
		{"todo fail t --result @testdata/nothing", "cannot read the result"},
		{"todo fail t --retry-after soon", "--retry-after"},
		{"todo fail t --retry-after 1500ms", "--retry-after"},
		{"todo fail t --retry-after 5m --no-retry", "exclude each other"},
		{"todo retry", "TODO"},
		{"todo retry t -q fix", "--queue goes with --dead-letter"},
		{"todo retry t --dead-letter", "takes no arguments"},
		{"doctor", "ENDPOINT"},
		{"doctor e", "SWITCHBOARD_CREDENTIAL"},
		{"doctor a/b --credential sbk_x", "a slug, an ep_ id or a whole url"},
		{"doctor http://user:secret@x/otlp/e --credential sbk_x", "must look like"},
		{"doctor e --credential sbk_x --todo td_x", "--todo must be"},
	} {
		r := run(t, Env{}, map[string]string{"SWITCHBOARD_DATA_DIR": t.TempDir()}, strings.Fields(c.args)...)
		r.failed(t, exitUsage, c.words)
		if strings.Contains(r.stderr, "secret") {
			t.Errorf("%s: the error quotes a password", c.args)
		}
	}
}

func TestHelp_IsOnStdoutForEveryCommand(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"--help", "endpoint", "todo --help", "endpoint vend --help", "demo -h", "doctor --help"} {
		r := run(t, Env{}, nil, strings.Fields(args)...)
		if out := r.ok(t); !strings.Contains(out, "Usage:") || r.stderr != "" {
			t.Errorf("%s: stdout %q, stderr %q", args, out, r.stderr)
		}
	}
}

func TestVersion_NeedsNoServer(t *testing.T) {
	t.Parallel()
	if got := run(t, Env{}, nil, "version").ok(t); got != "switchboard 9.9.9\n" {
		t.Errorf("printed %q", got)
	}
	var doc map[string]string
	for _, args := range []string{"version --json", "--version --json"} {
		run(t, Env{}, nil, strings.Fields(args)...).json(t, &doc)
		if doc["version"] != "9.9.9" {
			t.Errorf("%s printed %v", args, doc)
		}
		clear(doc)
	}
	if got := run(t, Env{}, nil, "--version").ok(t); got != "switchboard 9.9.9\n" {
		t.Errorf("--version printed %q", got)
	}
	run(t, Env{}, nil, "--version", "nothing").failed(t, exitUsage, "unknown command")
}

func TestServer_ThatIsNotThereIsSaidPlainly(t *testing.T) {
	t.Parallel()
	vars := map[string]string{"SWITCHBOARD_TOKEN": "sbp_x", "SWITCHBOARD_DATA_DIR": t.TempDir()}
	r := run(t, Env{}, vars, "status", "--url", "http://127.0.0.1:1/")
	r.failed(t, exitFailed, "cannot reach http://127.0.0.1:1: is it running? start it with make run")
}

func TestServer_RefusalsAreFailuresInItsOwnWords(t *testing.T) {
	f := setup(t)
	f.run(t, "todo", "show", "td_x").failed(t, exitFailed, "not_found: no such todo")
	f.run(t, "endpoint", "vend", " ").failed(t, exitFailed, "invalid: name must be")
	run(t, Env{}, map[string]string{"SWITCHBOARD_TOKEN": "sbp_wrong"}, "status", "--url", f.url).
		failed(t, exitFailed, "does not accept this credential")
	run(t, Env{}, map[string]string{"SWITCHBOARD_TOKEN": f.token}, "status", "--url", f.url+"/healthz").
		failed(t, exitFailed, "does not answer like a Switchboard server")
}

// localData is a data folder with a cli.json in it.
func localData(t *testing.T, url, token string) string {
	t.Helper()
	dir := t.TempDir()
	text, err := json.Marshal(localFile{url, token})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cli.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestConnect_FindsServerAndCredentialInTheDataFolder(t *testing.T) {
	f := setup(t)
	dir := localData(t, f.url+"/", f.token)
	for name, vars := range map[string]map[string]string{
		"data folder":          {"SWITCHBOARD_DATA_DIR": dir},
		"url of the same":      {"SWITCHBOARD_DATA_DIR": dir, "SWITCHBOARD_URL": f.url},
		"environment wins":     {"SWITCHBOARD_DATA_DIR": localData(t, "http://127.0.0.1:1", "sbp_other"), "SWITCHBOARD_URL": f.url, "SWITCHBOARD_TOKEN": f.token},
		"token of environment": {"SWITCHBOARD_DATA_DIR": localData(t, f.url, "sbp_other"), "SWITCHBOARD_TOKEN": f.token},
	} {
		if r := run(t, Env{}, vars, "status"); r.code != exitOK {
			t.Errorf("%s: %s", name, r.stderr)
		}
	}
}

func TestConnect_TheLocalTokenGoesToTheLocalServerOnly(t *testing.T) {
	f := setup(t)
	dir := localData(t, "http://127.0.0.1:1", f.token)
	run(t, Env{}, map[string]string{"SWITCHBOARD_DATA_DIR": dir}, "status", "--url", f.url).
		failed(t, exitUsage, "no credential for "+f.url)
}

func TestConnect_ADamagedFileIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "cli.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, Env{}, map[string]string{"SWITCHBOARD_DATA_DIR": dir}, "status").failed(t, exitUsage, "cli.json is damaged")
}

func TestStatus_SaysWhereAndAsWhom(t *testing.T) {
	f := setup(t)
	out := f.run(t, "status").ok(t)
	for _, want := range []string{f.url, "1.2.3", "PostgreSQL of a test", "Local owner (hu_"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
}

func TestLoginLink_IsOneLine(t *testing.T) {
	f := setup(t)
	if out := f.run(t, "login-link").ok(t); !strings.HasPrefix(out, f.url+"/login/") || strings.Count(out, "\n") != 1 {
		t.Errorf("printed %q", out)
	}
	var doc map[string]string
	f.run(t, "login-link", "--json").json(t, &doc)
	if len(doc) != 1 || !strings.HasPrefix(doc["url"], f.url+"/login/") {
		t.Errorf("printed %v", doc)
	}
}
