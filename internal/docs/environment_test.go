package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Every variable that the programs or a shipped configuration read is in the table, and no other is.
func TestEnvironment_ThePageNamesEveryVariableThatIsRead(t *testing.T) {
	documented := map[string]bool{}
	for _, row := range table(t, read(t, "docs/configuration.md"), "Variable") {
		for _, name := range names(row[0]) {
			documented[name] = false
		}
	}
	readBy := func(name, file string) {
		if _, found := documented[name]; !found {
			t.Errorf("%s reads %s, which docs/configuration.md does not name", file, name)
		}
		documented[name] = true
	}
	variable := regexp.MustCompile(`^SWITCHBOARD_[A-Z0-9_]*[A-Z0-9]$`)
	own(t, func(rel string) {
		if strings.HasSuffix(rel, "_test.go") {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), path(rel), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
				if name, err := strconv.Unquote(text.Value); err == nil && variable.MatchString(name) {
					readBy(name, rel)
				}
			}
			return true
		})
	}, ".go")
	substitution := regexp.MustCompile(`\$\{env:(SWITCHBOARD_[A-Z0-9_]+)`)
	own(t, func(rel string) {
		for _, m := range substitution.FindAllStringSubmatch(read(t, rel), -1) {
			readBy(m[1], rel)
		}
	}, ".yaml")
	for name, isRead := range documented {
		if !isRead {
			t.Errorf("docs/configuration.md names %s, which nothing reads", name)
		}
	}
}
