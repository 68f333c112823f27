package allowlistprocessor

import "slices"

// keySet finds keys that come twice. Most spans have few keys, which a list finds faster than a map, and
// without an allocation; a span with a hundred thousand must not cost the square of that.
type keySet struct {
	few  [32]string
	n    int // of few
	many map[string]struct{}
}

// add reports whether key is new.
func (s *keySet) add(key string) bool {
	if slices.Contains(s.few[:s.n], key) {
		return false
	}
	if s.n < len(s.few) {
		s.few[s.n] = key
		s.n++
		return true
	}
	if s.many == nil {
		s.many = map[string]struct{}{}
	}
	before := len(s.many)
	s.many[key] = struct{}{}
	return len(s.many) > before
}
