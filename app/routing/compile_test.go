package routing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/itchyny/gojq"

	"github.com/switchboard-otel/switchboard/app/fault"
)

func TestCompile_RefusesSetsThatAreNoSets(t *testing.T) {
	drop := Action{Drop: true}
	many := make([]Rule, MaxRules+1)
	for i := range many {
		many[i] = Rule{ID: fmt.Sprint(i), Expr: "true", Action: drop}
	}
	yes := true
	for name, c := range map[string]struct {
		set  Set
		want string
	}{
		"too many rules":       {Set{Rules: many}, "rules must be at most 32"},
		"no id":                {Set{Rules: []Rule{{Expr: "true", Action: drop}}}, "rules[0].id must be"},
		"an id with a space":   {Set{Rules: []Rule{{ID: "a b", Expr: "true", Action: drop}}}, "rules[0].id must be"},
		"one id twice":         {Set{Rules: []Rule{many[0], many[0]}}, "rules[1] (0): another rule has this id"},
		"a long name":          {Set{Rules: []Rule{{ID: "a", Name: strings.Repeat("x", 121), Expr: "true", Action: drop}}}, "rules[0] (a): its name"},
		"no expression":        {Set{Rules: []Rule{{ID: "a", Action: drop}}}, "rules[0] (a): its expression must be text"},
		"a long expression":    {Set{Rules: []Rule{{ID: "a", Expr: strings.Repeat(" ", 4096) + "1", Action: drop}}}, "rules[0] (a): its expression must be text"},
		"no action":            {Set{Rules: []Rule{{ID: "a", Expr: "true"}}}, "rules[0] (a): its action must be"},
		"drop to a queue":      {Set{Rules: []Rule{{ID: "a", Expr: "true", Action: Action{Drop: true, Queue: "q"}}}}, "rules[0] (a): its action must be"},
		"a default of two":     {Set{Default: &Action{Drop: true, WorkOrder: &yes}}, "default must be"},
		"params of two values": {Set{Params: json.RawMessage(`1 2`)}, "params must be JSON"},
		"large params":         {Set{Params: json.RawMessage(`"` + strings.Repeat("x", MaxParamBytes) + `"`)}, "params must be at most 16384 bytes"},
		"deep params":          {Set{Params: json.RawMessage(strings.Repeat("[", 300) + strings.Repeat("]", 300))}, "params must not be nested"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Compile(c.set)
			var refusal *fault.Error
			if !errors.As(err, &refusal) || refusal.Code != fault.Invalid || !strings.HasPrefix(refusal.Message, c.want) {
				t.Errorf("refusal is %v, want %q", err, c.want)
			}
		})
	}
}

// What compiles is kept in memory, so a set has an end in all its rules together, too.
func TestCompile_BoundsTheSetAsAWhole(t *testing.T) {
	for name, expr := range map[string]string{
		"operators": "." + strings.Repeat(" + .", 100),
		"patterns":  `.kind | test("a{300}")`,
		"classes":   `.kind | test("\\pL\\pN")`,
	} {
		set := Set{}
		for i := range MaxRules {
			set.Rules = append(set.Rules, Rule{ID: fmt.Sprint(i), Expr: expr, Action: Action{Drop: true}})
		}
		if _, err := Compile(Set{Rules: set.Rules[:1]}); err != nil {
			t.Errorf("%s: one rule is refused: %v", name, err)
		}
		if _, err := Compile(set); err == nil {
			t.Errorf("%s: 32 rules are taken", name)
		}
	}
}

