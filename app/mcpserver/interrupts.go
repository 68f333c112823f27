package mcpserver

import (
	"context"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/queue"
)

var interruptVerbs = []verb{
	{
		name:        identity.VerbRequestInput,
		description: "Ask whoever sent a todo you hold. You keep it, and its lease stands still until the answer: then it is claimed again, with a full lease, and get_todo shows the answer in messages.",
		input:       object(askArgs, "id"),
		output:      object(rowProperties, "id"),
		run:         interrupt(queue.StateInputRequired),
	},
	{
		name:        identity.VerbRequestAuth,
		description: "Say that a todo you hold needs somebody to sign in or to allow something. It waits as with request_input. Never ask for a credential itself: answers are stored.",
		input:       object(askArgs, "id"),
		output:      object(rowProperties, "id"),
		run:         interrupt(queue.StateAuthRequired),
	},
}

var askArgs = join(idArgument, tokenArgument, schema{
	"message": kind("string", "What you need, in a few lines. Shown to its sender and to your human; credentials in it are masked; cut to 2048 bytes."),
})

func interrupt(into queue.State) func(context.Context, *server, *call) (any, error) {
	return func(ctx context.Context, s *server, c *call) (any, error) {
		id, token, message := c.todoID(), c.Exact("lease_token"), c.Prose("message")
		if c.Err() != nil {
			return nil, c.Err()
		}
		return s.Queue.Interrupt(ctx, c.endpoint, id, token, into, message)
	}
}
