package queue_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/queue"
)

// script is what a property test does: steps of one call, or of two at the same instant. It is drawn at
// random and, once it has failed, made as short and plain as it can be while it still fails. (rapid would
// draw and shrink too, but it can neither bound the time of a shrink per test nor repeat a race.)
type script []step

type step []op

type do string

const (
	doPush      do = "push"
	doClaim     do = "claim"
	doNext      do = "claim_next"
	doBeat      do = "heartbeat"
	doComplete  do = "complete"
	doFail      do = "fail"
	doRelease   do = "release"
	doInterrupt do = "interrupt"
	doResume    do = "resume"
	doCancel    do = "cancel"
	doReject    do = "reject"
	doAct       do = "act"
	doRevoke    do = "revoke"
	doReap      do = "reap"
	doLook      do = "reaper looks"   // a slow reaper notes what has lapsed,
	doStrike    do = "reaper strikes" // and closes that later
	doDue       do = "requeue due"
	doPrune     do = "prune"
	doPass      do = "time"
)

// op is one call, before it is known which rows it will meet. A zero field is the plainest choice.
type op struct {
	Do                            do
	Who                           int  // a worker; see workers
	Todo                          int  // counted from the oldest, round and round: among all,
	Aim                           bool // or among those to which the call may do something
	Lane                          int  // 0: none named, else one of the endpoint's queues
	Max                           int
	TTL                           int // seconds; 0: none given
	Token                         int // of tokens
	After                         int // of afters
	Request                       int // 0: no request id
	Action                        int // of queue.Actions
	Time                          int // of times
	Fence, Key, Note, Never, Auth bool
}

// Which endpoint each worker holds the credential of: three share one; one has a sibling of it, of the same
// human; the last belongs to another human.
var workers = []int{0, 0, 0, 1, 2}

var (
	tokens = []string{"own", "none", "current", "wrong"}
	afters = []*int{nil, ptr(0), ptr(100)}
	times  = []string{"1s", "1m0s", "until the next deadline", "past the next deadline", "20m0s", "25h0m0s"}
)

// call is an op that is about to be made.
type call struct {
	op
	endpoint *identity.Endpoint
	human    uuid.UUID
	id       uuid.UUID
	token    *string
	seen     []uuid.UUID // what a slow reaper has looked at
}

func (c call) queue() string {
	if c.Lane == 0 {
		return c.endpoint.Queues[0]
	}
	return c.endpoint.Queues[c.Lane-1]
}

func (c call) lane() string {
	if c.Lane == 0 {
		return ""
	}
	return c.queue()
}

func (o op) request() *string {
	if o.Request == 0 {
		return nil
	}
	return ptr(fmt.Sprintf("r-%d", o.Request))
}

func (o op) after() *int          { return afters[o.After] }
func (o op) action() queue.Action { return queue.Actions[o.Action] }

func (o op) ask() queue.State {
	if o.Auth {
		return queue.StateAuthRequired
	}
	return queue.StateInputRequired
}

// String is a line of a script.
func (o op) String() string {
	var b strings.Builder
	word := func(format string, args ...any) { fmt.Fprintf(&b, " "+format, args...) }
	if o.TTL != 0 {
		word("for %ds", o.TTL)
	}
	flag := func(on bool, text string) {
		if on {
			word("%s", text)
		}
	}
	flag(o.Fence, "fenced")
	flag(o.Key, "with a key")
	flag(o.Note, "with a note")
	flag(o.Never, "for good")
	if o.Request != 0 {
		word("as request r-%d", o.Request)
	}
	options := b.String()
	worker, todo := fmt.Sprintf("worker %d", o.Who), fmt.Sprintf("todo %d", o.Todo)
	switch o.Do {
	case doPush:
		return fmt.Sprintf("push to endpoint %d, lane %d, %d attempts%s", workers[o.Who], o.Lane, o.Max, options)
	case doClaim:
		return fmt.Sprintf("%s: claim %s%s", worker, todo, options)
	case doNext:
		return fmt.Sprintf("%s: claim_next, lane %d%s", worker, o.Lane, options)
	case doBeat, doComplete, doRelease:
		return fmt.Sprintf("%s: %s %s, token %s%s", worker, o.Do, todo, tokens[o.Token], options)
	case doFail:
		after := "after a backoff"
		if s := o.after(); s != nil {
			after = fmt.Sprintf("after %ds", *s)
		}
		return fmt.Sprintf("%s: fail %s, token %s, again %s%s", worker, todo, tokens[o.Token], after, options)
	case doInterrupt:
		return fmt.Sprintf("%s: %s %s, token %s", worker, o.ask(), todo, tokens[o.Token])
	case doResume, doCancel, doReject:
		return fmt.Sprintf("%s: %s %s", worker, o.Do, todo)
	case doAct:
		return fmt.Sprintf("human of endpoint %d: %s %s%s", workers[o.Who], o.action(), todo, options)
	case doRevoke:
		return fmt.Sprintf("revoke endpoint %d", workers[o.Who])
	case doPass:
		return "time passes: " + times[o.Time]
	default:
		return string(o.Do)
	}
}

