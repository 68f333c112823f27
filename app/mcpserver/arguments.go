package mcpserver

import (
	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// todoID reads the required id, under either of its names. An id that could never exist is not found, as
// an unknown one is.
func (c *call) todoID() uuid.UUID {
	s := c.Exact("id")
	if s == nil {
		s = c.Exact("todo_id")
	}
	if s == nil {
		c.Refuse(fault.InvalidArgument("id", "is required"))
		return uuid.Nil
	}
	id, ok := typeid.Todo.Parse(*s)
	if !ok {
		c.Refuse(fault.ErrTodoNotFound)
	}
	return id
}
