package rungraph

import (
	"encoding/json"
	"strconv"
	"time"
)

// View is what a page shows of a document, of any version and producer. It is read tolerantly: what is of another type
// than it should be is absent.
type View struct {
	OCP, Producer, ProducerVersion string
	RunID, Title, Profile          string
	StartedAt, EndedAt             *time.Time
	Nodes, Edges                   int
	Attempts                       []AttemptView // at most viewAttempts
	AttemptsTotal                  int
}

// AttemptView is one attempt of a View. Empty texts and nil counts are not known.
type AttemptView struct {
	ID, Node, NodeTitle         string
	Status, Actor, Model, Basis string
	Evidence                    string // of a terminal attempt; asserted where the document does not say
	Reason                      string
	StartedAt, EndedAt          *time.Time
	Input, Cached, Output       *int64 // tokens; Input without what caches served and took
}

const viewAttempts = 500

// Read reads a document that Validate found JSON with an object at its top.
func Read(doc []byte) *View {
	v := &View{}
	titles := map[string]string{}
	c := cursor{text: doc}
	c.enter()
	for c.more('}') {
		switch c.name() {
		case "ocp":
			v.OCP, _ = c.value().(string)
		case "producer":
			producer, _ := c.value().(*object)
			v.Producer, _ = producer.text("name")
			v.ProducerVersion, _ = producer.text("version")
		case "privacy":
			privacy, _ := c.value().(*object)
			v.Profile, _ = privacy.text("profile")
		case "run":
			run, _ := c.value().(*object)
			v.RunID, _ = run.text("id")
			v.Title, _ = run.text("title")
			v.StartedAt, v.EndedAt = run.instant("started_at"), run.instant("ended_at")
		case "nodes":
			v.Nodes = c.each(func(o *object) {
				id, _ := o.text("id")
				titles[id], _ = o.text("title")
			})
		case "edges":
			v.Edges = c.each(func(*object) {})
		case "attempts":
			v.Attempts = nil
			v.AttemptsTotal = c.each(func(o *object) {
				if len(v.Attempts) < viewAttempts {
					v.Attempts = append(v.Attempts, viewOf(o))
				}
			})
		default:
			c.skip()
		}
	}
	for i := range v.Attempts {
		v.Attempts[i].NodeTitle = titles[v.Attempts[i].Node]
	}
	return v
}

// each reads the objects of a list one after the other and returns how long it is; any other value is passed over.
func (c *cursor) each(read func(*object)) (n int) {
	if c.peek() != '[' {
		c.skip()
		return 0
	}
	c.enter()
	for ; c.more(']'); n++ {
		if o, isObject := c.value().(*object); isObject {
			read(o)
		}
	}
	return n
}

func viewOf(attempt *object) AttemptView {
	var a AttemptView
	a.ID, _ = attempt.text("id")
	a.Node, _ = attempt.text("node")
	a.Status, _ = attempt.text("status")
	a.Actor, _ = attempt.text("actor")
	a.StartedAt, a.EndedAt = attempt.instant("started_at"), attempt.instant("ended_at")
	a.Model, _ = attempt.object("model").text("raw")
	cost := attempt.object("cost")
	a.Basis, _ = cost.text("basis")
	a.Input, a.Cached, a.Output = cost.count("input_tokens"), cost.count("cached_input_tokens"), cost.count("output_tokens")
	outcome := attempt.object("outcome")
	if outcome == nil {
		return a
	}
	a.Reason, _ = outcome.text("reason")
	if a.Evidence, _ = outcome.text("evidence"); a.Evidence == "" {
		a.Evidence = EvidenceAsserted
	}
	return a
}

func (o *object) instant(name string) *time.Time {
	s, _ := o.text(name)
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return nil
	}
	return &t
}

func (o *object) count(name string) *int64 {
	v, _ := o.get(name)
	literal, _ := v.(json.Number)
	n, err := strconv.ParseInt(string(literal), 10, 64)
	if err != nil {
		return nil
	}
	return &n
}
