package e2e

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shift is a worker that calls every verb there is, over whichever client it was given, and looks at each answer.
type shift struct {
	t    *testing.T
	at   vended // an endpoint that is granted every verb, of the queues default and idle
	via  func(verb string, args map[string]any) (structured json.RawMessage)
	used map[string]bool
}

func newShift(t *testing.T, at vended, via func(string, map[string]any) json.RawMessage) *shift {
	return &shift{t: t, at: at, via: via, used: map[string]bool{}}
}

// work calls every verb. What is left behind is done, failed or deleted.
func (s *shift) work() {
	s.t.Helper()
	s.leases()
	s.attempts(s.webhooks())
	s.questions()
}

// asks calls a verb and reads what a caller of it looks at.
func asks[T any](s *shift, verb string, args map[string]any) (answer T) {
	s.t.Helper()
	s.used[verb] = true
	if err := json.Unmarshal(s.via(verb, args), &answer); err != nil {
		s.t.Fatalf("%s: %v", verb, err)
	}
	return answer
}

// is fails the test where an answer is not what its caller relies on.
func is[T any](s *shift, what string, got, want T) {
	s.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("%s is another: %s", what, diff)
	}
}

func (s *shift) leases() {
	type lease struct {
		TTL int `json:"default_lease_ttl_seconds"`
	}
	is(s, "the lease that was set", asks[lease](s, "set_default_lease", map[string]any{"default_lease_ttl_seconds": 900}).TTL, 900)
	is(s, "the endpoint's lease", asks[lease](s, "get_default_lease", nil).TTL, 900)
}

// webhooks makes a webhook, takes a delivery through its rules, and deletes it. It returns what was delivered.
func (s *shift) webhooks() (event string) {
	type hook struct{ ID, URL string }
	made := asks[hook](s, "create_webhook", map[string]any{"source_type": "generic", "target_queue": "idle"})
	hooks := asks[struct{ Webhooks []hook }](s, "list_webhooks", nil).Webhooks
	if len(hooks) != 1 || hooks[0].ID != made.ID {
		s.t.Errorf("the webhooks are %v", hooks)
	}
	named := map[string]any{"webhook_id": made.ID}
	rule := map[string]any{"id": "urgent", "expr": ".payload.urgent", "action": map[string]any{"queue": "default", "work_order": true}}
	is(s, "the version of the rules", asks[struct{ Version int }](s, "set_webhook_rules", map[string]any{"webhook_id": made.ID, "rules": []any{rule}}).Version, 1)
	is(s, "the number of rules", len(asks[struct{ Rules []any }](s, "list_webhook_rules", named).Rules), 1)
	type decision struct{ Disposition, Queue string }
	for payload, want := range map[string]decision{`{"urgent":true}`: {"routed", "default"}, `{}`: {"routed", "idle"}} {
		is(s, "what becomes of "+payload, asks[decision](s, "test_webhook_rules", map[string]any{"webhook_id": made.ID, "payload": json.RawMessage(payload)}), want)
	}

	res := request(s.t, http.MethodPost, made.URL, []byte(`{"title":"The build broke","urgent":true}`), "Content-Type", "application/json")
	is(s, "a delivery's status", res.status, http.StatusAccepted)
	events := asks[struct {
		Events []struct{ ID, Disposition string }
	}](s, "list_webhook_events", named).Events
	if len(events) != 1 || events[0].Disposition != "routed" {
		s.t.Fatalf("the deliveries are %v", events)
	}
	event = events[0].ID
	is(s, "a delivery's payload", asks[struct{ Payload struct{ Title string } }](s, "get_webhook_event", map[string]any{"event_id": event}).Payload.Title, "The build broke")

	rotated := asks[hook](s, "rotate_webhook", map[string]any{"webhook_id": made.ID, "overlap_seconds": 0}).URL
	for address, status := range map[string]int{made.URL: http.StatusNotFound, rotated: http.StatusAccepted} {
		res := request(s.t, http.MethodPost, address, []byte(`{"title":"For later"}`), "Content-Type", "application/json")
		is(s, "the answer to an address after its rotation", res.status, status)
	}
	is(s, "whether a webhook was deleted", asks[struct{ Deleted bool }](s, "delete_webhook", named).Deleted, true)
	return event
}