func (s step) String() string {
	lines := make([]string, len(s))
	for i, o := range s {
		lines[i] = o.String()
	}
	return strings.Join(lines, "   ||   ")
}

func (s script) String() string {
	var b strings.Builder
	for i, st := range s {
		fmt.Fprintf(&b, "%4d  %s\n", i+1, st)
	}
	return b.String()
}

// A draw is how often a script does what, in parts of all.
type draw map[do]int

var usually = draw{doPush: 22, doClaim: 20, doNext: 20, doBeat: 30, doComplete: 6, doFail: 14, doRelease: 12, doInterrupt: 12, doResume: 8,
	doCancel: 3, doReject: 1, doAct: 36, doRevoke: 1, doReap: 10, doDue: 6, doPrune: 1, doPass: 26}

func (d draw) op(r *rand.Rand) op {
	kinds := make([]do, 0, 256)
	for kind, parts := range d {
		kinds = append(kinds, slices.Repeat([]do{kind}, parts)...)
	}
	slices.Sort(kinds)
	o := op{Do: kinds[r.IntN(len(kinds))], Todo: r.IntN(4), Who: []int{0, 0, 0, 0, 1, 1, 1, 2, 3, 4}[r.IntN(10)], Aim: r.IntN(4) > 0}
	half := func() bool { return r.IntN(2) == 0 }
	switch o.Do {
	case doPush:
		o.Lane, o.Max, o.Key = r.IntN(3), 1+r.IntN(3), r.IntN(4) == 0
		if half() {
			o.Who = 0
		}
	case doClaim, doNext:
		o.Lane, o.Fence, o.TTL = r.IntN(3), half(), []int{0, 0, 60, 900}[r.IntN(4)]
		o.Request = max(0, r.IntN(6)-3)
	case doBeat:
		o.Note, o.TTL, o.Token = half(), []int{0, 0, 1, 900}[r.IntN(4)], someToken(r)
	case doComplete, doFail, doRelease, doInterrupt:
		o.Token, o.After, o.Never, o.Auth = someToken(r), r.IntN(len(afters)), r.IntN(5) == 0, half()
	case doAct:
		o.Action, o.After, o.Never = r.IntN(len(queue.Actions)), r.IntN(len(afters)), r.IntN(5) == 0
	case doPass:
		o.Time = []int{0, 1, 2, 2, 3, 3, 3, 4, 5}[r.IntN(9)]
	}
	return o
}

func someToken(r *rand.Rand) int { return []int{0, 0, 0, 1, 2, 2, 3}[r.IntN(7)] }

// script draws so many steps of up to width calls. It starts with work to do.
func (d draw) script(r *rand.Rand, steps, width int) script {
	s := script{{{Do: doPush, Max: 1 + r.IntN(3)}}, {{Do: doPush, Max: 1 + r.IntN(3)}}}
	for len(s) < steps {
		st := step{d.op(r)}
		for len(st) < width && st[0].Do != doPass {
			if o := d.op(r); o.Do != doPass {
				st = append(st, o)
			}
		}
		s = append(s, st)
	}
	return s
}

