package queue_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/queue"
)

// REQ-18: a foreign todo and an unknown one are one answer on every verb, and nothing of it moves.
func TestREQ18_AForeignTodoIsUnknownOnEveryVerb(t *testing.T) {
	b := setup(t)
	_, theirs := b.secondHuman(t)
	narrow := b.vend(t, b.human.ID, identity.VendParams{Name: "narrow", Queues: []string{"lane-m"}})
	id := b.push(t)
	b.claim(t, id, queue.ClaimParams{})
	for name, ep := range map[string]*identity.Endpoint{
		"another human's endpoint": theirs, "another endpoint of the same human": narrow, "another endpoint of the same agent": b.sibling(t),
	} {
		t.Run(name, func(t *testing.T) {
			for _, todo := range []uuid.UUID{id, uuid.New()} {
				errs := map[string]error{}
				_, errs["get"] = b.queue.Get(t.Context(), ep, todo, nil)
				_, errs["claim"] = b.queue.Claim(t.Context(), ep, todo, queue.ClaimParams{})
				_, errs["heartbeat"] = b.queue.Heartbeat(t.Context(), ep, todo, queue.HeartbeatParams{Note: ptr("x")})
				_, errs["complete"] = b.queue.Complete(t.Context(), ep, todo, queue.Report{}, nil)
				_, errs["fail"] = b.queue.Fail(t.Context(), ep, todo, queue.Report{}, queue.FailParams{})
				_, errs["release"] = b.queue.Release(t.Context(), ep, todo, queue.Report{})
				for verb, err := range errs {
					if err == nil || err.Error() != fault.ErrTodoNotFound.Error() {
						t.Errorf("%s answered %v", verb, err)
					}
				}
			}
			if rows, _, err := b.queue.List(t.Context(), ep, queue.ListParams{}); len(rows) != 0 || err != nil {
				t.Errorf("listed %v, %v", rows, err)
			}
		})
	}
	b.wantShape(t, id, shape{State: queue.StateClaimed, Attempt: 1})
}

// sibling is a second endpoint of the same agent, with the same queues: only the endpoint's id tells them apart.
func (b *bundle) sibling(t *testing.T) *identity.Endpoint {
	t.Helper()
	e := *b.endpoint
	e.ID, e.Slug = uuid.Must(uuid.NewV7()), "sibling-1"
	_, err := b.Pool.Exec(t.Context(), `
		INSERT INTO endpoints (id, human_id, agent_id, slug, queues, verbs) VALUES ($1, $2, $3, $4, $5, $6)`,
		e.ID, e.HumanID, e.AgentID, e.Slug, e.Queues, e.Verbs)
	if err != nil {
		t.Fatal(err)
	}
	return &e
}

func TestREQ18_AHumanReadsOnlyTheirOwn(t *testing.T) {
	b := setup(t)
	human, _ := b.secondHuman(t)
	id := b.push(t)
	_, foreign := b.queue.HumanTodo(t.Context(), human.ID, id)
	_, unknown := b.queue.HumanTodo(t.Context(), human.ID, uuid.New())
	if foreign == nil || unknown == nil || foreign.Error() != unknown.Error() {
		t.Errorf("foreign %v, unknown %v", foreign, unknown)
	}
	if rows, _, err := b.queue.HumanTodos(t.Context(), human.ID, queue.HumanFilter{}); len(rows) != 0 || err != nil {
		t.Errorf("listed %v, %v", rows, err)
	}
	if _, _, err := b.queue.Push(t.Context(), human.ID, queue.PushParams{Endpoint: b.endpoint, Title: "not mine"}); err == nil {
		t.Error("a human pushed to a foreign endpoint")
	}
}

func TestHumanTodos_TakesAnySearch(t *testing.T) {
	b := setup(t)
	id := b.push(t, func(p *queue.PushParams) { p.Title = "Über 100% \\_" })
	for search, found := range map[string]int{"": 1, "über": 1, "100%": 1, "\\_": 1, queue.ID(id).String(): 1, "operator": 1, "\x00": 0, "\xff": 0, "nothing": 0, "%": 1, "a%b": 0} {
		rows, _, err := b.queue.HumanTodos(t.Context(), b.human.ID, queue.HumanFilter{Text: search})
		if err != nil || len(rows) != found {
			t.Errorf("%q found %d, %v", search, len(rows), err)
		}
	}
	if rows, _, err := b.queue.HumanTodos(t.Context(), b.human.ID, queue.HumanFilter{Queue: "\x00"}); err != nil || len(rows) != 0 {
		t.Errorf("%d, %v", len(rows), err)
	}
}

