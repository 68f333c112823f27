package rungraph

import (
	"encoding/json"
	"fmt"
	"slices"
)

// handoff is what edges must agree with of an artifact.
type handoff struct {
	producer  any
	consumers map[string]bool
}

func (c *checker) judgeArtifact(i int, artifact *object) {
	c.unique("E103", "artifacts", i, artifact)
	c.recommendIn(artifact, "kind", "value")
	producer, _ := artifact.get("producer")
	if id, isText := artifact.text("id"); isText {
		c.artifacts[id] = handoff{producer, textsOf(artifact.list("consumers"))}
	}
	if !c.entities["attempts"].known(producer) {
		c.find("E118", []string{"producer"}, "no attempt has the id %s", spell(producer))
	}
	c.judgeMembers(artifact, "writers", "n_writes")
	c.judgeMembers(artifact, "consumers", "n_reads")
	writers, isList := artifact.listed("writers")
	switch {
	case !isList:
	case len(writers) == 0:
		c.find("E166", []string{"writers"}, "nobody wrote it")
	case !same(producer, writers[0]):
		c.find("E162", []string{"producer"}, "the producer is the first writer, %s", spell(writers[0]))
	}
}

func (c *checker) judgeMembers(artifact *object, field, count string) {
	members, isList := artifact.listed(field)
	if !isList {
		if artifact.has(field) {
			c.find("E167", []string{field}, "is not a list")
		}
		return
	}
	c.enter(field)
	seen := make(map[string]bool, len(members))
	for j, ref := range members {
		at := c.path.element(j)
		if !c.entities["attempts"].known(ref) {
			c.report.add("E118", at, "no attempt has the id %s", spell(ref))
		}
		key, scalar := scalarKey(ref)
		if scalar && seen[key] {
			c.report.add("E166", at, "%s is listed twice", spell(ref))
		}
		seen[key] = true
	}
	c.leave()
	v, _ := artifact.get(count)
	if literal, isNumber := v.(json.Number); isNumber && typeOf(v) == "integer" && number(literal) < float64(len(members)) {
		c.find("E163", []string{count}, "%s, but %d are listed", cut(string(literal)), len(members))
	}
}

// scalarKey tells values apart that are no lists or objects.
func scalarKey(v any) (key string, scalar bool) {
	switch v.(type) {
	case []any, *object:
		return "", false
	}
	return fmt.Sprintf("%T %v", v, v), true
}

func same(a, b any) bool {
	x, xScalar := scalarKey(a)
	y, yScalar := scalarKey(b)
	return xScalar && yScalar && x == y
}

func (c *checker) judgeEdge(_ int, edge *object) {
	from, _ := edge.get("from")
	to, _ := edge.get("to")
	nodes := c.entities["nodes"]
	known := true
	if !nodes.known(from) {
		known = false
		c.find("E110", []string{"from"}, "no node has the id %s", spell(from))
	}
	if !nodes.known(to) {
		known = false
		c.find("E111", []string{"to"}, "no node has the id %s", spell(to))
	}
	kind := "dep"
	if edge.has("kind") {
		kind, _ = edge.text("kind")
	}
	c.countEdge(kind)
	if known {
		ends := [2]int32{nodes.first[from.(string)], nodes.first[to.(string)]}
		switch kind {
		case "dep", "fan_in":
			c.ordering = append(c.ordering, ends)
		case "launch":
			c.launches[ends] = true
		}
	}
	if !c.version.atLeast(v02) {
		return
	}
	c.recommend(edge, "edge", "kind")
	if tier, _ := edge.text("tier"); !slices.Contains([]string{"verified", "heuristic", "reported"}, tier) {
		c.find("E160", nil, "an edge says how it is known: tier is verified, heuristic or reported")
	}
	artifact := c.edgeArtifact(kind, edge)
	c.judgeEnd(kind, edge, "from", artifact)
	c.judgeEnd(kind, edge, "to", artifact)
}

func (c *checker) countEdge(kind string) {
	switch kind {
	case "dep", "fan_in":
		c.used["edges_dep"] = true
	case "spawn", "launch", "artifact":
		c.used["edges_"+kind] = true
	}
}

// edgeArtifact is what flows along an artifact edge, nil when that is not known.
func (c *checker) edgeArtifact(kind string, edge *object) *handoff {
	if kind != "artifact" {
		return nil
	}
	id, isText := edge.text("artifact")
	artifact, known := c.artifacts[id]
	switch {
	case !isText:
		c.find("E116", nil, "an artifact edge names its artifact")
		return nil
	case !known:
		c.find("E117", []string{"artifact"}, "no artifact has the id %s", quote(id))
		return nil
	}
	return &artifact
}

// judgeEnd checks the attempt that an edge names at one of its ends.
func (c *checker) judgeEnd(kind string, edge *object, end string, artifact *handoff) {
	field := end + "_attempt"
	ref, _ := edge.get(field)
	switch {
	case ref == nil && kind == "artifact":
		c.find("E125", nil, "an artifact edge names its %s", field)
		return
	case ref == nil:
		return
	case !c.entities["attempts"].known(ref):
		c.find("E123", []string{field}, "no attempt has the id %s", spell(ref))
		return
	}
	id := ref.(string)
	if node, isText := edge.text(end); !isText || c.entities["attempts"].node[id] != node {
		c.find("E124", []string{field}, "the attempt is at node %s", quote(c.entities["attempts"].node[id]))
	}
	switch {
	case artifact == nil:
	case end == "from" && !same(ref, artifact.producer):
		c.find("E164", []string{field}, "the artifact's producer is %s", spell(artifact.producer))
	case end == "to" && !artifact.consumers[id]:
		c.find("E164", []string{field}, "the attempt is no consumer of the artifact")
	}
}

func (c *checker) judgeOrdering() {
	size := 0
	for _, e := range c.ordering {
		size = max(size, int(e[0])+1, int(e[1])+1)
	}
	if circular(size, c.ordering) {
		c.find("E122", []string{"edges"}, "dep and fan_in edges go in a circle")
	}
}

// circular takes away what nothing leads to, until nothing is left or only circles are (Kahn's algorithm).
func circular(size int, edges [][2]int32) bool {
	into := make([]int32, size)
	start := make([]int32, size+1)
	for _, e := range edges {
		into[e[1]]++
		start[e[0]+1]++
	}
	for i := range size {
		start[i+1] += start[i]
	}
	next, fill := make([]int32, len(edges)), slices.Clone(start)
	for _, e := range edges {
		next[fill[e[0]]] = e[1]
		fill[e[0]]++
	}
	var free []int32
	for i := range size {
		if into[i] == 0 {
			free = append(free, int32(i))
		}
	}
	gone := 0
	for ; len(free) > 0; gone++ {
		at := free[len(free)-1]
		free = free[:len(free)-1]
		for _, to := range next[start[at]:start[at+1]] {
			if into[to]--; into[to] == 0 {
				free = append(free, to)
			}
		}
	}
	return gone < size
}
