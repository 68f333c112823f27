package rungraph

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

func (c *checker) judgeNode(i int, node *object) {
	c.unique("E100", "nodes", i, node)
	if group, isText := node.text("group"); isText && !c.entities["groups"].known(group) {
		c.find("E115", []string{"group"}, "no group has the id %s", quote(group))
	}
	c.recommend(node, "node", "kind")
	c.recommend(node, "node", "state")
}

func (c *checker) judgeGroup(i int, group *object) {
	c.unique("E102", "groups", i, group)
	parent, _ := group.get("parent")
	if parent == nil {
		return
	}
	if !c.entities["groups"].known(parent) {
		c.find("E120", []string{"parent"}, "no group has the id %s", spell(parent))
	} else if id, isText := group.text("id"); isText {
		c.parents[id] = parent.(string)
	}
}

// judgeGroups follows each group to its root, once: who was seen on an earlier way leads to no circle.
func (c *checker) judgeGroups() {
	settled := map[string]bool{}
	for start := range c.parents {
		way := map[string]bool{}
		for at := start; !settled[at]; at = c.parents[at] {
			if way[at] {
				c.find("E121", []string{"groups"}, "a group is its own ancestor")
				return
			}
			way[at] = true
			if _, has := c.parents[at]; !has {
				break
			}
		}
		for at := range way {
			settled[at] = true
		}
	}
}

// instant is the time of an event; the zero value is none.
type instant struct {
	time.Time
	known bool
}

func (c *checker) judgeEvent(_ int, event *object) {
	if node, isText := event.text("node"); isText && !c.entities["nodes"].known(node) {
		c.find("E113", []string{"node"}, "no node has the id %s", quote(node))
	}
	if attempt, isText := event.text("attempt"); isText && !c.entities["attempts"].known(attempt) {
		c.find("E114", []string{"attempt"}, "no attempt has the id %s", quote(attempt))
	}
	c.recommend(event, "event", "type")
	at, _ := event.text("at")
	t, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return
	}
	if c.last.known && t.Before(c.last.Time) {
		c.find("W150", []string{"at"}, "earlier than the event before it")
	}
	c.last = instant{t, true}
}

// judgeProducer reads what the producer promises.
func (c *checker) judgeProducer(producer *object) {
	if producer == nil {
		return
	}
	c.producer, _ = producer.text("name")
	if !c.version.atLeast(v02) {
		return
	}
	if !producer.has("capabilities") {
		c.find("W180", []string{"producer"}, "capabilities is absent: it cannot be known what this producer leaves out")
	}
	if capabilities := producer.object("capabilities"); capabilities != nil {
		for _, m := range capabilities.members {
			if m.value == false {
				c.denied = append(c.denied, m.name)
			}
		}
	}
}

// The capabilities that 0.3 brought; to an earlier document they are names like any other.
var capabilities03 = []string{"task", "configuration", "signals", "slate", "receipt"}

func (c *checker) judgeCapabilities() {
	for _, name := range c.denied {
		if slices.Contains(capabilities03, name) && !c.version.atLeast(v03) || isEntity(name) {
			continue
		}
		if c.used[name] {
			c.find("E180", []string{"producer", "capabilities", name}, "it is denied, and the document has it")
		}
	}
}

// isEntity tells apart the lists that no capability names, although they are counted as used.
func isEntity(name string) bool { return name == "nodes" || name == "edges" || name == "attempts" }

// by reports whether the producer is this software: its name, alone or with more after a character of no word.
func (c *checker) by(software string) bool {
	rest, found := strings.CutPrefix(c.producer, software)
	next, _ := utf8.DecodeRuneInString(rest)
	return found && (rest == "" || !unicode.IsLetter(next) && !unicode.IsDigit(next) && next != '_')
}

// The words that the format recommends, by version. Any other is accepted with a warning.
var (
	words02 = map[string][]string{
		"node.kind":        {"impl", "review", "test", "gate", "question", "docs", "ship", "plan", "ops", "task", "unknown"},
		"node.state":       {"queued", "working", "review", "blocked", "done", "failed", "rejected", "canceled", "settled_unverified"},
		"edge.kind":        {"dep", "fan_in", "spawn", "launch", "artifact"},
		"kind.value":       {"plan", "review", "spec", "report", "code", "test", "config", "doc", "data", "log", "other"},
		"role.value":       {"lead", "solo", "planner", "dev", "reviewer", "cli", "subagent"},
		"phase.value":      {"build", "post", "external"},
		"cost.basis":       {"measured", "allocated"},
		"cause.type":       {"initial", "sent_back", "gate_failed", "followup", "superseded", "other"},
		"outcome.evidence": {"verified", "reported", "heuristic", "asserted"},
		"event.type": {"attempt_started", "attempt_settled", "promoted", "directive", "note", "launched", "artifact_written",
			"artifact_read"},
	}
	words03 = func() map[string][]string {
		words := maps.Clone(words02)
		for field, more := range map[string][]string{
			"kind.value": {"commit", "merge", "issue", "repo", "diff", "verdict", "test_record"},
			"role.value": {"implementer", "tester", "referee", "worker"},
			"event.type": {"signal_observed", "receipt_written", "run_finished"},
			"task.type":  {"bug_fix", "feature", "refactor", "tests", "docs", "research", "infra", "data"},
		} {
			words[field] = slices.Concat(words[field], more)
		}
		return words
	}()
)

// recommend warns of a word off the list. record is what o is, or the member of o that holds the word.
func (c *checker) recommend(o *object, record, member string) {
	if !c.version.atLeast(v02) {
		return
	}
	words := words02[record+"."+member]
	if c.version.atLeast(v03) {
		words = words03[record+"."+member]
	}
	if word, isText := o.text(member); isText && words != nil && !slices.Contains(words, word) {
		c.find("W200", []string{member}, "%s is not a recommended word", quote(word))
	}
}

// recommendIn warns of a word in a member that is an object.
func (c *checker) recommendIn(o *object, record, member string) {
	if inner := o.object(record); inner != nil {
		c.enter(record)
		c.recommend(inner, record, member)
		c.leave()
	}
}

// spell shows a value of any type in a finding.
func spell(v any) string {
	switch v := v.(type) {
	case string:
		return quote(v)
	case json.Number:
		return cut(string(v))
	case bool:
		return strconv.FormatBool(v)
	case nil:
		return "null"
	}
	return "what is no text"
}
