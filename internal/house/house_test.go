// Package house tests the rules of ARCHITECTURE.md that no compiler checks.
package house

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"golang.org/x/mod/modfile"
)

const (
	repo   = "../.."
	module = "github.com/switchboard-otel/switchboard"
)

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(repo, path))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// files walks the repository's own files with one of the given endings.
func files(t *testing.T, visit func(path string, content []byte), endings ...string) {
	t.Helper()
	err := filepath.WalkDir(repo, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := strings.TrimPrefix(filepath.ToSlash(path), repo+"/")
		if d.IsDir() && (rel == ".git" || rel == "bin" || rel == ".switchboard" || d.Name() == "node_modules" || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		for _, ending := range endings {
			if !d.IsDir() && strings.HasSuffix(rel, ending) {
				content, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				visit(rel, content)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The manifest and go.mod say the same versions, so that the builder's output is what go.mod pins.
func TestManifest_AgreesWithGoMod(t *testing.T) {
	type part struct {
		GoMod  string `yaml:"gomod"`
		Import string `yaml:"import"`
	}
	var manifest struct {
		Dist struct {
			Module string `yaml:"module"`
		} `yaml:"dist"`
		Extensions, Receivers, Processors, Exporters, Connectors, Providers []part
	}
	if err := yaml.Unmarshal(read(t, "builder-config.yaml"), &manifest); err != nil {
		t.Fatal(err)
	}
	mod, err := modfile.Parse("go.mod", read(t, "go.mod"), nil)
	if err != nil {
		t.Fatal(err)
	}
	pinned := map[string]string{}
	for _, r := range mod.Require {
		pinned[r.Mod.Path] = r.Mod.Version
	}
	if manifest.Dist.Module != module || mod.Module.Mod.Path != module {
		t.Errorf("the manifest builds %s in module %s", manifest.Dist.Module, mod.Module.Mod.Path)
	}
	own := 0
	for _, list := range [][]part{manifest.Extensions, manifest.Receivers, manifest.Processors, manifest.Exporters, manifest.Connectors, manifest.Providers} {
		for _, p := range list {
			path, version, _ := strings.Cut(p.GoMod, " ")
			if path == module {
				own++
				if version != "v0.0.0" || !strings.HasPrefix(p.Import, module+"/") {
					t.Errorf("our own %s must be v0.0.0 with an import", p.GoMod)
				}
				continue
			}
			if pinned[path] != version {
				t.Errorf("%s is %s in the manifest and %q in go.mod", path, version, pinned[path])
			}
		}
	}
	if own < 6 {
		t.Errorf("only %d of our own parts are in the manifest", own)
	}
}

func tool(t *testing.T, dir string, args ...string) {
	t.Helper()
	modFile, err := filepath.Abs(filepath.Join(repo, "tools", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", append([]string{"tool", "-modfile=" + modFile}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
}

// Generating again changes nothing: nobody edited what a tool writes, and nobody forgot to run it.
func TestGenerated_CollectorIsWhatTheBuilderWrites(t *testing.T) {
	out := t.TempDir()
	config := bytes.Replace(read(t, "builder-config.yaml"), []byte("output_path: ./cmd/switchboard-collector"), []byte("output_path: "+out), 1)
	manifest := filepath.Join(out, "manifest.yaml")
	if err := os.WriteFile(manifest, config, 0o600); err != nil {
		t.Fatal(err)
	}
	tool(t, repo, "builder", "--config", manifest, "--skip-get-modules", "--skip-compilation")
	same(t, out, filepath.Join(repo, "cmd", "switchboard-collector"), func(name string) bool { return strings.HasSuffix(name, ".go") })
}

func TestGenerated_PagesAreWhatTemplWrites(t *testing.T) {
	out := t.TempDir()
	copyFiles(t, filepath.Join(repo, "app", "board"), out, ".templ")
	tool(t, repo, "templ", "generate", "-path", out)
	same(t, out, filepath.Join(repo, "app", "board"), func(name string) bool { return strings.HasSuffix(name, "_templ.go") })
}

func TestGenerated_MetadataIsWhatMdatagenWrites(t *testing.T) {
	found := 0
	for _, kind := range []string{"receiver", "processor", "exporter", "extension"} {
		dirs, err := filepath.Glob(filepath.Join(repo, kind, "*", "metadata.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range dirs {
			found++
			component := filepath.Dir(file)
			// The tool asks go for the package's name, so it gets a module with a package of that name.
			out := filepath.Join(t.TempDir(), filepath.Base(component))
			if err := os.Mkdir(out, 0o700); err != nil {
				t.Fatal(err)
			}
			stub := "package " + filepath.Base(component) + "\n"
			for name, content := range map[string]string{"go.mod": "module " + filepath.Base(component) + "\n", "stub.go": stub} {
				if err := os.WriteFile(filepath.Join(out, name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			copyFiles(t, component, out, "metadata.yaml")
			tool(t, out, "mdatagen", "metadata.yaml")
			same(t, out, component, func(name string) bool { return name == "generated_package_test.go" })
		}
	}
	if found < 6 {
		t.Errorf("only %d components have a metadata.yaml", found)
	}
}

func copyFiles(t *testing.T, from, to string, endings ...string) {
	t.Helper()
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		for _, ending := range endings {
			if strings.HasSuffix(e.Name(), ending) {
				content, err := os.ReadFile(filepath.Join(from, e.Name()))
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(to, e.Name()), content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// same compares the chosen files of a fresh folder with what is committed.
func same(t *testing.T, fresh, committed string, chosen func(string) bool) {
	t.Helper()
	entries, err := os.ReadDir(fresh)
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, e := range entries {
		if !chosen(e.Name()) {
			continue
		}
		compared++
		want, err := os.ReadFile(filepath.Join(fresh, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(committed, e.Name()))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the tool writes: run make generate (%v)", filepath.Join(committed, e.Name()), err)
		}
	}
	if compared == 0 {
		t.Error("nothing was generated")
	}
}

// app/ is the product and knows nothing of receivers and pipelines; pdata alone comes in, in the one place
// that turns spans into rows.
func TestApp_DoesNotKnowTheCollector(t *testing.T) {
	pdata := map[string]bool{"app/spans": true}
	files(t, func(path string, content []byte) {
		if !strings.HasPrefix(path, "app/") || strings.HasSuffix(path, "_test.go") {
			return
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, content, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range parsed.Imports {
			name := strings.Trim(i.Path.Value, `"`)
			if !strings.HasPrefix(name, "go.opentelemetry.io/collector") {
				continue
			}
			if !strings.HasPrefix(name, "go.opentelemetry.io/collector/pdata") || !pdata[filepath.ToSlash(filepath.Dir(path))] {
				t.Errorf("%s imports %s", path, name)
			}
		}
	}, ".go")
}

// statements visits every string in the product's code that is SQL, and every migration.
func statements(t *testing.T, visit func(path, sql string)) {
	t.Helper()
	keyword := regexp.MustCompile(`\b(SELECT|INSERT INTO|UPDATE|DELETE FROM)\b`)
	files(t, func(path string, content []byte) {
		if strings.HasSuffix(path, ".sql") {
			visit(path, string(content))
			return
		}
		// Packages that end in test serve tests, and bench/ measures: they may reach anywhere.
		if strings.HasSuffix(path, "_test.go") || strings.HasSuffix(filepath.Dir(path), "test") || strings.HasPrefix(path, "bench/") {
			return
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, content, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && keyword.MatchString(lit.Value) {
				visit(path, lit.Value)
			}
			return true
		})
	}, ".go", ".sql")
}

// decisions.md 47: SQL reads time only through sb_now(), so that leases have one clock and tests can move it.
func TestSQL_ReadsTimeOnlyThroughItsOneClock(t *testing.T) {
	clock := regexp.MustCompile(`(?i)\b(now\(\)|\w+_timestamp\(\)|current_timestamp|localtimestamp|current_date)`)
	statements(t, func(path, sql string) {
		if path == "migrations/00001_clock.sql" {
			return
		}
		if other := clock.FindString(sql); other != "" {
			t.Errorf("%s reads another clock than sb_now(): %s", path, other)
		}
	})
}

// One package writes each table, so that its rules have one home. A migration may move what is there, and holds
// functions that the statements of that package call.
func TestTables_AreWrittenByTheirOwnPackageOnly(t *testing.T) {
	owner := map[string]string{
		"humans": "app/identity", "agents": "app/identity", "endpoints": "app/identity", "credentials": "app/identity",
		"access_tokens": "app/identity", "login_links": "app/identity", "sessions": "app/identity",
		"todos": "app/queue", "todo_attempts": "app/queue", "todo_activity": "app/queue", "feed_entries": "app/queue", "todo_rings": "app/queue",
		"feed_seen": "app/feed",
		"todo_spans": "app/spans", "todo_span_counts": "app/spans", "todo_trace_bindings": "app/spans",
		"rungraph_documents": "app/rungraph",
		"webhooks": "app/intake", "webhook_rules": "app/intake", "events": "app/intake",
		"sign_ins": "app/signin", "oauth_clients": "app/oauth", "oauth_grants": "app/oauth",
		"oauth_access_tokens": "app/oauth", "oauth_refresh_tokens": "app/oauth",
	}
	write := regexp.MustCompile(`(?:INSERT INTO|UPDATE|DELETE FROM)\s+([a-z_]+)`)
	written := map[string]bool{}
	statements(t, func(path, sql string) {
		for _, m := range write.FindAllStringSubmatch(sql, -1) {
			home, known := owner[m[1]]
			if at := filepath.ToSlash(filepath.Dir(path)); known && home != at && at != "migrations" {
				t.Errorf("%s writes %s, which belongs to %s", path, m[1], home)
			}
			written[m[1]] = written[m[1]] || filepath.Dir(path) != "migrations"
		}
	})
	for table := range owner {
		if !written[table] {
			t.Errorf("nobody writes %s: is this test still looking at the statements?", table)
		}
	}
}

// Waiting for a condition is the only waiting: a test that sleeps fails on a slow machine.
func TestTests_DoNotSleep(t *testing.T) {
	files(t, func(path string, content []byte) {
		// Within synctest's bubble time is not the wall clock's.
		if !bytes.Contains(content, []byte(`"testing/synctest"`)) && bytes.Contains(content, []byte("time."+"Sleep(")) {
			t.Errorf("%s sleeps", path)
		}
	}, "_test.go")
}
