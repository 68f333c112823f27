//go:build linux

package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// programs are the server programs of one PostgreSQL version.
type programs struct {
	dir   string
	major int
}

func (p programs) path(name string) string { return filepath.Join(p.dir, name) }

// programDirs are the places where packages put the server programs, which most leave out of PATH.
var programDirs = []string{
	"/usr/lib/postgresql/*/bin",      // Debian, Ubuntu
	"/usr/lib/postgresql*/bin",       // Gentoo, SUSE
	"/usr/pgsql-*/bin",               // PostgreSQL's own RPMs
	"/usr/libexec/postgresql*",       // Alpine
	"/usr/local/pgsql/bin",           // built from source
	"/home/linuxbrew/.linuxbrew/bin", // Homebrew
}

// findPrograms returns the programs that can run the cluster in data, which only its own major version can. For a
// cluster that does not exist yet, or when data is empty, that is the one in PATH, else the newest installed.
func findPrograms(ctx context.Context, data string) (programs, error) {
	installed := installedPrograms(ctx)
	if len(installed) == 0 {
		return programs{}, errors.New("PostgreSQL's server programs were not found; install them (apt-get install postgresql) " +
			"or set SWITCHBOARD_DATABASE_URL to a server")
	}
	made := 0
	if data != "" {
		var err error
		if made, err = clusterMajor(data); err != nil {
			return programs{}, err
		}
	}
	if made == 0 {
		for _, p := range installed {
			if CheckMajor(p.major) == nil {
				return p, nil
			}
		}
		return programs{}, CheckMajor(installed[0].major)
	}
	for _, p := range installed {
		if p.major == made {
			return p, CheckMajor(made)
		}
	}
	return programs{}, fmt.Errorf("data folder %s was made by PostgreSQL %d and only PostgreSQL %d is installed; "+
		"install postgresql-%d or move the data with pg_upgrade", filepath.Dir(data), made, installed[0].major, made)
}

// Installed is the major version that would make a new data folder.
func Installed(ctx context.Context) (int, error) {
	p, err := findPrograms(ctx, "")
	return p.major, err
}

// installedPrograms lists what is installed, the preferred one first.
func installedPrograms(ctx context.Context) []programs {
	var dirs []string
	inPath := ""
	if path, err := exec.LookPath("postgres"); err == nil {
		// Some systems link one program into PATH: its siblings are beside the file it points to.
		if path, err = filepath.EvalSymlinks(path); err == nil {
			inPath = filepath.Dir(path)
			dirs = append(dirs, inPath)
		}
	}
	for _, pattern := range programDirs {
		found, _ := filepath.Glob(pattern) // fails only on a malformed pattern
		dirs = append(dirs, found...)
	}
	var installed []programs
	seen := map[string]bool{}
	for _, dir := range dirs {
		if seen[dir] {
			continue
		}
		seen[dir] = true
		p := programs{dir: dir}
		if !executable(p.path("initdb")) || !executable(p.path("postgres")) {
			continue
		}
		out, err := exec.CommandContext(ctx, p.path("postgres"), "--version").Output()
		if err != nil {
			continue
		}
		if p.major = parseMajor(string(out)); p.major > 0 {
			installed = append(installed, p)
		}
	}
	preferred := func(a, b programs) int {
		if (a.dir == inPath) != (b.dir == inPath) {
			if a.dir == inPath {
				return -1
			}
			return 1
		}
		return b.major - a.major
	}
	slices.SortStableFunc(installed, preferred)
	return installed
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

var versionPattern = regexp.MustCompile(`^postgres \(PostgreSQL\) (\d+)`)

// parseMajor reads the major version out of what postgres --version prints; 0 when it prints something else.
func parseMajor(out string) int {
	m := versionPattern.FindStringSubmatch(out)
	if m == nil {
		return 0
	}
	major, _ := strconv.Atoi(m[1]) // too many digits give the largest int, which no program has
	return major
}

// clusterMajor is the major version that made the cluster in data, 0 when there is none.
func clusterMajor(data string) (int, error) {
	text, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("data folder %s cannot be read: %w", filepath.Dir(data), err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("%s does not name a PostgreSQL version; restore the data folder from a backup", filepath.Join(data, "PG_VERSION"))
	}
	return major, nil
}
