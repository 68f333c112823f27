package api

import (
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/arguments"
	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// act serves one of the human's actions on a todo; it answers with the todo in full (decisions.md 31, 32).
// An argument that the action does not take is ignored like any unknown one.
func (s *server) act(action queue.Action) func(*call) (*answer, error) {
	return func(c *call) (*answer, error) {
		in := bodyOf(c.Request)
		a := queue.Act{Action: action, Via: viaOf(in)}
		switch action {
		case queue.ActionFail:
			a.Retry, a.RetryAfterSeconds = in.Bool("retry"), in.Whole("retry_after_seconds")
			fallthrough
		case queue.ActionComplete:
			a.Result = in.JSON("result")
			fallthrough
		case queue.ActionRelease:
			a.Summary, a.Artifact = in.Prose("summary"), in.Word("artifact")
		}
		if in.Err() != nil {
			return nil, in.Err()
		}
		id, isID := typeid.Todo.Parse(c.PathValue("id"))
		if !isID {
			return nil, fault.ErrTodoNotFound
		}
		todo, err := s.Queue.Act(c.Context(), c.human.ID, id, a)
		if err != nil {
			return nil, err
		}
		return ok(todoBody{todo, s.todoURL(todo.ID)})
	}
}

// viaOf reads which of the clients of this API a human acts by. The Board has a way in of its own.
func viaOf(in *arguments.Arguments) queue.Via {
	switch via := queue.Via(in.Filter("via")); via {
	case "", queue.ViaAPI:
		return queue.ViaAPI
	case queue.ViaCLI:
		return queue.ViaCLI
	default:
		in.Refuse(fault.InvalidArgument("via", "must be api or cli"))
		return ""
	}
}

// A request for many retries works through at most this many pages of at most this many todos, so that it ends
// long before a client's patience does.
const (
	retryPages    = 5
	retryPageSize = 200
)

// retriedBody tells what became of the dead letters that a request has worked through.
type retriedBody struct {
	Retried    []queue.ID `json:"retried"`
	Refused    int        `json:"refused"`
	NextCursor *string    `json:"next_cursor"`
}

// retryTodos retries dead letters in bulk, newest first, each in a transaction of its own: what is retried
// stays so, whatever becomes of the rest.
func (s *server) retryTodos(c *call) (*answer, error) {
	in := bodyOf(c.Request)
	via, dead := viaOf(in), in.Bool("dead_letter")
	f := queue.HumanFilter{Queue: in.Filter("queue"), Cursor: in.Filter("cursor"), DeadLetter: dead, Limit: retryPageSize}
	if dead == nil || !*dead {
		in.Refuse(fault.InvalidArgument("dead_letter", "must be true: only dead letters are retried in bulk"))
	}
	if in.Err() != nil {
		return nil, in.Err()
	}
	body := retriedBody{Retried: []queue.ID{}}
	for range retryPages {
		next, err := s.retryPage(c, f, via, &body)
		switch {
		case err != nil && len(body.Retried) == 0:
			return nil, err
		case err != nil:
			// What was done must be told. Whoever goes on from here hears of the outage, if it lasts.
			body.NextCursor = &f.Cursor
			return ok(body)
		case next == "":
			return ok(body)
		}
		f.Cursor = next
	}
	body.NextCursor = &f.Cursor
	return ok(body)
}

// retryPage retries one page. A todo that cannot be retried does not hold up the others; a store that cannot
// be reached does.
func (s *server) retryPage(c *call, f queue.HumanFilter, via queue.Via, body *retriedBody) (next string, err error) {
	rows, next, err := s.Queue.HumanTodos(c.Context(), c.human.ID, f)
	if err != nil {
		return "", err
	}
	for i := range rows {
		_, err := s.Queue.Act(c.Context(), c.human.ID, rows[i].ID.UUID(), queue.Act{Action: queue.ActionRetry, Via: via})
		switch {
		case err == nil:
			body.Retried = append(body.Retried, rows[i].ID)
			continue
		case postgres.Unavailable(err) || c.Context().Err() != nil:
			return "", err
		case fault.From(err, postgres.Fault) == fault.ErrInternal:
			s.Log.Error("a todo could not be retried", postgres.Field(err), zap.Stringer("todo", rows[i].ID))
		}
		body.Refused++
	}
	return next, nil
}