func TestPush_RepeatsAnIdempotencyKeyWhileItsTodoLives(t *testing.T) {
	b := setup(t)
	p := queue.PushParams{Endpoint: b.endpoint, Title: "once", IdempotencyKey: ptr("delivery-1")}
	first, created, err := b.queue.Push(t.Context(), b.human.ID, p)
	if err != nil || !created {
		t.Fatal(created, err)
	}
	again, created, err := b.queue.Push(t.Context(), b.human.ID, p)
	if err != nil || created || again.ID != first.ID {
		t.Fatalf("%v created %v, %v", again, created, err)
	}
	b.claim(t, first.ID.UUID(), queue.ClaimParams{})
	if _, err := b.queue.Complete(t.Context(), b.endpoint, first.ID.UUID(), queue.Report{}, nil); err != nil {
		t.Fatal(err)
	}
	if next, created, err := b.queue.Push(t.Context(), b.human.ID, p); err != nil || !created || next.ID == first.ID {
		t.Fatalf("%v created %v, %v", next, created, err)
	}
}

func TestPush_RefusesWhatItCannotHold(t *testing.T) {
	b := setup(t)
	for name, change := range map[string]func(*queue.PushParams){
		"title":           func(p *queue.PushParams) { p.Title = strings.Repeat("a", 257) },
		"title ":          func(p *queue.PushParams) { p.Title = " " },
		"title  ":         func(p *queue.PushParams) { p.Title = "a\x00" },
		"title   ":        func(p *queue.PushParams) { p.Title = "a\xff" },
		"kind":            func(p *queue.PushParams) { p.Kind = ptr(strings.Repeat("a", 65)) },
		"idempotency_key": func(p *queue.PushParams) { p.IdempotencyKey = ptr("") },
		"max_attempts":    func(p *queue.PushParams) { p.MaxAttempts = ptr(0) },
		"payload":         func(p *queue.PushParams) { p.Payload = raw(`{"a":`) },
	} {
		p := queue.PushParams{Endpoint: b.endpoint, Title: "fine"}
		change(&p)
		_, _, err := b.queue.Push(t.Context(), b.human.ID, p)
		wantCode(t, err, fault.Invalid)
		if !strings.HasPrefix(err.Error(), "invalid: "+strings.TrimSpace(name)+" ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPush_KeepsToTheGrantAndTheLifeOfItsEndpoint(t *testing.T) {
	b := setup(t)
	_, _, err := b.queue.Push(t.Context(), b.human.ID, queue.PushParams{Endpoint: b.endpoint, Title: "x", Queue: "elsewhere"})
	wantCode(t, err, fault.Forbidden)
	brief := b.vend(t, b.human.ID, identity.VendParams{Name: "brief", ExpiresIn: ptr(time.Hour)})
	b.Advance(t, 2*time.Hour)
	_, _, err = b.queue.Push(t.Context(), b.human.ID, queue.PushParams{Endpoint: brief, Title: "x"})
	wantCode(t, err, fault.Conflict)
}

func TestList_PagesNewestFirstWithoutGapsOrRepeats(t *testing.T) {
	b := setup(t)
	want := map[string]bool{}
	for range 7 {
		want[queue.ID(b.push(t)).String()] = true
	}
	cursor, last := "", "td_z"
	for pages := 0; ; pages++ {
		rows, next, err := b.queue.List(t.Context(), b.endpoint, queue.ListParams{Limit: ptr(3), Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if id := r.ID.String(); !want[id] || id >= last {
				t.Errorf("%s again or out of order", id)
			}
			delete(want, r.ID.String())
			last = r.ID.String()
		}
		if cursor = next; cursor == "" {
			if pages != 2 {
				t.Errorf("%d pages", pages+1)
			}
			break
		}
	}
	if len(want) > 0 {
		t.Errorf("never listed: %v", want)
	}
}

func TestList_Filters(t *testing.T) {
	b := setup(t)
	dead := b.push(t, maxAttempts(1))
	b.claim(t, dead, queue.ClaimParams{})
	if _, err := b.queue.Fail(t.Context(), b.endpoint, dead, queue.Report{}, queue.FailParams{}); err != nil {
		t.Fatal(err)
	}
	pending := b.push(t, func(p *queue.PushParams) { p.Queue = "lane-m" })
	for name, c := range map[string]struct {
		p    queue.ListParams
		want uuid.UUID
	}{
		"queue":           {queue.ListParams{Queue: "lane-m"}, pending},
		"state":           {queue.ListParams{State: queue.StateFailed}, dead},
		"dead letters":    {queue.ListParams{DeadLetter: ptr(true)}, dead},
		"no dead letters": {queue.ListParams{DeadLetter: ptr(false)}, pending},
	} {
		rows, _, err := b.queue.List(t.Context(), b.endpoint, c.p)
		if err != nil || len(rows) != 1 || rows[0].ID.UUID() != c.want {
			t.Errorf("%s: %v, %v", name, rows, err)
		}
	}
	for _, p := range []queue.ListParams{{Limit: ptr(0)}, {Cursor: "x"}, {State: "asleep"}} {
		_, _, err := b.queue.List(t.Context(), b.endpoint, p)
		wantCode(t, err, fault.Invalid)
	}
}
