// Package fault is the one vocabulary of refusals: MCP, the human API and the command line say the same
// codes and the same sentences. A message never holds a caller's value, a secret or a store's own text.
package fault

import (
	"errors"
	"fmt"
)

// Code says what kind of refusal it is.
type Code string

// The codes, with what a caller should make of each.
const (
	Invalid     Code = "invalid"      // bad input; the message names the argument
	NotFound    Code = "not_found"    // unknown, foreign, or outside the granted queues: one answer for all
	Forbidden   Code = "forbidden"    // a verb or queue that was not granted
	Conflict    Code = "conflict"     // wrong state, lost race, lease not held, any fence mismatch
	RateLimited Code = "rate_limited" // slow down
	Unavailable Code = "unavailable"  // the store cannot be reached; nothing was changed
	Internal    Code = "internal"     // anything else; details only in the log
)

// Error is a refusal. Its text is "code: message".
type Error struct {
	Code    Code
	Message string
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// New makes a refusal with a fixed message.
func New(code Code, message string) *Error { return &Error{Code: code, Message: message} }

// InvalidArgument is the refusal of one argument: its name and what it must be, never its value.
func InvalidArgument(name, must string) *Error {
	return &Error{Code: Invalid, Message: fmt.Sprintf("%s %s", name, must)}
}

// The refusals that must not differ by a byte, whatever their cause.
var (
	ErrTodoNotFound     = New(NotFound, "no such todo")
	ErrEndpointNotFound = New(NotFound, "no such endpoint")
	ErrNotHeld          = New(Conflict, "this todo is not held under this lease")
	ErrUnavailable      = New(Unavailable, "the store cannot be reached; nothing was changed, try again")
	ErrUnknownOutcome   = New(Unavailable, "the store did not answer in the end; look what was changed before you try again")
	ErrInternal         = New(Internal, "something went wrong on the server; its log has the request id")
)

// From finds the refusal in err. An error that is none is judged by store, which knows the errors of the
// database; what store does not know is ErrInternal. Its own text stays behind, for the log.
func From(err error, store func(error) *Error) *Error {
	var f *Error
	if errors.As(err, &f) {
		return f
	}
	if f := store(err); f != nil {
		return f
	}
	return ErrInternal
}
