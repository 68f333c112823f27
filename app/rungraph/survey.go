package rungraph

import (
	"bytes"
	"strconv"
	"strings"
)

// Limits of what is checked and kept. A document beyond one of the first four is refused as a whole.
const (
	MaxBytes    = 64 << 20 // of a document
	MaxDepth    = 64       // of objects and lists within each other
	maxEntries  = 1 << 20  // of all top-level lists together
	maxPerEntry = 1 << 20  // values in one entry, or in one top-level object
	maxExact    = 1 << 53  // the largest whole number that every reader of JSON keeps
)

// survey is what a first look over a document finds: where its parts are and who is in it. It reads every byte once and
// judges what is wrong anywhere, whatever the schema says there.
type survey struct {
	cursor
	*progress
	report  *Report
	version version
	path    path

	members  map[string]extent // top-level, by name
	entities map[string]*entities
	entries  int // of all top-level lists
	values   int // in the current entry

	names [MaxDepth + 1]names // of the objects around the cursor
	ok    bool                // nothing stands beyond a limit
}

// extent is where a value stands in the document.
type extent struct{ from, to int }

// entities are the ids of a top-level list.
type entities struct {
	first map[string]int32  // the index of an id's first use
	node  map[string]string // of attempts: at which node
}

func (e *entities) known(v any) bool {
	id, isText := v.(string)
	if !isText || e == nil {
		return false
	}
	_, known := e.first[id]
	return known
}

// The lists whose entries others name.
var listNames = []string{"groups", "nodes", "attempts", "artifacts", "edges", "events"}

func isList(name string) bool {
	for _, l := range listNames {
		if l == name {
			return true
		}
	}
	return false
}

// look surveys a document that is valid JSON with an object at its top.
func look(doc []byte, report *Report, p *progress) *survey {
	s := &survey{
		cursor: cursor{text: doc}, progress: p, report: report,
		members: map[string]extent{}, entities: map[string]*entities{}, ok: true,
	}
	s.version = versionOf(doc)
	s.object(1, outside)
	return s
}

// Whether a value belongs to an extension. Names are judged directly in ext, and nothing of what a producer keeps below.
type extension int

const (
	outside extension = iota
	directly
	below
)

func (s *survey) value(depth int, ext extension) {
	if s.values++; s.values > maxPerEntry {
		s.refuse("S003", "an entry holds more than %d values", maxPerEntry)
	}
	if s.stopped(s.at) {
		s.ok = false
	}
	if !s.ok {
		return
	}
	switch s.peek() {
	case '{', '[':
		if depth++; depth > MaxDepth {
			s.refuse("S002", "nested deeper than %d levels", MaxDepth)
			return
		}
		if s.peek() == '{' {
			s.object(depth, ext)
		} else {
			s.list(depth, ext)
		}
	case '"':
		s.judgeText(s.quoted())
	default:
		s.judgeNumber(s.literal())
	}
}

func (s *survey) object(depth int, ext extension) {
	s.names[depth].forget()
	entry := s.entry()
	var id, node *string
	s.enter()
	for s.more('}') {
		quoted := s.quoted()
		name := unquote(quoted)
		s.peek()
		s.at++ // the colon
		s.path = s.path.member(name)
		s.judgeName(depth, quoted, name, ext)
		s.peek()
		from := s.at
		if len(s.path) == 1 {
			s.values = 0
			delete(s.entities, name) // of a name that stands twice the last one counts
		}
		s.value(depth, inner(ext, name))
		if !s.ok {
			return
		}
		switch {
		case len(s.path) == 1:
			s.members[name] = extent{from, s.at}
		case entry != nil && name == "id":
			id = s.textAt(from)
		case entry != nil && name == "node":
			node = s.textAt(from)
		}
		s.path = s.path[:len(s.path)-1]
	}
	if entry != nil && id != nil {
		entry.add(*id, s.path[1].index, node)
	}
}

// textAt is the string that was just passed, nil when it was none.
func (s *survey) textAt(from int) *string {
	c := cursor{text: s.text[:s.at], at: from}
	if c.peek() != '"' {
		return nil
	}
	text := c.string()
	return &text
}

