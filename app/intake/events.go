package intake

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/routing"
	"github.com/switchboard-otel/switchboard/app/typeid"
	"github.com/switchboard-otel/switchboard/app/webhook"
)

// EventRow is an event in a list. Where a delivery came from is stored and never shown.
type EventRow struct {
	ID           EventID         `json:"id"`
	WebhookID    WebhookID       `json:"webhook_id"`
	Source       webhook.Source  `json:"source"`
	Family       string          `json:"family"`
	Type         *string         `json:"event_type"`
	Title        string          `json:"title"`
	ExternalID   string          `json:"external_id"`
	Trust        webhook.Trust   `json:"trust_mode"`
	Verified     bool            `json:"verified"`
	VerifyDetail string          `json:"verify_detail"`
	ContentType  string          `json:"content_type"`
	PayloadSize  int             `json:"payload_size"` // bytes
	ReceivedAt   time.Time       `json:"received_at"`
	Disposition  Disposition     `json:"disposition"`
	RoutingTrace json.RawMessage `json:"routing_trace"`
}

// Event is an event in full.
type Event struct {
	EventRow
	Headers map[string]string `json:"headers"` // sanitized
	Body    []byte            `json:"-"`       // as it came
}

// MarshalJSON gives the body as its JSON where it has some, as text where it is text, in base64 otherwise.
func (e *Event) MarshalJSON() ([]byte, error) {
	doc := struct {
		*EventRow
		Headers map[string]string `json:"headers"`
		Payload json.RawMessage   `json:"payload"` // null when the body carries no JSON
		Text    *string           `json:"payload_text,omitempty"`
		Base64  *string           `json:"payload_base64,omitempty"`
	}{EventRow: &e.EventRow, Headers: e.Headers, Payload: e.Document()}
	if doc.Payload == nil {
		if utf8.Valid(e.Body) {
			text := string(e.Body)
			doc.Text = &text
		} else {
			text := base64.StdEncoding.EncodeToString(e.Body)
			doc.Base64 = &text
		}
	}
	return json.Marshal(doc)
}

// Document is the JSON that the event carries, nil when it carries none.
func (e *Event) Document() json.RawMessage { return webhook.JSON(e.ContentType, e.Body) }

// The columns of an event, in the order of EventRow.fields. The statement calls it v.
const eventColumns = `v.id, v.webhook_id, v.source, v.family, v.event_type, v.title, v.external_id, v.trust_mode, v.verified,
	v.verify_detail, v.content_type, v.payload_size, v.received_at, v.disposition, v.routing_trace`

func (e *EventRow) fields() []any {
	return []any{(*uuid.UUID)(&e.ID), (*uuid.UUID)(&e.WebhookID), &e.Source, &e.Family, &e.Type, &e.Title, &e.ExternalID, &e.Trust,
		&e.Verified, &e.VerifyDetail, &e.ContentType, &e.PayloadSize, &e.ReceivedAt, &e.Disposition, &e.RoutingTrace}
}

// eventInScope is the condition that every read of events carries; $1 and $2 are the scope.
const eventInScope = `v.human_id = $1 AND ($2::uuid IS NULL OR v.endpoint_id = $2)`

func scanEvent(row pgx.Row) (*Event, error) {
	var e Event
	err := row.Scan(append(e.fields(), &e.Headers, &e.Body)...)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, ErrEventNotFound
	}
	return &e, err
}

// Event returns one event of a scope in full.
func (s *Store) Event(ctx context.Context, in Scope, id uuid.UUID) (*Event, error) {
	return scanEvent(s.pool.QueryRow(ctx, `
		SELECT `+eventColumns+`, v.headers, v.payload FROM events v WHERE `+eventInScope+` AND v.id = $3`,
		in.human, in.endpoint, id))
}

// EventOfTodo returns the event that one of a human's todos came from, nil when it came from none. It is read
// through the todo, so that a foreign todo has none (REQ-14).
func (s *Store) EventOfTodo(ctx context.Context, human, todo uuid.UUID) (*Event, error) {
	e, err := scanEvent(s.pool.QueryRow(ctx, `
		SELECT `+eventColumns+`, v.headers, v.payload FROM todos t JOIN events v ON v.id = t.event_id AND v.human_id = t.human_id
		WHERE t.id = $1 AND t.human_id = $2`, todo, human))
	if errors.Is(err, ErrEventNotFound) {
		return nil, nil
	}
	return e, err
}

// EventFilter narrows a list of events. Zero values do not filter.
type EventFilter struct {
	Webhook     *uuid.UUID
	Disposition Disposition
	Limit       *int
	Cursor      string
}

// Limits of a page of events.
const (
	defaultLimit = 50
	maxLimit     = 200
)

