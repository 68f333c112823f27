package settings

import (
	"slices"
	"strings"
)

// Setting is one key with its default and its range, both ends included. A value in range but below Floor means
// Floor.
type Setting struct {
	Key             Key
	Default         int
	Min, Max, Floor int
}

// List returns every setting, sorted by key. The reference page of the settings is compared with it.
func List() []Setting {
	list := make([]Setting, 0, len(definitions))
	for key, d := range definitions {
		list = append(list, Setting{Key: key, Default: d.def, Min: d.min, Max: d.max, Floor: d.floor})
	}
	slices.SortFunc(list, func(a, b Setting) int { return strings.Compare(string(a.Key), string(b.Key)) })
	return list
}
