// Package rungraph tells a todo's attempts as a run-graph document (Orchestration Context Protocol 0.3): it checks such
// documents, of every producer and version, writes them from the queue's rows and spans, and keeps those that a human
// brings.
//
// A check has no opinion of its own about what conforms: E and W codes are the format's. S codes are limits of this
// implementation, so that a document of any size and shape is answered with findings.
package rungraph

import (
	"bytes"
	"context"
	"unicode/utf8"
)

// Validate checks a document against the schema and the rules of its version. tell, which may be nil, hears about every
// MiB how many bytes of how many are done. The error is the context's, and then there is no report.
func Validate(ctx context.Context, doc []byte, tell func(done, total int)) (*Report, error) {
	report := &Report{}
	if len(doc) > MaxBytes {
		report.add("S001", nil, "larger than %d MiB", MaxBytes>>20)
		return report, nil
	}
	if !utf8.Valid(doc) {
		report.add("E001", nil, "the text is not UTF-8")
		return report, nil
	}
	if err := syntax(doc); err != nil {
		report.add("E001", nil, "not JSON: %v", err)
		return report, nil
	}
	if !bytes.HasPrefix(bytes.TrimLeft(doc, " \t\r\n"), []byte("{")) {
		report.add("E002", nil, "the top-level value is not an object")
		return report, nil
	}
	p := &progress{ctx: ctx, tell: tell, total: 2 * len(doc)}
	s := look(doc, report, p)
	if !s.ok {
		return answer(report, p)
	}
	p.before = len(doc)
	c := &checker{survey: s, schema: schemaOf(doc)}
	c.document()
	return answer(report, p)
}

// Unreadable is the report of a document that could not be read at all.
func Unreadable(why string) *Report {
	report := &Report{}
	report.add("E001", nil, "%s", why)
	return report
}

func answer(report *Report, p *progress) (*Report, error) {
	if err := p.ctx.Err(); err != nil {
		return nil, err
	}
	if p.tell != nil {
		p.tell(p.total, p.total)
	}
	return report, nil
}

// checker judges a surveyed document, one entry at a time. What later entries need of earlier ones it keeps in a few
// words each.
type checker struct {
	*survey
	schema *schema // nil: the version has none

	producer string   // its name
	denied   []string // capabilities the producer says it does not use
	used     map[string]bool

	artifacts map[string]handoff
	ordering  [][2]int32 // dep and fan_in edges between nodes
	launches  map[[2]int32]bool
	parents   map[string]string // of groups
	last      instant           // of the event before
}

func (c *checker) enter(name string) { c.path = c.path.member(name) }
func (c *checker) leave()            { c.path = c.path[:len(c.path)-1] }

// find reports a finding at a member below where the checker stands; none means there.
func (c *checker) find(code string, below []string, format string, args ...any) {
	at := c.path
	for _, name := range below {
		at = at.member(name)
	}
	c.report.add(code, at, format, args...)
}

func (c *checker) document() {
	c.used, c.artifacts = map[string]bool{}, map[string]handoff{}
	c.launches, c.parents = map[[2]int32]bool{}, map[string]string{}
	c.topLevel()
	c.judgeProducer(c.member("producer"))
	c.member("privacy")
	run := c.member("run")
	c.member("ext")
	c.judgeRun(run)
	// The order in which one kind of entry needs what another left.
	c.entries("groups", c.judgeGroup)
	c.entries("nodes", c.judgeNode)
	c.entries("artifacts", c.judgeArtifact)
	c.entries("edges", c.judgeEdge)
	c.entries("attempts", c.judgeAttempt)
	c.entries("events", c.judgeEvent)
	c.judgeGroups()
	c.judgeOrdering()
	c.judgeCapabilities()
}

// topLevel checks what is there at all.
func (c *checker) topLevel() {
	ocp, present := spelling(c.text)
	c.report.Version, _ = ocp.(string)
	if c.schema == nil {
		message := "the version is none of 0.1, 0.2 and 0.3"
		if !present {
			message = "no version: it is one of 0.1, 0.2 and 0.3"
		}
		c.find("E003", []string{"ocp"}, "%s", message)
		return
	}
	for _, name := range topRequired {
		if _, present := c.members[name]; !present {
			c.violates("%s is required", quote(name))
		}
	}
}

// member reads a top-level member, checks it against the schema and returns it when it is an object.
func (c *checker) member(name string) *object {
	at, present := c.members[name]
	if !present {
		return nil
	}
	reader := cursor{text: c.text, at: at.from}
	v := reader.value()
	if c.schema != nil {
		c.enter(name)
		c.check(c.schema.objects[name], v)
		c.leave()
	}
	o, _ := v.(*object)
	return o
}

// entries checks a top-level list one entry after the other, and judges those that are objects.
func (c *checker) entries(name string, judge func(i int, o *object)) {
	if name == "artifacts" && !c.version.atLeast(v02) {
		return
	}
	at, present := c.members[name]
	if !present {
		return
	}
	c.enter(name)
	defer c.leave()
	reader := cursor{text: c.text, at: at.from}
	if reader.peek() != '[' {
		c.report.add("E104", c.path, "is not a list")
		if c.schema != nil {
			c.violates("is not of type array")
		}
		return
	}
	reader.enter()
	for i := 0; reader.more(']'); i++ {
		if c.stopped(reader.at) {
			return
		}
		v := reader.value()
		c.path = c.path.element(i)
		if c.schema != nil {
			c.check(c.schema.lists[name], v)
		}
		c.used[name] = true
		if o, isObject := v.(*object); isObject {
			judge(i, o)
		}
		c.leave()
	}
}

// unique reports a later use of an id.
func (c *checker) unique(code, list string, i int, o *object) {
	id, isText := o.text("id")
	if !isText {
		return
	}
	if first := c.entities[list].first[id]; int(first) != i {
		c.find(code, nil, "the id %s is used at index %d already", quote(id), first)
	}
}

// CrossCheck adds what several documents show only together: that runs of one slate worked on one task from one commit.
// What contradicts an earlier document is reported on the later one.
func CrossCheck(reports []*Report) {
	first := map[string]*slate{}
	for _, r := range reports {
		if r == nil || r.slate == nil {
			continue
		}
		other, found := first[r.slate.id]
		if !found {
			first[r.slate.id] = r.slate
			continue
		}
		task := path{}.member("run").member("task")
		if r.slate.task != other.task {
			r.add("E194", task.member("id"), "another run of this slate has another task")
		}
		if r.slate.commit != other.commit {
			r.add("E194", task.member("base_commit"), "another run of this slate began at another commit")
		}
	}
}
