package a2a

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// Limits of a list. One that shows what was said or what came of it is shorter: each of these can take 1 MiB.
const (
	defaultPage = 50
	maxPage     = 100
	maxFullPage = 10
)

// tasks are the methods of A2A.
type tasks struct{ *Server }

var _ a2asrv.RequestHandler = (*tasks)(nil)

// idOf reads a task's id. One that could never exist is not found, as an unknown one is.
func idOf(id a2a.TaskID) (uuid.UUID, error) {
	todo, ok := typeid.Todo.Parse(string(id))
	if !ok {
		return uuid.Nil, fault.ErrTodoNotFound
	}
	return todo, nil
}

// find reads a task of the calling endpoint.
func (h *tasks) find(ctx context.Context, ep *identity.Endpoint, id a2a.TaskID) (*queue.Task, error) {
	todo, err := idOf(id)
	if err != nil {
		return nil, h.failed(err)
	}
	t, err := h.Queue.Task(ctx, ep, todo)
	if err != nil {
		return nil, h.failed(err)
	}
	return t, nil
}

// GetTask shows a task.
func (h *tasks) GetTask(ctx context.Context, r *a2a.GetTaskRequest) (*a2a.Task, error) {
	c, err := admit(ctx, identity.VerbGetTodo)
	if err != nil {
		return nil, err
	}
	if err := checkHistory(r.HistoryLength); err != nil {
		return nil, err
	}
	t, err := h.find(ctx, c.endpoint, r.ID)
	if err != nil {
		return nil, err
	}
	return taskOf(t, r.HistoryLength), nil
}

func checkHistory(length *int) error {
	if length != nil && *length < 0 {
		return refusal(fault.InvalidArgument("historyLength", "must be at least 0"))
	}
	return nil
}

// ListTasks lists tasks, newest first, by context and by status. A todo that moves changes its place in no list, so
// pages lose nothing; that is why they are not ordered by when a status changed.
func (h *tasks) ListTasks(ctx context.Context, r *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	c, err := admit(ctx, identity.VerbListTodos)
	if err != nil {
		return nil, err
	}
	at, known := standings[r.Status]
	switch {
	case !known:
		return nil, refusal(fault.InvalidArgument("status", "must be a task state of A2A"))
	case r.ContextID != "" && !name(r.ContextID, maxContext):
		return nil, refusal(fault.InvalidArgument("contextId", "must be at most 128 bytes of printable text"))
	case r.PageSize < 0 || r.PageSize > maxPage:
		return nil, refusal(fault.InvalidArgument("pageSize", "must be 1 to 100"))
	}
	if err := checkHistory(r.HistoryLength); err != nil {
		return nil, err
	}
	history := 0 // unless it is asked for
	if r.HistoryLength != nil {
		history = *r.HistoryLength
	}
	f := queue.TaskFilter{Context: r.ContextID, States: at.states, DeadLetter: at.deadLetter, UpdatedAfter: r.StatusTimestampAfter,
		Messages: history > 0, Results: r.IncludeArtifacts, Limit: r.PageSize, Cursor: r.PageToken}
	if f.Limit == 0 {
		f.Limit = defaultPage
	}
	if f.Messages || f.Results {
		f.Limit = min(f.Limit, maxFullPage)
	}
	found, next, total, err := h.Queue.Tasks(ctx, c.endpoint, f)
	if err != nil {
		return nil, h.failed(err)
	}
	answer := &a2a.ListTasksResponse{Tasks: make([]*a2a.Task, len(found)), TotalSize: total, PageSize: f.Limit, NextPageToken: next}
	for i := range found {
		answer.Tasks[i] = taskOf(&found[i], &history)
		if !r.IncludeArtifacts {
			answer.Tasks[i].Artifacts = nil
		}
	}
	return answer, nil
}

// CancelTask ends a task that has not ended, whoever holds it. Canceling again changes nothing.
func (h *tasks) CancelTask(ctx context.Context, r *a2a.CancelTaskRequest) (*a2a.Task, error) {
	c, err := admit(ctx, identity.VerbGetTodo)
	if err != nil {
		return nil, err
	}
	id, err := idOf(r.ID)
	if err != nil {
		return nil, h.failed(err)
	}
	if _, err := h.Queue.Cancel(ctx, c.endpoint, id); errors.Is(err, fault.ErrNotHeld) {
		return nil, a2a.NewError(a2a.ErrTaskNotCancelable, "conflict: this task has ended")
	} else if err != nil {
		return nil, h.failed(err)
	}
	t, err := h.find(ctx, c.endpoint, r.ID)
	if err != nil {
		return nil, err
	}
	return taskOf(t, nil), nil
}

// SendMessage creates a todo, or answers one that waits for it. It never waits for the work: a todo can take days.
// Whoever wants to hear of it subscribes, or asks again.
func (h *tasks) SendMessage(ctx context.Context, r *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	t, _, err := h.send(ctx, r)
	if err != nil {
		return nil, err
	}
	if r.Config != nil {
		return taskOf(t, r.Config.HistoryLength), nil
	}
	return taskOf(t, nil), nil
}

