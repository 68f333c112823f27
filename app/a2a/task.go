package a2a

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/switchboard-otel/switchboard/app/queue"
)

// stateOf is what A2A calls where a todo stands (protocols.md section 4).
func stateOf(t *queue.Task) a2a.TaskState {
	switch t.State {
	case queue.StatePending:
		return a2a.TaskStateSubmitted
	case queue.StateClaimed:
		return a2a.TaskStateWorking
	case queue.StateDone:
		return a2a.TaskStateCompleted
	case queue.StateCanceled:
		return a2a.TaskStateCanceled
	case queue.StateRejected:
		return a2a.TaskStateRejected
	case queue.StateInputRequired:
		return a2a.TaskStateInputRequired
	case queue.StateAuthRequired:
		return a2a.TaskStateAuthRequired
	}
	if t.DeadLetter {
		return a2a.TaskStateFailed
	}
	return a2a.TaskStateSubmitted // waits for its retry
}

// standing is how a todo with a state of A2A is found: stateOf the other way round.
type standing struct {
	states     []queue.State
	deadLetter *bool
}

var (
	yes, no   = true, false
	standings = map[a2a.TaskState]standing{
		a2a.TaskStateUnspecified:   {},
		a2a.TaskStateSubmitted:     {[]queue.State{queue.StatePending, queue.StateFailed}, &no},
		a2a.TaskStateWorking:       {[]queue.State{queue.StateClaimed}, nil},
		a2a.TaskStateCompleted:     {[]queue.State{queue.StateDone}, nil},
		a2a.TaskStateFailed:        {[]queue.State{queue.StateFailed}, &yes},
		a2a.TaskStateCanceled:      {[]queue.State{queue.StateCanceled}, nil},
		a2a.TaskStateRejected:      {[]queue.State{queue.StateRejected}, nil},
		a2a.TaskStateInputRequired: {[]queue.State{queue.StateInputRequired}, nil},
		a2a.TaskStateAuthRequired:  {[]queue.State{queue.StateAuthRequired}, nil},
	}
)

// contextOf is the context of a task. One that was sent in none has its own.
func contextOf(t *queue.Task) string {
	if t.Context != nil {
		return *t.Context
	}
	return t.ID.String()
}

// taskOf shows a todo as a task. history is how many of the latest messages it shows; nil: all.
func taskOf(t *queue.Task, history *int) *a2a.Task {
	task := &a2a.Task{
		ID: a2a.TaskID(t.ID.String()), ContextID: contextOf(t), Status: statusOf(t), Artifacts: artifactsOf(t),
		Metadata: map[string]any{"title": t.Title, "queue": t.Queue},
	}
	messages := historyOf(t)
	if history != nil && *history < len(messages) {
		messages = messages[len(messages)-max(*history, 0):]
	}
	if len(messages) > 0 {
		task.History = messages
	}
	return task
}

// historyOf is what was said, oldest first: what the todo was sent with, if that came over A2A, then the rest.
func historyOf(t *queue.Task) []*a2a.Message {
	var first payload
	var all []*a2a.Message
	if t.Source == queue.SourceA2A && json.Unmarshal(t.Payload, &first) == nil && first.Message != nil {
		all = append(all, first.Message)
	}
	all = append(all, said(t.Messages)...)
	for _, m := range all {
		address(m, t)
	}
	return all
}

// address says on a message which task it belongs to.
func address(m *a2a.Message, t *queue.Task) {
	m.TaskID, m.ContextID = a2a.TaskID(t.ID.String()), contextOf(t)
}

func statusOf(t *queue.Task) a2a.TaskStatus {
	at := t.UpdatedAt.UTC()
	return a2a.TaskStatus{State: stateOf(t), Timestamp: &at, Message: wordOf(t)}
}

// wordOf is what an agent says about where the task stands: what it asks, or how its latest attempt ended.
func wordOf(t *queue.Task) *a2a.Message {
	switch t.State {
	case queue.StateInputRequired, queue.StateAuthRequired:
		messages := said(t.Messages)
		if n := len(messages); n > 0 && messages[n-1].Role == a2a.MessageRoleAgent {
			address(messages[n-1], t)
			return messages[n-1]
		}
	case queue.StateDone, queue.StateFailed:
		if t.Summary != nil {
			m := &a2a.Message{ID: fmt.Sprintf("%s-%d", t.ID, t.AttemptsTotal), Role: a2a.MessageRoleAgent,
				Parts: a2a.ContentParts{a2a.NewTextPart(*t.Summary)}}
			address(m, t)
			return m
		}
	}
	return nil
}

// artifactsOf is what a completed task came to: the result as data, and the reference that its worker left.
func artifactsOf(t *queue.Task) []*a2a.Artifact {
	if t.State != queue.StateDone {
		return nil
	}
	var parts a2a.ContentParts
	if t.Result != nil {
		parts = append(parts, a2a.NewDataPart(t.Result))
	}
	if t.Artifact != nil {
		part := a2a.NewTextPart(*t.Artifact)
		if strings.HasPrefix(*t.Artifact, "https:") {
			part = a2a.NewFileURLPart(a2a.URL(*t.Artifact), "")
		}
		parts = append(parts, part)
	}
	if parts == nil {
		return nil
	}
	return []*a2a.Artifact{{ID: "result", Name: "result", Parts: parts}}
}
