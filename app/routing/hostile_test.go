package routing

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func repeated(s string, n int) string { return strings.Repeat(s, n) }

// refused expressions never get as far as an event.
var refused = []string{
	`def f: f; f`, `def f: 1 + f; f`, `def r: ., (.[]? | r); [r]`, `[repeat(1)]`, `[range(1e12)] | length`, `range(5)`,
	`[recurse]`, `[recurse(.)]`, `..`, `until(false; .)`, `[while(true; .)]`, `[limit(3000000; repeat("xxxxxxxx"))] | length`,
	`reduce range(1e9) as $i (0; . + 1)`, `foreach .payload[] as $x (0; . + 1)`, `label $l | repeat(., break $l)`,
	`[range(200000)] | combinations(3)`, `.payload | [combinations]`, `walk(.)`, `input`, `[inputs]`, `input_line_number`,
	`env`, `$ENV.HOME`, `env.HOME`, `now`, `localtime`, `mktime`, `"x" | strptime("%Y")`, `debug`, `debug("x")`, `stderr`,
	`halt`, `halt_error`, `error`, `error("x")`, `$__loc__`, `$__prog_args`, `$_meter`, `$_pair`, `. as $_meter | 1`,
	`get_search_list`, `modulemeta`, `import "x" as x; 1`, `include "x"; 1`, `builtins`, `splits("a")`, `scan("a")`,
	`match("a")`, `capture("a")`, `sub("a"; "b")`, `gsub(""; "xxxxxxxxxxxxx")`, `getpath(["a"])`, `paths`, `path(..)`,
	`setpath([100000000]; 1)`, `delpaths([["a"]])`, `del(.payload)`, `to_entries`, `with_entries(.)`, `tostream`,
	`fromjson`, `tojson`, `implode`, `explode`, `@base64`, `@json "x\(.)"`, `"\(.payload)\(.payload)"`, `ascii`, `@sh`,
	`.payload |= .`, `.payload = 1`, `.[5000000] = 1`, `.payload += "x"`, `.size *= 2`, `.a //= 1`, `.[] -= 1`,
	`$unknown`, `. as [$a, $b] | $a`, `. as {a: $a} | $a`, `. as $a ?// $b | 1`, `{$__loc__}`, `{$secret}`,
	`_each(1)`, `_pair(1; 2; 3; 4)`, `_weigh(1; 2)`, `_test(1; 0)`, `_match("a"; null; true)`, `_range(0; 10; 1)`, `_modify(.; .)`,
	`.payload | test(.pattern)`, `"x" | test($params.labels[0])`, `"x" | test("x"; "g")`, `"x" | test(["x"])`, `"x" | test("(")`,
	`"x" | test("(a{100}){100}")`, `"x" | test("((a{30}){30}){30}")`, `"x" | test("[a-z]{900}[a-z]{900}")`,
	`"x" | test("(?i)[\\pL\\pN]{900}")`, `"x" | test("` + repeated("a", 300) + `")`,
	`.payload[1:.size]`, `tojson | fromjson`, `ltrimstr`, `limit(1; .)`, `sort`, `group_by(.a)`, `unique`, `flatten`,
	`transpose`, `pow(10; 308)`, `infinite`, `splits`, `getpath`, `.payload | ascii(1)`, `(`, ``, `.payload ==`, `"`,
	`module {a: 1}; .`, repeated("(", 4096), repeated("[", 4097), repeated("-", 4096), "\xff", `.a.__loc__.. `,
}

func TestCompile_RefusesWhatNoRuleNeeds(t *testing.T) {
	for _, expr := range refused {
		if _, err := Compile(Set{Rules: []Rule{{ID: "r", Expr: expr, Action: Action{Drop: true}}}}); err == nil {
			t.Errorf("taken: %.80s", expr)
		} else if !strings.HasPrefix(err.Error(), "invalid: rules[0] (r): its ") || len(err.Error()) > 200 {
			t.Errorf("%.80s: the refusal is %q", expr, err)
		}
	}
}

// spent expressions are jq that a rule may write, on payloads that make it expensive.
var spent = []struct{ name, expr string }{
	{"nested loops", `[.payload[] as $a | .payload[] as $b | .payload[] as $c | 1]`},
	{"many loops deep", `[` + repeated(`.payload[] as $a | `, 200) + `1]`},
	{"list of objects", `[.payload[] | {a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7, h: 8, i: ., j: .}] | length`},
	{"lists of lists", `[.payload[] | [[[[.], [.]], [[.], [.]]]]] | [.[][]] | [.[][]] | [.[][]] | length`},
	{"text doubled", `.payload.text` + repeated(` | . + .`, 60)},
	{"list doubled", `.payload` + repeated(` | . + .`, 60)},
	{"numbers doubled", `9` + repeated(`999999999`, 20) + repeated(` | . * .`, 60)},
	{"numbers doubled in a try", `try (9` + repeated(`999999999`, 20) + repeated(` | . * .`, 60) + `) catch true`},
	{"text in a list", `[.payload[] | $params.text + $params.text] | add`},
	{"joined", `[.payload[] | 1] | join($params.text)`},
	{"split to pieces", `.payload.text | split("") | map(split("")) | add | add`},
	{"split and joined", `.payload.text` + repeated(` | split("") | join("xx")`, 50)},
	{"everything as text", `[.payload[] as $x | .payload | tostring]`},
	{"everything in everything", `.payload | contains(.)`},
	{"everything inside everything", `.payload as $p | $p | inside($p)`},
	{"index of everything", `.payload as $p | $p | index($p)`},
	{"compared often", `.payload as $p | all($p[]; $p == $p)`},
	{"compared with little", `.payload as $p | all($p[]; {} != $p and [] != $p)`},
	{"keys often", `.payload as $p | [$p[] | $p | keys]`},
	{"members often", `.payload as $p | [$p[] | [$p[]]]`},
	{"a large regular expression", `all(.payload[] | tostring; test("(a|aa|aaa)*(b|bb){1,50}$") | not)`},
	{"a regular expression on long text", `.payload.text | test("(x+x+)+y")`},
	{"lower case often", `.payload as $p | [$p[] | $p.text | ascii_downcase]`},
	{"length often", `.payload.text as $t | all($t | split("")[]; $t | length > 0)`},
	{"prefix often", `.payload.text as $t | all($t | split("")[]; $t | startswith($t))`},
	{"budget caught", `(try ([.payload[] as $a | .payload[] as $b | 1]) catch true) // true`},
	{"budget replaced", `([.payload[] as $a | .payload[] as $b | 1]?) // true`},
	{"alternatives", `[.payload[]` + repeated(` | (., .)`, 30) + `] | length`},
	{"first of many", `first([.payload[] as $a | .payload[] as $b | 1])`},
	{"none of many", `isempty(.payload[] as $a | .payload[] as $b | .payload[] as $c | empty)`},
	{"negated", `[.payload[] as $a | .payload[] | -(-(1))]`},
	{"equal as text", `.payload.text as $t | all($t | split("")[]; $t == $t + "")`},
}

