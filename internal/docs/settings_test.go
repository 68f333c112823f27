package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/switchboard-otel/switchboard/app/settings"
)

// Every setting is on its page with the default, the range and the unit that the code has, and no other is.
func TestSettings_ThePageSaysWhatTheCodeDoes(t *testing.T) {
	meant := meanings(t)
	documented := map[string][]string{}
	for _, row := range table(t, read(t, "docs/reference/settings.md"), "Key") {
		documented[strings.Trim(row[0], "`")] = row
	}
	for _, s := range settings.List() {
		key := string(s.Key)
		row, found := documented[key]
		delete(documented, key)
		if !found || len(row) != 5 {
			t.Errorf("%s is not described", key)
			continue
		}
		want := []string{strconv.Itoa(s.Default), fmt.Sprintf("%d to %d", s.Min, s.Max)}
		if !slices.Equal(row[1:3], want) {
			t.Errorf("%s: the page says %q, the code %q", key, row[1:3], want)
		}
		if !regexp.MustCompile(`\b` + regexp.QuoteMeta(row[3]) + `\b`).MatchString(meant[key]) {
			t.Errorf("%s: the page says %s, the code %q", key, row[3], meant[key])
		}
		if s.Floor > s.Min && !strings.Contains(row[4], fmt.Sprintf("below %d means %d", s.Floor, s.Floor)) {
			t.Errorf("%s: the page does not say that less than %d means %d", key, s.Floor, s.Floor)
		}
	}
	for key := range documented {
		t.Errorf("%s is described and is no setting", key)
	}
}

// meanings are the comments of the keys where they are defined.
func meanings(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path("app/settings/settings.go"), nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	meant := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && v.Comment != nil && len(v.Values) == 1 {
			if value, ok := v.Values[0].(*ast.BasicLit); ok {
				key, err := strconv.Unquote(value.Value)
				if err != nil {
					t.Fatal(err)
				}
				meant[key] = v.Comment.Text()
			}
		}
		return true
	})
	return meant
}
