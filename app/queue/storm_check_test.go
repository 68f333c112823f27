package queue_test

import (
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/switchboard-otel/switchboard/app/queue"
)

// checkAttempts compares every attempt with what its worker knows of it, and with its neighbours in time.
func (s *storm) checkAttempts() {
	stored := map[grant]bool{}
	for _, tr := range s.trails(s.t) {
		if len(tr.Attempts) != tr.Todo.AttemptsTotal {
			s.t.Errorf("%v has %d of %d attempts", tr.Todo.ID, len(tr.Attempts), tr.Todo.AttemptsTotal)
		}
		for i, a := range tr.Attempts {
			g := grant{a.TodoID, a.Seq}
			stored[g] = true
			reported := s.reports[g]
			switch {
			case a.Seq != i+1 || a.Outcome == nil:
				s.t.Errorf("attempt %d of %v has seq %d, outcome %v", i+1, a.TodoID, a.Seq, a.Outcome)
			case s.grants[g] == "" || a.Claimant == nil || s.grants[g] != *a.Claimant:
				s.t.Errorf("attempt %d of %v belongs to %v and was given to %q", a.Seq, a.TodoID, a.Claimant, s.grants[g])
			case reported == "" && *a.Outcome != "reaped" && *a.Outcome != "lease_expired", reported != "" && *a.Outcome != reported:
				s.t.Errorf("attempt %d of %v ended %s; its worker reported %q", a.Seq, a.TodoID, *a.Outcome, reported)
			case i > 0 && a.ClaimedAt.Before(*tr.Attempts[i-1].EndedAt):
				s.t.Errorf("attempt %d of %v began %v before the one before it ended", a.Seq, a.TodoID, tr.Attempts[i-1].EndedAt.Sub(a.ClaimedAt))
			}
		}
	}
	for g := range s.grants {
		if !stored[g] {
			s.t.Errorf("attempt %d of %v was given and is not stored", g.seq, g.todo)
		}
	}
}

// checkTodos accounts for every todo that was pushed: done by a completed attempt, or a dead letter whose
// last attempt used up what it had.
func (s *storm) checkTodos() {
	all := s.trails(s.t)
	if len(all) != s.todos {
		s.t.Errorf("%d of %d todos are left", len(all), s.todos)
	}
	for _, tr := range all {
		last := tr.Attempts[len(tr.Attempts)-1]
		done := tr.Todo.State == queue.StateDone && *last.Outcome == "completed" && *last.Disposition == "done"
		dead := tr.Todo.State == queue.StateFailed && tr.Todo.NextRetryAt == nil && *last.Disposition == "dead_lettered" &&
			tr.Todo.Attempt >= tr.Todo.MaxAttempts
		if !done && !dead || tr.Todo.Attempt != tr.Todo.AttemptsTotal {
			s.t.Errorf("%v ended %s by an attempt that was %s, %s", tr.Todo.ID, tr.Todo.State, *last.Outcome, *last.Disposition)
		}
	}
}

// checkCounters adds up what the replicas have counted.
func (s *storm) checkCounters() {
	got, want := map[string]int{}, map[string]int{}
	for _, m := range s.counters {
		for name, n := range scraped(s.t, m) {
			got[name] += n
		}
	}
	for _, tr := range s.trails(s.t) {
		lane := tr.Todo.Queue
		want["created "+lane+" operator"]++
		want["claimed "+lane] += tr.Todo.AttemptsTotal
		if tr.Todo.State == queue.StateDone {
			want["ended "+lane+" done"]++
		} else {
			want["ended "+lane+" dead_lettered"]++
		}
		for _, a := range tr.Attempts {
			want["closed "+lane+" "+*a.Outcome]++
			if *a.Outcome == "reaped" || *a.Outcome == "lease_expired" {
				want["expired "+lane]++
			}
		}
		want["activity note"] += len(tr.Activity)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("the counters differ (-rows +registry):\n%s", diff)
	}
	// A storm in which nothing of this happened would prove little.
	for _, outcome := range []string{"completed", "failed", "released", "reaped", "lease_expired"} {
		n := 0
		for name, count := range want {
			if strings.HasPrefix(name, "closed ") && strings.HasSuffix(name, " "+outcome) {
				n += count
			}
		}
		if n < s.todos/1000 {
			s.t.Errorf("only %d attempts were %s", n, outcome)
		}
		s.t.Logf("%d attempts %s", n, outcome)
	}
}
