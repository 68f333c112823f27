//go:build linux

package embedded

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseMajor(t *testing.T) {
	for out, want := range map[string]int{
		"postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)\n": 15,
		"postgres (PostgreSQL) 18beta2\n":                        18,
		"postgres (PostgreSQL) 9.6.24\n":                         9,
		"postgres (PostgreSQL) 17devel\n":                        17,
		"postgres (Something Else) 15.1\n":                       0,
		"":                                                       0,
	} {
		if got := parseMajor(out); got != want {
			t.Errorf("parseMajor(%q) = %d, want %d", out, got, want)
		}
	}
}

func TestCheckMajor(t *testing.T) {
	for major, refused := range map[int]bool{0: true, 9: true, 14: true, 15: false, 18: false} {
		if err := CheckMajor(major); (err != nil) != refused {
			t.Errorf("CheckMajor(%d) = %v", major, err)
		}
	}
	if want := "PostgreSQL 14 is too old: Switchboard needs PostgreSQL 15 or newer"; CheckMajor(14).Error() != want {
		t.Errorf("got %q, want %q", CheckMajor(14), want)
	}
}

// install makes programs that only know their version, and makes them the only ones.
func install(t *testing.T, majors ...int) {
	t.Helper()
	root := t.TempDir()
	for _, major := range majors {
		bin := filepath.Join(root, fmt.Sprint(major), "bin")
		if err := os.MkdirAll(bin, 0o755); err != nil {
			t.Fatal(err)
		}
		script := fmt.Sprintf("#!/bin/sh\necho 'postgres (PostgreSQL) %d.1'\n", major)
		for _, name := range []string{"postgres", "initdb"} {
			if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	before := programDirs
	t.Cleanup(func() { programDirs = before })
	programDirs = []string{filepath.Join(root, "*", "bin")}
	t.Setenv("PATH", "")
}

func TestFindPrograms(t *testing.T) {
	for _, c := range []struct {
		name      string
		installed []int
		path      int // the version in PATH
		data      string
		want      int
		err       string
	}{
		{name: "none", err: "install them (apt-get install postgresql)"},
		{name: "the newest", installed: []int{15, 17, 16}, want: 17},
		{name: "the one in PATH", installed: []int{15, 17}, path: 15, want: 15},
		{name: "one in PATH that is too old", installed: []int{14, 16}, path: 14, want: 16},
		{name: "too old", installed: []int{13, 14}, err: "PostgreSQL 14 is too old"},
		{name: "the one that made the data", installed: []int{15, 17}, data: "15\n", want: 15},
		{name: "data of another version", installed: []int{17}, data: "16\n", err: "was made by PostgreSQL 16 and only PostgreSQL 17 is installed"},
		{name: "data of an old version", installed: []int{13, 17}, data: "13\n", err: "PostgreSQL 13 is too old"},
		{name: "broken data", installed: []int{17}, data: "what\n", err: "does not name a PostgreSQL version"},
	} {
		t.Run(c.name, func(t *testing.T) {
			install(t, c.installed...)
			if c.path > 0 {
				t.Setenv("PATH", strings.Replace(programDirs[0], "*", fmt.Sprint(c.path), 1))
			}
			data := t.TempDir()
			if c.data != "" {
				if err := os.WriteFile(filepath.Join(data, "PG_VERSION"), []byte(c.data), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := findPrograms(t.Context(), data)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("got %v, want an error with %q", err, c.err)
				}
				return
			}
			if err != nil || got.major != c.want {
				t.Errorf("got %d (%v), want %d", got.major, err, c.want)
			}
		})
	}
}
