package api

import (
	"time"

	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/intake"
	"github.com/switchboard-otel/switchboard/app/typeid"
	"github.com/switchboard-otel/switchboard/app/webhook"
)

func (c *call) scope() intake.Scope { return intake.OfHuman(c.human.ID) }

// webhookID reads the id in the path. What is no id is the zero one, which nothing has: so it is answered, in
// every order of checks, as an unknown one.
func (c *call) webhookID() uuid.UUID {
	id, _ := typeid.Webhook.Parse(c.PathValue("webhook"))
	return id
}

// todoID is the same for a todo.
func (c *call) todoID() uuid.UUID {
	id, _ := typeid.Todo.Parse(c.PathValue("id"))
	return id
}

func (s *server) createWebhook(c *call) (*answer, error) {
	in := bodyOf(c.Request)
	p := intake.CreateParams{Source: webhook.Source(in.Filter("source_type")), TargetQueue: in.Filter("target_queue"), Secret: in.Word("secret")}
	if in.Err() != nil {
		return nil, in.Err()
	}
	endpoint, err := s.Identity.Endpoint(c.Context(), c.human.ID, c.PathValue("ref"))
	if err != nil {
		return nil, err
	}
	shown, err := s.Intake.Create(c.Context(), endpoint, p)
	if err != nil {
		return nil, err
	}
	return created(shown)
}

func (s *server) listWebhooks(c *call) (*answer, error) {
	list, err := s.Intake.List(c.Context(), c.scope())
	return webhooksBody(list, err)
}

func (s *server) endpointWebhooks(c *call) (*answer, error) {
	endpoint, err := s.Identity.Endpoint(c.Context(), c.human.ID, c.PathValue("ref"))
	if err != nil {
		return nil, err
	}
	list, err := s.Intake.List(c.Context(), intake.OfEndpoint(endpoint))
	return webhooksBody(list, err)
}

func webhooksBody(list []intake.Webhook, err error) (*answer, error) {
	if err != nil {
		return nil, err
	}
	return ok(map[string]any{"webhooks": list})
}

func (s *server) showWebhook(c *call) (*answer, error) {
	w, err := s.Intake.Get(c.Context(), c.scope(), c.webhookID())
	if err != nil {
		return nil, err
	}
	return ok(w)
}

func (s *server) rotateWebhook(c *call) (*answer, error) {
	in := bodyOf(c.Request)
	address, p := in.Bool("address"), intake.RotateParams{Secret: in.Word("secret")}
	p.Address = address != nil && *address
	if seconds := in.Whole("overlap_seconds"); seconds != nil {
		overlap := time.Duration(*seconds) * time.Second
		p.Overlap = &overlap
	}
	if in.Err() != nil {
		return nil, in.Err()
	}
	shown, err := s.Intake.Rotate(c.Context(), c.scope(), c.webhookID(), p)
	if err != nil {
		return nil, err
	}
	return ok(shown)
}

func (s *server) deleteWebhook(c *call) (*answer, error) {
	if err := s.Intake.Delete(c.Context(), c.scope(), c.webhookID()); err != nil {
		return nil, err
	}
	return ok(map[string]bool{"deleted": true})
}

func (s *server) webhookRules(c *call) (*answer, error) {
	rules, err := s.Intake.Rules(c.Context(), c.scope(), c.webhookID())
	if err != nil {
		return nil, err
	}
	return ok(rules)
}

func (s *server) setWebhookRules(c *call) (*answer, error) {
	in := bodyOf(c.Request)
	change := intake.ReadRules(in)
	if in.Err() != nil {
		return nil, in.Err()
	}
	rules, err := s.Intake.SetRules(c.Context(), c.scope(), c.webhookID(), change)
	if err != nil {
		return nil, err
	}
	return ok(rules)
}

func (s *server) testWebhookRules(c *call) (*answer, error) {
	in := bodyOf(c.Request)
	trial := intake.ReadTrial(in)
	var change *intake.RuleChange
	if in.JSON("rules") != nil {
		given := intake.ReadRules(in)
		change = &given
	}
	if in.Err() != nil {
		return nil, in.Err()
	}
	tried, err := s.Intake.TestRules(c.Context(), c.scope(), c.webhookID(), change, trial)
	if err != nil {
		return nil, err
	}
	return ok(tried)
}

type eventsBody struct {
	Events     []intake.EventRow `json:"events"`
	NextCursor *string           `json:"next_cursor"`
}

func (s *server) listEvents(c *call) (*answer, error) {
	in := queryOf(c.Request)
	f := intake.EventFilter{Disposition: intake.Disposition(in.Filter("disposition")), Limit: in.Whole("limit"), Cursor: in.Filter("cursor")}
	if name := in.Filter("webhook"); name != "" {
		// One that could never exist is no webhook of anybody's: it has no events, as a foreign one has none.
		id, _ := typeid.Webhook.Parse(name)
		f.Webhook = &id
	}
	if in.Err() != nil {
		return nil, in.Err()
	}
	rows, next, err := s.Intake.Events(c.Context(), c.scope(), f)
	if err != nil {
		return nil, err
	}
	body := eventsBody{Events: rows}
	if next != "" {
		body.NextCursor = &next
	}
	return ok(body)
}

func (s *server) showEvent(c *call) (*answer, error) {
	id, _ := typeid.Event.Parse(c.PathValue("event"))
	e, err := s.Intake.Event(c.Context(), c.scope(), id)
	if err != nil {
		return nil, err
	}
	return ok(e)
}

// admitTodo releases a todo from quarantine.
func (s *server) admitTodo(c *call) (*answer, error) {
	in := bodyOf(c.Request)
	queue, via := in.Filter("queue"), viaOf(in)
	if in.Err() != nil {
		return nil, in.Err()
	}
	todo, err := s.Queue.Admit(c.Context(), c.human.ID, c.todoID(), queue, via)
	if err != nil {
		return nil, err
	}
	return ok(todoBody{todo, s.todoURL(todo.ID)})
}

// discardTodo ends a todo in quarantine.
func (s *server) discardTodo(c *call) (*answer, error) {
	in := bodyOf(c.Request)
	reason, via := in.Prose("reason"), viaOf(in)
	if in.Err() != nil {
		return nil, in.Err()
	}
	todo, err := s.Queue.Discard(c.Context(), c.human.ID, c.todoID(), orEmpty(reason), via)
	if err != nil {
		return nil, err
	}
	return ok(todoBody{todo, s.todoURL(todo.ID)})
}

// runAgain makes a new todo out of one that has ended.
func (s *server) runAgain(c *call) (*answer, error) {
	in := bodyOf(c.Request)
	queue, via := in.Filter("queue"), viaOf(in)
	if in.Err() != nil {
		return nil, in.Err()
	}
	todo, err := s.Queue.Again(c.Context(), c.human.ID, c.todoID(), queue, via)
	if err != nil {
		return nil, err
	}
	return created(todoBody{todo, s.todoURL(todo.ID)})
}
