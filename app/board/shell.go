package board

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/postgres"
)

// healthWait bounds how long a page waits to learn how the database is.
const healthWait = time.Second

// place is a page of the rail. A new page is a row here; the keys, the hints and the tab bar follow.
type place struct {
	Key, Name, Path, Icon string
	OnlyHeld              bool // it is there only while deliveries wait in quarantine
}

var rail = []place{
	{Key: "b", Name: "Board", Path: "/", Icon: "i-board"},
	{Key: "a", Name: "Activity", Path: "/activity", Icon: "i-activity"},
	{Key: "t", Name: "Todos", Path: "/todos", Icon: "i-todos"},
	{Key: "e", Name: "Endpoints", Path: "/endpoints", Icon: "i-endpoints"},
	{Key: "q", Name: "Quarantine", Path: "/quarantine", Icon: "i-quarantine", OnlyHeld: true},
	{Key: "s", Name: "Settings", Path: "/settings", Icon: "i-settings"},
}

// key is one entry of the keyboard registry: the script acts by it, the foot and the dialog show it.
type key struct {
	Keys string // as typed, separated by spaces
	Does string // what the script does, see board.js
	Name string
	Foot string // the word in the page's foot; empty: not there
}

// places lists the rail of a page.
func (s shell) places() (all []place) {
	for _, p := range rail {
		if !p.OnlyHeld || s.Held > 0 || s.Here == p.Path {
			all = append(all, p)
		}
	}
	return all
}

// keys is the keyboard registry of a page.
func (s shell) keys() (all []key) {
	for _, p := range s.places() {
		all = append(all, key{"g " + p.Key, "go " + p.Path, p.Name, ""})
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
}

// shell is what surrounds every page.
type shell struct {
	Title  string
	Here   string // the path of the rail's current place
	Viewer viewer
	Health health
	News   int    // entries of the feed since the human last looked, at most a hundred
	Held   int    // deliveries that wait in quarantine
	Said   string // what the last action has done
	Stream string // the address of the page's stream; empty: it has none

	Version string // of this server, for the signed-in
}

// counted is what stands before a title in the browser's tab: how much is new. The script goes on with it.
func (s shell) counted() string {
	if s.News == 0 {
		return ""
	}
	return "(" + capped(s.News) + ") "
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
	s := shell{Title: title, Here: here, Viewer: v, Health: b.health(r.Context()), Version: b.Version}
	if v.human == nil {
		return s
	}
	s.Said = b.sessions.PopString(r.Context(), sessionSaid)
	s.News = b.news(r.Context(), v.human.ID)
	s.Held = b.held(r.Context(), v.human.ID)
	return s
}

// news counts what is new in the feed. A page is worth showing without its count.
func (b *board) news(ctx context.Context, human uuid.UUID) int {
	n, err := b.Feed.News(ctx, human)
	if err != nil {
		b.Log.Debug("the new entries of the feed could not be counted", postgres.Field(err))
	}
	return n
}

func (b *board) health(ctx context.Context) health {
	ctx, cancel := context.WithTimeout(ctx, healthWait)
	defer cancel()
	in, err := b.Health(ctx)
	return health{Answers: err == nil, In: in}
}
