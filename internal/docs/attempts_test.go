package docs

import (
	"slices"
	"testing"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/mcpserver"
	"github.com/switchboard-otel/switchboard/app/queue"
)

// firstColumn is the quoted names of a table's first column, sorted.
func firstColumn(t *testing.T, page, head string) (all []string) {
	t.Helper()
	for _, row := range table(t, read(t, page), head) {
		all = append(all, names(row[0])...)
	}
	slices.Sort(all)
	return all
}

func sorted[T ~string](list []T) (all []string) {
	for _, s := range list {
		all = append(all, string(s))
	}
	slices.Sort(all)
	return all
}

func TestAttempts_ThePageNamesEveryOutcome(t *testing.T) {
	if said, want := firstColumn(t, "docs/reference/attempts.md", "Outcome"), sorted(queue.Outcomes); !slices.Equal(said, want) {
		t.Errorf("the page says %q, the code %q", said, want)
	}
}

func TestAttempts_ThePageNamesEveryField(t *testing.T) {
	var want []string
	for _, tool := range mcpserver.Tools() {
		if tool.Name == identity.VerbGetTodo {
			for field := range schemaOf(t, tool.OutputSchema).Properties["attempts"].Items.Properties {
				want = append(want, field)
			}
		}
	}
	slices.Sort(want)
	if said := firstColumn(t, "docs/reference/attempts.md", "Field"); !slices.Equal(said, want) {
		t.Errorf("the page says %q, the schema %q", said, want)
	}
}

func TestVerbs_ThePageNamesEveryRefusal(t *testing.T) {
	want := sorted([]fault.Code{fault.Invalid, fault.NotFound, fault.Forbidden, fault.Conflict, fault.RateLimited,
		fault.Unavailable, fault.Internal})
	if said := firstColumn(t, verbsPage, "Code"); !slices.Equal(said, want) {
		t.Errorf("the page says %q, the code %q", said, want)
	}
}
