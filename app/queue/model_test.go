package queue_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/secret"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// The limits that hold in the model's database, small enough that scripts run into them.
const (
	modelAttempts  = 5 // attempts kept per todo
	modelNotes     = 2 // notes of an attempt
	modelActivity  = 5 // entries of a todo
	modelInterrupt = 10 * time.Minute
	modelAge       = 24 * time.Hour // of a terminal todo
	humanTTL       = 300
)

// world is queue.md's state machine as a small Go program without a database: what there is, and what each
// call makes of it. It holds rows as the database does, so that the two are compared column by column.
type world struct {
	now     time.Time
	trails  []*trail // the oldest first
	revoked map[uuid.UUID]bool
	hints   map[hintKey]hint // where claim_next may go on, for a second at most
	counts  map[string]int   // what the metrics must say

	// What chance decides is taken from what was answered and stored, after a check that chance may: the ids of
	// new todos, traces, lease tokens, and when a failed todo comes back.
	backoffs map[uuid.UUID]bool

	// skip holds todos that a call at the same instant works on, and that this one may find locked.
	skip map[uuid.UUID]bool
	// onlyClaims says that they were locked only when claim_next came to claim.
	onlyClaims bool
	// crowded says that calls may overtake each other, so that nobody knows where a hint is.
	crowded bool
}

type hintKey struct {
	endpoint uuid.UUID
	queue    string
}

type hint struct {
	createdAt time.Time
	id        uuid.UUID
}

func newWorld(now time.Time) *world {
	return &world{now: now, revoked: map[uuid.UUID]bool{}, hints: map[hintKey]hint{}, counts: map[string]int{}, backoffs: map[uuid.UUID]bool{}}
}

func (w *world) clone() *world {
	c := *w
	c.revoked, c.hints, c.counts, c.backoffs = maps.Clone(w.revoked), maps.Clone(w.hints), maps.Clone(w.counts), maps.Clone(w.backoffs)
	c.trails = make([]*trail, len(w.trails))
	for i, tr := range w.trails {
		c.trails[i] = &trail{tr.Todo, slices.Clone(tr.Attempts), slices.Clone(tr.Activity), slices.Clone(tr.Bindings)}
	}
	return &c
}

// answer is what a call answered: its code, and what else there was of it.
type answer struct {
	Code       string
	Row        *queue.Row
	Created    bool            // of a push
	Seq, Total int             // of a claim
	Prior      []queue.Attempt // of a claim
	Fenced     bool            // of a claim: a lease token came with it
	N          int             // of a background pass

	// Of the model's own answers: the row's retry waits for the backoff of this attempt.
	jitter int

	// What chance decides. The model's own answers leave it empty.
	id    uuid.UUID
	token string
	trace []byte
}

func refused(code string) answer { return answer{Code: code} }

func (w *world) answered(tr *trail) answer {
	row := rowOf(tr.Todo)
	a := answer{Code: "ok", Row: &row}
	if w.backoffs[tr.Todo.ID] {
		a.jitter = tr.Todo.Attempt
	}
	return a
}

// find is a todo within an endpoint's scope.
func (w *world) find(ep *identity.Endpoint, id uuid.UUID) *trail {
	for _, tr := range w.trails {
		if tr.Todo.ID == id && tr.Todo.EndpointID == ep.ID && slices.Contains(ep.Queues, tr.Todo.Queue) {
			return tr
		}
	}
	return nil
}

func (tr *trail) open() *attemptRow {
	if n := len(tr.Attempts); n > 0 && tr.Attempts[n-1].EndedAt == nil {
		return &tr.Attempts[n-1]
	}
	return nil
}

func (w *world) lapsed(tr *trail) bool {
	return tr.Todo.State == queue.StateClaimed && tr.Todo.LeaseExpiresAt.Before(w.now)
}

func (w *world) due(tr *trail) bool {
	return tr.Todo.State == queue.StateFailed && tr.Todo.NextRetryAt != nil && !w.backoffs[tr.Todo.ID] && !tr.Todo.NextRetryAt.After(w.now)
}

func interrupted(s queue.State) bool {
	return s == queue.StateInputRequired || s == queue.StateAuthRequired
}

func live(t todoRow) bool {
	return t.State == queue.StatePending || t.State == queue.StateClaimed || interrupted(t.State) ||
		t.State == queue.StateFailed && t.NextRetryAt != nil
}

// move leaves the todo in a state that nobody holds it in.
func (w *world) move(tr *trail, to queue.State) {
	t := &tr.Todo
	t.State, t.Owner, t.LeaseExpiresAt, t.InterruptedAt, t.NextRetryAt = to, nil, nil, nil, nil
	t.UpdatedAt = w.now
	t.EndedAt = nil
	if !live(*t) {
		at := w.now
		t.EndedAt = &at
	}
	delete(w.backoffs, t.ID)
	switch {
	case to == queue.StateFailed:
		w.counts["ended "+t.Queue+" dead_lettered"]++ // unless retryLater takes it back
	case to == queue.StateDone, to == queue.StateCanceled, to == queue.StateRejected:
		w.counts["ended "+t.Queue+" "+string(to)]++
	}
}

