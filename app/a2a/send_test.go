package a2a_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/queue"
)

// A client that lost the answer sends again. There is one todo, and one answer to a question.
func TestSend_TheSameMessageAgainChangesNothing(t *testing.T) {
	b := setup(t)
	client, worker := b.client(t, b.vended), b.worker(t, b.vended)
	work := message("once")
	task := send(t, client, work)
	if again := send(t, client, work); again.ID != task.ID {
		t.Errorf("a second task %s", again.ID)
	}
	worker.call(t, "claim_next", nil)
	worker.call(t, "request_input", map[string]any{"id": string(task.ID), "message": "which?"})
	answer := &sdk.SendMessageRequest{Message: sdk.NewMessageForTask(sdk.MessageRoleUser, task, sdk.NewTextPart("this"))}
	for range 2 {
		if got := send(t, client, answer); got.Status.State != sdk.TaskStateWorking || len(got.History) != 3 {
			t.Errorf("answered as %+v", got)
		}
	}
	if steps := b.trail(t, task.ID); len(steps) != 2 {
		t.Errorf("the trail tells %v", steps)
	}
}

func TestSend_ToATaskThatDoesNotWaitIsRefused(t *testing.T) {
	b := setup(t)
	client, worker := b.client(t, b.vended), b.worker(t, b.vended)
	task := send(t, client, message("work"))
	say := func() error {
		_, err := client.SendMessage(t.Context(), &sdk.SendMessageRequest{Message: sdk.NewMessageForTask(sdk.MessageRoleUser, task, sdk.NewTextPart("and?"))})
		return err
	}
	if err := say(); !errors.Is(err, sdk.ErrUnsupportedOperation) {
		t.Errorf("pending: %v", err)
	}
	worker.call(t, "claim_next", nil)
	if err := say(); !errors.Is(err, sdk.ErrUnsupportedOperation) {
		t.Errorf("claimed: %v", err)
	}
	worker.call(t, "request_input", map[string]any{"id": string(task.ID)})
	elsewhere := sdk.NewMessageForTask(sdk.MessageRoleUser, sdk.TaskInfo{TaskID: task.ID, ContextID: "another"}, sdk.NewTextPart("and?"))
	if _, err := client.SendMessage(t.Context(), &sdk.SendMessageRequest{Message: elsewhere}); !errors.Is(err, sdk.ErrInvalidParams) {
		t.Errorf("in another context: %v", err)
	}
	if err := say(); err != nil {
		t.Errorf("while it waits: %v", err)
	}
	worker.call(t, "complete", map[string]any{"id": string(task.ID)})
	if err := say(); !errors.Is(err, sdk.ErrUnsupportedOperation) {
		t.Errorf("completed: %v", err)
	}
}

// Whoever claims a todo after its holder died reads what was asked and answered.
func TestConversation_OutlivesItsHolder(t *testing.T) {
	b := setup(t)
	client, worker := b.client(t, b.vended), b.worker(t, b.vended)
	task := send(t, client, message("work"))
	worker.call(t, "claim_next", nil)
	worker.call(t, "request_input", map[string]any{"id": string(task.ID), "message": "The key is sk-ant-" + strings.Repeat("a", 40) + ", is it?"})
	send(t, client, &sdk.SendMessageRequest{Message: sdk.NewMessageForTask(sdk.MessageRoleUser, task, sdk.NewDataPart(map[string]any{"days": 90}))})
	worker.call(t, "release", map[string]any{"id": string(task.ID)})
	next := worker.call(t, "claim_next", nil)["todo"].(map[string]any)
	said, err := json.Marshal(next["messages"])
	if err != nil || !strings.Contains(string(said), `{"data":{"days":90}}`) || !strings.Contains(string(said), "[REDACTED], is it?") || strings.Contains(string(said), "sk-ant") {
		t.Errorf("the next one reads %s, %v", said, err)
	}
	if steps := b.trail(t, task.ID); strings.Contains(strings.Join(steps, " "), "sk-ant") {
		t.Errorf("the trail tells %v", steps)
	}
}

