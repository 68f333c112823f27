package a2a_test

import (
	"errors"
	"iter"
	"testing"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
)

// heard pulls the next event of a stream.
type heard struct {
	next func() (sdk.Event, error, bool)
}

func listen(t *testing.T, events iter.Seq2[sdk.Event, error]) heard {
	next, stop := iter.Pull2(events)
	t.Cleanup(stop)
	return heard{next}
}

func (h heard) event(t *testing.T) sdk.Event {
	t.Helper()
	e, err, ok := h.next()
	if err != nil || !ok {
		t.Fatalf("the stream ended: %v", err)
	}
	return e
}

// state waits for the next event, which must be this state, and returns what the agent says with it.
func (h heard) state(t *testing.T, want sdk.TaskState) (words string) {
	t.Helper()
	e, ok := h.event(t).(*sdk.TaskStatusUpdateEvent)
	if !ok || e.Status.State != want {
		t.Fatalf("heard %+v, not %s", e, want)
	}
	if e.Status.Message != nil {
		words = e.Status.Message.Parts[0].Text()
	}
	return words
}

func (h heard) end(t *testing.T) {
	t.Helper()
	if e, err, more := h.next(); more {
		t.Errorf("after the end came %+v, %v", e, err)
	}
}

// The whole way of a task, told by the stream it began with, while an agent works it over MCP.
func TestTask_FromSubmittedToCompletedWhileAnAgentWorksIt(t *testing.T) {
	b := setup(t)
	client, worker := b.client(t, b.vended), b.worker(t, b.vended)
	stream := listen(t, client.SendStreamingMessage(t.Context(), message("Which retention applies?\nAsk when in doubt.")))
	task := stream.event(t).(*sdk.Task)
	if task.Status.State != sdk.TaskStateSubmitted || task.ContextID != string(task.ID) || task.Metadata["title"] != "Which retention applies?" {
		t.Fatalf("submitted as %+v", task)
	}
	id := map[string]any{"id": string(task.ID)}
	claimed := worker.call(t, "claim_next", nil)["todo"].(map[string]any)
	if claimed["id"] != string(task.ID) || claimed["source"] != "a2a" || claimed["title"] != "Which retention applies?" {
		t.Fatalf("claimed %v", claimed)
	}
	sent := claimed["payload"].(map[string]any)["message"].(map[string]any)
	if sent["parts"].([]any)[0].(map[string]any)["text"] != "Which retention applies?\nAsk when in doubt." {
		t.Errorf("the agent reads %v", sent)
	}
	stream.state(t, sdk.TaskStateWorking)

	worker.call(t, "request_input", map[string]any{"id": string(task.ID), "message": "30 or 90 days?"})
	if words := stream.state(t, sdk.TaskStateInputRequired); words != "30 or 90 days?" {
		t.Errorf("the question reads %q", words)
	}
	reply := sdk.NewMessageForTask(sdk.MessageRoleUser, task, sdk.NewTextPart("90 days."))
	if resumed := send(t, client, &sdk.SendMessageRequest{Message: reply}); resumed.Status.State != sdk.TaskStateWorking || len(resumed.History) != 3 {
		t.Errorf("resumed as %+v", resumed)
	}
	stream.state(t, sdk.TaskStateWorking)
	said := worker.call(t, "get_todo", id)["messages"].([]any)
	if len(said) != 2 || said[1].(map[string]any)["parts"].([]any)[0].(map[string]any)["text"] != "90 days." {
		t.Errorf("the agent reads %v", said)
	}

	worker.call(t, "request_auth", id)
	stream.state(t, sdk.TaskStateAuthRequired)
	// A second look joins in the middle.
	other := listen(t, client.SubscribeToTask(t.Context(), &sdk.SubscribeToTaskRequest{ID: task.ID}))
	if at := other.event(t).(*sdk.Task); at.Status.State != sdk.TaskStateAuthRequired {
		t.Errorf("joined at %+v", at.Status)
	}
	send(t, client, &sdk.SendMessageRequest{Message: sdk.NewMessageForTask(sdk.MessageRoleUser, task, sdk.NewTextPart("Signed in."))})
	stream.state(t, sdk.TaskStateWorking)
	other.state(t, sdk.TaskStateWorking)

	worker.call(t, "complete", map[string]any{"id": string(task.ID), "summary": "It is 90.", "result": map[string]any{"days": 90}, "artifact": "https://example.com/r/7"})
	for _, h := range []heard{stream, other} {
		made, ok := h.event(t).(*sdk.TaskArtifactUpdateEvent)
		if !ok || made.Artifact.Parts[0].Data().(map[string]any)["days"] != float64(90) || made.Artifact.Parts[1].URL() != "https://example.com/r/7" {
			t.Errorf("made %+v", made)
		}
		if words := h.state(t, sdk.TaskStateCompleted); words != "It is 90." {
			t.Errorf("completed with %q", words)
		}
		h.end(t)
	}
	if done := get(t, client, task.ID); done.Status.State != sdk.TaskStateCompleted || len(done.Artifacts) != 1 || len(done.History) != 4 {
		t.Errorf("it stands as %+v", done)
	}
	want := []string{"a2a_state input-required: 30 or 90 days?", "a2a_state resume: 90 days.", "a2a_state auth-required",
		"a2a_state resume: Signed in.", "attempt completed"}
	if diff := cmp.Diff(want, b.trail(t, task.ID)); diff != "" {
		t.Error(diff)
	}
}