// retryLater makes a failed todo come back, after so many seconds or after a backoff.
func (w *world) retryLater(tr *trail, seconds *int) {
	at := w.now
	if seconds != nil {
		at = at.Add(time.Duration(*seconds) * time.Second)
	} else {
		w.backoffs[tr.Todo.ID] = true
	}
	tr.Todo.NextRetryAt, tr.Todo.EndedAt = &at, nil
	w.counts["ended "+tr.Todo.Queue+" dead_lettered"]--
}

// hold puts the todo into an owner's hands under a new attempt, and prunes the oldest attempts.
func (w *world) hold(tr *trail, owner string, a attemptRow) {
	t := &tr.Todo
	t.Attempt, t.AttemptsTotal = t.Attempt+1, t.AttemptsTotal+1
	for t.AttemptsTotal-t.AttemptsPruned > modelAttempts && len(tr.Attempts) > 0 {
		gone := tr.Attempts[0]
		tr.Attempts = tr.Attempts[1:]
		tr.Bindings = append(tr.Bindings, bindingRow{EndpointID: t.EndpointID, TodoID: t.ID, TraceID: gone.TraceID, AttemptSeq: &gone.Seq})
		t.AttemptsPruned++
	}
	a.TodoID, a.Seq, a.Attempt, a.ClaimedAt = t.ID, t.AttemptsTotal, t.Attempt, w.now
	tr.Attempts = append(tr.Attempts, a)
	end := w.now.Add(time.Duration(a.LeaseTTLSeconds) * time.Second)
	t.State, t.Owner, t.LeaseExpiresAt, t.NextRetryAt, t.UpdatedAt = queue.StateClaimed, &owner, &end, nil, w.now
	delete(w.backoffs, t.ID)
	w.counts["claimed "+t.Queue]++
}

// said is what a report leaves on its attempt.
type said struct{ summary, artifact *string }

func (w *world) end(tr *trail, outcome, disposition string, s said) {
	a := tr.open()
	at := w.now
	a.EndedAt, a.Outcome, a.Disposition, a.Summary, a.Artifact = &at, &outcome, &disposition, s.summary, s.artifact
	a.FenceHash, a.RequestID = nil, nil
	w.counts["closed "+tr.Todo.Queue+" "+outcome]++
}

// log writes entries of one transition, and makes room for them among notes and rings.
func (w *world) log(tr *trail, entries ...activityRow) {
	t := &tr.Todo
	for n := len(tr.Activity) + len(entries) - modelActivity; n > 0; n-- {
		i := slices.IndexFunc(tr.Activity, func(e activityRow) bool { return e.Kind == queue.KindNote })
		if i < 0 {
			break
		}
		tr.Activity = slices.Delete(tr.Activity, i, i+1)
		t.ActivityPruned++
	}
	for _, e := range entries {
		t.ActivitySeq++
		e.TodoID, e.Seq, e.At = t.ID, t.ActivitySeq, w.now
		tr.Activity = append(tr.Activity, e)
		w.counts["activity "+e.Kind]++
	}
}

func jsonText(v any) *string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	s := string(text)
	return &s
}

func (w *world) logA2A(tr *trail, ep *identity.Endpoint, action string, seq *int) {
	w.log(tr, activityRow{AttemptSeq: seq, Kind: queue.KindA2AState, ActorKind: "endpoint", ActorRef: typeid.Endpoint.Format(ep.ID),
		Detail: jsonText(map[string]any{"action": action})})
}

func (tr *trail) openSeq() *int {
	if a := tr.open(); a != nil {
		seq := a.Seq
		return &seq
	}
	return nil
}

// oldest sorts by the order of claims.
func oldest(found []*trail) []*trail {
	slices.SortFunc(found, func(a, b *trail) int {
		return cmp.Or(a.Todo.CreatedAt.Compare(b.Todo.CreatedAt), bytes.Compare(a.Todo.ID[:], b.Todo.ID[:]))
	})
	return found
}

func (w *world) all(fits func(tr *trail) bool) (found []*trail) {
	for _, tr := range w.trails {
		if fits(tr) {
			found = append(found, tr)
		}
	}
	return oldest(found)
}

// admits says whether a token opens the fence of an attempt.
func (a *attemptRow) admits(token *string) bool {
	if token == nil {
		return a.FenceHash == nil
	}
	return a.FenceHash != nil && bytes.Equal(a.FenceHash, secret.Hash(*token))
}

func ownerOf(ep *identity.Endpoint) string { return "agent:" + typeid.Agent.Format(ep.AgentID) }

// attemptOf is how an attempt reads on the wire.
func attemptOf(a attemptRow) queue.Attempt {
	return queue.Attempt{Seq: a.Seq, Attempt: a.Attempt, ClaimerKind: a.ClaimerKind, Claimant: a.Claimant, ClaimedAt: a.ClaimedAt,
		LastHeartbeatAt: a.LastHeartbeatAt, EndedAt: a.EndedAt, Outcome: a.Outcome, Disposition: a.Disposition,
		Died:    a.Outcome != nil && (*a.Outcome == "reaped" || *a.Outcome == "lease_expired"),
		Summary: a.Summary, SummaryTruncated: a.SummaryTruncated, Artifact: a.Artifact, TraceID: hexOf(a.TraceID), NotesDropped: a.NotesDropped}
}
