package routing

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const issue = `{
  "action": "opened", "id": 9007199254740993, "ratio": 0.5, "empty": [], "nothing": null,
  "issue": {"number": 7, "title": "Fix: the parser eats a comma", "labels": [{"name": "bug"}, {"name": "p1"}]},
  "commits": [{"modified": ["docs/a.md", "main.go"]}, {"modified": []}]
}`

func delivery(payload string) Input {
	return Input{
		Source: "github", Kind: "issues", WebhookID: "wh_1", TrustMode: "signed", Verified: true,
		ContentType: "application/json", Size: len(payload), Payload: json.RawMessage(payload),
		Headers: map[string]string{"x-github-event": "issues"},
	}
}

// one makes a program of one rule that drops what it matches.
func one(t testing.TB, expr string) *Program {
	t.Helper()
	p, err := Compile(Set{
		Rules:  []Rule{{ID: "r", Expr: expr, Action: Action{Drop: true}}},
		Params: json.RawMessage(`{"labels": ["bug", "crash"], "big": 9007199254740993}`),
	})
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	return p
}

// What an expression sees and may say, and what its first output means.
func TestRoute_AnswersWhatJqAnswers(t *testing.T) {
	for expr, want := range map[string]Outcome{
		`.payload.action == "opened"`:                                                 OutcomeMatch,
		`.payload.action == "closed"`:                                                 OutcomeNoMatch,
		`.source == "github" and .kind == "issues" and .trust_mode == "signed"`:       OutcomeMatch,
		`.verified and .webhook_id == "wh_1" and .content_type == "application/json"`: OutcomeMatch,
		`.size > 100 and .size < 1000`:                                                OutcomeMatch,
		`.headers["x-github-event"] == "issues"`:                                      OutcomeMatch,
		`.headers."x-github-event" | startswith("iss")`:                               OutcomeMatch,
		`any(.payload.issue.labels[]; .name == "bug")`:                                OutcomeMatch,
		`any(.payload.issue.labels[]; .name == "docs")`:                               OutcomeNoMatch,
		`.payload.issue.labels | any(.name == "p1")`:                                  OutcomeMatch,
		`all(.payload.issue.labels[].name; length > 1)`:                               OutcomeMatch,
		`.payload.issue.labels | map(.name) | index("p1")`:                            OutcomeMatch,
		`.payload.issue.labels | map(.name) | index("docs")`:                          OutcomeNoMatch,
		`[.payload.issue.labels[].name] | contains(["bug"])`:                          OutcomeMatch,
		`.payload.issue.title | test("^fix\\b"; "i")`:                                 OutcomeMatch,
		`.payload.issue.title | test("^fix\\b")`:                                      OutcomeNoMatch,
		`.payload.issue.title | ascii_downcase | contains("parser")`:                  OutcomeMatch,
		`.payload.issue.labels[].name | IN($params.labels[])`:                         OutcomeMatch,
		`.payload.issue.labels[1].name | IN($params.labels[])`:                        OutcomeNoMatch,
		`.payload.commits as $c | any($c[].modified[]; startswith("docs/"))`:          OutcomeMatch,
		`.payload.id == $params.big`:                                                  OutcomeMatch,
		`.payload.id == 9007199254740993`:                                             OutcomeMatch,
		`.payload.id == 9007199254740992`:                                             OutcomeNoMatch,
		`.payload.id + 1 == 9007199254740994`:                                         OutcomeMatch,
		`.payload.id * 10000 == 90071992547409930000`:                                 OutcomeMatch,
		`.payload.ratio * 2 == 1`:                                                     OutcomeMatch,
		`.payload.issue.number % 2 == 1`:                                              OutcomeMatch,
		`.payload.issue.title[0:3] == "Fix"`:                                          OutcomeMatch,
		`.payload.issue.labels[-1].name == "p1"`:                                      OutcomeMatch,
		`.payload.issue.labels[.payload.empty | length].name == "bug"`:                OutcomeMatch,
		`.payload["act" + "ion"] == "opened"`:                                         OutcomeMatch,
		`.payload.issue.title / ": "`:                                                 OutcomeFault,
		`.payload.issue.title | split(": ") | first == "Fix"`:                         OutcomeMatch,
		`.payload.issue.labels | map(.name) | join(",") == "bug,p1"`:                  OutcomeMatch,
		`(.payload.nope.deeper // "none") == "none"`:                                  OutcomeMatch,
		`.payload.issue | has("number") and (has("pull_request") | not)`:              OutcomeMatch,
		`.payload | keys | first == "action"`:                                         OutcomeMatch,
		`[.payload.issue.labels[] | select(.name | startswith("p"))] | length == 1`:   OutcomeMatch,
		`if .payload.action == "opened" then true else false end`:                     OutcomeMatch,
		`if false then 1 elif .verified then "yes" else null end`:                     OutcomeMatch,
		`.payload.empty[]`:                                                            OutcomeNoMatch,
		`empty`:                                                                       OutcomeNoMatch,
		`.payload.nothing`:                                                            OutcomeNoMatch,
		`false, true`:                                                                 OutcomeNoMatch,
		`0`:                                                                           OutcomeMatch,
		`.payload.action[]`:                                                           OutcomeFault,
		`.payload.action.name`:                                                        OutcomeFault,
		`.payload.action.name?`:                                                       OutcomeNoMatch,
		`try .payload.action.name catch "caught"`:                                     OutcomeMatch,
		`.payload.issue.number | test("7")`:                                           OutcomeFault,
		`.payload.issue.number | tostring | test("7")`:                                OutcomeMatch,
		`"7" | tonumber == 7`:                                                         OutcomeMatch,
		`"a" * 1000000000`:                                                            OutcomeFault,
		`1000000000 * "a"`:                                                            OutcomeFault,
		`{a: 1} * {b: 2}`:                                                             OutcomeFault,
		`.payload.empty - .payload.empty`:                                             OutcomeFault,
		`.payload.issue.labels | map(.name) | add == "bugp1"`:                         OutcomeMatch,
		`{a: 1, "b": .size, (.kind): [1, 2]} | .issues[1] == 2 and .a == 1`:           OutcomeMatch,
		`.size as $payload | {$payload} | .payload == .payload`:                       OutcomeMatch,
		`["bug"] as $x | $x | inside(["bug", "p1"])`:                                  OutcomeMatch,
		`first(.payload.issue.labels[].name) == "bug"`:                                OutcomeMatch,
		`isempty(.payload.empty[])`:                                                   OutcomeMatch,
		`[.payload[] | strings] == ["opened"]`:                                        OutcomeMatch,
	} {
		t.Run(expr, func(t *testing.T) {
			d := one(t, expr).Route(context.Background(), delivery(issue))
			if got := d.Trace.Evaluated[0].Outcome; got != want {
				t.Errorf("got %s, want %s; faults %v", got, want, d.Trace.Faults)
			}
		})
	}
}