// Pages by context lose nothing and repeat nothing.
func TestList_PagesByContext(t *testing.T) {
	b := setup(t)
	client := b.client(t, b.vended)
	var want []sdk.TaskID
	for range 7 {
		work := message("work")
		work.Message.ContextID = "release 7"
		want = append(want, send(t, client, work).ID)
		send(t, client, message("elsewhere"))
	}
	slices.Reverse(want)
	var got []sdk.TaskID
	r := &sdk.ListTasksRequest{ContextID: "release 7", PageSize: 3}
	for {
		page, err := client.ListTasks(t.Context(), r)
		if err != nil || page.TotalSize != 7 || page.PageSize != 3 {
			t.Fatalf("%+v, %v", page, err)
		}
		for _, task := range page.Tasks {
			if task.ContextID != "release 7" || task.History != nil {
				t.Errorf("lists %+v", task)
			}
			got = append(got, task.ID)
		}
		if r.PageToken = page.NextPageToken; r.PageToken == "" {
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	// A task that was sent in no context has one of its own, and another may follow it there.
	first := send(t, client, message("first"))
	follower := message("second")
	follower.Message.ContextID = first.ContextID
	second := send(t, client, follower)
	own, err := client.ListTasks(t.Context(), &sdk.ListTasksRequest{ContextID: first.ContextID, HistoryLength: &[]int{1}[0]})
	if err != nil || len(own.Tasks) != 2 || own.Tasks[0].ID != second.ID || own.Tasks[1].ID != first.ID || len(own.Tasks[0].History) != 1 {
		t.Errorf("%+v, %v", own, err)
	}
}

// Every todo of the endpoint is a task, whoever made it; what it carries is for its worker.
func TestTasks_AreAlsoTodosOfOtherSources(t *testing.T) {
	b := setup(t)
	todo, _, err := b.queue.Push(t.Context(), b.human.ID, queue.PushParams{Endpoint: &b.vended.Endpoint, Title: "by hand", Payload: json.RawMessage(`{"message":{"messageId":"x","parts":[]}}`)})
	if err != nil {
		t.Fatal(err)
	}
	task := get(t, b.client(t, b.vended), sdk.TaskID(todo.ID.String()))
	if task.Status.State != sdk.TaskStateSubmitted || task.History != nil || task.Metadata["title"] != "by hand" {
		t.Errorf("%+v", task)
	}
}

// A credential that has ended tells nothing more, and its todos end with it.
func TestStream_EndsWithTheEndpoint(t *testing.T) {
	b := setup(t)
	client := b.client(t, b.vended)
	stream := listen(t, client.SendStreamingMessage(t.Context(), message("work")))
	stream.event(t)
	if _, err := b.identity.Revoke(t.Context(), b.human.ID, b.vended.Slug); err != nil {
		t.Fatal(err)
	}
	stream.state(t, sdk.TaskStateFailed)
	stream.end(t)
}

func TestStream_EndsWhenTheServerStops(t *testing.T) {
	b := setup(t)
	client := b.client(t, b.vended)
	stream := listen(t, client.SendStreamingMessage(t.Context(), message("work")))
	task := stream.event(t).(*sdk.Task)
	b.server.Close()
	stream.end(t)
	for _, err := range client.SubscribeToTask(t.Context(), &sdk.SubscribeToTaskRequest{ID: task.ID}) {
		if !errors.Is(err, sdk.ErrServerError) {
			t.Errorf("after the stop: %v", err)
		}
	}
}

// The card is its owner's to show. Without that it is 401, as of an endpoint that never was.
func TestCard_IsPublicOnlyIfItsOwnerMadeItSo(t *testing.T) {
	b := setup(t)
	_, unknown := b.get(t, "nobody-aaaa", "")
	res, private := b.get(t, b.vended.Slug, "")
	if res.StatusCode != 401 || private != unknown {
		t.Errorf("%d %s, an unknown one %s", res.StatusCode, private, unknown)
	}
	if res, _ := b.get(t, b.vended.Slug, b.secondHuman(t).Token); res.StatusCode != 403 {
		t.Errorf("another's bearer: %d", res.StatusCode)
	}
	public := true
	if _, err := b.identity.EditDefaults(t.Context(), b.human.ID, b.vended.Slug, identity.DefaultsEdit{CardPublic: &public}); err != nil {
		t.Fatal(err)
	}
	res, body := b.get(t, b.vended.Slug, "")
	var card sdk.AgentCard
	if err := json.Unmarshal([]byte(body), &card); err != nil || res.StatusCode != 200 {
		t.Fatalf("%d %s", res.StatusCode, body)
	}
	if card.Name != "my bot" || card.Version != "1.2.3" || !card.Capabilities.Streaming || card.Capabilities.PushNotifications ||
		card.SupportedInterfaces[0].URL != b.url+"/a2a/"+b.vended.Slug || card.SupportedInterfaces[0].ProtocolVersion != sdk.Version {
		t.Errorf("%s", body)
	}
	if _, err := b.identity.Revoke(t.Context(), b.human.ID, b.vended.Slug); err != nil {
		t.Fatal(err)
	}
	if res, gone := b.get(t, b.vended.Slug, ""); res.StatusCode != 401 || gone != unknown {
		t.Errorf("revoked: %d %s", res.StatusCode, gone)
	}
}

// The same answer on several connections at once resumes once, and nobody hears of a conflict.
func TestSend_TheSameAnswerAtOnceResumesOnce(t *testing.T) {
	b := setup(t)
	client, worker := b.client(t, b.vended), b.worker(t, b.vended)
	task := send(t, client, message("work"))
	worker.call(t, "claim_next", nil)
	worker.call(t, "request_input", map[string]any{"id": string(task.ID)})
	answer := &sdk.SendMessageRequest{Message: sdk.NewMessageForTask(sdk.MessageRoleUser, task, sdk.NewTextPart("yes"))}
	var all errgroup.Group
	for range 8 {
		all.Go(func() error {
			_, err := client.SendMessage(t.Context(), answer)
			return err
		})
	}
	if err := all.Wait(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"a2a_state input-required", "a2a_state resume: yes"}, b.trail(t, task.ID)); diff != "" {
		t.Error(diff)
	}
}
