package rungraph

import (
	"strconv"
	"strings"
)

// version is what a document says it is: 0.x, compared by its numbers. The zero value is below all of them.
type version struct{ major, minor int }

var (
	v02 = version{0, 2}
	v03 = version{0, 3}
)

func (v version) atLeast(other version) bool {
	return v.major > other.major || v.major == other.major && v.minor >= other.minor
}

// spelling is the document's ocp member, whatever it is.
func spelling(doc []byte) (ocp any, present bool) {
	c := cursor{text: doc}
	c.enter()
	for c.more('}') {
		if c.name() != "ocp" {
			c.skip()
			continue
		}
		present, ocp = true, nil
		if b := c.peek(); b == '{' || b == '[' {
			c.skip()
			continue
		}
		ocp = c.value()
	}
	return ocp, present
}

// versionOf reads the version whose rules apply. One that nobody knows yet gets the rules of those before it; what is
// no version gets only the rules that every version has.
func versionOf(doc []byte) version {
	ocp, _ := spelling(doc)
	text, _ := ocp.(string)
	major, minor, _ := strings.Cut(text, ".")
	a, errMajor := strconv.ParseUint(major, 10, 31)
	b, errMinor := strconv.ParseUint(minor, 10, 31)
	if errMajor != nil || errMinor != nil {
		return version{}
	}
	return version{int(a), int(b)}
}

// schemaOf is the schema of a document's version, nil for a version that has none.
func schemaOf(doc []byte) *schema {
	ocp, _ := spelling(doc)
	text, _ := ocp.(string)
	return schemas[text]
}
