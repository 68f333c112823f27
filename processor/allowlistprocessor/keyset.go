package allowlistprocessor

import "slices"

// keySet finds keys that come twice. Most spans have few keys, which a slice finds faster than a map; a span
// with a hundred thousand must not cost the square of that.
type keySet struct {
	few  []string
	many map[string]struct{}
}

// add reports whether key is new.
func (s *keySet) add(key string) bool {
	const fewest = 32
	if s.many == nil {
		if slices.Contains(s.few, key) {
			return false
		}
		if s.few = append(s.few, key); len(s.few) <= fewest {
			return true
		}
		s.many = make(map[string]struct{}, 2*fewest)
		for _, k := range s.few {
			s.many[k] = struct{}{}
		}
		return true
	}
	before := len(s.many)
	s.many[key] = struct{}{}
	return len(s.many) > before
}
