package routing

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func rulesReference(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/reference/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// section is what stands under a heading of a page.
func section(t *testing.T, page, heading string) string {
	t.Helper()
	_, rest, found := strings.Cut(page, "\n## "+heading+"\n")
	if !found {
		t.Fatalf("the page has no %q", heading)
	}
	text, _, _ := strings.Cut(rest, "\n## ")
	return text
}

// The page lists the functions that rules have, and no others.
func TestReference_ListsTheFunctionsThatRulesHave(t *testing.T) {
	_, functions, found := strings.Cut(section(t, rulesReference(t), "What it may say"), "| Functions | |")
	if !found {
		t.Fatal("the page has no table of functions")
	}
	table, _, _ := strings.Cut(functions, "\n\n")
	var listed []string
	for _, m := range regexp.MustCompile("`([A-Za-z_]+)(/\\d)?`").FindAllStringSubmatch(table, -1) {
		listed = append(listed, m[1]+m[2])
	}
	known := []string{"test/1", "test/2", "IN/1", "inside/1", "map/1", "any", "any/1", "all", "all/1"}
	for name, arities := range free {
		for _, n := range arities {
			known = append(known, named(name, n))
		}
	}
	known = append(known, unary...)
	for _, name := range binary {
		known = append(known, named(name, 1))
	}
	slices.Sort(listed)
	slices.Sort(known)
	if !slices.Equal(listed, known) {
		t.Errorf("the page lists\n%v\nand rules have\n%v", listed, known)
	}
}

func named(name string, arity int) string {
	if arity == 0 {
		return name
	}
	return fmt.Sprintf("%s/%d", name, arity)
}

func TestReference_SaysTheLimitsThatHold(t *testing.T) {
	limits := section(t, rulesReference(t), "Limits")
	for what, n := range map[string]int{
		"rules": MaxRules, "an expression": MaxExprBytes, "params": MaxParamBytes, "a pattern": maxPatternBytes,
		"a pattern's size": maxPatternSize, "parts": newRoom().parts, "a rule's steps": maxRuleSteps, "a rule's bytes": maxRuleBytes,
		"a rule's time": int(maxRuleTime / time.Millisecond), "a delivery's steps": maxDeliverySteps,
		"a delivery's time": int(maxDeliveryTime / time.Millisecond), "a payload": maxDecodedBytes, "levels": maxDepth,
		"digits": maxDigits, "the clock": clockEvery,
	} {
		if !regexp.MustCompile(fmt.Sprintf(`\b%d\b`, n)).MatchString(limits) {
			t.Errorf("the page does not say %d, the limit of %s", n, what)
		}
	}
}

// Every field that the page names is there, and the event has no other.
func TestReference_NamesWhatAnExpressionSees(t *testing.T) {
	in := delivery(issue)
	event, err := in.event()
	if err != nil {
		t.Fatal(err)
	}
	sees := section(t, rulesReference(t), "What an expression sees")
	var named []string
	for _, m := range regexp.MustCompile("`\\.([a-z_]+)`").FindAllStringSubmatch(sees, -1) {
		named = append(named, m[1])
	}
	slices.Sort(named)
	if known := slices.Sorted(maps.Keys(event)); !slices.Equal(named, known) {
		t.Errorf("the page names %v, and an expression sees %v", named, known)
	}
}

func TestReference_QuotesTheReasonsThatAreGiven(t *testing.T) {
	failures := section(t, rulesReference(t), "When a rule fails")
	numbers := "[" + strings.Repeat("0,", 150_000) + "0]"
	for expr, payload := range map[string]string{
		`.payload.nothing[]`:                        issue,
		`.payload.nothing | test("x")`:              issue,
		`.payload.nothing | startswith("x")`:        issue,
		`[.payload[] as $a | .payload[] | $a]`:      numbers,
		`.payload + .payload + .payload + .payload`: numbers,
		`true`: "[" + strings.Repeat(`{"a":0},`, 100_000) + "0]",
	} {
		d := one(t, expr).Route(context.Background(), delivery(payload))
		if !d.Fault || !strings.Contains(failures, "`"+d.Trace.Faults[0].Reason+"`") {
			t.Errorf("%s fails with %+v, which the page does not quote", expr, d.Trace.Faults)
		}
	}
}

// The set on the page compiles, and what it says is refused is.
func TestReference_ShowsASetThatCompiles(t *testing.T) {
	_, block, _ := strings.Cut(rulesReference(t), "```json\n")
	block, _, _ = strings.Cut(block, "```")
	var set Set
	if err := json.Unmarshal([]byte(block), &set); err != nil {
		t.Fatal(err)
	}
	if _, err := Compile(set); err != nil {
		t.Error(err)
	}
}
