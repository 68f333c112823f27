package e2e

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A golden case is one file of testdata/otlp: why it is there, then what is there before, what is sent, what is answered
// and which rows there are then, as often as it takes. The answers and rows are the test's to write (-update) and
// somebody's to read. testdata/otlp/README.md describes the format.
type goldenCase struct {
	path     string
	comment  string
	config   string // of configurations, the quick start where it says nothing
	sections []section
}

// section is one part of a case. Its words are how, such as "send json gzip".
type section struct {
	words []string
	text  string
}

func (s section) is(word string) bool { return slices.Contains(s.words, word) }

var (
	sectionLine = regexp.MustCompile(`(?m)^-- (.+) --\n`)
	configLine  = regexp.MustCompile(`(?m)^config: (\S+)\n`)
)

func readCase(t *testing.T, path string) *goldenCase {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	marks := sectionLine.FindAllStringSubmatchIndex(text, -1)
	if marks == nil {
		t.Fatalf("%s sends nothing", path)
	}
	c := &goldenCase{path: path, comment: text[:marks[0][0]]}
	if found := configLine.FindStringSubmatch(c.comment); found != nil {
		c.config = found[1]
	}
	for i, m := range marks {
		end := len(text)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		c.sections = append(c.sections, section{strings.Fields(text[m[2]:m[3]]), text[m[1]:end]})
	}
	return c
}

// write writes the case with its answers and rows as they are now.
func (c *goldenCase) write(t *testing.T) {
	t.Helper()
	text := c.comment
	for _, s := range c.sections {
		text += "-- " + strings.Join(s.words, " ") + " --\n" + s.text
	}
	if err := os.WriteFile(c.path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The letter of the requirements, one file for each scenario, each line of a table and each kind of bad input: over HTTP,
// against the real binary and PostgreSQL.
func TestGolden_RequestsAnswersAndRows(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(filepath.Join("testdata", "otlp", "*.txt"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d cases, %v", len(paths), err)
	}
	byConfig := map[string][]*goldenCase{}
	for _, path := range paths {
		c := readCase(t, path)
		byConfig[c.config] = append(byConfig[c.config], c)
	}
	for _, config := range slices.Sorted(maps.Keys(byConfig)) {
		t.Run(cmp.Or(config, "quickstart"), func(t *testing.T) {
			t.Parallel()
			s := startGolden(t, config)
			for _, c := range byConfig[config] {
				t.Run(strings.TrimSuffix(filepath.Base(c.path), ".txt"), func(t *testing.T) { s.play(t, c) })
			}
			if strings.Contains(s.output.String(), "CANARY") {
				t.Errorf("the log quotes what was sent, or what the database said of it:\n%s", s.output)
			}
		})
	}
}

// play does what the case says and compares what comes of it.
func (s *goldenStage) play(t *testing.T, c *goldenCase) {
	scene := s.open(t)
	var sent section
	var got reply
	for i := range c.sections {
		part := &c.sections[i]
		found := part.text
		switch part.words[0] {
		case "given":
			scene.given(part.text)
		case "send":
			if part.is("again") {
				*part = section{part.words, ""}
			} else {
				sent = *part
			}
			got = scene.send(sent)
		case "answer":
			found = scene.readable(got)
		case "rows":
			found = scene.rows(part.is("counted"))
		default:
			t.Fatalf("%s: there is no section %q", c.path, part.words[0])
		}
		switch {
		case found == part.text:
		case *update:
			part.text = found
		default:
			t.Errorf("%s, %s: it says\n%s\nbut there is\n%s", c.path, part.words[0], part.text, found)
		}
	}
	if *update {
		c.write(t)
	}
}
