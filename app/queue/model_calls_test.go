package queue_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/secret"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

func hexOf(b []byte) string { return hex.EncodeToString(b) }

// apply is what a call does to the world, and what it must answer. got is what it did answer: it decides only
// what chance, or the order of two calls at one instant, may decide.
func (w *world) apply(c call, got answer) answer {
	switch c.Do {
	case doPush:
		return w.push(c, got)
	case doClaim:
		return w.claim(c, got)
	case doNext:
		return w.next(c, got)
	case doBeat:
		return w.beat(c)
	case doComplete, doFail, doRelease:
		return w.report(c)
	case doInterrupt, doResume, doCancel, doReject:
		return w.a2a(c)
	case doAct:
		return w.act(c)
	case doReap:
		return w.reap(nil)
	case doStrike:
		return w.reap(c.seen)
	case doDue:
		return w.requeue(nil)
	case doRevoke:
		return w.revoke(c)
	case doPrune:
		return w.prune()
	default: // looking changes nothing
		return answer{Code: "ok"}
	}
}

func (w *world) push(c call, got answer) answer {
	if w.revoked[c.endpoint.ID] {
		return refused("conflict")
	}
	var key *string
	if c.Key {
		key = ptr("k-1")
		for _, tr := range w.trails {
			if tr.Todo.EndpointID == c.endpoint.ID && tr.Todo.IdempotencyKey != nil && live(tr.Todo) {
				return w.answered(tr)
			}
		}
	}
	tr := &trail{Todo: todoRow{ID: got.id, EndpointID: c.endpoint.ID, HumanID: c.endpoint.HumanID, Queue: c.queue(), Source: "operator",
		Title: "todo", IdempotencyKey: key, State: queue.StatePending, MaxAttempts: c.Max, CreatedAt: w.now, UpdatedAt: w.now}}
	w.trails = append(w.trails, tr)
	w.counts["created "+tr.Todo.Queue+" operator"]++
	a := w.answered(tr)
	a.Created = true
	return a
}

// claimed is the answer of a claim that holds the todo now.
func (w *world) claimed(tr *trail, fenced bool) answer {
	a := w.answered(tr)
	a.Seq, a.Total, a.Fenced, a.Prior = tr.Todo.AttemptsTotal, tr.Todo.AttemptsTotal, fenced, []queue.Attempt{}
	for _, closed := range slices.Backward(tr.Attempts) {
		if closed.EndedAt != nil && len(a.Prior) < 5 {
			a.Prior = append(a.Prior, attemptOf(closed))
		}
	}
	return a
}

// opened opens an endpoint's attempt.
func (w *world) opened(tr *trail, c call, got answer) answer {
	a := attemptRow{ClaimerKind: "endpoint", EndpointID: &c.endpoint.ID, TraceID: got.trace, LeaseTTLSeconds: cmpOr(c.TTL, 300)}
	if c.Fence {
		a.FenceHash = secret.Hash(got.token)
	}
	a.RequestID = c.request()
	w.hold(tr, ownerOf(c.endpoint), a)
	return w.claimed(tr, c.Fence)
}

func cmpOr(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}

// repeated is a claim whose request has an open attempt already.
func (w *world) repeated(c call, got answer) (a answer, repeated bool) {
	for _, tr := range w.trails {
		open := tr.open()
		if c.request() == nil || open == nil || open.RequestID == nil || *open.RequestID != *c.request() || tr.Todo.EndpointID != c.endpoint.ID {
			continue
		}
		if c.Do == doClaim && tr.Todo.ID != c.id {
			return refused("conflict"), true
		}
		fenced := open.FenceHash != nil
		if fenced {
			open.FenceHash = secret.Hash(got.token)
		}
		return w.claimed(tr, fenced), true
	}
	return answer{}, false
}

func (w *world) claim(c call, got answer) answer {
	if a, repeated := w.repeated(c, got); repeated {
		return a
	}
	tr := w.find(c.endpoint, c.id)
	switch {
	case tr == nil:
		return refused("not_found")
	case tr.Todo.State == queue.StatePending, w.due(tr):
		return w.opened(tr, c, got)
	case w.lapsed(tr) && tr.Todo.Attempt < tr.Todo.MaxAttempts && !w.skip[tr.Todo.ID]:
		w.end(tr, "lease_expired", "requeued", said{})
		return w.opened(tr, c, got)
	default:
		return refused("conflict")
	}
}

func (w *world) next(c call, got answer) answer {
	if a, repeated := w.repeated(c, got); repeated {
		return a
	}
	mine, pending := w.nextMay(c)
	w.prepareNext(c)
	found := w.all(pending)
	if len(found) > 0 {
		tr := w.oldestOrHinted(hintKey{c.endpoint.ID, c.lane()}, found, got)
		return w.opened(tr, c, got)
	}
	lapsed := w.all(func(tr *trail) bool { return mine(tr) && w.lapsed(tr) && tr.Todo.Attempt < tr.Todo.MaxAttempts })
	if len(lapsed) == 0 {
		return answer{Code: "empty"}
	}
	w.end(lapsed[0], "lease_expired", "requeued", said{})
	return w.opened(lapsed[0], c, got)
}

