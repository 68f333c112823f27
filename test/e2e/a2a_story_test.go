package e2e

import (
	"encoding/json"
	"iter"
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"

	"github.com/switchboard-otel/switchboard/app/identity"
)

// The shipped program, the official clients of both protocols, and the command line: work is sent over A2A, an agent
// works it over MCP and asks, the sender answers, and `todo show` tells each step once.
func TestA2A_WorkIsSentAskedAboutAnsweredAndDone(t *testing.T) {
	t.Parallel()
	c := start(t, withEnv("SWITCHBOARD_A2A=1"))
	var v vended
	c.cliJSON(&v, "endpoint", "vend", "my bot", "--verbs", strings.Join(identity.DrainVerbs, ",")+","+identity.VerbRequestInput)
	if res := request(t, http.MethodGet, c.url+"/a2a/"+v.Slug+"/.well-known/agent-card.json", nil); res.status != http.StatusUnauthorized {
		t.Errorf("a card that nobody made public answers %d", res.status)
	}
	if _, stderr, err := c.cli("endpoint", "edit", v.Slug, "--public-card"); err != nil {
		t.Fatal(err, stderr)
	}
	res := request(t, http.MethodGet, c.url+"/a2a/"+v.Slug+"/.well-known/agent-card.json", nil)
	var card a2a.AgentCard
	if err := json.Unmarshal([]byte(res.body), &card); err != nil || res.status != http.StatusOK {
		t.Fatalf("%d %s", res.status, res.body)
	}
	sender, err := a2aclient.NewFromCard(t.Context(), &card, a2aclient.WithJSONRPCTransport(&http.Client{Transport: bearer(v.Token)}))
	if err != nil {
		t.Fatal(err)
	}
	worker := agent(t, v)

	next, stop := iter.Pull2(sender.SendStreamingMessage(t.Context(), &a2a.SendMessageRequest{
		Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("Which retention applies?"))}))
	defer stop()
	event, err, _ := next()
	task, ok := event.(*a2a.Task)
	if err != nil || !ok || task.Status.State != a2a.TaskStateSubmitted {
		t.Fatalf("%+v, %v", event, err)
	}
	hears := func(want a2a.TaskState) {
		t.Helper()
		event, err, _ := next()
		if made, is := event.(*a2a.TaskArtifactUpdateEvent); is && made.Artifact.ID == "result" {
			event, err, _ = next()
		}
		if update, is := event.(*a2a.TaskStatusUpdateEvent); err != nil || !is || update.Status.State != want {
			t.Fatalf("heard %+v, %v, want %s", event, err, want)
		}
	}
	id := map[string]any{"id": string(task.ID)}
	must[any](t, worker, "claim", id)
	hears(a2a.TaskStateWorking)
	must[any](t, worker, "request_input", map[string]any{"id": string(task.ID), "message": "30 or 90 days?"})
	hears(a2a.TaskStateInputRequired)
	if _, err := sender.SendMessage(t.Context(), &a2a.SendMessageRequest{
		Message: a2a.NewMessageForTask(a2a.MessageRoleUser, task, a2a.NewTextPart("90 days."))}); err != nil {
		t.Fatal(err)
	}
	hears(a2a.TaskStateWorking)
	must[any](t, worker, "complete", map[string]any{"id": string(task.ID), "result": map[string]any{"days": 90}})
	hears(a2a.TaskStateCompleted)
	if event, err, more := next(); more {
		t.Errorf("after the end came %+v, %v", event, err)
	}

	shown, stderr, err := c.cli("todo", "show", string(task.ID), "--activity")
	if err != nil {
		t.Fatal(err, stderr)
	}
	for _, step := range []string{"30 or 90 days?", "90 days."} {
		if n := strings.Count(shown, step); n != 1 {
			t.Errorf("%q is told %d times in\n%s", step, n, shown)
		}
	}
	// A stream that is open does not keep the process from ending.
	open, closing := iter.Pull2(sender.SendStreamingMessage(t.Context(), &a2a.SendMessageRequest{
		Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("later"))}))
	defer closing()
	if _, err, _ := open(); err != nil {
		t.Fatal(err)
	}
	if err := c.stop(); err != nil {
		t.Errorf("%v\n%s", err, c.output)
	}
}