// attempts works what was delivered: one attempt gives it back, the next one fails for good.
func (s *shift) attempts(event string) {
	type held struct {
		ID         string
		EventID    string                              `json:"event_id"`
		LeaseToken string                              `json:"lease_token"`
		Prior      []struct{ Outcome, Summary string } `json:"prior_attempts"`
	}
	// It waits, as a worker does: a todo that the bell is rung for at this very moment is not to be had yet.
	claimed := asks[struct{ Todo held }](s, "claim_next", map[string]any{"queue": "default", "claimant": "e2e/first", "wait_seconds": 30})
	is(s, "the event of what is claimed", claimed.Todo.EventID, event)
	is(s, "whether there is more", asks[struct{ Empty bool }](s, "claim_next", map[string]any{"queue": "default"}).Empty, true)
	id := map[string]any{"id": claimed.Todo.ID}
	type row struct {
		State      string
		DeadLetter bool `json:"dead_letter"`
	}
	is(s, "a todo with a note", asks[row](s, "heartbeat", map[string]any{"id": claimed.Todo.ID, "note": "reading the log"}).State, "claimed")
	is(s, "a released todo", asks[row](s, "release", map[string]any{"id": claimed.Todo.ID, "summary": "out of quota"}).State, "pending")
	again := asks[held](s, "claim", map[string]any{"id": claimed.Todo.ID, "require_fence": true, "lease_ttl_seconds": 60})
	if len(again.Prior) != 1 || again.Prior[0].Outcome != "released" || again.Prior[0].Summary != "out of quota" || again.LeaseToken == "" {
		s.t.Errorf("the second claim is handed %+v", again)
	}
	failed := asks[row](s, "fail", map[string]any{"id": claimed.Todo.ID, "lease_token": again.LeaseToken, "retry": false, "result": map[string]any{"broken": true}})
	is(s, "a todo that failed for good", failed, row{"failed", true})
	is(s, "its attempts", asks[struct {
		Total int `json:"attempts_total"`
	}](s, "get_todo", id).Total, 2)
	letters := asks[struct{ Todos []struct{ ID string } }](s, "list_todos", map[string]any{"dead_letter": true}).Todos
	if len(letters) != 1 || letters[0].ID != claimed.Todo.ID {
		s.t.Errorf("the dead letters are %v", letters)
	}
}

// questions works what came over A2A, and asks its sender twice before it is done.
func (s *shift) questions() {
	task := s.say("Which retention applies?", "")
	id := map[string]any{"id": task}
	type row struct{ State string }
	is(s, "a claimed task", asks[row](s, "claim", id).State, "claimed")
	for verb, state := range map[string]string{"request_input": "input-required", "request_auth": "auth-required"} {
		is(s, "a task with a question", asks[row](s, verb, map[string]any{"id": task, "message": "30 or 90 days?"}).State, state)
		s.say("90 days.", task)
		is(s, "an answered task", asks[row](s, "get_todo", id).State, "claimed")
	}
	is(s, "what was said", len(asks[struct{ Messages []any }](s, "get_todo", id).Messages), 4)
	is(s, "a completed task", asks[row](s, "complete", map[string]any{"id": task, "result": map[string]any{"days": 90}, "summary": "ninety"}).State, "done")
}

// say sends a message to the endpoint's agent over A2A, in answer to a task if there is one, and returns the task.
func (s *shift) say(text, inAnswerTo string) (task string) {
	s.t.Helper()
	message := map[string]any{"messageId": rand.Text(), "role": "ROLE_USER", "parts": []any{map[string]any{"text": text}}}
	if inAnswerTo != "" {
		message["taskId"] = inAnswerTo
	}
	url := s.at.MCPURL[:len(s.at.MCPURL)-len("/mcp/"+s.at.Slug)] + "/a2a/" + s.at.Slug
	res := request(s.t, http.MethodPost, url, rpcOf("SendMessage", map[string]any{"message": message, "configuration": map[string]any{"returnImmediately": true}}),
		"Authorization", "Bearer "+s.at.Token, "Content-Type", "application/json")
	var sent struct {
		Result struct{ Task struct{ ID string } }
	}
	if err := json.Unmarshal([]byte(res.body), &sent); err != nil || sent.Result.Task.ID == "" {
		s.t.Fatalf("a message is answered %d %s", res.status, res.body)
	}
	return sent.Result.Task.ID
}