// Rules of an ordinary size fill a set without coming near its bounds.
func TestCompile_TakesAFullSetOfOrdinaryRules(t *testing.T) {
	set := Set{}
	for i := range MaxRules {
		set.Rules = append(set.Rules, Rule{ID: fmt.Sprint(i), Action: Action{Queue: "q"}, Expr: `
			# the labels decide, then the title
			.kind == "issues" and (.payload.action | IN("opened", "reopened", "labeled"))
			and any(.payload.issue.labels[]; .name == "area/parser" or .name == "bug")
			and (.payload.issue.title | test("^(fix|feat)(\\(.*\\))?:"; "i"))
			and ((.payload.issue.user.login // "") | startswith("dependabot") | not)`})
	}
	if _, err := Compile(set); err != nil {
		t.Error(err)
	}
}

// Whatever text a rule is, it is refused in a short sentence or it decides; and a decision that is no fault is
// the one that jq makes of the same text.
func FuzzCompile(f *testing.F) {
	for _, expr := range refused {
		f.Add(expr)
	}
	for _, s := range spent {
		f.Add(s.expr)
	}
	for _, expr := range []string{
		`.payload.action == "opened"`, `any(.payload.issue.labels[]; .name == "bug")`, `.payload.id == 9007199254740993`,
		`.payload.issue.labels | map(.name) | index("p1")`, `{a: 1, "b": .size, (.kind): [1, 2]} | .issues[1] == 2`,
		`.payload.issue.title | test("^fix\\b"; "i")`, `if .verified then .size elif 1 then 2 else 3 end`, `.a?, .b?`,
		`.payload.issue.title[0:3] + "x" | ascii_upcase | split("I") | join("j") | ltrimstr("F") | length % 3`,
	} {
		f.Add(expr)
	}
	in := delivery(issue)
	event, err := in.event()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, expr string) {
		p, err := Compile(Set{Rules: []Rule{{ID: "r", Expr: expr, Action: Action{Drop: true}}}})
		if err != nil {
			var refusal *fault.Error
			if !errors.As(err, &refusal) || refusal.Code != fault.Invalid || len(refusal.Message) > 200 {
				t.Fatalf("refusal is %v", err)
			}
			return
		}
		at := time.Now()
		p.now = func() time.Time { return at }
		d := p.Route(context.Background(), in)
		if d.Fault || catches(expr) {
			return
		}
		if got, want := d.Trace.Stage == StageRule, plain(t, expr, event); got != want {
			t.Errorf("matched %v, jq says %v", got, want)
		}
	})
}

// catches reports whether an expression may go on after an error, of which rules have more than jq.
func catches(expr string) bool {
	return strings.Contains(expr, "try") || strings.ContainsAny(expr, "?") || strings.Contains(expr, "//")
}

// plain runs an expression as it stands.
func plain(t *testing.T, expr string, event any) bool {
	t.Helper()
	parsed, err := gojq.Parse(expr)
	if err != nil {
		t.Fatal(err)
	}
	code, err := gojq.Compile(parsed, gojq.WithVariables([]string{"$params"}))
	if err != nil {
		t.Fatal(err)
	}
	first, some := code.Run(event, nil).Next()
	if err, failed := first.(error); failed {
		t.Fatalf("jq fails where the rule does not: %v", err)
	}
	return some && first != nil && first != false
}

// decode is the standard library's reading, with exact numbers, and what it takes is no more than its estimate.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{
		issue, `0`, `-0`, `1e400`, `"\u00e9\ud83d\ude00\ud800"`, "\"\xff\"", `{"a":1,"a":2}`, ` [ ] `, `[[],{},"",null,true,false]`,
		`{"a\"b":"\\"}`, `1 2`, `[1,]`, ``, `{"":{"":[-1.5E+3]}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := estimate(text); err != nil {
			return
		}
		got, err := decode(text)
		if len(text) == 0 {
			return
		}
		if valid := json.Valid(text); valid != (err == nil) {
			t.Fatalf("valid is %v, the error %v", valid, err)
		}
		if err != nil {
			return
		}
		decoder := json.NewDecoder(strings.NewReader(string(text)))
		decoder.UseNumber()
		var want any
		if err := decoder.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if gojq.Compare(got, want) != 0 {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}