// shrink makes a failing script shorter and plainer, with so many tries at most.
func shrink(s script, fails func(script) bool, tries int) script {
	try := func(candidate script) bool {
		if tries--; tries < 0 || !fails(candidate) {
			return false
		}
		s = candidate
		return true
	}
	for size := len(s) / 2; size > 0; size /= 2 {
		for i := 0; i+size <= len(s); {
			if !try(slices.Delete(slices.Clone(s), i, i+size)) {
				i += size
			}
		}
	}
	for i := range s {
		for j := 0; len(s[i]) > 1 && j < len(s[i]); {
			alone := slices.Clone(s)
			alone[i] = slices.Delete(slices.Clone(s[i]), j, j+1)
			if !try(alone) {
				j++
			}
		}
		for j := range s[i] {
			for _, plainer := range s[i][j].plainer() {
				candidate := slices.Clone(s)
				candidate[i] = slices.Clone(s[i])
				candidate[i][j] = plainer(s[i][j])
				if candidate[i][j] != s[i][j] {
					try(candidate)
				}
			}
		}
	}
	return s
}

// plainer are the ways to make a call say less.
func (o op) plainer() []func(op) op {
	return []func(op) op{
		func(o op) op { o.Fence, o.Key, o.Note, o.Never, o.Auth = false, false, false, false, false; return o },
		func(o op) op { o.Fence = false; return o },
		func(o op) op { o.Key = false; return o },
		func(o op) op { o.Note = false; return o },
		func(o op) op { o.Never = false; return o },
		func(o op) op { o.Auth = false; return o },
		func(o op) op { o.TTL = 0; return o },
		func(o op) op { o.Request = 0; return o },
		func(o op) op { o.Lane = 0; return o },
		func(o op) op { o.After = 0; return o },
		func(o op) op { o.Token = 0; return o },
		func(o op) op { o.Who = 0; return o },
		func(o op) op { o.Todo, o.Aim = 0, false; return o },
		func(o op) op { o.Max = min(o.Max, 2); return o },
		func(o op) op { o.Time = min(o.Time, 3); return o },
	}
}

// targets are the todos to which a call may do something, or all, the oldest first.
func (w *world) targets(c call) (found []int) {
	for i, tr := range w.trails {
		if !c.Aim || w.mayDo(c, tr) {
			found = append(found, i)
		}
	}
	return found
}

// mayDo says whether a call is not bound to be refused, its token aside.
func (w *world) mayDo(c call, tr *trail) bool {
	state, held, byHuman := tr.Todo.State, tr.open() != nil, tr.open() != nil && tr.open().EndpointID == nil
	claimable := state == queue.StatePending || w.lapsed(tr) || w.due(tr)
	if c.Do == doAct {
		switch c.action() {
		case queue.ActionClaim:
			return tr.Todo.HumanID == c.human && claimable
		case queue.ActionRetry:
			return tr.Todo.HumanID == c.human && state == queue.StateFailed
		case queue.ActionCancel:
			return tr.Todo.HumanID == c.human && live(tr.Todo)
		default:
			return tr.Todo.HumanID == c.human && byHuman
		}
	}
	if tr.Todo.EndpointID != c.endpoint.ID {
		return false
	}
	switch c.Do {
	case doClaim:
		return claimable
	case doReject:
		return state == queue.StatePending
	case doResume:
		return interrupted(state)
	case doCancel:
		return live(tr.Todo)
	case doInterrupt:
		return state == queue.StateClaimed && !byHuman
	default:
		return held && !byHuman
	}
}

// nextDeadline is the next instant at which something becomes possible.
func (w *world) nextDeadline() time.Time {
	next := w.now.Add(time.Minute)
	found := false
	consider := func(at *time.Time) {
		if at != nil && at.After(w.now) && (!found || at.Before(next)) {
			next, found = *at, true
		}
	}
	for _, tr := range w.trails {
		consider(tr.Todo.LeaseExpiresAt)
		consider(tr.Todo.NextRetryAt)
		if tr.Todo.InterruptedAt != nil {
			end := tr.Todo.InterruptedAt.Add(modelInterrupt)
			consider(&end)
		}
	}
	return next
}