// nextMay says which todos a claim_next may claim, and which it claims first.
func (w *world) nextMay(c call) (mine, pending func(*trail) bool) {
	queues := c.endpoint.Queues
	if c.Lane != 0 {
		queues = []string{c.queue()}
	}
	mine = func(tr *trail) bool {
		return tr.Todo.EndpointID == c.endpoint.ID && slices.Contains(queues, tr.Todo.Queue) && !w.skip[tr.Todo.ID]
	}
	return mine, func(tr *trail) bool { return tr.Todo.State == queue.StatePending && mine(tr) }
}

// prepareNext is the first half of a claim_next that finds nothing pending: due retries become so.
func (w *world) prepareNext(c call) {
	if _, pending := w.nextMay(c); len(w.all(pending)) == 0 {
		w.requeue(&c.endpoint.ID)
	}
}

// oldestOrHinted is the oldest, or the oldest behind the place of the last claim: an older todo that came
// back may wait a second.
func (w *world) oldestOrHinted(key hintKey, found []*trail, got answer) *trail {
	choice := found[0]
	if h, hinted := w.hints[key]; hinted {
		i := slices.IndexFunc(found, func(tr *trail) bool {
			at := tr.Todo.CreatedAt.Compare(h.createdAt)
			return at > 0 || at == 0 && bytes.Compare(tr.Todo.ID[:], h.id[:]) > 0
		})
		if w.crowded {
			i = slices.IndexFunc(found, func(tr *trail) bool { return tr.Todo.ID == got.id })
		}
		if i > 0 && got.id == found[i].Todo.ID {
			choice = found[i]
		}
	}
	w.hints[key] = hint{choice.Todo.CreatedAt, choice.Todo.ID}
	return choice
}

// held is what a report finds: the todo and its open attempt, or why not.
func (w *world) held(c call) (*trail, *attemptRow, string) {
	tr := w.find(c.endpoint, c.id)
	if tr == nil {
		return nil, nil, "not_found"
	}
	open := tr.open()
	if open == nil || *tr.Todo.Owner != ownerOf(c.endpoint) || !open.admits(c.token) {
		return nil, nil, "conflict"
	}
	if w.skip[c.id] && open.ClaimedAt.Equal(w.now) {
		return nil, nil, "conflict" // it came for the attempt before, which ended while it waited
	}
	return tr, open, ""
}

func (w *world) beat(c call) answer {
	tr, a, refusal := w.held(c)
	if refusal != "" {
		return refused(refusal)
	}
	at := w.now
	a.LastHeartbeatAt = &at
	if c.TTL != 0 {
		a.LeaseTTLSeconds = c.TTL
	}
	end := w.now.Add(time.Duration(a.LeaseTTLSeconds) * time.Second)
	if t := &tr.Todo; t.State == queue.StateClaimed && (c.TTL != 0 || end.After(*t.LeaseExpiresAt)) {
		t.LeaseExpiresAt = &end
	}
	tr.Todo.UpdatedAt = w.now
	switch {
	case c.Note && a.Notes >= modelNotes:
		a.NotesDropped++
		told := w.answered(tr)
		told.Row.NotesDropped = ptr(a.NotesDropped)
		return told
	case c.Note:
		a.Notes++
		seq := a.Seq
		w.log(tr, activityRow{AttemptSeq: &seq, Kind: queue.KindNote, ActorKind: "endpoint", ActorRef: typeid.Endpoint.Format(c.endpoint.ID),
			Message: ptr("note")})
	}
	return w.answered(tr)
}

func (w *world) report(c call) answer {
	tr, _, refusal := w.held(c)
	if refusal != "" {
		return refused(refusal)
	}
	w.finish(tr, c)
	return w.answered(tr)
}

// finish ends the open attempt by its holder's own report, an agent's or a human's.
func (w *world) finish(tr *trail, c call) {
	s := said{ptr(saidSummary), ptr(saidArtifact)}
	switch c.Do {
	case doComplete:
		w.end(tr, "completed", "done", s)
		w.move(tr, queue.StateDone)
		tr.Todo.Result = ptr(saidResult)
	case doRelease:
		w.end(tr, "released", "requeued", s)
		w.move(tr, queue.StatePending)
	case doFail:
		retry := !c.Never && tr.Todo.Attempt < tr.Todo.MaxAttempts
		w.end(tr, "failed", map[bool]string{true: "retry_scheduled", false: "dead_lettered"}[retry], s)
		w.move(tr, queue.StateFailed)
		tr.Todo.Result = ptr(saidResult)
		if retry {
			w.retryLater(tr, c.after())
		}
	}
}

// sameJSON compares details as values. What the model cannot know is "?".
func sameJSON(want, got *string) bool {
	if want == nil || got == nil {
		return want == got
	}
	var a, b any
	if json.Unmarshal([]byte(*want), &a) != nil || json.Unmarshal([]byte(*got), &b) != nil {
		return false
	}
	return sameValue(a, b)
}

func sameValue(want, got any) bool {
	if want == "?" {
		return true
	}
	w, isMap := want.(map[string]any)
	g, alsoMap := got.(map[string]any)
	if !isMap || !alsoMap {
		return want == got
	}
	for key := range g {
		if _, known := w[key]; !known {
			return false
		}
	}
	for key, v := range w {
		if !sameValue(v, g[key]) {
			return false
		}
	}
	return true
}