func TestRoute_TakesTheFirstRuleThatMatches(t *testing.T) {
	yes := true
	p, err := Compile(Set{
		Rules: []Rule{
			{ID: "closed", Expr: `.payload.action == "closed"`, Action: Action{Drop: true}},
			{ID: "bugs", Name: "Bugs first", Expr: `true`, Action: Action{Queue: "bugs", WorkOrder: &yes}},
			{ID: "later", Expr: `true`, Action: Action{Queue: "later"}},
		},
		Default: &Action{Queue: "triage"},
	})
	if err != nil {
		t.Fatal(err)
	}
	d := p.Route(context.Background(), delivery(issue))
	trace, err := json.Marshal(d.Trace)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"stage":"rule","rule_index":1,"rule_id":"bugs","rule_name":"Bugs first",` +
		`"action":{"queue":"bugs","work_order":true},` +
		`"evaluated":[{"rule_id":"closed","outcome":"no_match"},{"rule_id":"bugs","outcome":"match"}]}`
	if diff := cmp.Diff(want, string(trace)); diff != "" {
		t.Error(diff)
	}
	if d.Fault || d.Action.Queue != "bugs" || !*d.Action.WorkOrder {
		t.Errorf("decision is %+v", d)
	}
}

func TestRoute_FallsBackToTheDefault(t *testing.T) {
	p, err := Compile(Set{
		Rules:   []Rule{{ID: "no", Expr: `false`, Action: Action{Drop: true}}},
		Default: &Action{Queue: "triage"},
	})
	if err != nil {
		t.Fatal(err)
	}
	d := p.Route(context.Background(), delivery(issue))
	if d.Fault || d.Action.Queue != "triage" || d.Trace.Stage != StageDefault || d.Trace.RuleIndex != nil {
		t.Errorf("decision is %+v", d)
	}
}

// A rule that errs stops the evaluation: the rules behind it, and the default, might take what it meant to drop.
func TestRoute_FailsClosed(t *testing.T) {
	p, err := Compile(Set{
		Rules: []Rule{
			{ID: "no", Expr: `false`, Action: Action{Drop: true}},
			{ID: "broken", Expr: `.payload.action.name == "x"`, Action: Action{Drop: true}},
			{ID: "all", Expr: `true`, Action: Action{Queue: "all"}},
		},
		Default: &Action{Queue: "triage"},
	})
	if err != nil {
		t.Fatal(err)
	}
	d := p.Route(context.Background(), delivery(issue))
	want := Decision{Fault: true, Trace: Trace{
		Stage:     StageFault,
		Evaluated: []Evaluated{{"no", OutcomeNoMatch}, {"broken", OutcomeFault}},
		Faults:    []Fault{{RuleID: "broken", Reason: "expected an object but got: string"}},
	}}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Error(diff)
	}
}

// The trace is stored and shown; what a payload holds is not its business.
func TestRoute_KeepsThePayloadOutOfTheTrace(t *testing.T) {
	const secret = "s3cr3t-value"
	for _, expr := range []string{
		`.payload.key.x`, `.payload.key[]`, `.payload.key + 1`, `.payload.key[.payload]`, `-.payload.key`,
		`.payload[.payload.list]`, `.payload.list | .key`, `.payload.key | tonumber`, `{(.payload.list): 1}`,
		`.payload | test("x")`, `.payload.list | startswith("x")`, `.payload.key | has("a")`, `.payload.key | add`,
		`.payload.key | keys`, `.payload.list | contains("x")`, `true | length`, `.payload.key / 0`, `1 / 0`,
		`.payload.list | join(1)`, `.payload.list | tonumber`, `.payload.list | ascii_downcase`, `.payload.list | trim`,
	} {
		d := one(t, expr).Route(context.Background(), delivery(`{"key": "`+secret+`", "list": ["`+secret+`"]}`))
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		if !d.Fault || len(d.Trace.Faults[0].Reason) < 5 {
			t.Errorf("%s: decision is %s", expr, text)
		}
		if strings.Contains(string(text), secret) {
			t.Errorf("%s: the trace holds the payload: %s", expr, text)
		}
	}
}

func TestRoute_FaultsWhereThePayloadCannotBeLookedAt(t *testing.T) {
	for name, payload := range map[string]string{
		"not JSON":    `{"a": `,
		"two texts":   `{} {}`,
		"deep":        strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1),
		"long number": `{"n": ` + strings.Repeat("1", maxDigits+1) + `}`,
		"many values": `[` + strings.Repeat(`{"a":0},`, 100_000) + `0]`,
	} {
		t.Run(name, func(t *testing.T) {
			d := one(t, "true").Route(context.Background(), delivery(payload))
			if !d.Fault || len(d.Trace.Evaluated) != 0 || len(d.Trace.Faults) != 1 {
				t.Errorf("decision is %+v", d)
			}
		})
	}
}

func TestRoute_SeesNullWhereThereIsNoPayload(t *testing.T) {
	d := one(t, `.payload == null`).Route(context.Background(), delivery(""))
	if d.Trace.Stage != StageRule {
		t.Errorf("decision is %+v", d)
	}
}

// A busy machine must not quarantine an innocent delivery: the clock binds long evaluations only.
func TestRoute_LooksAtTheClockOnlyForLongEvaluations(t *testing.T) {
	slow := func(expr string) Decision {
		p := one(t, expr)
		at := time.Now()
		p.now = func() time.Time { at = at.Add(time.Second); return at }
		return p.Route(context.Background(), delivery(`[`+strings.Repeat("0,", 5000)+`1]`))
	}
	if d := slow(`.payload[0] == 0`); d.Fault {
		t.Errorf("a short rule is stopped by the clock: %+v", d.Trace.Faults)
	}
	if d := slow(`all(.payload[]; . >= 0)`); !d.Fault || d.Trace.Faults[0].Reason != "it takes longer than 50ms" {
		t.Errorf("a long rule is not stopped by the clock: %+v", d.Trace)
	}
}

func TestRoute_BoundsTheRulesTogether(t *testing.T) {
	set := Set{}
	for i := range MaxRules {
		set.Rules = append(set.Rules, Rule{
			ID: fmt.Sprint(i), Action: Action{Drop: true},
			Expr: `any(.payload[]; . == 1)`,
		})
	}
	p, err := Compile(set)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now()
	p.now = func() time.Time { return at }
	d := p.Route(context.Background(), delivery(`[`+strings.Repeat("0,", 8000)+`0]`))
	if n := len(d.Trace.Evaluated); !d.Fault || n < 3 || n == MaxRules {
		t.Errorf("%d rules were looked at: %+v", n, d.Trace.Faults)
	}
}

func TestRoute_EndsWithItsDelivery(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	d := one(t, `all(.payload[]; . >= 0)`).Route(ctx, delivery(`[`+strings.Repeat("0,", 5000)+`1]`))
	if !d.Fault {
		t.Errorf("decision is %+v", d)
	}
}
