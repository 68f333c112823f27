package trail

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/switchboard-otel/switchboard/app/intake"
	"github.com/switchboard-otel/switchboard/app/queue"
)

// Kind is what an item of the timeline tells.
type Kind string

// The kinds of items (REQ-12). Those of the activity log keep its names.
const (
	KindReceived       Kind = "received"
	KindVerified       Kind = "verified"
	KindRouted         Kind = "routed"
	KindCreated        Kind = "created"
	KindAttemptsPruned Kind = "attempts_pruned"
	KindClaimed        Kind = "claimed"
	KindEnded          Kind = "ended"
	KindNote           Kind = "note"
	KindAction         Kind = "human_action"
	KindRetried        Kind = "retried"
	KindA2A            Kind = "a2a_state"
	KindRung           Kind = "rung"
)

// Item is one thing that happened.
type Item struct {
	Kind     Kind
	At       time.Time
	Activity *queue.ActivityEntry // of a kind of the activity log
	Retried  *queue.ActivityEntry // of a retry: what stood before it (decisions.md 31)
	Pruned   int                  // of KindAttemptsPruned: how many
	Event    *intake.Event        // of what came before the todo: the delivery
	Route    *Route               // of KindRouted
	Quiet    time.Duration        // the last that was heard of a worker that died: how long before its end
	Evidence Evidence             // how it is known
}

// Entry is an item of its own, or an attempt with its items.
type Entry struct {
	Item
	Attempt *queue.Attempt // nil: an item of its own
	Items   []Item         // of an attempt: its claim, notes and actions, its end
}

// Timeline is a todo's trail, oldest first (REQ-12), as far as one page shows it.
type Timeline struct {
	Entries []Entry
	Total   int // items in all, each claim, note, action and end counted
	Older   int // items before the first shown
	Newer   int // items after the last shown
}

// Merge builds the timeline of a todo, from the event it came from on; nil when it came from none. A page shows at
// most limit items, the newest after skip (decisions.md 42). An entry of the activity log belongs to the attempt it
// names, else to the attempt that was open then.
func Merge(event *intake.Event, todo *queue.Detail, activity []queue.ActivityEntry, limit, skip int) Timeline {
	attempts := slices.Clone(todo.Attempts)
	slices.SortFunc(attempts, func(a, b queue.Attempt) int { return a.Seq - b.Seq })
	groups := make([]Entry, len(attempts))
	for i := range attempts {
		groups[i] = open(&attempts[i])
	}
	own := append(intakeOf(event), Entry{Item: Item{Kind: KindCreated, At: todo.CreatedAt}})
	if todo.AttemptsPruned > 0 {
		own = append(own, Entry{Item: Item{Kind: KindAttemptsPruned, Pruned: todo.AttemptsPruned, At: prunedUntil(todo, attempts)}})
	}
	for _, item := range fold(activity) {
		if g := groupOf(item, attempts); g >= 0 {
			groups[g].Items = append(groups[g].Items, item)
			continue
		}
		own = append(own, Entry{Item: item})
	}
	for i := range groups {
		groups[i].close()
	}
	entries := append(own, groups...)
	attest(entries)
	slices.SortStableFunc(entries, func(a, b Entry) int { return a.At.Compare(b.At) })
	return page(entries, limit, skip)
}

// prunedUntil places the notice of pruned attempts: they all ended before the oldest kept one was claimed.
func prunedUntil(todo *queue.Detail, attempts []queue.Attempt) time.Time {
	if len(attempts) == 0 {
		return todo.CreatedAt
	}
	return attempts[0].ClaimedAt
}

func open(a *queue.Attempt) Entry {
	return Entry{Item: Item{Kind: KindClaimed, At: a.ClaimedAt}, Attempt: a, Items: []Item{{Kind: KindClaimed, At: a.ClaimedAt}}}
}

// close orders what happened during an attempt and adds its end. The claim stays first and the end last,
// also when another entry carries the same instant.
func (e *Entry) close() {
	slices.SortStableFunc(e.Items[1:], func(a, b Item) int { return a.At.Compare(b.At) })
	a := e.Attempt
	if a.EndedAt == nil {
		return
	}
	if a.Died {
		last := &e.Items[len(e.Items)-1]
		heard := last.At
		if a.LastHeartbeatAt != nil && a.LastHeartbeatAt.After(heard) {
			heard = *a.LastHeartbeatAt
		}
		last.Quiet = max(a.EndedAt.Sub(heard), 0)
	}
	e.Items = append(e.Items, Item{Kind: KindEnded, At: *a.EndedAt})
}

// fold makes one item of a human's retry, which is written as two rows of one transaction.
func fold(activity []queue.ActivityEntry) []Item {
	items := make([]Item, 0, len(activity))
	for i := 0; i < len(activity); i++ {
		e := &activity[i]
		item := Item{Kind: Kind(e.Kind), At: e.At, Activity: e}
		if i+1 < len(activity) && retries(e, &activity[i+1]) {
			i++
			item.Kind, item.Retried = KindRetried, &activity[i]
		}
		items = append(items, item)
	}
	return items
}

func retries(action, retried *queue.ActivityEntry) bool {
	return Kind(action.Kind) == KindAction && Kind(retried.Kind) == KindRetried && ActionOf(action) == "retry"
}

// ActionOf names what a human did, in the words of the activity log ("retry", "extend"); empty when it does not say.
func ActionOf(e *queue.ActivityEntry) string {
	var detail struct {
		Action string `json:"action"`
	}
	if json.Unmarshal(e.Detail, &detail) != nil {
		return ""
	}
	return detail.Action
}

// groupOf finds the attempt an item belongs to, -1 for none: the one it names, else the one it fell in.
// An attempt that was pruned is none. attempts are in ascending seq.
func groupOf(item Item, attempts []queue.Attempt) int {
	if seq := item.Activity.AttemptSeq; seq != nil {
		i, found := slices.BinarySearchFunc(attempts, *seq, func(a queue.Attempt, seq int) int { return a.Seq - seq })
		if !found {
			return -1
		}
		return i
	}
	for i, a := range attempts {
		if item.At.After(a.ClaimedAt) && (a.EndedAt == nil || item.At.Before(*a.EndedAt)) {
			return i
		}
	}
	return -1
}

// page cuts the window of items [total-skip-limit, total-skip) out of the entries.
func page(entries []Entry, limit, skip int) Timeline {
	total := 0
	for i := range entries {
		total += entries[i].size()
	}
	to := max(total-max(skip, 0), 0)
	from := max(to-max(limit, 0), 0)
	t := Timeline{Total: total, Older: from, Newer: total - to}
	at := 0
	for _, e := range entries {
		first, last := at, at+e.size()
		at = last
		if max(from, first) >= min(to, last) {
			continue
		}
		if e.Attempt != nil {
			e.Items = e.Items[max(from-first, 0):min(to-first, len(e.Items))]
		}
		t.Entries = append(t.Entries, e)
	}
	return t
}

func (e *Entry) size() int {
	if e.Attempt == nil {
		return 1
	}
	return len(e.Items)
}

// LastClosed is the attempt whose outcome a todo's page leads with: the most recent one that has ended, nil
// when none has (REQ-11).
func LastClosed(attempts []queue.Attempt) *queue.Attempt {
	var last *queue.Attempt
	for i := range attempts {
		if a := &attempts[i]; a.EndedAt != nil && (last == nil || a.Seq > last.Seq) {
			last = a
		}
	}
	return last
}
