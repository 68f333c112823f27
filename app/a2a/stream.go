package a2a

import (
	"context"
	"crypto/rand"
	"errors"
	"reflect"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/live"
)

// maxStreams is how many streams an endpoint may hold open on one process.
const maxStreams = 100

// streams counts the open streams of each endpoint.
type streams struct {
	mu   sync.Mutex
	open map[uuid.UUID]int
}

func (s *streams) enter(endpoint uuid.UUID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[uuid.UUID]int{}
	}
	if s.open[endpoint] >= maxStreams {
		return false
	}
	s.open[endpoint]++
	return true
}

func (s *streams) leave(endpoint uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[endpoint]--; s.open[endpoint] == 0 {
		delete(s.open, endpoint)
	}
}

// follow tells of a task as it stands, then of everything that changes, until it ends. Waiting for an answer is no end.
// The stream lives as long as the credential that opened it. What happens and passes within the second between two
// looks is not told.
func (h *tasks) follow(ctx context.Context, c *caller, id uuid.UUID, yield func(a2a.Event, error) bool) {
	if !h.streams.enter(c.endpoint.ID) {
		yield(nil, refusal(fault.New(fault.RateLimited, "this endpoint has 100 open streams; close one first")))
		return
	}
	defer h.streams.leave(c.endpoint.ID)
	topic := live.Topic{Human: c.endpoint.HumanID, Name: c.endpoint.ID.String() + " " + id.String()}
	stream, _, err := h.hub.Follow(ctx, topic, rand.Text())
	switch {
	case errors.Is(err, live.ErrGone):
		yield(nil, refusal(fault.ErrTodoNotFound))
		return
	case errors.Is(err, live.ErrClosed):
		yield(nil, refusal(fault.New(fault.Unavailable, "the server is stopping; subscribe again")))
		return
	case err != nil:
		yield(nil, h.failed(err))
		return
	}
	defer stream.Close()
	// Read after the stream has begun, so that nothing falls between.
	at, err := h.Queue.Task(ctx, c.endpoint, id)
	if err != nil {
		yield(nil, h.failed(err))
		return
	}
	told := taskOf(at, nil)
	if !yield(told, nil) {
		return
	}
	stillCalls := time.NewTicker(live.KeepAlive)
	defer stillCalls.Stop()
	for !told.Status.State.Terminal() {
		select {
		case <-ctx.Done():
			return
		case <-stream.Done():
			return
		case <-stillCalls.C:
			if _, err := h.Gate.Authenticate(ctx, c.header); errors.Is(err, identity.ErrUnauthenticated) {
				return
			}
			continue
		case <-stream.Changed():
		}
		at, err := h.Queue.Task(ctx, c.endpoint, id)
		if err != nil {
			yield(nil, h.failed(err))
			return
		}
		now := taskOf(at, nil)
		for _, event := range changes(told, now) {
			if !yield(event, nil) {
				return
			}
		}
		told = now
	}
}

// changes are what tells a reader of one how to come to the other: what was made, then how the task stands.
func changes(told, now *a2a.Task) (events []a2a.Event) {
	if len(told.Artifacts) == 0 {
		for _, made := range now.Artifacts {
			events = append(events, &a2a.TaskArtifactUpdateEvent{TaskID: now.ID, ContextID: now.ContextID, Artifact: made, LastChunk: true})
		}
	}
	if told.Status.State != now.Status.State || !reflect.DeepEqual(told.Status.Message, now.Status.Message) {
		events = append(events, &a2a.TaskStatusUpdateEvent{TaskID: now.ID, ContextID: now.ContextID, Status: now.Status})
	}
	return events
}
