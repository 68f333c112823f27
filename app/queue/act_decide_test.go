package queue

import (
	"slices"
	"strings"
	"testing"
)

// decisions is what a human's action does, the first line that fits: the action, the states, what else must
// hold ("!" before a word: must not), and the move, or why not. "*" is any.
const decisions = `
claim    *                                   revoked        no endpoint
claim    pending                             *              open
claim    failed                              due            open
claim    claimed                             lapsed,below   take over
claim    *                                   *              not open
complete claimed                             mine           done
fail     claimed                             mine,never     dead letter
fail     claimed                             mine,!below    dead letter
fail     claimed                             mine           retry later
extend   claimed                             mine           extend
release  claimed                             mine           back
complete *                                   *              not yours
fail     *                                   *              not yours
extend   *                                   *              not yours
release  *                                   *              not yours
retry    failed                              !revoked       again
retry    failed                              revoked        no endpoint
retry    *                                   *              not failed
cancel   pending                             *              drop
cancel   failed                              scheduled      drop
cancel   claimed,input-required,auth-required *             stop
cancel   *                                   *              over
erase    *                                   *              no action
`

var moves = map[string]move{
	"open":        {to: StateClaimed, opens: true},
	"take over":   {to: StateClaimed, opens: true, outcome: OutcomeLeaseExpired, disposition: "requeued"},
	"done":        {to: StateDone, outcome: OutcomeCompleted, disposition: "done"},
	"retry later": {to: StateFailed, outcome: OutcomeFailed, disposition: "retry_scheduled", retryLater: true},
	"dead letter": {to: StateFailed, outcome: OutcomeFailed, disposition: "dead_lettered"},
	"extend":      {to: StateClaimed, extends: true},
	"back":        {to: StatePending, outcome: OutcomeReleased, disposition: "requeued"},
	"again":       {to: StatePending, resets: true},
	"drop":        {to: StateCanceled},
	"stop":        {to: StateCanceled, outcome: OutcomeCanceled, disposition: "canceled"},
}

var refusals = map[string]error{
	"no endpoint": errNoEndpoint, "not open": errNotOpen, "not yours": errNotYours, "not failed": errNotFailed, "over": errOver,
	"no action": errNoAction,
}

// decided looks an action up.
func decided(t *testing.T, s standing, a Action, me string, noRetry bool) (move, error) {
	t.Helper()
	holds := map[string]bool{"*": true, "revoked": s.endpointRevoked, "due": s.retryDue, "lapsed": s.lapsed,
		"below": s.attempt < s.max, "mine": s.owner == me, "never": noRetry, "scheduled": s.retryScheduled}
	for _, line := range strings.Split(strings.TrimSpace(decisions), "\n") {
		f := strings.Fields(line)
		fits := f[0] == string(a) && (f[1] == "*" || slices.Contains(strings.Split(f[1], ","), string(s.state)))
		for _, word := range strings.Split(f[2], ",") {
			positive := strings.TrimPrefix(word, "!")
			fits = fits && holds[positive] == (positive == word)
		}
		if fits {
			name := strings.Join(f[3:], " ")
			if err, refused := refusals[name]; refused {
				return move{}, err
			}
			m, known := moves[name]
			if !known {
				t.Fatalf("%s is no move", name)
			}
			return m, nil
		}
	}
	t.Fatalf("no line fits %s of %+v", a, s)
	return move{}, nil
}

// Every action on every standing, those included that no sequence of calls can reach.
func TestDecide_DoesWhatTheTableSays(t *testing.T) {
	const me = "human:me"
	both := []bool{false, true}
	cases := 0
	for _, state := range States {
		for _, attempt := range []int{0, 1, 2, 3, 4} {
			for _, owner := range []string{"", me, "human:other", "agent:x"} {
				for bits := range 1 << 4 {
					s := standing{state: state, attempt: attempt, max: 3, owner: owner, retryScheduled: bits&1 > 0,
						retryDue: bits&2 > 0, lapsed: bits&4 > 0, endpointRevoked: bits&8 > 0}
					for _, action := range append(slices.Clone(Actions), "erase") {
						for _, noRetry := range both {
							cases++
							got, err := decide(s, action, me, noRetry)
							want, wantErr := decided(t, s, action, me, noRetry)
							if got != want || err != wantErr {
								t.Fatalf("%s (retry never %t) of %+v:\ngot  %+v, %v\nwant %+v, %v", action, noRetry, s, got, err, want, wantErr)
							}
						}
					}
				}
			}
		}
	}
	if cases != 8*5*4*16*8*2 {
		t.Errorf("%d cases", cases)
	}
}
