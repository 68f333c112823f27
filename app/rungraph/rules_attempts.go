package rungraph

import (
	"encoding/json"
	"slices"
	"strconv"
)

func (c *checker) judgeAttempt(i int, attempt *object) {
	c.unique("E101", "attempts", i, attempt)
	if node, _ := attempt.get("node"); !c.entities["nodes"].known(node) {
		c.find("E112", []string{"node"}, "no node has the id %s", spell(node))
	}
	if ref, isText := attempt.object("cause").text("ref"); isText && !c.entities["attempts"].known(ref) {
		c.find("W140", []string{"cause", "ref"}, "no attempt has the id %s", quote(ref))
	}
	c.judgeOutcome(attempt)
	for _, word := range [][2]string{{"role", "value"}, {"phase", "value"}, {"cost", "basis"}, {"cause", "type"}, {"outcome", "evidence"}} {
		c.recommendIn(attempt, word[0], word[1])
	}
	if !c.version.atLeast(v02) {
		return
	}
	c.judgeOrigin(attempt)
	c.judgeCost(attempt.object("cost"))
}

func (c *checker) judgeOutcome(attempt *object) {
	outcome := attempt.object("outcome")
	c.used["outcome_evidence"] = c.used["outcome_evidence"] || outcome.has("evidence")
	if via, isText := outcome.text("via"); isText && !c.entities["nodes"].known(via) {
		c.find("W141", []string{"outcome", "via"}, "no node has the id %s", quote(via))
	}
	status, _ := attempt.text("status")
	result, _ := outcome.text("result")
	switch ended := slices.Contains(terminal, status); {
	case ended && outcome == nil:
		c.find("W131", nil, "the attempt is %s and has no outcome", status)
	case ended && result != status:
		c.find("E130", []string{"outcome", "result"}, "%s, but the attempt is %s", quote(result), status)
	case !ended && outcome != nil:
		c.find("W132", []string{"outcome"}, "the attempt has an outcome and is not over")
	}
}

func (c *checker) judgeOrigin(attempt *object) {
	origin := attempt.object("origin")
	launcher, _ := origin.get("launched_by")
	if launcher == nil {
		return
	}
	if external, _ := origin.get("external"); external == true {
		c.find("E165", []string{"origin"}, "launched from outside, and by %s", spell(launcher))
	}
	below := []string{"origin", "launched_by"}
	self, _ := attempt.get("id")
	id, isText := launcher.(string)
	switch {
	case !isText || !c.entities["attempts"].known(id):
		c.find("E119", below, "no attempt has the id %s", spell(launcher))
	case self == launcher:
		c.find("E119", below, "the attempt cannot launch itself")
	case !c.launched(id, attempt):
		c.find("E161", below, "no launch edge joins the two nodes")
	}
}

// launched reports whether a launch edge leads from the launcher's node to the attempt's.
func (c *checker) launched(launcher string, attempt *object) bool {
	nodes := c.entities["nodes"]
	node, _ := attempt.text("node")
	if nodes == nil {
		return false
	}
	from, fromKnown := nodes.first[c.entities["attempts"].node[launcher]]
	to, toKnown := nodes.first[node]
	return fromKnown && toKnown && c.launches[[2]int32{from, to}]
}

func (c *checker) judgeCost(cost *object) {
	if cost == nil {
		return
	}
	c.used["cost_usd"] = c.used["cost_usd"] || cost.has("usd")
	c.used["cost_tokens"] = c.used["cost_tokens"] || slices.ContainsFunc(tokenCounts, cost.has)
	basis, _ := cost.text("basis")
	if basis != "measured" && (c.by("loopmath") || c.by("dagr")) && !c.matchedInLogs(basis, cost) {
		c.find("E171", []string{"cost", "basis"}, "%s, but the extractor measures", quote(basis))
	}
	total, hasTotal := counted(cost, "cache_creation_tokens")
	short, hasShort := counted(cost, "cache_creation_5m_tokens")
	long, hasLong := counted(cost, "cache_creation_1h_tokens")
	if hasTotal && hasShort && hasLong && short+long != total {
		c.find("E170", []string{"cost"}, "the buckets hold %d and %d, together not %d", short, long, total)
	}
}

// matchedInLogs is the one allocated cost the extractor may write: what its store found in a log, and says so.
func (c *checker) matchedInLogs(basis string, cost *object) bool {
	match := cost.object("ext").object("dev.loopmath.logmatch")
	if basis != "allocated" || match == nil || !c.by("loopmath") || !c.version.atLeast(v03) {
		return false
	}
	tier, _ := match.text("tier")
	shared, _ := match.get("shared_session")
	o, isObject := shared.(*object)
	return tier == "heuristic" || shared == true || isObject && len(o.members) > 0
}

// counted is a whole number that can be added to another without overflow.
func counted(o *object, name string) (n int64, known bool) {
	v, _ := o.get(name)
	literal, _ := v.(json.Number)
	n, err := strconv.ParseInt(string(literal), 10, 63)
	return n, err == nil
}