// Events returns the events of a scope, newest first, and the cursor of the next page, empty on the last.
func (s *Store) Events(ctx context.Context, in Scope, f EventFilter) (rows []EventRow, next string, err error) {
	limit := defaultLimit
	if f.Limit != nil {
		if *f.Limit < 1 {
			return nil, "", fault.InvalidArgument("limit", "must be at least 1")
		}
		limit = min(*f.Limit, maxLimit)
	}
	switch f.Disposition {
	case "", Routed, Dropped, Faulted:
	default:
		return nil, "", fault.InvalidArgument("disposition", "must be routed, dropped or faulted")
	}
	var before *uuid.UUID
	if f.Cursor != "" {
		id, ok := typeid.Event.Parse(f.Cursor)
		if !ok {
			return nil, "", fault.InvalidArgument("cursor", "must be the next_cursor of an earlier page")
		}
		before = &id
	}
	found, err := s.pool.Query(ctx, `
		SELECT `+eventColumns+` FROM events v
		WHERE `+eventInScope+` AND ($3::uuid IS NULL OR v.webhook_id = $3) AND ($4 = '' OR v.disposition = $4)
		  AND ($5::uuid IS NULL OR v.id < $5)
		ORDER BY v.id DESC LIMIT $6`, in.human, in.endpoint, f.Webhook, f.Disposition, before, limit+1)
	if err != nil {
		return nil, "", err
	}
	rows, err = pgx.AppendRows([]EventRow{}, found, func(row pgx.CollectableRow) (e EventRow, err error) {
		return e, row.Scan(e.fields()...)
	})
	if err == nil && len(rows) > limit {
		rows = rows[:limit]
		next = rows[limit-1].ID.String()
	}
	return rows, next, err
}

// latest returns the ids of the newest events of a webhook.
func (s *Store) latest(ctx context.Context, in Scope, webhook uuid.UUID, n int) ([]uuid.UUID, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT v.id FROM events v WHERE `+eventInScope+` AND v.webhook_id = $3 ORDER BY v.id DESC LIMIT $4`,
		in.human, in.endpoint, webhook, n)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
}

// input is a stored event as rules saw it.
func (e *Event) input() routing.Input {
	in := routing.Input{
		Source: string(e.Source), WebhookID: e.WebhookID.String(), TrustMode: string(e.Trust), Verified: e.Verified,
		ContentType: e.ContentType, Size: e.PayloadSize, Headers: e.Headers, Payload: e.Document(),
	}
	if e.Type != nil {
		in.Kind = *e.Type
	}
	return in
}

// Trial is a delivery that rules are tried on: a stored event, or what a caller makes up.
type Trial struct {
	Event       *uuid.UUID
	Payload     json.RawMessage
	Headers     map[string]string
	Kind        string
	ContentType string
}

// Tried is what rules made of a trial. Nothing is stored.
type Tried struct {
	Disposition Disposition   `json:"disposition"`
	Queue       *string       `json:"queue"`
	WorkOrder   bool          `json:"work_order"`
	Trace       routing.Trace `json:"routing_trace"`
}

// TestRules tries rules on a delivery: those that are saved, or the given change of them.
func (s *Store) TestRules(ctx context.Context, in Scope, id uuid.UUID, change *RuleChange, trial Trial) (*Tried, error) {
	t, err := s.target(ctx, in, id)
	if err != nil {
		return nil, err
	}
	input, err := s.inputOf(ctx, in, t, trial)
	if err != nil {
		return nil, err
	}
	var p program
	if change == nil {
		p, err = s.program(ctx, id, t.rulesVersion)
	} else {
		var set routing.Set
		if set, err = s.changed(ctx, t, *change); err == nil {
			p, err = t.compile(set)
		}
	}
	if err != nil {
		return nil, err
	}
	d := t.decisionOf(ctx, p, input)
	tried := Tried{Disposition: d.disposition, WorkOrder: d.workOrder, Trace: d.trace}
	if d.disposition == Routed || d.disposition == Faulted {
		tried.Queue = &d.queue
	}
	return &tried, ctx.Err()
}

func (s *Store) inputOf(ctx context.Context, in Scope, t *Target, trial Trial) (routing.Input, error) {
	if trial.Event != nil {
		e, err := s.Event(ctx, in, *trial.Event)
		if err != nil {
			return routing.Input{}, err
		}
		return e.input(), nil
	}
	if trial.Payload == nil {
		return routing.Input{}, fault.InvalidArgument("event_id", "or payload is required")
	}
	if err := queue.CheckJSON("payload", trial.Payload); err != nil {
		return routing.Input{}, err
	}
	headers := make(map[string]string, len(trial.Headers))
	for name, value := range trial.Headers {
		headers[strings.ToLower(name)] = value
	}
	contentType := trial.ContentType
	if contentType == "" {
		contentType = "application/json"
	}
	return routing.Input{
		Source: string(t.Source), Kind: trial.Kind, WebhookID: t.ID.String(), TrustMode: string(t.Source.Trust()), Verified: true,
		ContentType: contentType, Size: len(trial.Payload), Headers: headers, Payload: trial.Payload,
	}, nil
}
