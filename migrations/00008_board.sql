-- +goose Up
-- What the Board shows as waiting for a retry, for an answer or for a human. A todo enters it only when it fails
-- or is interrupted, so that a claim, a heartbeat and a completion do not pay for it.
CREATE INDEX todos_waiting ON todos (human_id, id) WHERE state IN ('failed', 'input-required', 'auth-required');

-- Whose session a row is and what it says of itself, so that a human can end one. The token stays hashed.
ALTER TABLE sessions
    ADD COLUMN human_id uuid REFERENCES humans ON DELETE CASCADE,
    ADD COLUMN browser text CHECK (octet_length(browser) <= 256),
    ADD COLUMN signed_in_at timestamptz,
    ADD COLUMN seen_at timestamptz;
CREATE INDEX sessions_human ON sessions (human_id) WHERE human_id IS NOT NULL;

ALTER TABLE access_tokens ADD COLUMN last_used_at timestamptz;

-- The Activity feed: which things a human should hear of, without a word of their text (decisions.md 41). An
-- attempt's end, a note, a human's action, a retry, an A2A state and a dead letter that no attempt explains are
-- one row each. ref is the attempt's seq or the activity's; 0 for a dead letter without an attempt.
CREATE DOMAIN feed_kind AS text CHECK (value IN ('attempt', 'note', 'human_action', 'retried', 'a2a_state', 'dead_letter'));
CREATE TABLE feed_entries (
    human_id    uuid NOT NULL,
    at          timestamptz NOT NULL,
    id          bigint GENERATED ALWAYS AS IDENTITY,
    kind        feed_kind NOT NULL,
    todo_id     uuid NOT NULL,
    ref         integer NOT NULL,
    queue       text NOT NULL,
    endpoint_id uuid NOT NULL,
    outcome     text,
    dead_letter boolean NOT NULL DEFAULT false,
    PRIMARY KEY (human_id, at, id) INCLUDE (queue, endpoint_id, outcome, dead_letter)
);
CREATE INDEX feed_entries_todo ON feed_entries (todo_id, kind, ref);

-- When a human last looked at the unfiltered feed (REQ-15).
CREATE TABLE feed_seen (
    human_id         uuid PRIMARY KEY REFERENCES humans ON DELETE CASCADE,
    activity_seen_at timestamptz NOT NULL
);

-- The feed is written by these triggers, but for a revocation's dead letters: whatever ends an attempt or writes the log, in
-- whatever statement, has its entry in the same transaction, and an entry goes with what it tells of. A heartbeat
-- names neither outcome nor ended_at, so it fires none of them. What to write is decided in the bodies: a statement
-- parses the condition of every trigger of its table anew.
-- +goose StatementBegin
CREATE FUNCTION feed_attempt_ended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.outcome IS NOT NULL OR NEW.outcome IS NULL THEN
        RETURN NULL;
    END IF;
    INSERT INTO feed_entries (human_id, at, kind, todo_id, ref, queue, endpoint_id, outcome, dead_letter)
    SELECT t.human_id, NEW.ended_at, 'attempt', t.id, NEW.seq, t.queue, t.endpoint_id, NEW.outcome,
        NEW.disposition = 'dead_lettered'
    FROM todos t WHERE t.id = NEW.todo_id;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER feed_attempt_ended AFTER UPDATE OF outcome ON todo_attempts FOR EACH ROW
    EXECUTE FUNCTION feed_attempt_ended();

-- A retry is two rows of one transaction and one entry: the human's action, under the name of what it did.
-- +goose StatementBegin
CREATE FUNCTION feed_activity_written() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.kind IN ('retried', 'rung') THEN
        RETURN NULL;
    END IF;
    INSERT INTO feed_entries (human_id, at, kind, todo_id, ref, queue, endpoint_id)
    SELECT t.human_id, NEW.at,
        CASE WHEN NEW.kind = 'human_action' AND NEW.detail ->> 'action' = 'retry' THEN 'retried' ELSE NEW.kind END,
        t.id, NEW.seq, t.queue, t.endpoint_id
    FROM todos t WHERE t.id = NEW.todo_id;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER feed_activity_written AFTER INSERT ON todo_activity FOR EACH ROW
    EXECUTE FUNCTION feed_activity_written();

-- Row by row: claims and heartbeats delete nothing as a rule, and then nothing fires.
-- +goose StatementBegin
CREATE FUNCTION feed_attempt_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM feed_entries WHERE todo_id = OLD.todo_id AND kind = 'attempt' AND ref = OLD.seq;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER feed_attempt_gone AFTER DELETE ON todo_attempts FOR EACH ROW
    WHEN (OLD.outcome IS NOT NULL) EXECUTE FUNCTION feed_attempt_gone();

-- +goose StatementBegin
CREATE FUNCTION feed_activity_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM feed_entries
    WHERE todo_id = OLD.todo_id AND kind IN ('note', 'human_action', 'retried', 'a2a_state') AND ref = OLD.seq;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER feed_activity_gone AFTER DELETE ON todo_activity FOR EACH ROW
    WHEN (OLD.kind IN ('note', 'human_action', 'a2a_state')) EXECUTE FUNCTION feed_activity_gone();

-- +goose StatementBegin
CREATE FUNCTION feed_todo_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM feed_entries WHERE todo_id = OLD.id;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER feed_todo_gone AFTER DELETE ON todos FOR EACH ROW EXECUTE FUNCTION feed_todo_gone();

-- What happened before there was a feed.
INSERT INTO feed_entries (human_id, at, kind, todo_id, ref, queue, endpoint_id, outcome, dead_letter)
SELECT t.human_id, a.ended_at, 'attempt', t.id, a.seq, t.queue, t.endpoint_id, a.outcome, a.disposition = 'dead_lettered'
FROM todo_attempts a JOIN todos t ON t.id = a.todo_id WHERE a.ended_at IS NOT NULL
UNION ALL
SELECT t.human_id, v.at, CASE WHEN v.kind = 'human_action' AND v.detail ->> 'action' = 'retry' THEN 'retried' ELSE v.kind END,
    t.id, v.seq, t.queue, t.endpoint_id, NULL, false
FROM todo_activity v JOIN todos t ON t.id = v.todo_id WHERE v.kind IN ('note', 'human_action', 'a2a_state')
ORDER BY 2;
