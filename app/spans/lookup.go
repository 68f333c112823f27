package spans

// lookup finds what some known keys mean, by their length first: of what a span carries most is told apart by that alone.
// Asking a map would double what the step costs that asks.
type lookup[T any] [][]meaning[T]

type meaning[T any] struct {
	key string
	is  T
}

func newLookup[T any](meanings map[string]T) (l lookup[T]) {
	for key, is := range meanings {
		for len(l) <= len(key) {
			l = append(l, nil)
		}
		l[len(key)] = append(l[len(key)], meaning[T]{key, is})
	}
	return l
}

// find returns the zero value and false for any other key.
func (l lookup[T]) find(key string) (is T, ok bool) {
	if len(key) >= len(l) {
		return is, false
	}
	for _, m := range l[len(key)] {
		if m.key == key {
			return m.is, true
		}
	}
	return is, false
}
