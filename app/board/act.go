package board

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// deed is an action as a button offers it.
type deed struct {
	Action queue.Action
	Word   string
	Icon   string // empty: none
}

var (
	deedClaim    = deed{queue.ActionClaim, "Claim", ""}
	deedComplete = deed{queue.ActionComplete, "Complete", "i-check"}
	deedFail     = deed{queue.ActionFail, "Fail", ""}
	deedRetry    = deed{queue.ActionRetry, "Retry now", "i-retry"}
	deedExtend   = deed{queue.ActionExtend, "Extend", ""}
	deedRelease  = deed{queue.ActionRelease, "Release", ""}
	deedCancel   = deed{queue.ActionCancel, "Cancel", ""}
	deedAgain    = deed{queue.ActionAgain, "Run again", "i-retry"}
)

// done is what the next page says of an action.
var done = map[queue.Action]string{
	queue.ActionClaim:    "You hold it now, for five minutes.",
	queue.ActionComplete: "Completed.",
	queue.ActionFail:     "Marked as failed.",
	queue.ActionRetry:    "Back in the queue, its attempts counted anew.",
	queue.ActionExtend:   "The lease runs for five minutes from now.",
	queue.ActionRelease:  "Back in the queue.",
	queue.ActionCancel:   "Canceled.",
}

// deedsFor lists what a human can do to a todo as it stands. It is a hint of what the queue decides: a button that
// came too late is answered with a sentence.
func deedsFor(r *queue.Row, me string, endpointRevoked bool, now time.Time) (deeds []deed) {
	lapsed := r.LeaseExpiresAt != nil && r.LeaseExpiresAt.Before(now)
	mine := r.Owner != nil && *r.Owner == me
	switch r.State {
	case queue.StateDone, queue.StateCanceled, queue.StateRejected:
		if endpointRevoked {
			return nil
		}
		return []deed{deedAgain}
	}
	if r.Queue == queue.Quarantine {
		return nil // it is released or discarded where it waits
	}
	switch r.State {
	case queue.StatePending:
		if !endpointRevoked {
			deeds = append(deeds, deedClaim)
		}
	case queue.StateFailed:
		if !endpointRevoked {
			deeds = append(deeds, deedRetry)
		}
		if r.NextRetryAt == nil {
			return deeds // it has ended: nothing is left to cancel
		}
	case queue.StateClaimed:
		switch {
		case mine:
			deeds = append(deeds, deedComplete, deedFail, deedExtend, deedRelease)
		case lapsed && r.Attempt < r.MaxAttempts && !endpointRevoked:
			deeds = append(deeds, deedClaim)
		}
	case queue.StateInputRequired, queue.StateAuthRequired:
	default:
		return nil
	}
	return append(deeds, deedCancel)
}

// offeredOf is what a place offers of what can be done.
func offeredOf(deeds []deed, offered []queue.Action) []deed {
	return slices.DeleteFunc(deeds, func(d deed) bool { return !slices.Contains(offered, d.Action) })
}

// ownerName is how a human is named on what they hold.
func ownerName(h *identity.Human) string { return "human:" + typeid.Human.Format(h.ID) }

// act carries out one of the human's actions on a todo and shows where that leads. What the queue refuses is
// explained on the todo's page.
func (b *board) act(action queue.Action) page {
	return func(w http.ResponseWriter, r *http.Request, v viewer) error {
		id, ok := typeid.Todo.Parse(r.PathValue("id"))
		if !ok {
			return fault.ErrTodoNotFound
		}
		a, err := actOf(action, r)
		if err == nil {
			_, err = b.Queue.Act(r.Context(), v.human.ID, id, a)
		}
		if err != nil {
			return b.explained(w, r, v, err)
		}
		b.say(r.Context(), done[action])
		http.Redirect(w, r, backOf(r, "/todos/"+typeid.Todo.Format(id)), http.StatusSeeOther)
		return nil
	}
}

// runAgain has the work of a todo that has ended done once more, by a new todo, and leads to that.
func (b *board) runAgain(w http.ResponseWriter, r *http.Request, v viewer) error {
	id, ok := typeid.Todo.Parse(r.PathValue("id"))
	if !ok {
		return fault.ErrTodoNotFound
	}
	fresh, err := b.Queue.Again(r.Context(), v.human.ID, id, "", queue.ViaBoard)
	if err != nil {
		return b.explained(w, r, v, err)
	}
	b.say(r.Context(), "A new todo does the same work. The one before stays as it ended.")
	http.Redirect(w, r, "/todos/"+fresh.ID.String(), http.StatusSeeOther)
	return nil
}

// backOf is where a form says to go on: a path of this server, else otherwise.
func backOf(r *http.Request, otherwise string) string {
	if back := r.PostFormValue("back"); local(back) {
		return back
	}
	return otherwise
}

// actOf reads a form. Fields that were left empty are absent.
func actOf(action queue.Action, r *http.Request) (queue.Act, error) {
	a := queue.Act{Action: action, Via: queue.ViaBoard}
	field := func(name string) *string {
		text := strings.ReplaceAll(r.PostFormValue(name), "\r\n", "\n")
		if strings.TrimSpace(text) == "" {
			return nil
		}
		return &text
	}
	switch action {
	case queue.ActionFail:
		if r.PostFormValue("retry") == "no" {
			no := false
			a.Retry = &no
		}
		if text := field("retry_after_minutes"); text != nil {
			minutes, err := strconv.Atoi(strings.TrimSpace(*text))
			if err != nil || minutes < 0 || minutes > 1440 {
				return a, fault.InvalidArgument("the wait before the retry", "must be 0 to 1440 minutes")
			}
			seconds := minutes * 60
			a.RetryAfterSeconds = &seconds
		}
		fallthrough
	case queue.ActionComplete:
		if text := field("result"); text != nil {
			a.Result = json.RawMessage(*text)
		}
		fallthrough
	case queue.ActionRelease:
		a.Summary, a.Artifact = field("summary"), field("artifact")
		if a.Artifact != nil {
			trimmed := strings.TrimSpace(*a.Artifact)
			a.Artifact = &trimmed
		}
	}
	return a, nil
}

// explained shows the todo as it stands and, above it, why an action was refused. Any other error is the answer itself.
func (b *board) explained(w http.ResponseWriter, r *http.Request, v viewer, err error) error {
	status, why := refusedForm(err)
	if why == "" {
		return err
	}
	return b.todo(w, r, v, status, why)
}

// sentence makes prose of a refusal, which begins in lower case and ends without a stop.
func sentence(message string) string {
	first, size := utf8.DecodeRuneInString(message)
	return string(unicode.ToUpper(first)) + message[size:] + "."
}
