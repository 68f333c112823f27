package mcpserver

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/switchboard-otel/switchboard/app/a2ui"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/intake"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// The addresses of the surfaces.
const (
	todoHead, queueHead = "switchboard://todo/", "switchboard://queue/"
	surfaceTail         = "/a2ui"
)

func (s *server) addSurfaces(to *mcp.Server) {
	to.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "todo-surface", Title: "A todo as an A2UI surface", URITemplate: todoHead + "{id}" + surfaceTail, MIMEType: a2ui.MIME,
		Description: "How one of this endpoint's todos stands: its outcome and up to 50 entries of its timeline. Nothing on it acts.",
	}, s.readTodoSurface)
	to.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "queue-surface", Title: "A queue as an A2UI surface", URITemplate: queueHead + "{queue}" + surfaceTail, MIMEType: a2ui.MIME,
		Description: "The 50 newest todos of one of this endpoint's queues. Nothing on it acts.",
	}, s.readQueueSurface)
}

// between is what a template's variable stands for in an address.
func between(uri, head string) string {
	return strings.TrimSuffix(strings.TrimPrefix(uri, head), surfaceTail)
}

// readTodoSurface answers whoever may read the todo itself; to everybody else there is no such resource.
func (s *server) readTodoSurface(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	unknown := mcp.ResourceNotFoundError(req.Params.URI)
	endpoint := endpointOf(req.Extra)
	id, isID := typeid.Todo.Parse(between(req.Params.URI, todoHead))
	if endpoint == nil || !endpoint.Grants(identity.VerbGetTodo) || !isID {
		return nil, unknown
	}
	one := 1
	if _, err := s.Queue.Get(ctx, endpoint, id, &one); err != nil { // its scope: endpoint and queues
		return nil, s.resourceFault(unknown, err)
	}
	todo, err := s.Queue.HumanTodo(ctx, endpoint.HumanID, id)
	if err != nil {
		return nil, s.resourceFault(unknown, err)
	}
	drawn := a2ui.Trail{Todo: todo}
	if drawn.Counts, err = s.Spans.Counts(ctx, endpoint.HumanID, id); err != nil {
		return nil, s.resourceFault(unknown, err)
	}
	if todo.EventID != nil {
		if drawn.Event, err = s.Intake.Event(ctx, intake.OfEndpoint(endpoint), todo.EventID.UUID()); err != nil {
			return nil, s.resourceFault(unknown, err)
		}
	}
	doc, err := a2ui.Todo(drawn)
	return surfaceAnswer(req.Params.URI, doc), err
}

// readQueueSurface answers whoever may list the queue; a queue that was not granted is one that does not exist.
func (s *server) readQueueSurface(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	unknown := mcp.ResourceNotFoundError(req.Params.URI)
	endpoint := endpointOf(req.Extra)
	name := between(req.Params.URI, queueHead)
	if endpoint == nil || !endpoint.Grants(identity.VerbListTodos) || !endpoint.GrantsQueue(name) {
		return nil, unknown
	}
	limit := a2ui.MaxRows
	rows, next, err := s.Queue.List(ctx, endpoint, queue.ListParams{Queue: name, Limit: &limit})
	if err != nil {
		return nil, s.resourceFault(unknown, err)
	}
	doc, err := a2ui.Queue(name, rows, next != "")
	return surfaceAnswer(req.Params.URI, doc), err
}

func surfaceAnswer(uri string, doc []byte) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: a2ui.MIME, Text: string(doc)}}}
}
