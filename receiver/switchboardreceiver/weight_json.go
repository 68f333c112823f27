package switchboardreceiver

// jsonScale weighs a JSON document while prepareJSON scans it. It counts every element of an array, whatever it is: the
// decoder makes a span of each element of spans before it looks at it.
type jsonScale struct {
	weight
	open [maxBrackets]container
}

// container is what a bracket opens.
type container uint8

const (
	object     container = iota
	otherArray           // of spans' neighbours, of events, of what nobody knows
	valueArray           // of attributes or of values, of which there are most
	spanArray
)

// What one takes at most when it is decoded.
const (
	objectBytes = 256 // a span
	valueBytes  = 64
)

// member weighs what a member of an object opens.
func (s *jsonScale) member(depth int, bracket byte, name []byte) {
	switch {
	case bracket == '[':
		s.open[depth] = arrayOf(string(name))
		s.weigh(s.open[depth]) // its first element; the others come after commas
	case string(name) == "value":
		s.open[depth] = object
		s.bytes += valueBytes
	default:
		s.open[depth] = object
		s.bytes += objectBytes
	}
}

// element notes what an element of an array opens, which has been weighed as such.
func (s *jsonScale) element(depth int, bracket byte) {
	s.open[depth] = object
	if bracket == '[' {
		s.open[depth] = otherArray
		s.weigh(otherArray)
	}
}

// comma weighs the element that follows, if it is in an array that we are.
func (s *jsonScale) comma(depth int) { s.weigh(s.open[depth]) }

func (s *jsonScale) weigh(of container) {
	switch of {
	case valueArray:
		s.bytes += valueBytes
	case spanArray:
		s.items++
		s.bytes += objectBytes
	case otherArray:
		s.bytes += objectBytes
	}
}

func arrayOf(name string) container {
	switch name {
	case "attributes", "values":
		return valueArray
	case "spans":
		return spanArray
	default:
		return otherArray
	}
}