// hostilePayloads are what is worst for them, each within what rules look at.
var hostilePayloads = map[string]string{
	"numbers": `[` + repeated("0,", 150_000) + `0]`,
	"objects": `[` + repeated(`{"a":0},`, 30_000) + `0]`,
	"members": `{` + manyMembers(50_000) + `"text": "x"}`,
	"text":    `{"text": "` + repeated("x", 4<<20) + `"}`,
	"nested":  repeated(`{"text": "xxxxxxxx", "b":`, 100) + `[1,2,3]` + repeated(`}`, 100),
}

func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`"` + repeated(string(rune('a'+i%26)), 3) + time.Duration(i).String() + `":0,`)
	}
	return b.String()
}

func hostile(t testing.TB) []*Program {
	t.Helper()
	var programs []*Program
	for _, s := range spent {
		p, err := Compile(Set{
			Rules:  []Rule{{ID: "r", Expr: s.expr, Action: Action{Drop: true}}, {ID: "all", Expr: "true", Action: Action{Drop: true}}},
			Params: []byte(`{"text": "` + repeated("y", 10<<10) + `"}`),
		})
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		programs = append(programs, p)
	}
	return programs
}

// Every hostile expression ends on every hostile payload, within its steps; on at least one of them it is its
// budget that ends it, and what the expression does to catch that is in vain.
func TestRoute_StopsHostileExpressionsByTheirSteps(t *testing.T) {
	for i, p := range hostile(t) {
		at := time.Now()
		p.now = func() time.Time { return at }
		stopped := 0
		for name, payload := range hostilePayloads {
			d := p.Route(context.Background(), delivery(payload))
			if name == "nested" || !d.Fault || d.Trace.Faults[0].RuleID == "" {
				continue
			}
			switch d.Trace.Faults[0].Reason {
			case "it does more work than a rule may", "it makes more data than a rule may",
				"it makes numbers of more digits than a rule may":
				stopped++
			}
		}
		if stopped == 0 {
			t.Errorf("%s: no payload makes it spend its budget", spent[i].name)
		}
	}
}

// The issue's bound: under hostile expressions the process stays under 64 MiB above idle, and the deliveries of
// other owners are routed meanwhile.
func TestRoute_StaysWithin64MiBUnderHostileExpressions(t *testing.T) {
	const bound = 64 << 20
	programs := hostile(t)
	var deliveries []Input
	for _, payload := range hostilePayloads {
		deliveries = append(deliveries, delivery(payload))
	}
	innocent := one(t, `.payload.action == "opened" and any(.payload.issue.labels[]; .name == "bug")`)

	runtime.GC()
	debug.FreeOSMemory()
	idle := heldMemory()
	var peak atomic.Uint64
	done := make(chan struct{})
	var watching, working sync.WaitGroup
	watching.Add(1)
	go func() {
		defer watching.Done()
		tick := time.NewTicker(200 * time.Microsecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				peak.Store(max(peak.Load(), heldMemory()))
			}
		}
	}()
	var routed atomic.Int64
	watching.Add(1)
	go func() {
		defer watching.Done()
		for {
			select {
			case <-done:
				return
			default:
			}
			if d := innocent.Route(context.Background(), delivery(issue)); d.Trace.Stage != StageRule {
				t.Errorf("another owner's delivery: %+v", d.Trace)
				return
			}
			routed.Add(1)
		}
	}()
	for worker := range 8 {
		working.Add(1)
		go func() {
			defer working.Done()
			for i, p := range programs {
				for j, in := range deliveries {
					if (i+j+worker)%4 == 0 {
						p.Route(context.Background(), in)
					}
				}
			}
		}()
	}
	working.Wait()
	close(done)
	watching.Wait()
	if routed.Load() == 0 {
		t.Error("no delivery of another owner was routed meanwhile")
	}
	above := int64(peak.Load()) - int64(idle)
	t.Logf("peak %d MiB above idle; %d deliveries of another owner routed meanwhile", above>>20, routed.Load())
	if above > bound {
		t.Errorf("memory rose %d MiB above idle, over %d", above>>20, bound>>20)
	}
}

// heldMemory is what the process holds of the operating system's memory.
func heldMemory() uint64 {
	samples := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}
