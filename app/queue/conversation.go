package queue

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/mask"
	"github.com/switchboard-otel/switchboard/app/text"
)

const (
	// maxQuestion caps what a holder asks, in bytes.
	maxQuestion = 2048
	// maxConversation caps what is asked and answered on one todo, in bytes of what the database shows as its text.
	maxConversation = 1 << 20
)

var errConversationFull = fault.New(fault.Conflict, "the messages of this todo take 1 MiB; it can keep no more")

// message is an A2A message, as far as a holder writes one.
type message struct {
	ID    string        `json:"messageId"`
	Role  string        `json:"role"`
	Parts []messagePart `json:"parts"`
}

type messagePart struct {
	Text string `json:"text"`
}

// agentMessage is what a holder asks. Credentials are masked before it is cut.
func agentMessage(question string) json.RawMessage {
	cut, _ := text.Cut(mask.String(text.Clean(strings.TrimSpace(question))), maxQuestion)
	doc, err := json.Marshal(message{uuid.NewString(), "ROLE_AGENT", []messagePart{{cut}}})
	if err != nil {
		panic(err) // of text that was cleaned
	}
	return doc
}

// say appends a message to the conversation of a todo that the caller has locked.
func say(ctx context.Context, tx pgx.Tx, id uuid.UUID, message json.RawMessage) error {
	kept, err := tx.Exec(ctx, `
		UPDATE todos t SET messages = said.messages
		FROM (SELECT coalesce(messages, '[]'::jsonb) || jsonb_build_array($2::jsonb) AS messages FROM todos WHERE id = $1) said
		WHERE t.id = $1 AND octet_length(said.messages::text) <= $3`, id, string(message), maxConversation)
	if err == nil && kept.RowsAffected() == 0 {
		return errConversationFull
	}
	return err
}
