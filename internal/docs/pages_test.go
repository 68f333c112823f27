// Package docs keeps the documentation true: what a page says of the code is compared with the code.
package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

const repo = "../.."

func path(rel string) string { return filepath.Join(repo, rel) }

func read(t *testing.T, rel string) string {
	t.Helper()
	content, err := os.ReadFile(path(rel))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// own walks the repository's own files with one of the given endings, by their paths within it.
func own(t *testing.T, visit func(rel string), endings ...string) {
	t.Helper()
	err := filepath.WalkDir(repo, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(repo, p)
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{".git", "bin", ".switchboard", "testdata"}, d.Name()) {
			return filepath.SkipDir
		}
		if !d.IsDir() && slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(rel, e) }) {
			visit(filepath.ToSlash(rel))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// table reads the rows of the Markdown table whose first column has the given head. Pipes within code are not ours.
func table(t *testing.T, page, head string) (rows [][]string) {
	t.Helper()
	_, rest, found := strings.Cut(page, "\n| "+head+" |")
	if !found {
		t.Fatalf("no table of %s", head)
	}
	for i, line := range strings.Split(rest, "\n") {
		if i < 2 { // the rest of the head, and the line below it
			continue
		}
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	return rows
}

// names are the words in code quotes.
func names(cell string) (found []string) {
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
		found = append(found, m[1])
	}
	return found
}

var (
	fence   = regexp.MustCompile("(?s)```.*?```")
	anyLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	title   = regexp.MustCompile(`(?m)^#+ (.+)$`)
)

// anchorsOf are the fragments that a page's headings can be reached by, as GitHub makes them.
func anchorsOf(page string) map[string]bool {
	anchors := map[string]bool{"": true}
	for _, m := range title.FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
		anchors[strings.Map(func(r rune) rune {
			switch {
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			case r == ' ':
				return '-'
			}
			return -1
		}, m[1])] = true
	}
	return anchors
}

// A link between two files of this repository leads to a file that is there, and to a heading that it has.
func TestLinks_LeadSomewhere(t *testing.T) {
	links := 0
	own(t, func(rel string) {
		for _, m := range anyLink.FindAllStringSubmatch(fence.ReplaceAllString(read(t, rel), ""), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			links++
			file, fragment, _ := strings.Cut(m[1], "#")
			target := rel
			if file != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(rel), file))
			}
			if _, err := os.Stat(path(target)); err != nil {
				t.Errorf("%s: the link %s leads to no file", rel, m[1])
				continue
			}
			if strings.HasSuffix(target, ".md") && !anchorsOf(read(t, target))[fragment] {
				t.Errorf("%s: %s has no heading for the link %s", rel, target, m[1])
			}
		}
	}, ".md")
	if links < 40 {
		t.Errorf("only %d links were found: is this test still looking at the pages?", links)
	}
}

// Whoever opens the folder finds every page from its index.
func TestIndex_NamesEveryPage(t *testing.T) {
	index := read(t, "docs/README.md")
	own(t, func(rel string) {
		page, inside := strings.CutPrefix(rel, "docs/")
		if !inside || page == "README.md" || strings.HasPrefix(page, "decisions/0") || strings.HasPrefix(page, "agents/") {
			return
		}
		if !strings.Contains(index, "]("+page+")") {
			t.Errorf("docs/README.md does not name %s", page)
		}
	}, ".md")
}