func (h *tasks) send(ctx context.Context, r *a2a.SendMessageRequest) (*queue.Task, *caller, error) {
	c, err := admit(ctx, identity.VerbGetTodo)
	if err != nil {
		return nil, nil, err
	}
	if r.Config != nil && r.Config.PushConfig != nil {
		return nil, nil, errNoPush
	}
	if r.Config != nil {
		if err := checkHistory(r.Config.HistoryLength); err != nil {
			return nil, nil, err
		}
	}
	if err := check(r.Message); err != nil {
		return nil, nil, h.failed(err)
	}
	id := r.Message.TaskID
	if id == "" {
		id, err = h.submit(ctx, c.endpoint, r.Message)
	} else {
		err = h.answer(ctx, c.endpoint, r.Message)
	}
	if err != nil {
		return nil, nil, err
	}
	t, err := h.find(ctx, c.endpoint, id)
	return t, c, err
}

// submit creates a todo. The same message again is the same todo, as long as that has not ended.
func (h *tasks) submit(ctx context.Context, ep *identity.Endpoint, m *a2a.Message) (a2a.TaskID, error) {
	raw, err := stored(payload{m})
	if err != nil {
		return "", h.failed(err)
	}
	work := queue.Submission{Title: titleOf(m), Payload: raw, IdempotencyKey: "a2a:" + m.ID}
	if m.ContextID != "" {
		work.Context = &m.ContextID
	}
	todo, _, err := h.Queue.Submit(ctx, ep, work)
	if err != nil {
		return "", h.failed(err)
	}
	return a2a.TaskID(todo.ID.String()), nil
}

// answer resumes a task that waits. The same message again changes nothing.
func (h *tasks) answer(ctx context.Context, ep *identity.Endpoint, m *a2a.Message) error {
	t, err := h.find(ctx, ep, m.TaskID)
	if err != nil {
		return err
	}
	if m.ContextID != "" && m.ContextID != contextOf(t) {
		return refusal(fault.InvalidArgument("message.contextId", "must be the context of the task, or absent"))
	}
	if heard(t, m) {
		return nil
	}
	raw, err := stored(m)
	if err != nil {
		return h.failed(err)
	}
	_, err = h.Queue.Resume(ctx, ep, t.ID.UUID(), raw, wordsOf(m))
	if err == nil {
		return nil
	}
	if !errors.Is(err, fault.ErrNotHeld) {
		return h.failed(err)
	}
	// It does not wait, or no longer: the same message may have come twice at once.
	if t, err = h.find(ctx, ep, m.TaskID); err != nil {
		return err
	}
	switch {
	case heard(t, m):
		return nil
	case stateOf(t).Terminal():
		return errEnded
	default:
		return errNotAsking
	}
}

// heard reports whether a task has a message already.
func heard(t *queue.Task, m *a2a.Message) bool {
	return slices.ContainsFunc(historyOf(t), func(before *a2a.Message) bool { return before.ID == m.ID && before.Role == m.Role })
}

// SendStreamingMessage sends a message and follows its task to the end.
func (h *tasks) SendStreamingMessage(ctx context.Context, r *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		t, c, err := h.send(ctx, r)
		if err != nil {
			yield(nil, err)
			return
		}
		h.follow(ctx, c, t.ID.UUID(), yield)
	}
}

// SubscribeToTask follows a task to its end. One that has ended has nothing to follow.
func (h *tasks) SubscribeToTask(ctx context.Context, r *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		c, err := admit(ctx, identity.VerbGetTodo)
		if err != nil {
			yield(nil, err)
			return
		}
		t, err := h.find(ctx, c.endpoint, r.ID)
		switch {
		case err != nil:
			yield(nil, err)
		case stateOf(t).Terminal():
			yield(nil, errEnded)
		default:
			h.follow(ctx, c, t.ID.UUID(), yield)
		}
	}
}

// Nothing delivers push notifications, so none can be configured.

// GetTaskPushConfig is not offered.
func (h *tasks) GetTaskPushConfig(context.Context, *a2a.GetTaskPushConfigRequest) (*a2a.PushConfig, error) {
	return nil, errNoPush
}

// ListTaskPushConfigs is not offered.
func (h *tasks) ListTaskPushConfigs(context.Context, *a2a.ListTaskPushConfigRequest) (*a2a.ListTaskPushConfigResponse, error) {
	return nil, errNoPush
}

// CreateTaskPushConfig is not offered.
func (h *tasks) CreateTaskPushConfig(context.Context, *a2a.PushConfig) (*a2a.PushConfig, error) {
	return nil, errNoPush
}

// DeleteTaskPushConfig is not offered.
func (h *tasks) DeleteTaskPushConfig(context.Context, *a2a.DeleteTaskPushConfigRequest) error {
	return errNoPush
}

// GetExtendedAgentCard is not offered: the one card says it all.
func (h *tasks) GetExtendedAgentCard(context.Context, *a2a.GetExtendedAgentCardRequest) (*a2a.AgentCard, error) {
	return nil, a2a.NewError(a2a.ErrExtendedCardNotConfigured, "there is no extended card")
}
