package api

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/spans"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// maxSpans bounds the spans of one answer. A todo's default cap is as high; spans_total tells of more.
const maxSpans = 10000

func (s *server) todoURL(id queue.ID) string { return s.BaseURL + "/todos/" + id.String() }

// todoBody is a todo in full, with its page.
type todoBody struct {
	*queue.Todo
	URL string `json:"url"`
}

type pushedBody struct {
	Todo    todoBody `json:"todo"`
	Created bool     `json:"created"`
}

func (s *server) pushTodo(c *call) (*answer, error) {
	in := bodyOf(c.Request)
	p := queue.PushParams{
		Title:          orEmpty(in.Exact("title")),
		Queue:          in.Filter("queue"),
		Kind:           in.Word("kind"),
		Payload:        in.JSON("payload"),
		IdempotencyKey: in.Word("idempotency_key"),
		MaxAttempts:    in.Whole("max_attempts"),
	}
	if in.Err() != nil {
		return nil, in.Err()
	}
	var err error
	if p.Endpoint, err = s.Identity.Endpoint(c.Context(), c.human.ID, c.PathValue("ref")); err != nil {
		return nil, err
	}
	todo, isNew, err := s.Queue.Push(c.Context(), c.human.ID, p)
	if err != nil {
		return nil, err
	}
	status := http.StatusOK
	if isNew {
		status = http.StatusCreated
	}
	return &answer{status, pushedBody{todoBody{todo, s.todoURL(todo.ID)}, isNew}}, nil
}

// listedTodo is a row of a human's list.
type listedTodo struct {
	queue.Row
	Endpoint      string    `json:"endpoint"`
	Agent         string    `json:"agent"`
	AttemptsTotal int       `json:"attempts_total"`
	UpdatedAt     time.Time `json:"updated_at"`
	Claimant      *string   `json:"claimant"`
	LastOutcome   *string   `json:"last_outcome"`
	LastSummary   *string   `json:"last_summary"`
	LastDied      bool      `json:"last_died"`
	URL           string    `json:"url"`
}

type listBody struct {
	Todos      []listedTodo `json:"todos"`
	NextCursor *string      `json:"next_cursor"`
}

func (s *server) listTodos(c *call) (*answer, error) {
	in := queryOf(c.Request)
	f := queue.HumanFilter{
		State:      queue.State(in.Filter("state")),
		DeadLetter: in.Bool("dead_letter"),
		Queue:      in.Filter("queue"),
		Text:       in.Filter("q"),
		Cursor:     in.Filter("cursor"),
	}
	if limit := in.Whole("limit"); limit != nil {
		if *limit < 1 {
			in.Refuse(fault.InvalidArgument("limit", "must be at least 1"))
		}
		f.Limit = *limit
	}
	ref := in.Filter("endpoint")
	if in.Err() != nil {
		return nil, in.Err()
	}
	if ref != "" {
		endpoint, err := s.Identity.Endpoint(c.Context(), c.human.ID, ref)
		if err != nil {
			return nil, err
		}
		f.Endpoint = endpoint.ID
	}
	rows, next, err := s.Queue.HumanTodos(c.Context(), c.human.ID, f)
	if err != nil {
		return nil, err
	}
	body := listBody{Todos: make([]listedTodo, len(rows))}
	if next != "" {
		body.NextCursor = &next
	}
	for i, r := range rows {
		body.Todos[i] = listedTodo{r.Row, r.EndpointSlug, r.AgentName, r.AttemptsTotal, r.UpdatedAt, r.Claimant,
			r.LastOutcome, r.LastSummary, r.LastDied, s.todoURL(r.ID)}
	}
	return ok(body)
}

// trailBody is a todo with everything that is known of it. A part that was not asked for is absent.
type trailBody struct {
	queue.Detail
	Endpoint   string                 `json:"endpoint"`
	EndpointID string                 `json:"endpoint_id"`
	Revoked    bool                   `json:"endpoint_revoked"`
	Agent      string                 `json:"agent"`
	UpdatedAt  time.Time              `json:"updated_at"`
	URL        string                 `json:"url"`
	Attempts   *[]queue.Attempt       `json:"attempts,omitempty"` // hides Detail's, which is never absent
	Activity   *[]queue.ActivityEntry `json:"activity,omitempty"`
	Event      any                    `json:"event,omitempty"` // null when the todo came from none
	Spans      *[]spanBody            `json:"spans,omitempty"`
	SpansTotal *int                   `json:"spans_total,omitempty"`
}

