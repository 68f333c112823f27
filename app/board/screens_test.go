package board

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
)

// gallery is a Board with something on every page.
type gallery struct {
	*house
	relay, live uuid.UUID
}

func newGallery(t testing.TB) *gallery {
	t.Helper()
	h := newHouse(t)
	ep, docs := h.vend(h.owner, "bugfix", "lane-s", "lane-m"), h.vend(h.owner, "docs", "docs")
	g := &gallery{house: h}
	g.relay = h.relay(ep)
	g.live = h.variety(ep, docs)
	return g
}

// pages are the screens, by name.
func (g *gallery) pages() map[string]string {
	return map[string]string{"todos": "/todos", "todo": todoPath(g.relay), "todo-live": todoPath(g.live)}
}

// TestScreens writes the screens of the documentation into the folder that SWITCHBOARD_SCREENS names.
func TestScreens(t *testing.T) {
	folder := os.Getenv("SWITCHBOARD_SCREENS")
	if folder == "" {
		t.Skip("SWITCHBOARD_SCREENS names no folder")
	}
	g := newGallery(t)
	me := g.signedIn(g.owner)
	for _, l := range looks {
		b := g.open(t, me, l)
		for name, path := range g.pages() {
			b.visit(path)
			eval[bool](b, `document.fonts.ready.then(() => true)`)
			if err := os.WriteFile(filepath.Join(folder, name+"-"+l.String()+".png"), b.shot(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
