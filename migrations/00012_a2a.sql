-- +goose Up
-- A todo is an A2A task; there is no table of tasks. a2a_context groups todos as their sender does, null: a context
-- of its own. messages are what was asked and answered since the payload, as A2A messages.
CREATE DOMAIN todo_messages AS jsonb CHECK (octet_length(value::text) <= 1048576);
ALTER TABLE todos
    ADD COLUMN a2a_context text_128,
    ADD COLUMN messages todo_messages;
CREATE INDEX todos_context ON todos (endpoint_id, a2a_context, id) WHERE a2a_context IS NOT NULL;

-- Whether the agent card of an endpoint is shown to whoever asks.
ALTER TABLE endpoints ADD COLUMN a2a_card_public boolean NOT NULL DEFAULT false;
