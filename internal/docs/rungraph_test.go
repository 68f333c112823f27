package docs

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/switchboard-otel/switchboard/app/rungraph"
)

// The page lists each code that a check can give, as the check knows it.
func TestRunGraph_ThePageHasEveryCode(t *testing.T) {
	var want [][]string
	for _, c := range rungraph.Codes() {
		want = append(want, []string{"`" + c.Code + "`", string(c.Level), c.Meaning})
	}
	if diff := cmp.Diff(want, table(t, read(t, "docs/rungraph.md"), "Code")); diff != "" {
		t.Errorf("the codes (-known +page):\n%s", diff)
	}
}
