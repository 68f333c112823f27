package rungraph

import (
	"encoding/json"
	"slices"
)

// slate is what runs that were started together must share.
type slate struct{ id, task, commit string }

// judgeRun applies what came with 0.3.
func (c *checker) judgeRun(run *object) {
	if run == nil || !c.version.atLeast(v03) {
		return
	}
	for _, name := range capabilities03 {
		c.used[name] = run.has(name)
	}
	c.used["signals"] = len(run.list("signals")) > 0
	c.enter("run")
	defer c.leave()
	c.recommendIn(run, "task", "type")
	c.judgeConfiguration(run.object("configuration"))
	c.judgeSlate(run)
	c.judgeRule(run.object("acceptance_rule"), c.judgeSignals(run.list("signals")))
	if run.has("receipt") && !c.by("loopmath") {
		c.find("W196", []string{"receipt"}, "receipts are written by loopmath only")
	}
}

func (c *checker) judgeSlate(run *object) {
	s := run.object("slate")
	slateID, _ := s.text("id")
	members, hasMembers := s.listed("members")
	runID, isText := run.text("id")
	isMember := textsOf(members)
	if hasMembers && isText && !isMember[runID] {
		c.find("E194", []string{"slate", "members"}, "the run is not among its slate's members")
	}
	commit, taskHas := run.object("task").text("base_commit")
	shared, slateHas := s.text("base_commit")
	if taskHas && slateHas && commit != shared {
		c.find("E194", []string{"task", "base_commit"}, "the slate began at another commit")
	}
	if slateID != "" {
		if !taskHas {
			commit = shared
		}
		task, _ := run.object("task").get("id")
		c.report.slate = &slate{slateID, spell(task), commit}
	}
	for i, v := range run.list("preferences") {
		if preference, isObject := v.(*object); isObject {
			c.path = c.path.member("preferences").element(i)
			c.judgePreference(preference, slateID, isMember, hasMembers)
			c.path = c.path[:len(c.path)-2]
		}
	}
}

func (c *checker) judgePreference(preference *object, slateID string, isMember map[string]bool, hasMembers bool) {
	if named, isText := preference.text("slate"); isText && slateID != "" && named != slateID {
		c.find("E194", []string{"slate"}, "this run is in another slate")
	}
	if own, isList := preference.listed("members"); isList {
		isMember, hasMembers = textsOf(own), true
	}
	winner, isText := preference.text("winner")
	if isText && winner != "tie" && hasMembers && !isMember[winner] {
		c.find("E194", []string{"winner"}, "the winner is no member, and no tie")
	}
}

var verdicts = []string{"accept", "reject", "pass", "fail", "error"}

// judgeSignals checks that values are of their kind, and returns the kinds that each name has.
func (c *checker) judgeSignals(signals []any) map[string]map[string]bool {
	kinds := map[string]map[string]bool{}
	for i, v := range signals {
		signal, isObject := v.(*object)
		if !isObject {
			continue
		}
		kind, _ := signal.text("kind")
		if wrong := wrongValue(kind, signal); wrong != "" {
			c.report.add("E195", c.path.member("signals").element(i).member("value"), "%s", wrong)
		}
		if name, isText := signal.text("name"); isText {
			if kinds[name] == nil {
				kinds[name] = map[string]bool{}
			}
			kinds[name][kind] = true
		}
	}
	return kinds
}

func wrongValue(kind string, signal *object) string {
	value, _ := signal.get("value")
	word, isText := value.(string)
	n, isNumber := value.(json.Number)
	scale, _ := signal.text("scale")
	switch {
	case kind == "verdict" && !(isText && slices.Contains(verdicts, word)):
		return "a verdict is accept, reject, pass, fail or error"
	case kind == "score" && value != nil && !isNumber:
		return "a score is a number, or null while it is not measured"
	case kind == "score" && isNumber && scale == "fraction" && !isFraction(n):
		return "a fraction lies between 0 and 1"
	case kind == "event" && !isText:
		return "an event's value is a reference as text"
	}
	return ""
}

func isFraction(n json.Number) bool { return number(n) >= 0 && number(n) <= 1 }

// judgeRule checks that what a rule names is of the kind it needs. A name without a signal may still get one.
func (c *checker) judgeRule(rule *object, kinds map[string]map[string]bool) {
	score := rule.object("score")
	if name, _ := score.text("name"); namesOther(kinds[name], "score") {
		c.find("E195", []string{"acceptance_rule", "score", "name"}, "the signal of this name is no score")
	}
	target, _ := score.get("target")
	scale, _ := score.text("scale")
	if n, isNumber := target.(json.Number); isNumber && scale == "fraction" && !isFraction(n) {
		c.find("E195", []string{"acceptance_rule", "score", "target"}, "a fraction lies between 0 and 1")
	}
	for j, v := range rule.list("requires") {
		if name, isText := v.(string); isText && namesOther(kinds[name], "verdict") {
			c.report.add("E195", c.path.member("acceptance_rule").member("requires").element(j), "the signal of this name is no verdict")
		}
	}
}

// namesOther reports whether a name has a signal of another kind than the wanted one.
func namesOther(kinds map[string]bool, wanted string) bool {
	for _, kind := range []string{"verdict", "score", "event"} {
		if kind != wanted && kinds[kind] {
			return true
		}
	}
	return false
}
