package switchboardreceiver

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/switchboard-otel/switchboard/app/ledger"
)

// The page of answers has every refusal with its status, its code and its message, and every message of a partial success.
func TestAnswersPage_HasEveryAnswer(t *testing.T) {
	page, err := os.ReadFile("../../docs/answers.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, r := range []*refusal{
		refusedStopping, refusedDisabled, refusedCredential, refusedEndpoint, refusedGrant, refusedPath, refusedMethod, refusedType,
		refusedCoding, refusedSize, refusedDecode, refusedUnavailable, refusedInternal, refusedRate(1), refusedSpans(1000),
	} {
		rows = append(rows, fmt.Sprintf("| %d | %d | `%s` |", r.status, r.code, r.message))
	}
	for _, reason := range ledger.Reasons {
		rows = append(rows, fmt.Sprintf("| `rejected spans: %s` |", reason))
	}
	rows = append(rows, "| `"+messageFiltered+"` |", "| `"+messageTracesOnly+"` |")
	for _, row := range rows {
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/answers.md has no row %s", row)
		}
	}
}
