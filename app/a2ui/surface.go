// Package a2ui draws todos and queues as A2UI surfaces (protocol version v0.9, the basic catalog): what a client renders
// natively from a description. Nothing on a surface acts, and none holds a payload or a waterfall (REQ-17). Pure: values
// in, documents out.
package a2ui

import (
	"encoding/json"
	"strconv"

	"github.com/switchboard-otel/switchboard/app/text"
)

// MIME is the media type of a document.
const MIME = "application/a2ui+json"

const (
	version = "v0.9"
	catalog = "https://a2ui.org/specification/v0_9/catalogs/basic/catalog.json"
	root    = "root"
)

// message is one step of building a surface. A document is a list of them.
type message struct {
	Version string            `json:"version"`
	Create  *createSurface    `json:"createSurface,omitempty"`
	Update  *updateComponents `json:"updateComponents,omitempty"`
}

type createSurface struct {
	SurfaceID string `json:"surfaceId"`
	CatalogID string `json:"catalogId"`
}

type updateComponents struct {
	SurfaceID  string      `json:"surfaceId"`
	Components []component `json:"components"`
}

// component is one of the catalog's Text, Column and Card.
type component struct {
	ID       string   `json:"id"`
	Kind     string   `json:"component"`
	Text     string   `json:"text,omitempty"`
	Variant  string   `json:"variant,omitempty"`
	Child    string   `json:"child,omitempty"`
	Children []string `json:"children,omitempty"`
}

// surface is being drawn. Components name each other by ids, which are numbered.
type surface struct {
	id         string
	components []component
}

func (s *surface) add(c component) string {
	if c.ID == "" {
		c.ID = "c" + strconv.Itoa(len(s.components))
	}
	s.components = append(s.components, c)
	return c.ID
}

// maxText caps one text, in bytes: a surface is for a glance.
const maxText = 4096

// text adds a line. Nothing to say is said with a dash, since the catalog wants a text.
func (s *surface) text(variant, line string) string {
	line, cut := text.Cut(text.Clean(line), maxText)
	switch {
	case line == "":
		line = "-"
	case cut:
		line += " [...]"
	}
	return s.add(component{Kind: "Text", Text: line, Variant: variant})
}

// card adds a card with lines under a heading.
func (s *surface) card(heading string, lines ...string) string {
	children := []string{s.text("h2", heading)}
	for _, line := range lines {
		children = append(children, s.text("body", line))
	}
	return s.add(component{Kind: "Card", Child: s.add(component{Kind: "Column", Children: children})})
}

// document is the surface with these parts, one below the other.
func (s *surface) document(parts ...string) ([]byte, error) {
	s.add(component{ID: root, Kind: "Column", Children: parts})
	return json.Marshal([]message{
		{Version: version, Create: &createSurface{s.id, catalog}},
		{Version: version, Update: &updateComponents{s.id, s.components}},
	})
}