// The parts of a trail that include= names. Without it all of them are in the answer.
var trailParts = []string{"attempts", "activity", "event", "spans"}

func (s *server) showTodo(c *call) (*answer, error) {
	in := queryOf(c.Request)
	include := trailParts
	if list := in.Filter("include"); list != "" {
		include = strings.Split(list, ",")
	}
	if slices.ContainsFunc(include, func(part string) bool { return !slices.Contains(trailParts, part) }) {
		in.Refuse(fault.InvalidArgument("include", "must be among attempts, activity, event and spans, separated by commas"))
	}
	if in.Err() != nil {
		return nil, in.Err()
	}
	id, isID := typeid.Todo.Parse(c.PathValue("id"))
	if !isID {
		return nil, fault.ErrTodoNotFound
	}
	d, err := s.Queue.HumanTodo(c.Context(), c.human.ID, id)
	if err != nil {
		return nil, err
	}
	body := trailBody{
		Detail:     d.Detail,
		Endpoint:   d.EndpointSlug,
		EndpointID: typeid.Endpoint.Format(d.EndpointID),
		Revoked:    d.EndpointRevoked,
		Agent:      d.AgentName,
		UpdatedAt:  d.UpdatedAt,
		URL:        s.todoURL(d.ID),
	}
	if slices.Contains(include, "attempts") {
		body.Attempts = &d.Attempts
	}
	if slices.Contains(include, "activity") {
		body.Activity = &d.Activity
	}
	if slices.Contains(include, "event") {
		if body.Event, err = s.Intake.EventOfTodo(c.Context(), c.human.ID, id); err != nil {
			return nil, err
		}
	}
	if slices.Contains(include, "spans") {
		if err := s.addSpans(c.Context(), c.human.ID, id, &body); err != nil {
			return nil, err
		}
	}
	return ok(body)
}

func (s *server) addSpans(ctx context.Context, human, id uuid.UUID, body *trailBody) error {
	stored, err := s.Spans.ForTodo(ctx, human, id, nil, maxSpans)
	if err != nil {
		return err
	}
	counts, err := s.Spans.Counts(ctx, human, id)
	if err != nil {
		return err
	}
	list, total := make([]spanBody, len(stored)), 0
	for i := range stored {
		list[i] = bodyOfSpan(&stored[i])
	}
	for _, n := range counts {
		total += n.Stored
	}
	// Spans that arrived between the two reads are in one number only.
	total = max(total, len(list))
	body.Spans, body.SpansTotal = &list, &total
	return nil
}

// spanBody is a stored span; ids are lower-case hex, missing values null.
type spanBody struct {
	TraceID       string          `json:"trace_id"`
	SpanID        string          `json:"span_id"`
	ParentSpanID  *string         `json:"parent_span_id"`
	AttemptSeq    *int            `json:"attempt_seq"`
	Name          string          `json:"name"`
	Kind          string          `json:"kind"`
	StatusCode    string          `json:"status_code"`
	StatusMessage *string         `json:"status_message"`
	Category      string          `json:"category"`
	Tool          *string         `json:"tool"`
	ServiceName   *string         `json:"service_name"`
	StartAt       time.Time       `json:"start_at"`
	EndAt         time.Time       `json:"end_at"`
	Attributes    json.RawMessage `json:"attributes"`
	ReceivedAt    time.Time       `json:"received_at"`
}

func bodyOfSpan(s *spans.Span) spanBody {
	body := spanBody{
		TraceID:       hex.EncodeToString(s.TraceID[:]),
		SpanID:        hex.EncodeToString(s.SpanID[:]),
		Name:          s.Name,
		Kind:          s.Kind,
		StatusCode:    s.StatusCode,
		StatusMessage: orNull(s.StatusMessage),
		Category:      s.Category,
		Tool:          orNull(s.Tool),
		ServiceName:   orNull(s.ServiceName),
		StartAt:       s.StartAt.UTC(),
		EndAt:         s.EndAt.UTC(),
		Attributes:    s.Attributes,
		ReceivedAt:    s.ReceivedAt.UTC(),
	}
	if s.ParentSpanID != ([8]byte{}) {
		parent := hex.EncodeToString(s.ParentSpanID[:])
		body.ParentSpanID = &parent
	}
	if s.AttemptSeq > 0 {
		body.AttemptSeq = &s.AttemptSeq
	}
	return body
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
