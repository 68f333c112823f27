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
	relay, live, nasty, sent uuid.UUID
}

func newGallery(t testing.TB) *gallery {
	t.Helper()
	h := newHouse(t)
	ep, docs := h.vend(h.owner, "bugfix", "lane-s", "lane-m"), h.vend(h.owner, "docs", "docs")
	g := &gallery{house: h}
	g.relay = h.relay(ep)
	g.sent = h.delivered(ep, `{"title":"Same body with another delivery id","size":"m","issue":{"number":1204,"labels":["bug"]}}`)
	g.live = h.variety(ep, docs)
	g.nasty = h.hostile(h.vend(h.owner, "hostile", "h"))
	return g
}

// visit is a page and who looks at it; nil is nobody.
type visit struct {
	path string
	as   *browserless
}

// visits are the screens, by name.
func (g *gallery) visits(me, newcomer *browserless) map[string]visit {
	return map[string]visit{
		"login": {"/login", nil}, "empty": {"/todos", newcomer}, "missing": {"/todos/td_x", me},
		"board": {"/", me}, "activity": {"/activity", me}, "endpoints": {"/endpoints", me}, "vend": {"/endpoints/vend", me},
		"settings": {"/settings", me}, "board-empty": {"/", newcomer}, "activity-empty": {"/activity", newcomer}, "endpoints-empty": {"/endpoints", newcomer},
		"todos": {"/todos", me}, "todo": {todoPath(g.relay), me}, "todo-live": {todoPath(g.live), me}, "todo-sent": {todoPath(g.sent), me}, "todo-hostile": {todoPath(g.nasty), me},
	}
}

// TestScreens writes the screens of the documentation into the folder that SWITCHBOARD_SCREENS names.
func TestScreens(t *testing.T) {
	folder := os.Getenv("SWITCHBOARD_SCREENS")
	if folder == "" {
		t.Skip("SWITCHBOARD_SCREENS names no folder")
	}
	g := newGallery(t)
	me, newcomer := g.signedIn(g.owner), g.signedIn(g.human("Newcomer"))
	for name, v := range g.visits(me, newcomer) {
		t.Run(name, func(t *testing.T) {
			for _, l := range looks {
				b := g.open(t, v.as, l)
				b.visit(v.path)
				eval[bool](b, `document.fonts.ready.then(() => true)`)
				if err := os.WriteFile(filepath.Join(folder, name+"-"+l.String()+".png"), b.shot(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
