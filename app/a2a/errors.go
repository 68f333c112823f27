package a2a

import (
	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/postgres"
)

// What A2A calls our refusals. The text stays "code: message", as it is over MCP.
var kinds = map[fault.Code]error{
	fault.Invalid:     a2a.ErrInvalidParams,
	fault.NotFound:    a2a.ErrTaskNotFound,
	fault.Forbidden:   a2a.ErrUnauthorized,
	fault.Conflict:    a2a.ErrUnsupportedOperation,
	fault.RateLimited: a2a.ErrServerError,
	fault.Unavailable: a2a.ErrServerError,
	fault.Internal:    a2a.ErrInternalError,
}

func refusal(f *fault.Error) error { return a2a.NewError(kinds[f.Code], f.Error()) }

// failed answers for err. What is no refusal goes to the log, under a request id that the caller is told.
func (s *Server) failed(err error) error {
	f := fault.From(err, postgres.Fault)
	if f.Code == fault.Internal {
		request := uuid.NewString()
		s.Log.Error("an a2a call failed", zap.String("request_id", request), postgres.Field(err))
		f = fault.New(fault.Internal, "something went wrong on the server; its log has request "+request)
	}
	return refusal(f)
}

var (
	errNoPush    = a2a.NewError(a2a.ErrPushNotificationNotSupported, "push notifications are not offered; subscribe to the task")
	errEnded     = a2a.NewError(a2a.ErrUnsupportedOperation, "conflict: this task has ended")
	errNotAsking = a2a.NewError(a2a.ErrUnsupportedOperation, "conflict: this task does not wait for a message")
)