func TestCancel_EndsWhatAnAgentHoldsAndIsIdempotent(t *testing.T) {
	b := setup(t)
	client, worker := b.client(t, b.vended), b.worker(t, b.vended)
	task := send(t, client, message("never mind"))
	worker.call(t, "claim_next", nil)
	stream := listen(t, client.SubscribeToTask(t.Context(), &sdk.SubscribeToTaskRequest{ID: task.ID}))
	stream.event(t)
	for range 2 {
		ended, err := client.CancelTask(t.Context(), &sdk.CancelTaskRequest{ID: task.ID})
		if err != nil || ended.Status.State != sdk.TaskStateCanceled {
			t.Fatalf("%+v, %v", ended, err)
		}
	}
	stream.state(t, sdk.TaskStateCanceled)
	stream.end(t)
	if diff := cmp.Diff([]string{"a2a_state cancel", "attempt canceled"}, b.trail(t, task.ID)); diff != "" {
		t.Error(diff)
	}
	for _, err := range client.SubscribeToTask(t.Context(), &sdk.SubscribeToTaskRequest{ID: task.ID}) {
		if !errors.Is(err, sdk.ErrUnsupportedOperation) {
			t.Errorf("following what has ended answers %v", err)
		}
	}
	done := send(t, client, message("quick"))
	worker.call(t, "claim_next", nil)
	worker.call(t, "complete", map[string]any{"id": string(done.ID)})
	if _, err := client.CancelTask(t.Context(), &sdk.CancelTaskRequest{ID: done.ID}); !errors.Is(err, sdk.ErrTaskNotCancelable) {
		t.Errorf("a completed task answers %v", err)
	}
}

// protocols.md section 4: each state of a todo is one of a task.
func TestStates_AreThoseOfTheTodo(t *testing.T) {
	b := setup(t)
	client, worker := b.client(t, b.vended), b.worker(t, b.vended)
	want := map[sdk.TaskState]sdk.TaskID{}
	next := func(verb string, args map[string]any) sdk.TaskID {
		t.Helper()
		id := string(send(t, client, message("work")).ID)
		worker.call(t, "claim", map[string]any{"id": id})
		if verb != "" {
			args["id"] = id
			worker.call(t, verb, args)
		}
		return sdk.TaskID(id)
	}
	want[sdk.TaskStateWorking] = next("", nil)
	want[sdk.TaskStateCompleted] = next("complete", map[string]any{})
	want[sdk.TaskStateFailed] = next("fail", map[string]any{"retry": false, "summary": "No."})
	retried := next("fail", map[string]any{"retry_after_seconds": 3600})
	want[sdk.TaskStateInputRequired] = next("request_input", map[string]any{})
	want[sdk.TaskStateAuthRequired] = next("request_auth", map[string]any{})
	want[sdk.TaskStateCanceled] = send(t, client, message("work")).ID
	if _, err := client.CancelTask(t.Context(), &sdk.CancelTaskRequest{ID: want[sdk.TaskStateCanceled]}); err != nil {
		t.Fatal(err)
	}
	want[sdk.TaskStateRejected] = send(t, client, message("work")).ID
	if _, err := b.queue.Reject(t.Context(), &b.vended.Endpoint, todo(t, want[sdk.TaskStateRejected])); err != nil {
		t.Fatal(err)
	}
	for state, id := range want {
		if got := get(t, client, id).Status.State; got != state {
			t.Errorf("%s is shown as %s", state, got)
		}
		list, err := client.ListTasks(t.Context(), &sdk.ListTasksRequest{Status: state})
		if err != nil || len(list.Tasks) != 1 || list.TotalSize != 1 || list.Tasks[0].ID != id {
			t.Errorf("the list of %s is %+v, %v", state, list, err)
		}
	}
	if got := get(t, client, retried).Status.State; got != sdk.TaskStateSubmitted {
		t.Errorf("a retry that is scheduled is shown as %s", got)
	}
	if words := get(t, client, want[sdk.TaskStateFailed]).Status.Message; words == nil || words.Parts[0].Text() != "No." {
		t.Errorf("a failed task says %+v", words)
	}
}