// entry is where the object that begins here is counted, nil for one that is no entry of a top-level list.
func (s *survey) entry() *entities {
	if len(s.path) != 2 || s.path[1].index < 0 || !isList(s.path[0].name) {
		return nil
	}
	return s.entities[s.path[0].name]
}

func (e *entities) add(id string, index int, node *string) {
	if _, known := e.first[id]; !known {
		e.first[id] = int32(index)
	}
	if node != nil {
		e.node[id] = *node
	}
}

func (s *survey) list(depth int, ext extension) {
	top := len(s.path) == 1 && isList(s.path[0].name)
	if top {
		s.entities[s.path[0].name] = &entities{first: map[string]int32{}, node: map[string]string{}}
	}
	s.enter()
	for i := 0; s.more(']'); i++ {
		s.path = s.path.element(i)
		if top {
			s.values = 0
			if s.entries++; s.entries > maxEntries {
				s.refuse("S003", "the document holds more than %d entries", maxEntries)
				return
			}
		}
		s.value(depth, ext)
		if !s.ok {
			return
		}
		s.path = s.path[:len(s.path)-1]
	}
}

func inner(ext extension, name string) extension {
	switch {
	case ext != outside:
		return below
	case name == "ext":
		return directly
	}
	return outside
}

func (s *survey) refuse(code, format string, args ...any) {
	s.report.add(code, s.path, format, args...)
	s.ok = false
}

// The prefixes of extension keys that are retired, with what replaced them, and the one that is about to be.
var (
	retiredPrefixes = [][2]string{{"dagr.", "dev.dagr."}, {"ocp.", "io.orchestrationcontextprotocol."}}
	leavingPrefix   = "dev.dagr."
)

func (s *survey) judgeName(depth int, quoted []byte, name string, ext extension) {
	s.judgeText(quoted)
	if !s.names[depth].add(name) {
		s.report.add("S005", s.path, "the name stands twice in this object")
	}
	if ext != directly {
		return
	}
	for _, p := range retiredPrefixes {
		if strings.HasPrefix(name, p[0]) {
			s.report.add("E181", s.path, "the prefix %s is retired: write %s", p[0], p[1])
		}
	}
	if s.version.atLeast(v03) && strings.HasPrefix(name, leavingPrefix) {
		s.report.add("W182", s.path, "the prefix %s is going away: write dev.loopmath.", leavingPrefix)
	}
}

// judgeText looks for halves of surrogate pairs: what decoding replaced although the document did not spell it.
func (s *survey) judgeText(quoted []byte) {
	if !bytes.Contains(quoted, []byte(`\u`)) && !bytes.Contains(quoted, []byte(`\U`)) {
		return
	}
	spelt := bytes.Count(quoted, []byte("\uFFFD")) + bytes.Count(bytes.ToLower(quoted), []byte(`\ufffd`))
	if strings.Count(unquote(quoted), "\uFFFD") > spelt {
		s.report.add("S006", s.path, "the text holds half of a surrogate pair")
	}
}

func (s *survey) judgeNumber(literal []byte) {
	if literal[0] >= 'a' { // true, false, null
		return
	}
	if bytes.ContainsAny(literal, ".eE") {
		if _, err := strconv.ParseFloat(string(literal), 64); err != nil {
			s.report.add("S004", s.path, "the number is beyond what a double holds")
		}
		return
	}
	if len(literal) < len("9007199254740992") {
		return
	}
	if n, err := strconv.ParseInt(string(literal), 10, 64); err != nil || n > maxExact || n < -maxExact {
		s.report.add("S004", s.path, "the number is beyond 2^53: readers round it")
	}
}

// names are the names of one object so far. Few are compared one by one, and a large set is not kept for the next
// object, which would have to clear it.
type names struct {
	few  []string
	many map[string]struct{}
}

const fewNames = 16

func (n *names) forget() { n.few, n.many = n.few[:0], nil }

// add reports whether the name is new.
func (n *names) add(name string) bool {
	if n.many != nil {
		_, twice := n.many[name]
		n.many[name] = struct{}{}
		return !twice
	}
	for _, other := range n.few {
		if other == name {
			return false
		}
	}
	if n.few = append(n.few, name); len(n.few) > fewNames {
		n.many = make(map[string]struct{}, 4*fewNames)
		for _, other := range n.few {
			n.many[other] = struct{}{}
		}
	}
	return true
}
