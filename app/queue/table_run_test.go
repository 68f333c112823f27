package queue_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/secret"
)

// Every transition from every standing, by everybody, does to every column what the tables say.
func TestTransitions(t *testing.T) {
	byEndpointOrder, byEndpointCells := parseTable(t, byEndpoint)
	byHumanOrder, byHumanCells := parseTable(t, byHuman)
	for situation := range situations {
		if byEndpointCells[situation] == nil && byHumanCells[situation] == nil {
			t.Fatalf("no line says what becomes of %s", situation)
		}
	}
	names := slices.Compact(slices.Sorted(slices.Values(append(byEndpointOrder, byHumanOrder...))))
	for _, situation := range names {
		if situations[situation] == nil {
			t.Fatalf("nothing brings a todo to %s", situation)
		}
		asks := []queue.State{""}
		if strings.HasPrefix(situation, "asks") {
			asks = []queue.State{queue.StateInputRequired, queue.StateAuthRequired}
		}
		for _, ask := range asks {
			t.Run(strings.TrimSpace(situation+" "+string(ask)), func(t *testing.T) {
				s := &stage{bundle: setup(t), t: t, ask: ask}
				s.clock = s.freeze(t)
				s.foreigners()
				for action, cell := range byEndpointCells[situation] {
					s.endpointCell(situation, action, cell)
				}
				for action, cell := range byHumanCells[situation] {
					s.humanCell(situation, action, cell)
				}
				s.strangers(situation)
			})
		}
	}
}

// endpointCell acts as the todo's own endpoint, under every combination of fence and token where one is asked for.
func (s *stage) endpointCell(situation, action, cell string) {
	s.t.Helper()
	heldByEndpoint := strings.HasPrefix(situation, "held") || strings.HasPrefix(situation, "asks")
	for _, f := range fences {
		asked := slices.Contains(guarded, action)
		if f.fenced && !heldByEndpoint || f.token != "none" && !asked {
			continue
		}
		s.bring(situation, f.fenced)
		by := actor{endpoint: s.endpoint, human: s.bundle.human.ID}
		switch f.token {
		case "right":
			by.token = s.token
		case "wrong":
			by.token = ptr(secret.New(secret.Lease))
		case "empty":
			by.token = ptr("")
		}
		want := cell
		if asked && !f.reaches {
			want = "."
		}
		name := situation + ", " + action
		if f.fenced || f.token != "none" {
			name += map[bool]string{true: ", fenced", false: ", not fenced"}[f.fenced] + ", token " + f.token
		}
		row, moved, err := endpointActions[action](s, by)
		s.check(name, want, row, err)
		if action == "revoke" {
			s.there = nil // the endpoint is another one now, even where no todo has changed
		}
		if background := action == "reap" || action == "due"; background && moved != map[bool]int{true: 1}[want != "-"] {
			s.t.Errorf("%s: moved %d", name, moved)
		}
		if action == "next" && err == nil && (row == nil) != (want == "-") {
			s.t.Errorf("%s: answered %v", name, row)
		}
	}
}

// bring brings the stage to a situation, unless it is there and nothing has been written since.
func (s *stage) bring(situation string, fenced bool) {
	s.t.Helper()
	if s.there == nil || s.fenced != fenced || !cmp.Equal(s.there, s.trails(s.t)[0]) {
		s.fenced = fenced
		situations[situation](s)
		s.there = s.trails(s.t)[0]
	}
}

func (s *stage) humanCell(situation, action, cell string) {
	s.t.Helper()
	s.bring(situation, false)
	act := humanActions[action]
	act.Via = queue.ViaAPI
	todo, err := s.queue.Act(s.t.Context(), s.bundle.human.ID, s.id, act)
	var row *queue.Row
	if err == nil {
		row = &todo.Row
	}
	s.check(situation+", human's "+action, cell, row, err)
}

// check compares an answer, and every row, with what a cell says.
func (s *stage) check(name, cell string, row *queue.Row, err error) {
	s.t.Helper()
	want := "ok"
	if cell == "." {
		want = "conflict"
	}
	if got := codeOf(err); got != want {
		s.t.Errorf("%s: answered %s, want %s", name, got, want)
	}
	after := s.trails(s.t)[0]
	w := &writing{before: s.there, after: after, now: s.clock.now, owner: func(owner string) string {
		kind, _, _ := strings.Cut(owner, ":")
		return kind
	}}
	if got := w.String(); got != effects[cell] {
		s.t.Errorf("%s: wrote\n     %s\nwant %s", name, got, effects[cell])
	}
	if row != nil {
		if diff := cmp.Diff(rowOf(after.Todo), *row); diff != "" {
			s.t.Errorf("%s: the answer is not the row (-row +answer):\n%s", name, diff)
		}
	}
}

// foreigners is empty ground for strangers: another human with an endpoint of the same queues.
func (s *stage) foreigners() {
	s.t.Helper()
	s.otherHuman, s.otherEndpoint = s.secondHuman(s.t)
}

// strangers tries every action on the situation as everybody else: another endpoint of the same human,
// another human's, one that is not granted the queue, and another human. Under the right token too, all of
// them find nothing, and nothing is written.
func (s *stage) strangers(situation string) {
	s.t.Helper()
	s.bring(situation, strings.HasPrefix(situation, "held") || strings.HasPrefix(situation, "asks"))
	own := s.endpoint
	sibling := s.vend(s.t, s.bundle.human.ID, identity.VendParams{Name: "sibling", Queues: own.Queues})
	narrow := *own
	narrow.Queues = []string{"lane-xl"}
	tokens := map[*string]bool{nil: true, s.token: true}
	for who, endpoint := range map[string]*identity.Endpoint{"a sibling": sibling, "a foreign endpoint": s.otherEndpoint, "an ungranted queue": &narrow} {
		for name, action := range endpointActions {
			switch {
			case name == "reap" || name == "due" || name == "revoke":
				continue
			case name == "next" && endpoint == &narrow: // it may find that a retry of its own endpoint is due
				continue
			}
			for token := range tokens {
				row, _, err := action(s, actor{endpoint: endpoint, token: token})
				if name == "next" && (row != nil || err != nil) || name != "next" && !errors.Is(err, fault.ErrTodoNotFound) {
					s.t.Errorf("%s, %s by %s: answered %v, %v", situation, name, who, row, err)
				}
			}
		}
	}
	for name, act := range humanActions {
		if _, err := s.queue.Act(s.t.Context(), s.otherHuman.ID, s.id, act); !errors.Is(err, fault.ErrTodoNotFound) {
			s.t.Errorf("%s, another human's %s: answered %v", situation, name, err)
		}
	}
	if _, err := s.identity.Revoke(s.t.Context(), s.otherHuman.ID, own.Slug); !errors.Is(err, fault.ErrEndpointNotFound) {
		s.t.Errorf("%s, revoke by another human: answered %v", situation, err)
	}
	if diff := cmp.Diff(s.there, s.trails(s.t)[0]); diff != "" {
		s.t.Errorf("%s: a stranger wrote (-before +after):\n%s", situation, diff)
	}
}
