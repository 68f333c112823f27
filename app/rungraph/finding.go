package rungraph

import (
	"fmt"
	"slices"
)

// Level is how much a finding weighs.
type Level string

// A document with an error does not conform. Warnings never fail a document.
const (
	LevelError   Level = "error"
	LevelWarning Level = "warning"
)

// Finding is one thing that a document breaks, and where.
type Finding struct {
	Level   Level  `json:"level"`
	Code    string `json:"code"`
	Path    string `json:"path"` // such as $['attempts'][3]['outcome']['result']
	Message string `json:"message"`
}

// maxPerCode is how many findings of one code a report keeps. A broken producer breaks the same rule in each of a
// million entries; the rest are counted.
const maxPerCode = 100

// Report is what a check of one document found.
type Report struct {
	Version  string // the document's own, "" when it has none that is text
	Errors   int    // of every finding, also of those that were left off
	Warnings int
	Findings []Finding // at most maxPerCode of each code

	counts map[string]int
	slate  *slate
}

// OK reports whether the document conforms: no finding is an error.
func (r *Report) OK() bool { return r.Errors == 0 }

// Codes is the sorted set of distinct codes.
func (r *Report) Codes() []string {
	codes := make([]string, 0, len(r.counts))
	for code := range r.counts {
		codes = append(codes, code)
	}
	slices.Sort(codes)
	return codes
}

// LeftOff is how many findings were counted only.
func (r *Report) LeftOff() int { return r.Errors + r.Warnings - len(r.Findings) }

// add counts a finding and keeps it while there is room. Texts are made only for what is kept.
func (r *Report) add(code string, at path, format string, args ...any) {
	if r.counts == nil {
		r.counts = map[string]int{}
	}
	r.counts[code]++
	level := levelOf(code)
	if level == LevelError {
		r.Errors++
	} else {
		r.Warnings++
	}
	if r.counts[code] <= maxPerCode {
		r.Findings = append(r.Findings, Finding{level, code, at.String(), fmt.Sprintf(format, args...)})
	}
}

// Code is a kind of finding.
type Code struct {
	Code    string
	Level   Level
	Meaning string
}

// Codes lists every code that a check can give, sorted. Those that begin with S are Switchboard's own, the others are
// the format's.
func Codes() []Code { return slices.Clone(codes) }

func levelOf(code string) Level {
	i, _ := slices.BinarySearchFunc(codes, code, func(c Code, code string) int {
		switch {
		case c.Code < code:
			return -1
		case c.Code > code:
			return 1
		}
		return 0
	})
	return codes[i].Level
}

var codes = []Code{
	{"E001", LevelError, "not readable as JSON, or not UTF-8"},
	{"E002", LevelError, "the top-level value is not an object"},
	{"E003", LevelError, "ocp is missing, or not 0.1, 0.2 or 0.3"},
	{"E010", LevelError, "breaks the schema of its version"},
	{"E100", LevelError, "a node id is used twice"},
	{"E101", LevelError, "an attempt id is used twice"},
	{"E102", LevelError, "a group id is used twice"},
	{"E103", LevelError, "an artifact id is used twice"},
	{"E104", LevelError, "a top-level list is not a list"},
	{"E110", LevelError, "an edge comes from an unknown node"},
	{"E111", LevelError, "an edge leads to an unknown node"},
	{"E112", LevelError, "an attempt names an unknown node"},
	{"E113", LevelError, "an event names an unknown node"},
	{"E114", LevelError, "an event names an unknown attempt"},
	{"E115", LevelError, "a node names an unknown group"},
	{"E116", LevelError, "an artifact edge names no artifact"},
	{"E117", LevelError, "an edge names an unknown artifact"},
	{"E118", LevelError, "an artifact names an unknown attempt"},
	{"E119", LevelError, "an attempt was launched by an unknown attempt or by itself"},
	{"E120", LevelError, "a group's parent is unknown"},
	{"E121", LevelError, "groups are their own parents"},
	{"E122", LevelError, "dep and fan_in edges go in a circle"},
	{"E123", LevelError, "an edge names an unknown attempt"},
	{"E124", LevelError, "an edge names an attempt of another node"},
	{"E125", LevelError, "an artifact edge does not say between which attempts"},
	{"E130", LevelError, "an outcome contradicts its attempt's status"},
	{"E160", LevelError, "an edge has no evidence tier"},
	{"E161", LevelError, "a launch without its launch edge"},
	{"E162", LevelError, "an artifact's producer is not its first writer"},
	{"E163", LevelError, "an artifact counts fewer writes or reads than it lists"},
	{"E164", LevelError, "an artifact edge contradicts its artifact"},
	{"E165", LevelError, "an external origin names its launcher"},
	{"E166", LevelError, "an artifact has no writers, or lists an attempt twice"},
	{"E167", LevelError, "an artifact's writers or consumers are not a list"},
	{"E170", LevelError, "the cache creation buckets do not add up"},
	{"E171", LevelError, "the extractor's costs must be measured"},
	{"E180", LevelError, "a capability that was denied is used"},
	{"E181", LevelError, "an extension key has a retired prefix"},
	{"E190", LevelError, "the configuration's id is not the hash of what it names"},
	{"E191", LevelError, "a piece of the workflow has no setting"},
	{"E192", LevelError, "the workflow is no graph of pieces and artifacts"},
	{"E193", LevelError, "a gate or a repair names no piece"},
	{"E194", LevelError, "a slate, a task or a preference contradict one another"},
	{"E195", LevelError, "a signal's value or a rule's name is of another kind"},
	{"S001", LevelError, "larger than 64 MiB"},
	{"S002", LevelError, "nested deeper than 64 levels"},
	{"S003", LevelError, "more entries, or more values in one entry, than are checked"},
	{"S004", LevelWarning, "a number that readers round: beyond 2^53, or beyond a double"},
	{"S005", LevelWarning, "a name stands twice in one object; the last one counts"},
	{"S006", LevelWarning, "text that is no Unicode: half of a surrogate pair"},
	{"W131", LevelWarning, "a terminal attempt has no outcome"},
	{"W132", LevelWarning, "an attempt that is not terminal has an outcome"},
	{"W140", LevelWarning, "a cause names an unknown attempt"},
	{"W141", LevelWarning, "an outcome came by an unknown node"},
	{"W150", LevelWarning, "an event is earlier than the one before it"},
	{"W180", LevelWarning, "the producer does not say what it can emit"},
	{"W182", LevelWarning, "an extension key has a prefix that is going away"},
	{"W196", LevelWarning, "a receipt that another producer wrote"},
	{"W200", LevelWarning, "a word that is not recommended"},
}
