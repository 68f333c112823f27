package rungraph

// judgeConfiguration checks the workflow that ran and the settings of its pieces. One by reference is in a catalog that
// is not here.
func (c *checker) judgeConfiguration(configuration *object) {
	workflow := configuration.object("workflow")
	if workflow == nil || byReference(workflow) {
		return
	}
	c.enter("configuration")
	defer c.leave()
	c.enter("workflow")
	c.judgeWorkflow(workflow)
	c.leave()
	settings := configuration.object("settings")
	settled := settings.objects()
	for _, v := range workflow.list("pieces") {
		piece, _ := v.(*object)
		id, isText := piece.text("id")
		if !isText || piece.has("workflow") && !piece.has("role") {
			continue // what holds a workflow has its settings within
		}
		if !settled[id] {
			c.find("E191", []string{"settings"}, "the piece %s has no setting", quote(id))
		}
	}
	stated, isText := configuration.text("id")
	if want, wellFormed := canonicalID(workflow, settings); isText && wellFormed && stated != want {
		c.find("E190", []string{"id"}, "workflow and settings make it %s", want)
	}
}

func byReference(workflow *object) bool { return workflow.has("ref") && !workflow.has("pieces") }

// judgeWorkflow checks that a workflow is an acyclic graph in which pieces and artifacts alternate, and that its control
// names pieces.
func (c *checker) judgeWorkflow(workflow *object) {
	vertices := c.vertices(workflow)
	c.judgeFlow(workflow, vertices)
	c.judgeControl(workflow.object("control"), vertices)
	for i, v := range workflow.list("pieces") {
		piece, _ := v.(*object)
		if nested := piece.object("workflow"); nested != nil && !byReference(nested) {
			c.path = c.path.member("pieces").element(i).member("workflow")
			c.judgeWorkflow(nested)
			c.path = c.path[:len(c.path)-3]
		}
	}
}

type vertex struct {
	index int32
	piece bool
}

func (c *checker) vertices(workflow *object) map[string]vertex {
	vertices := map[string]vertex{}
	for _, field := range []string{"pieces", "artifacts"} {
		for i, v := range workflow.list(field) {
			record, _ := v.(*object)
			id, isText := record.text("id")
			if !isText {
				continue
			}
			if _, twice := vertices[id]; twice {
				c.report.add("E192", c.path.member(field).element(i).member("id"), "%s is used twice", quote(id))
				continue
			}
			vertices[id] = vertex{int32(len(vertices)), field == "pieces"}
		}
	}
	return vertices
}

func (c *checker) judgeFlow(workflow *object, vertices map[string]vertex) {
	var edges [][2]int32
	for j, v := range workflow.list("edges") {
		edge, _ := v.([]any)
		if len(edge) != 2 {
			continue // the schema says so
		}
		from, fromText := edge[0].(string)
		to, toText := edge[1].(string)
		a, aKnown := vertices[from]
		b, bKnown := vertices[to]
		at := c.path.member("edges").element(j)
		switch {
		case !fromText || !aKnown:
			c.report.add("E192", at, "%s is no piece and no artifact", spell(edge[0]))
		case !toText || !bKnown:
			c.report.add("E192", at, "%s is no piece and no artifact", spell(edge[1]))
		case a.piece == b.piece:
			c.report.add("E192", at, "an edge joins a piece and an artifact")
		default:
			edges = append(edges, [2]int32{a.index, b.index})
		}
	}
	if circular(len(vertices), edges) {
		c.find("E192", []string{"edges"}, "the edges go in a circle; what is repaired belongs into control.repair")
	}
}

func (c *checker) judgeControl(control *object, vertices map[string]vertex) {
	gates := control.list("gates")
	for k, v := range gates {
		if gate, isText := v.(string); isText && !vertices[gate].piece {
			c.report.add("E193", c.path.member("control").member("gates").element(k), "%s is no piece", quote(gate))
		}
	}
	repair := control.object("repair")
	if repair == nil {
		return
	}
	isGate := textsOf(gates)
	for _, m := range repair.members {
		below := []string{"control", "repair", m.name}
		if !isGate[m.name] {
			c.find("E193", below, "%s is no gate", quote(m.name))
		}
		if target, isText := m.value.(string); !isText || !vertices[target].piece {
			c.find("E193", below, "%s is no piece", spell(m.value))
		}
	}
}
