package intake

import (
	"context"
	"encoding/json"
	"errors"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/routing"
	"github.com/switchboard-otel/switchboard/app/text"
	"github.com/switchboard-otel/switchboard/app/typeid"
	"github.com/switchboard-otel/switchboard/app/webhook"
)

// family is what kind of thing an event is. Others than deliveries may come.
const family = "webhook"

// Caps of what is kept beside the payload, in bytes. The database checks each again.
const (
	maxKind        = 64
	maxContentType = 256
	maxSourceIP    = 64
)

// maxPayloadText caps what is handed to an agent of a body that is no JSON. The event has all of it.
const maxPayloadText = 64 << 10

// event is a verified delivery on its way into the store.
type event struct {
	webhook.Event
	id          uuid.UUID
	contentType string
	headers     map[string]string
	body        []byte
	document    json.RawMessage // nil when the body carries no JSON
	detail      string          // how it was verified
	sourceIP    string
}

func newEvent(t *Target, d Delivery, key int) *event {
	e := event{id: typeid.New(), headers: webhook.Sanitize(d.Header, t.token), body: d.Body}
	e.contentType, _ = text.Cut(text.Clean(d.Header.Get("Content-Type")), maxContentType)
	e.sourceIP, _ = text.Cut(text.Clean(d.SourceIP), maxSourceIP)
	e.document = webhook.JSON(e.contentType, d.Body)
	e.Event = t.Source.Read(d.Header, d.Body, e.document)
	e.detail = t.verifyDetail(key)
	return &e
}

// verifyDetail says what was checked, for people.
func (t *Target) verifyDetail(key int) string {
	if !t.Source.Signed() {
		if t.addressIsOld {
			return "unguessable address, the one before the last renewal"
		}
		return "unguessable address"
	}
	detail := t.Source.Scheme()
	if key > 0 {
		detail += ", by the secret before the last rotation"
	}
	return detail
}

// insert writes the event, and reports false when its delivery is stored already.
func (e *event) insert(ctx context.Context, tx pgx.Tx, t *Target, d decision) (bool, error) {
	headers, err := json.Marshal(e.headers)
	if err != nil {
		return false, err
	}
	trace, err := json.Marshal(d.trace)
	if err != nil {
		return false, err
	}
	body := e.body
	if body == nil {
		body = []byte{}
	}
	err = tx.QueryRow(ctx, `
		WITH clock AS MATERIALIZED (SELECT sb_now() AS now)
		INSERT INTO events (id, endpoint_id, human_id, webhook_id, source, family, event_type, title, external_id, trust_mode,
			verified, verify_detail, content_type, headers, payload, payload_size, source_ip, received_at, disposition,
			routing_trace)
		SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, true, $11, $12, $13, $14, $15, $16, clock.now, $17, $18 FROM clock
		ON CONFLICT (webhook_id, external_id) DO NOTHING
		RETURNING id`,
		e.id, t.endpoint.ID, t.endpoint.HumanID, t.ID.UUID(), t.Source, family, orNull(e.Type), e.Title, e.ExternalID,
		t.Source.Trust(), e.detail, e.contentType, string(headers), body, len(body), e.sourceIP, d.disposition,
		string(trace)).Scan(&e.id)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// input is the event as rules see it.
func (e *event) input(t *Target) routing.Input {
	return routing.Input{
		Source: string(t.Source), Kind: e.Type, WebhookID: t.ID.String(), TrustMode: string(t.Source.Trust()), Verified: true,
		ContentType: e.contentType, Size: len(e.body), Headers: e.headers, Payload: e.document,
	}
}

// todo is what an agent gets of the event.
func (e *event) todo(t *Target, d decision) (queue.NewTodo, error) {
	n := queue.NewTodo{
		Endpoint: t.endpoint.ID, Human: t.endpoint.HumanID, Queue: d.queue, Source: string(t.Source), Kind: orNull(e.Type),
		Title: e.Title, Payload: e.payload(), Event: &e.id,
	}
	var err error
	if n.Routing, err = json.Marshal(d.trace); err != nil {
		return n, err
	}
	if d.workOrder {
		n.WorkOrder, err = t.workOrder(d, e.Subject)
	}
	return n, err
}

// payload is the body as a todo carries it: its JSON where it has some that every reader can read, its text as a
// JSON string where it is short text, nothing otherwise. The event has all of it in any case.
func (e *event) payload() json.RawMessage {
	if e.document != nil {
		if queue.CheckReadable("payload", e.document) != nil {
			return nil
		}
		return e.document
	}
	if len(e.body) == 0 || len(e.body) > maxPayloadText || !utf8.Valid(e.body) {
		return nil
	}
	quoted, err := json.Marshal(text.Clean(string(e.body)))
	if err != nil {
		return nil
	}
	return quoted
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
