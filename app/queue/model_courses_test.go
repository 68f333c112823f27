package queue_test

import (
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
)

// explain takes the first course of the model that leads to what has happened.
func (r *rig) explain(calls []call, got []answer) (failed bool) {
	rows := r.trails(r.t)
	var differs []string
	for c := range r.courses(calls, got) {
		diff := c.differs(got, rows)
		if diff == "" {
			r.model = c.world
			return false
		}
		if c.plain {
			differs = append(differs, fmt.Sprintf("      not %s (-model +store):\n%s", c.name, diff))
		}
	}
	r.log = append(r.log, differs...)
	return true
}

// course is one way in which calls may go.
type course struct {
	name  string
	plain bool // nothing was skipped
	world *world
	want  []answer
}

// courses are the ways in which calls may go: a single call has one. Of two at the same instant either may be
// first, and one that does not wait for locks may skip any of the todos that the other one works on.
func (r *rig) courses(calls []call, got []answer) iter.Seq[course] {
	return func(yield func(course) bool) {
		if len(calls) == 1 {
			c := course{"as the model says", true, r.model.clone(), make([]answer, 1)}
			c.want[0] = c.world.apply(calls[0], got[0])
			yield(c)
			return
		}
		orders := [][2]int{{0, 1}, {1, 0}}
		for _, order := range orders {
			if !yield(r.course(calls, got, order, lapse{})) {
				return
			}
		}
		for _, order := range orders {
			for turn, j := range order {
				for _, skip := range subsets(r.touched(calls[1-j], got[1-j])) {
					for _, halves := range []bool{false, true} {
						if !yield(r.course(calls, got, order, lapse{turn, skip, halves, false})) || !yield(r.course(calls, got, order, lapse{turn, skip, halves, true})) {
							return
						}
					}
				}
			}
		}
	}
}

// lapse is how a call may do less than it would alone, because of the one at the same instant.
type lapse struct {
	turn       int                // of the call that skips
	skip       map[uuid.UUID]bool // what it finds locked
	halves     bool               // a claim_next as second call made due retries pending before the first call
	onlyClaims bool               // it found them locked only when it came to claim
}

// course makes calls in an order.
func (r *rig) course(calls []call, got []answer, order [2]int, l lapse) course {
	c := course{fmt.Sprintf("call %d first", order[0]+1), l.skip == nil, r.model.clone(), make([]answer, 2)}
	c.world.crowded = true
	if second := calls[order[1]]; l.halves && second.Do == doNext {
		c.world.prepareNext(second)
	}
	for turn, j := range order {
		if turn == l.turn {
			c.world.skip, c.world.onlyClaims = l.skip, l.onlyClaims
		}
		c.want[j] = c.world.apply(calls[j], got[j])
		c.world.skip, c.world.onlyClaims = nil, false
	}
	return c
}

// subsets begin with the empty one.
func subsets(ids map[uuid.UUID]bool) (all []map[uuid.UUID]bool) {
	all = []map[uuid.UUID]bool{{}}
	for id := range ids {
		for _, without := range slices.Clone(all) {
			with := maps.Clone(without)
			with[id] = true
			all = append(all, with)
		}
	}
	return all
}

// touched is what a call may hold a lock on: the todo it names, and what it changes.
func (r *rig) touched(c call, got answer) map[uuid.UUID]bool {
	ids := map[uuid.UUID]bool{}
	for _, id := range []uuid.UUID{c.id, got.id} {
		if id != uuid.Nil {
			ids[id] = true
		}
	}
	after := r.model.clone()
	after.apply(c, got)
	for i, tr := range r.model.trails {
		if i >= len(after.trails) || !equalTrails([]*trail{tr}, after.trails[i:i+1]) {
			ids[tr.Todo.ID] = true
		}
	}
	return ids
}

// differs compares a course with what was answered and stored. What chance decided it takes over, where
// chance may decide it.
func (c *course) differs(got []answer, rows []*trail) string {
	for i := range got {
		want, got := c.want[i], got[i]
		if want.Row != nil && got.Row != nil && want.jitter > 0 && got.Row.NextRetryAt != nil &&
			inBackoff(got.Row.NextRetryAt.Sub(c.world.now), want.jitter) {
			want.Row.NextRetryAt = got.Row.NextRetryAt
		}
		plain := got
		plain.id, plain.token, plain.trace, plain.jitter = want.id, want.token, want.trace, want.jitter
		if !reflect.DeepEqual(want, plain) {
			return fmt.Sprintf("answer %d\n%s", i+1, cmp.Diff(want, plain, cmp.AllowUnexported(answer{})))
		}
	}
	slices.SortFunc(c.world.trails, func(a, b *trail) int { return strings.Compare(hexOf(a.Todo.ID[:]), hexOf(b.Todo.ID[:])) })
	if len(c.world.trails) == len(rows) {
		for i, tr := range c.world.trails {
			c.world.adopt(tr, rows[i])
		}
	}
	if equalTrails(c.world.trails, rows) { // much faster than the difference in words
		return ""
	}
	return cmp.Diff(c.world.trails, rows, cmpopts.EquateEmpty())
}

func equalTrails(a, b []*trail) bool {
	return slices.EqualFunc(a, b, func(a, b *trail) bool {
		return reflect.DeepEqual(a.Todo, b.Todo) && equalRows(a.Attempts, b.Attempts) && equalRows(a.Activity, b.Activity) &&
			equalRows(a.Bindings, b.Bindings)
	})
}

func equalRows[R any](a, b []R) bool {
	return slices.EqualFunc(a, b, func(a, b R) bool { return reflect.DeepEqual(a, b) })
}

// adopt takes over what chance has decided.
func (w *world) adopt(tr, row *trail) {
	if at := row.Todo.NextRetryAt; w.backoffs[tr.Todo.ID] && at != nil && inBackoff(at.Sub(w.now), tr.Todo.Attempt) {
		tr.Todo.NextRetryAt = at
		delete(w.backoffs, tr.Todo.ID)
	}
	for i := range min(len(tr.Attempts), len(row.Attempts)) {
		if trace := row.Attempts[i].TraceID; tr.Attempts[i].TraceID == nil && len(trace) == 16 {
			tr.Attempts[i].TraceID = trace
		}
	}
	for i := range min(len(tr.Activity), len(row.Activity)) {
		if sameJSON(tr.Activity[i].Detail, row.Activity[i].Detail) {
			tr.Activity[i].Detail = row.Activity[i].Detail
		}
	}
}
