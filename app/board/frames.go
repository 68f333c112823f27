package board

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/feed"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// frameWait bounds how long a frame takes: whoever waits for it is dropped and asks again.
const frameWait = 10 * time.Second

// livePage is what an open page shows of its topic. Pages that are equal in it are sent the same, whatever session they are
// of: its viewer carries a mark instead of a session's form token (formMark).
type livePage struct {
	viewer viewer
	topic  string
	looked url.Values // what its address says
}

// key names a frame of the page that leads from one version to another.
func (p livePage) key(is, was string) string {
	return strings.Join([]string{is, was, lensOf(p.looked).values().Encode()}, "\n") // the Board's filter is in its topic
}

// frame collects the parts of a page that have changed: each is the whole of an element with an id.
func (b *board) frame(ctx context.Context, p livePage, is, was stamps) (parts []templ.Component, err error) {
	human := p.viewer.human.ID
	if is.changed(was, partFeed) {
		parts = append(parts, newsBadge(b.news(ctx, human)))
	}
	id, isTodo := strings.CutPrefix(p.topic, topicTodo)
	switch {
	case isTodo:
		todo, _ := typeid.Todo.Parse(id) // it was read when the stream began
		more, err := b.todoFrame(ctx, p, todo, is, was)
		return append(parts, more...), err
	case p.topic == topicActivity:
		if is.changed(was, partFeed) {
			view, err := b.activityView(ctx, p.viewer, feed.Filter{})
			if err != nil {
				return nil, err
			}
			parts = append(parts, feedDays(view))
		}
	case is.changed(was, partLanes):
		view, err := b.lanesView(ctx, p.viewer, p.looked)
		if err != nil {
			return nil, err
		}
		parts = append(parts, needs(view), receivedLane(view), readyLane(view), heldLane(view))
	}
	return parts, nil
}

// todoFrame collects the parts of a todo's page. The traces are the expensive ones: only the waterfalls whose
// spans or whose attempt changed are drawn again, and all of them when one of them is new.
func (b *board) todoFrame(ctx context.Context, p livePage, id uuid.UUID, is, was stamps) ([]templ.Component, error) {
	if !is.changed(was, partMoved, partAttempts, partEntries, partSpans) {
		return nil, nil
	}
	todo, err := b.Queue.HumanTodo(ctx, p.viewer.human.ID, id)
	if err != nil {
		return nil, err
	}
	view := b.newTodoView(p.viewer, todo)
	view.Look = lensOf(p.looked)
	touched, whole := tracesTouched(is, was)
	only := slices.DeleteFunc(touched, func(seq int) bool { return view.Look.Only != nil && !slices.Contains(view.Look.Only, seq) })
	if whole {
		only = view.Look.Only
	}
	if err := b.fill(ctx, view, p.viewer.human.ID, only); err != nil {
		return nil, err
	}
	parts := []templ.Component{todoHead(view), jump(view), outcomeCard(view), timelineCard(view)}
	if whole {
		return append(parts, tracesSection(view)), nil
	}
	for i := range view.Traces {
		parts = append(parts, waterfall(view, view.Traces[i], false))
	}
	return parts, nil
}

// tracesTouched tells which waterfalls differ, and whether one of them is not on the page yet. When an attempt
// begins or ends, the headings of the latest two differ as well.
func tracesTouched(is, was stamps) (touched []int, whole bool) {
	touched = []int{}
	before, now := was.spansOf(), is.spansOf()
	for seq, n := range now {
		if before[seq] == 0 {
			return nil, true
		}
		if n != before[seq] {
			touched = append(touched, seq)
		}
	}
	if is.changed(was, partAttempts) {
		latest := is.attemptsOf()
		for _, seq := range []int{latest, latest - 1} {
			if now[seq] > 0 && !slices.Contains(touched, seq) {
				touched = append(touched, seq)
			}
		}
	}
	slices.Sort(touched)
	return touched, len(before) > len(now)
}

// outOfBand renders elements, each of which replaces the one with its id. An element is morphed whole: it is the
// only way of swapping out of band in which the element that carries the attribute is itself inserted, and a row
// of a table, which needs a wrapper of its own, is never one (board.md section 3).
func outOfBand(ctx context.Context, elements ...templ.Component) (string, error) {
	var out bytes.Buffer
	for _, e := range elements {
		var one bytes.Buffer
		if err := e.Render(ctx, &one); err != nil {
			return "", err
		}
		html := one.Bytes()
		tag := bytes.IndexAny(html, " >")
		if tag < 2 || html[0] != '<' {
			return "", fmt.Errorf("a frame's part must begin with its element")
		}
		out.Write(html[:tag])
		out.WriteString(` hx-swap-oob="morph"`)
		out.Write(html[tag:])
	}
	return out.String(), nil
}
