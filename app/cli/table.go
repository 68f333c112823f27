package cli

import (
	"fmt"
	"strings"
)

// table is rows for people: aligned and cut to the terminal. Without a terminal it is what scripts cut apart:
// tabs, no header, nothing shortened.
type table struct {
	headers []string
	flex    int // the column that gives way when the terminal is narrow
	rows    [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (a *app) print(t *table) {
	if a.Width == 0 {
		for _, row := range t.rows {
			for i, cell := range row {
				row[i] = line(cell)
			}
			fmt.Fprintln(a.Stdout, strings.Join(row, "\t"))
		}
		return
	}
	widths := t.widths(a.Width)
	for _, row := range append([][]string{t.headers}, t.rows...) {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = pad(line(cell), widths[i])
		}
		fmt.Fprintln(a.Stdout, strings.TrimRight(strings.Join(cells, "  "), " "))
	}
}

// widths gives every column what its widest cell needs, and takes what is too much from the flexible one.
func (t *table) widths(total int) []int {
	const gap, least = 2, 8
	widths := make([]int, len(t.headers))
	for _, row := range append([][]string{t.headers}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], textColumns(line(cell)))
		}
	}
	used := gap * (len(widths) - 1)
	for _, w := range widths {
		used += w
	}
	if over := used - total; over > 0 {
		widths[t.flex] = max(least, widths[t.flex]-over)
	}
	return widths
}
