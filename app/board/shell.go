package board

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// healthWait bounds how long a page waits to learn how the database is.
const healthWait = time.Second

// place is a page of the rail. A new page is a row here; the keys, the hints and the tab bar follow.
type place struct {
	Key, Name, Path, Icon string
}

var rail = []place{
	{"t", "Todos", "/todos", "i-todos"},
}

// key is one entry of the keyboard registry: the script acts by it, the foot and the dialog show it.
type key struct {
	Keys string // as typed, separated by spaces
	Does string // what the script does, see board.js
	Name string
	Foot string // the word in the page's foot; empty: not there
}

var keys = func() (all []key) {
	for _, p := range rail {
		all = append(all, key{"g " + p.Key, "go " + p.Path, p.Name, p.Name})
	}
	return append(all,
		key{"/", "filter", "Focus the filter", "filter"},
		key{"j", "next", "Next row", "next"},
		key{"k", "previous", "Previous row", "previous"},
		key{"Enter", "", "Open the row", "open"},
		key{"t", "theme", "Switch the theme", "theme"},
		key{"?", "keys", "All keys", "all keys"},
		key{"Esc", "", "Close", ""},
	)
}()

// shell is what surrounds every page.
type shell struct {
	Title  string
	Here   string // the path of the rail's current place
	Viewer viewer
	Health health

	Version string // of this server, for the signed-in
}

// health is the database's state in words.
type health struct {
	Answers bool
	In      time.Duration // 0: not said
}

func (h health) words() string {
	if !h.Answers {
		return "Database does not answer"
	}
	return "Database answers"
}

func (h health) in() string {
	if !h.Answers || h.In == 0 {
		return ""
	}
	return fmt.Sprintf(" in %d ms", max(h.In.Round(time.Millisecond)/time.Millisecond, 1))
}

func (b *board) shell(r *http.Request, v viewer, title, here string) shell {
	return shell{Title: title, Here: here, Viewer: v, Health: b.health(r.Context()), Version: b.Version}
}

func (b *board) health(ctx context.Context) health {
	ctx, cancel := context.WithTimeout(ctx, healthWait)
	defer cancel()
	in, err := b.Health(ctx)
	return health{Answers: err == nil, In: in}
}
