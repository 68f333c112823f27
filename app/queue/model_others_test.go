package queue_test

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// What A2A, humans and the background do.

func (w *world) a2a(c call) answer {
	tr := w.find(c.endpoint, c.id)
	if tr == nil {
		return refused("not_found")
	}
	t, seq := &tr.Todo, tr.openSeq()
	switch {
	case c.Do == doInterrupt && t.State == queue.StateClaimed:
		if _, _, refusal := w.held(c); refusal != "" {
			return refused(refusal)
		}
		at := w.now
		t.State, t.InterruptedAt, t.UpdatedAt = c.ask(), &at, w.now
		w.logA2A(tr, c.endpoint, string(t.State), seq)
	case c.Do == doResume && interrupted(t.State):
		end := w.now.Add(time.Duration(tr.open().LeaseTTLSeconds) * time.Second)
		t.State, t.InterruptedAt, t.LeaseExpiresAt, t.UpdatedAt = queue.StateClaimed, nil, &end, w.now
		w.logA2A(tr, c.endpoint, "resume", seq)
	case c.Do == doCancel && live(*t):
		if seq != nil {
			w.end(tr, "canceled", "canceled", said{})
		}
		w.move(tr, queue.StateCanceled)
		w.logA2A(tr, c.endpoint, "cancel", seq)
	case c.Do == doCancel && t.State == queue.StateCanceled:
		// it stays as it is
	case c.Do == doReject && t.State == queue.StatePending:
		w.move(tr, queue.StateRejected)
		w.logA2A(tr, c.endpoint, "reject", nil)
	default:
		return refused("conflict")
	}
	return w.answered(tr)
}

// act is what a human does.
func (w *world) act(c call) answer {
	i := slices.IndexFunc(w.trails, func(tr *trail) bool { return tr.Todo.ID == c.id && tr.Todo.HumanID == c.human })
	if i < 0 {
		return refused("not_found")
	}
	tr := w.trails[i]
	t, seq, me := &tr.Todo, tr.openSeq(), "human:"+typeid.Human.Format(c.human)
	mine := t.State == queue.StateClaimed && *t.Owner == me
	takes := w.lapsed(tr) && t.Attempt < t.MaxAttempts
	var retried []activityRow
	switch a := c.action(); {
	case a == queue.ActionClaim && !w.revoked[t.EndpointID] && (t.State == queue.StatePending || w.due(tr) || takes):
		if takes {
			w.end(tr, "lease_expired", "requeued", said{})
		}
		w.hold(tr, me, attemptRow{ClaimerKind: "owner", LeaseTTLSeconds: humanTTL})
		seq = tr.openSeq()
	case a == queue.ActionExtend && mine:
		end := w.now.Add(humanTTL * time.Second)
		t.LeaseExpiresAt, t.UpdatedAt = &end, w.now
	case (a == queue.ActionComplete || a == queue.ActionFail || a == queue.ActionRelease) && mine:
		c.Do = map[queue.Action]do{queue.ActionComplete: doComplete, queue.ActionFail: doFail, queue.ActionRelease: doRelease}[a]
		w.finish(tr, c)
	case a == queue.ActionRetry && t.State == queue.StateFailed && !w.revoked[t.EndpointID] && !w.keyPassedOn(tr):
		retried = []activityRow{w.retried(tr, c)}
		w.move(tr, queue.StatePending)
		t.Attempt, t.Result = 0, nil
	case a == queue.ActionCancel && live(*t):
		if seq != nil {
			w.end(tr, "canceled", "canceled", said{})
		}
		w.move(tr, queue.StateCanceled)
	default:
		return refused("conflict")
	}
	did := activityRow{AttemptSeq: seq, Kind: queue.KindHumanAction, ActorKind: "human", ActorRef: typeid.Human.Format(c.human),
		Detail: jsonText(map[string]any{"action": c.action(), "via": "api"})}
	w.log(tr, append([]activityRow{did}, retried...)...)
	return w.answered(tr)
}

// keyPassedOn says whether a dead letter's idempotency key belongs to another todo by now.
func (w *world) keyPassedOn(tr *trail) bool {
	return tr.Todo.IdempotencyKey != nil && slices.ContainsFunc(w.trails, func(other *trail) bool {
		return other != tr && other.Todo.EndpointID == tr.Todo.EndpointID && other.Todo.IdempotencyKey != nil && live(other.Todo)
	})
}

// retried is the entry that keeps what a retry wiped out.
func (w *world) retried(tr *trail, c call) activityRow {
	t := tr.Todo
	prior := map[string]any{"state": t.State, "attempt": t.Attempt, "max_attempts": t.MaxAttempts, "dead_letter": t.NextRetryAt == nil,
		"next_retry_at": t.NextRetryAt, "result": t.Result}
	if w.backoffs[t.ID] {
		prior["next_retry_at"] = "?"
	}
	return activityRow{Kind: queue.KindRetried, ActorKind: "human", ActorRef: typeid.Human.Format(c.human),
		Detail: jsonText(map[string]any{"prior": prior})}
}

// reap closes what has lapsed: all of it, or as far as a slow reaper has seen it.
func (w *world) reap(seen []uuid.UUID) answer {
	n := 0
	for _, tr := range w.trails {
		late := w.lapsed(tr) || tr.Todo.InterruptedAt != nil && tr.Todo.InterruptedAt.Before(w.now.Add(-modelInterrupt))
		if seen != nil {
			late = w.lapsed(tr) && slices.Contains(seen, tr.Todo.ID)
		}
		if !late || w.skip[tr.Todo.ID] {
			continue
		}
		n++
		if tr.Todo.Attempt < tr.Todo.MaxAttempts {
			w.end(tr, "reaped", "requeued", said{})
			w.move(tr, queue.StatePending)
		} else {
			w.end(tr, "reaped", "dead_lettered", said{})
			w.move(tr, queue.StateFailed)
		}
	}
	return answer{Code: "ok", N: n}
}

func (w *world) requeue(endpoint *uuid.UUID) answer {
	n := 0
	for _, tr := range w.trails {
		if w.due(tr) && (endpoint == nil || tr.Todo.EndpointID == *endpoint) && (!w.skip[tr.Todo.ID] || w.onlyClaims) {
			n++
			w.move(tr, queue.StatePending)
		}
	}
	return answer{Code: "ok", N: n}
}

func (w *world) revoke(c call) answer {
	w.revoked[c.endpoint.ID] = true
	for _, tr := range w.trails {
		if tr.Todo.EndpointID != c.endpoint.ID || !live(tr.Todo) {
			continue
		}
		if tr.open() != nil {
			w.end(tr, "revoked", "dead_lettered", said{})
		}
		w.move(tr, queue.StateFailed)
	}
	return answer{Code: "ok"}
}

func (w *world) prune() answer {
	n := len(w.trails)
	w.trails = slices.DeleteFunc(w.trails, func(tr *trail) bool {
		return !live(tr.Todo) && tr.Todo.UpdatedAt.Before(w.now.Add(-modelAge)) && !w.skip[tr.Todo.ID]
	})
	return answer{Code: "ok", N: n - len(w.trails)}
}
