package board

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/a-h/templ"
	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/feed"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// frame collects the parts of a page that have changed: each is the whole of an element with an id.
func (b *board) frame(r *http.Request, v viewer, topic string, is, was stamps) (parts []templ.Component, err error) {
	ctx := r.Context()
	if is.changed(was, partFeed) {
		parts = append(parts, newsBadge(b.news(ctx, v.human.ID)))
	}
	id, isTodo := strings.CutPrefix(topic, topicTodo)
	switch {
	case isTodo:
		todo, _ := typeid.Todo.Parse(id) // it was read when the stream began
		more, err := b.todoFrame(r, v, todo, is, was)
		return append(parts, more...), err
	case topic == topicActivity:
		if is.changed(was, partFeed) {
			view, err := b.activityView(ctx, v, feed.Filter{})
			if err != nil {
				return nil, err
			}
			parts = append(parts, feedDays(view))
		}
	case is.changed(was, partLanes):
		view, err := b.lanesView(r, v, r.URL.Query())
		if err != nil {
			return nil, err
		}
		parts = append(parts, needs(view), receivedLane(view), readyLane(view), heldLane(view))
	}
	return parts, nil
}

// todoFrame collects the parts of a todo's page. The traces are the expensive ones: only the waterfalls whose
// spans or whose attempt changed are drawn again, and all of them when one of them is new.
func (b *board) todoFrame(r *http.Request, v viewer, id uuid.UUID, is, was stamps) ([]templ.Component, error) {
	if !is.changed(was, partMoved, partAttempts, partEntries, partSpans) {
		return nil, nil
	}
	todo, err := b.Queue.HumanTodo(r.Context(), v.human.ID, id)
	if err != nil {
		return nil, err
	}
	view := b.newTodoView(v, todo)
	view.Look = lensOf(r.URL.Query())
	touched, whole := tracesTouched(is, was)
	only := slices.DeleteFunc(touched, func(seq int) bool { return view.Look.Only != nil && !slices.Contains(view.Look.Only, seq) })
	if whole {
		only = view.Look.Only
	}
	if err := b.fill(r.Context(), view, v.human.ID, only); err != nil {
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
