package board

import (
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
)

// gallery is a Board with something on every page.
type gallery struct {
	*house
	relay, live, nasty, sent uuid.UUID
}

// newGallery returns a gallery in which somebody means harm, too.
func newGallery(t testing.TB) *gallery {
	t.Helper()
	g := newQuietGallery(t)
	g.nasty = g.hostile(g.vend(g.owner, "hostile", "h"))
	return g
}

func newQuietGallery(t testing.TB) *gallery {
	t.Helper()
	h := newHouse(t)
	ep, docs := h.vend(h.owner, "bugfix", "lane-s", "lane-m"), h.vend(h.owner, "docs", "docs")
	g := &gallery{house: h}
	g.relay = h.relay(ep)
	g.sent = h.delivered(ep, `{"title":"Same body with another delivery id","size":"m","issue":{"number":1204,"labels":["bug"]}}`)
	g.live = h.variety(ep, docs)
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
		"board": {"/", me}, "activity": {"/activity", me}, "endpoints": {"/endpoints", me}, "vend": {"/endpoints/vend", me}, "new": {"/new", me}, "new-empty": {"/new", newcomer},
		"settings": {"/settings", me}, "board-empty": {"/", newcomer}, "activity-empty": {"/activity", newcomer}, "endpoints-empty": {"/endpoints", newcomer},
		"todos": {"/todos", me}, "todo": {todoPath(g.relay), me}, "todo-live": {todoPath(g.live), me}, "todo-sent": {todoPath(g.sent), me}, "todo-hostile": {todoPath(g.nasty), me},
	}
}

// TestScreens takes the pictures of the documentation (make screens). The hostile todo is on none of them.
func TestScreens(t *testing.T) {
	if os.Getenv("SWITCHBOARD_SCREENS") == "" {
		t.Skip("SWITCHBOARD_SCREENS names no folder")
	}
	g := newQuietGallery(t)
	ep := g.vend(g.owner, "support", "mail")
	for _, title := range []string{"Label printer prints the sender twice", "Customs form asks for a phone number that nobody has"} {
		g.later(20 * time.Second)
		g.delivered(ep, `{"title":"`+title+`","size":"m"}`)
	}
	me, newcomer := g.signedIn(g.owner), g.signedIn(g.human("Newcomer"))
	visits := g.visits(me, newcomer)
	delete(visits, "todo-hostile")
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(visits))) { // activity last: looking at it makes nothing new
		for _, l := range looks {
			if wanted(name, l) {
				b := g.open(t, visits[name].as, l)
				b.visit(visits[name].path)
				b.picture(name)
			}
		}
	}
}
