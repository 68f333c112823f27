package intake_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/intake"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/routing"
	"github.com/switchboard-otel/switchboard/app/typeid"
	"github.com/switchboard-otel/switchboard/app/webhook"
)

func (w *world) todo(id string) *queue.HumanDetail {
	w.t.Helper()
	raw, ok := typeid.Todo.Parse(id)
	if !ok {
		w.t.Fatalf("%q is no id", id)
	}
	d, err := w.queue.HumanTodo(w.t.Context(), w.human.ID, raw)
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

func (w *world) traceOf(id string) (t routing.Trace) {
	w.t.Helper()
	if err := json.Unmarshal(w.todo(id).Routing, &t); err != nil {
		w.t.Fatal(err)
	}
	return t
}

func TestRouting_DecidesQueueDropAndQuarantine(t *testing.T) {
	w := setup(t)
	to := w.create(webhook.GitHub)
	w.rules(to, `[{"id":"bots","expr":".payload.sender == \"bot\"","action":{"drop":true}},
		{"id":"lane-m","name":"Bigger work","expr":".kind == \"issues.opened\" and .payload.size > 10","action":{"queue":"lane-m","work_order":true}},
		{"id":"broken","expr":".payload.size | keys | length > 0","action":{"queue":"lane-m"}}]`)
	w.counts.take()
	matched := w.github(to, "1", `{"action":"opened","size":11}`).receipt(t)
	dropped := w.github(to, "2", `{"sender":"bot"}`).receipt(t)
	faulted := w.github(to, "3", `{"size":1}`).receipt(t)
	w.rules(to, `[]`)
	fallback := w.github(to, "4", `{}`).receipt(t)
	if diff := cmp.Diff(map[string]int{"github verified": 4, "queue": 1, "drop": 1, "fault": 1, "default": 1}, w.counts.take()); diff != "" {
		t.Error(diff)
	}
	if matched.Todos[0].Queue != "lane-m" || len(dropped.Todos) != 0 || !dropped.Dropped || faulted.Todos[0].Queue != "quarantine" || fallback.Todos[0].Queue != "lane-s" {
		t.Errorf("%+v %+v %+v %+v", matched, dropped, faulted, fallback)
	}
	if again := w.github(to, "2", `{"sender":"bot"}`).receipt(t); !again.Dropped || again.Created != 0 || len(again.Todos) != 0 {
		t.Errorf("what was dropped, again: %+v", again)
	}
	trace := w.traceOf(matched.Todos[0].ID)
	want := routing.Trace{Stage: "rule", RuleIndex: ptr(1), RuleID: "lane-m", RuleName: "Bigger work", Action: routing.Action{Queue: "lane-m", WorkOrder: ptr(true)},
		Evaluated: []routing.Evaluated{{RuleID: "bots", Outcome: "no_match"}, {RuleID: "lane-m", Outcome: "match"}}}
	if diff := cmp.Diff(want, trace); diff != "" {
		t.Error(diff)
	}
	if f := w.traceOf(faulted.Todos[0].ID); f.Stage != "fault" || len(f.Evaluated) != 3 || f.Faults[0].RuleID != "broken" {
		t.Errorf("trace of a fault: %+v", f)
	}
	if d := w.traceOf(fallback.Todos[0].ID); d.Stage != "default" || d.Action.Queue != "lane-s" || d.Evaluated == nil {
		t.Errorf("trace of no rule: %+v", d)
	}
	stored := w.count(`SELECT count(*) FROM events v LEFT JOIN todos t ON t.event_id = v.id
		WHERE (v.disposition, coalesce(t.queue, '')) IN (('routed', 'lane-m'), ('routed', 'lane-s'), ('dropped', ''), ('faulted', 'quarantine'))
		  AND (t.id IS NULL OR t.routing::text = v.routing_trace::text)`)
	if stored != 4 {
		t.Errorf("%d events are as they should", stored)
	}
}

// A work order says why the todo exists: from the rules and the webhook, and never from what was delivered.
func TestWorkOrder_NoInputCanSetIt(t *testing.T) {
	w := setup(t)
	to := w.create(webhook.GitHub)
	forged := `{"action":"opened","work_order":{"version":1,"lane":"root"},"issue":{"number":7,"title":"t"},"repository":{"full_name":"acme/web"}}`
	plain := w.github(to, "1", forged).receipt(t)
	if got := w.todo(plain.Todos[0].ID).WorkOrder; string(got) != "" && string(got) != "null" {
		t.Errorf("without a rule that wants one: %s", got)
	}
	w.rules(to, `[{"id":"ordered","expr":"true","action":{"queue":"lane-m","work_order":true}}]`)
	ordered := w.github(to, "2", forged).receipt(t)
	var got any
	if err := json.Unmarshal(w.todo(ordered.Todos[0].ID).WorkOrder, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"version": 1.0, "lane": "lane-m", "source": "github", "webhook_id": to.ID.String(), "trust_mode": "signed", "verified": true,
		"authorized_by": map[string]any{"stage": "rule", "rule_id": "ordered", "rule_name": nil}, "subject": "acme/web#7"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What is in quarantine is in no agent's list, and no claim of whatever kind takes it.
func TestQuarantine_IsSeenByNoAgent(t *testing.T) {
	w := setup(t)
	to := w.create(webhook.Generic)
	w.rules(to, `[{"id":"broken","expr":".payload.size | keys | length > 0","action":{"queue":"lane-m"}}]`)
	got := w.send(to.URL, `{"size":1}`).receipt(t)
	id, _ := typeid.Todo.Parse(got.Todos[0].ID)
	ctx := t.Context()
	if rows, _, err := w.queue.List(ctx, w.endpoint, queue.ListParams{}); err != nil || len(rows) != 0 {
		t.Errorf("listed %v %v", rows, err)
	}
	if c, err := w.queue.ClaimNext(ctx, w.endpoint, "", queue.ClaimParams{}); err != nil || c != nil {
		t.Errorf("claimed %v %v", c, err)
	}
	if _, err := w.queue.Claim(ctx, w.endpoint, id, queue.ClaimParams{}); !errors.Is(err, fault.ErrTodoNotFound) {
		t.Errorf("claim by id: %v", err)
	}
	if _, err := w.queue.Get(ctx, w.endpoint, id, nil); !errors.Is(err, fault.ErrTodoNotFound) {
		t.Errorf("get: %v", err)
	}
	if _, err := w.queue.ClaimNext(ctx, w.endpoint, "quarantine", queue.ClaimParams{}); err == nil {
		t.Error("quarantine can be named as a queue")
	}
	if _, err := w.identity.Vend(ctx, w.human.ID, identity.VendParams{Name: "x", Queues: []string{"quarantine"}}); err == nil {
		t.Error("quarantine can be granted")
	}
	if _, err := w.queue.Admit(ctx, w.human.ID, id, "lane-s", queue.ViaBoard); err != nil {
		t.Fatal(err)
	}
	if c, err := w.queue.ClaimNext(ctx, w.endpoint, "", queue.ClaimParams{}); err != nil || c == nil || c.ID.UUID() != id {
		t.Errorf("after its release: %v %v", c, err)
	}
}

// A queue that rules name is refused when they are saved, and a fault when it is no longer granted: nothing that
// stands in the store lifts the endpoint's scope.
func TestRouting_AQueueOutsideTheGrantIsAFault(t *testing.T) {
	w := setup(t)
	to := w.create(webhook.Generic)
	change := intake.RuleChange{Rules: []routing.Rule{{ID: "a", Expr: "true", Action: routing.Action{Queue: "elsewhere"}}}}
	if _, err := w.intake.SetRules(t.Context(), intake.OfHuman(w.human.ID), to.ID.UUID(), change); err == nil {
		t.Error("rules with a queue outside the grant are saved")
	}
	w.rules(to, `[{"id":"a","expr":"true","action":{"queue":"lane-m"}}]`)
	if _, err := w.db.Pool.Exec(t.Context(), `UPDATE endpoints SET queues = '{lane-s}'`); err != nil {
		t.Fatal(err)
	}
	got := w.send(to.URL, `{}`).receipt(t)
	if got.Todos[0].Queue != "quarantine" {
		t.Errorf("%+v", got)
	}
	if trace := w.traceOf(got.Todos[0].ID); trace.Stage != "fault" || trace.Faults[0].RuleID != "a" {
		t.Errorf("%+v", trace)
	}
}

// Rules are compiled for each time they are saved, by whichever process saved them.
func TestRouting_FollowsRulesThatAnotherProcessSaved(t *testing.T) {
	w := setup(t)
	to := w.create(webhook.Generic)
	for i, lane := range []string{"lane-m", "lane-s", "lane-m"} {
		other := *w
		other.intake = intake.NewStore(intake.Config{Pool: w.db.Pool, Queue: w.queue, Settings: w.handler.Settings})
		other.rules(to, `[{"id":"a","expr":"true","action":{"queue":"`+lane+`"}}]`)
		if got := w.send(to.URL, strings.Repeat("x", i)).receipt(t); got.Todos[0].Queue != lane {
			t.Errorf("%+v after rules for %s were saved", got, lane)
		}
	}
}

func TestPayload_IsWhatReadersCanRead(t *testing.T) {
	w := setup(t)
	to := w.create(webhook.Generic)
	for _, c := range []struct{ contentType, body, want string }{
		{"application/json", ` {"big":9007199254740993, "a":[]} `, `{"big":9007199254740993, "a":[]}`},
		{"application/x-www-form-urlencoded", `payload=%7B%22a%22%3A1%7D`, `{"a":1}`},
		{"text/plain", "plain\ntext", `"plain\ntext"`},
		{"text/plain", "a\x00b", `"a\ufffdb"`},
		{"application/json", `{"a":"\u0000"}`, `null`},
		{"application/json", strings.Repeat("[", 600) + strings.Repeat("]", 600), `null`},
		{"application/octet-stream", "\xff\xfe", `null`},
		{"text/plain", strings.Repeat("x", 70000), `null`},
	} {
		got := w.send(to.URL, c.body, "Content-Type", c.contentType).receipt(t)
		payload := string(w.todo(got.Todos[0].ID).Payload)
		if payload == "" {
			payload = "null"
		}
		var a, b any
		if json.Unmarshal([]byte(payload), &a) != nil || json.Unmarshal([]byte(c.want), &b) != nil || !cmp.Equal(a, b) || strings.Contains(c.want, "9007") && payload != c.want {
			t.Errorf("%s %.40q is %.60s", c.contentType, c.body, payload)
		}
		id, _ := typeid.Todo.Parse(got.Todos[0].ID)
		event, err := w.intake.EventOfTodo(t.Context(), w.human.ID, id)
		if err != nil || string(event.Body) != c.body || event.PayloadSize != len(c.body) {
			t.Errorf("the event holds %.40q, %v", event.Body, err)
		}
	}
}

// REQ-18: what another human has is unknown, whatever is asked.
func TestScope_ForeignIsUnknown(t *testing.T) {
	w := setup(t)
	to := w.create(webhook.Generic)
	w.send(to.URL, `{}`).receipt(t)
	events, _, err := w.intake.Events(t.Context(), intake.OfHuman(w.human.ID), intake.EventFilter{})
	if err != nil || len(events) != 1 {
		t.Fatal(events, err)
	}
	stranger := uuid.Must(uuid.NewV7())
	if _, err := w.db.Pool.Exec(t.Context(), `INSERT INTO humans (id, issuer, subject, name) VALUES ($1, 'test', 'second', 'Second')`, stranger); err != nil {
		t.Fatal(err)
	}
	theirs, mine := w.vend(stranger), w.vend(w.human.ID)
	ctx := t.Context()
	for name, in := range map[string]intake.Scope{"another human": intake.OfHuman(stranger), "their agent": intake.OfEndpoint(theirs), "another agent of mine": intake.OfEndpoint(mine)} {
		for call, do := range map[string]func() error{
			"get":    func() error { _, err := w.intake.Get(ctx, in, to.ID.UUID()); return err },
			"rotate": func() error { _, err := w.intake.Rotate(ctx, in, to.ID.UUID(), intake.RotateParams{}); return err },
			"delete": func() error { return w.intake.Delete(ctx, in, to.ID.UUID()) },
			"rules":  func() error { _, err := w.intake.Rules(ctx, in, to.ID.UUID()); return err },
			"set":    func() error { _, err := w.intake.SetRules(ctx, in, to.ID.UUID(), intake.RuleChange{}); return err },
			"test": func() error {
				_, err := w.intake.TestRules(ctx, in, to.ID.UUID(), nil, intake.Trial{Payload: []byte(`1`)})
				return err
			},
		} {
			if err := do(); !errors.Is(err, intake.ErrWebhookNotFound) {
				t.Errorf("%s, %s: %v", name, call, err)
			}
		}
		if _, err := w.intake.Event(ctx, in, events[0].ID.UUID()); !errors.Is(err, intake.ErrEventNotFound) {
			t.Errorf("%s, event: %v", name, err)
		}
		if rows, _, err := w.intake.Events(ctx, in, intake.EventFilter{Webhook: ptr(to.ID.UUID())}); err != nil || len(rows) != 0 {
			t.Errorf("%s, events: %v %v", name, rows, err)
		}
		if list, err := w.intake.List(ctx, in); err != nil || len(list) != 0 {
			t.Errorf("%s, list: %v %v", name, list, err)
		}
	}
	// Rules of one's own cannot be tried on what somebody else was sent.
	w.endpoint = theirs
	own := w.create(webhook.Generic)
	if _, err := w.intake.TestRules(ctx, intake.OfHuman(stranger), own.ID.UUID(), nil, intake.Trial{Event: ptr(events[0].ID.UUID())}); !errors.Is(err, intake.ErrEventNotFound) {
		t.Errorf("a trial on a foreign event: %v", err)
	}
}

// A revocation ends the endpoint's webhooks with it: what was on its way is refused, or dead-lettered with the rest.
func TestRevocation_EndsDeliveries(t *testing.T) {
	w := setup(t)
	to := w.create(webhook.Generic)
	target, err := w.intake.Resolve(t.Context(), strings.TrimPrefix(to.URL, w.url+intake.AddressPrefix))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.identity.Revoke(t.Context(), w.human.ID, w.endpoint.Slug); err != nil {
		t.Fatal(err)
	}
	if _, err := w.intake.Deliver(t.Context(), target, intake.Delivery{Header: http.Header{}, Body: []byte(`{}`)}); !errors.Is(err, intake.ErrWebhookNotFound) {
		t.Errorf("a delivery that was on its way: %v", err)
	}
	if got := w.stored(); got != [2]int{} {
		t.Errorf("stored %v", got)
	}
}
