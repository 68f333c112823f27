-- +goose Up
-- While an attempt is open, what decides about it and what a heartbeat moves stands in the row of its todo, beside
-- the lease: who may act is then one row's matter, and so is a heartbeat. Its end writes them to the attempt. They
-- tell of the latest attempt; a fence goes with the lease.
ALTER TABLE todos
    ADD COLUMN fence_hash bytea,
    ADD COLUMN lease_ttl_seconds integer,
    ADD COLUMN last_heartbeat_at timestamptz,
    ADD COLUMN notes integer NOT NULL DEFAULT 0,
    ADD COLUMN notes_dropped integer NOT NULL DEFAULT 0;
UPDATE todos t SET fence_hash = CASE WHEN a.ended_at IS NULL THEN a.fence_hash END, lease_ttl_seconds = a.lease_ttl_seconds,
    last_heartbeat_at = a.last_heartbeat_at, notes = a.notes, notes_dropped = a.notes_dropped
    FROM todo_attempts a WHERE a.todo_id = t.id AND a.seq = t.attempts_total;
ALTER TABLE todo_attempts DROP COLUMN fence_hash;

-- No index of todo_attempts knows whether an attempt is open, so that its end changes its row in place. The open one is
-- that of the todo's attempts_total. A request id is forgotten when its attempt ends, which frees it.
ALTER TABLE todo_attempts DROP CONSTRAINT todo_attempts_one_open;
DROP INDEX todo_attempts_request;
UPDATE todo_attempts SET request_id = NULL WHERE ended_at IS NOT NULL AND request_id IS NOT NULL;
CREATE UNIQUE INDEX todo_attempts_request ON todo_attempts (endpoint_id, request_id) WHERE request_id IS NOT NULL;

-- Every statement that changes a todo opens each index of the table, and one that moves it prepares the condition of each:
-- few of them, with short conditions, are worth having. What a claim, a takeover and the reaper scan, and what their human
-- should look at, are one each now.
DROP INDEX todos_ready, todos_held, todos_interrupted, todos_waiting, todos_quarantine, todos_retry, todos_idempotency;
CREATE INDEX todos_live ON todos (state, endpoint_id, created_at, id) INCLUDE (queue) WHERE ended_at IS NULL;
CREATE INDEX todos_attention ON todos (human_id, state, id)
    WHERE state IN ('failed', 'input-required', 'auth-required') OR (queue = 'quarantine' AND state = 'pending');
CREATE INDEX todos_retry ON todos (next_retry_at) WHERE next_retry_at IS NOT NULL;
CREATE UNIQUE INDEX todos_idempotency ON todos (endpoint_id, idempotency_key) WHERE idempotency_key IS NOT NULL AND ended_at IS NULL;

-- Statements that end an attempt or write the log also tell the feed: a trigger was a statement more, for each.
DROP TRIGGER feed_attempt_ended ON todo_attempts;
DROP FUNCTION feed_attempt_ended();
DROP TRIGGER feed_activity_written ON todo_activity;
DROP FUNCTION feed_activity_written();

-- An entry of the feed has the time of what it tells of, so its human's index finds it when that goes: an index by
-- todo is not needed. What prunes deletes the entries with what it prunes.
DROP TRIGGER feed_attempt_gone ON todo_attempts;
DROP FUNCTION feed_attempt_gone();
DROP TRIGGER feed_activity_gone ON todo_activity;
DROP FUNCTION feed_activity_gone();
DROP TRIGGER feed_todo_gone ON todos;
DROP FUNCTION feed_todo_gone();
DROP INDEX feed_entries_todo;
-- Entries are ordered by their time; the id only tells those of one instant apart, so each session may take a handful.
ALTER TABLE feed_entries ALTER COLUMN id SET CACHE 100;

-- Attempts and log are written by statements that hold their todo's lock and change its row, so a foreign key would
-- look again, with a statement of its own, for what was just written. The databases of tests have the keys; here the
-- todo takes with it what is its own.
ALTER TABLE todo_attempts DROP CONSTRAINT todo_attempts_todo_id_fkey;
ALTER TABLE todo_activity DROP CONSTRAINT todo_activity_todo_id_fkey;
-- +goose StatementBegin
CREATE FUNCTION todo_goes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    WITH attempts AS (
        DELETE FROM todo_attempts WHERE todo_id = OLD.id RETURNING ended_at AS at
    ), log AS (
        DELETE FROM todo_activity WHERE todo_id = OLD.id RETURNING at
    ), told AS (
        SELECT at FROM attempts UNION SELECT at FROM log UNION SELECT OLD.ended_at
    )
    DELETE FROM feed_entries f USING told WHERE f.human_id = OLD.human_id AND f.at = told.at AND f.todo_id = OLD.id;
    RETURN OLD;
END $$;
-- +goose StatementEnd
CREATE TRIGGER todo_goes BEFORE DELETE ON todos FOR EACH ROW EXECUTE FUNCTION todo_goes();

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION sb_prune_attempts(todo uuid, n integer) RETURNS bigint LANGUAGE sql VOLATILE AS $$
    WITH pruned AS (
        DELETE FROM todo_attempts a USING (
            SELECT v.seq FROM todo_attempts v WHERE v.todo_id = todo AND v.ended_at IS NOT NULL ORDER BY v.seq LIMIT n
        ) victims
        WHERE a.todo_id = todo AND a.seq = victims.seq
        RETURNING a.seq, a.trace_id, a.ended_at
    ), kept AS (
        INSERT INTO todo_trace_bindings (endpoint_id, trace_id, todo_id, attempt_seq)
        SELECT t.endpoint_id, p.trace_id, t.id, p.seq FROM pruned p JOIN todos t ON t.id = todo
        ON CONFLICT (endpoint_id, trace_id) DO NOTHING
    ), untold AS (
        DELETE FROM feed_entries f USING pruned p, todos t
        WHERE t.id = todo AND f.human_id = t.human_id AND f.at = p.ended_at AND f.todo_id = todo AND f.kind = 'attempt' AND f.ref = p.seq
    )
    SELECT count(*) FROM pruned
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION sb_prune_activity(todo uuid, n integer) RETURNS bigint LANGUAGE sql VOLATILE AS $$
    WITH pruned AS (
        DELETE FROM todo_activity e USING (
            SELECT v.seq FROM todo_activity v WHERE v.todo_id = todo AND v.kind IN ('note', 'rung')
            ORDER BY v.kind = 'note' DESC, v.seq LIMIT n
        ) victims
        WHERE e.todo_id = todo AND e.seq = victims.seq
        RETURNING e.seq, e.at, e.kind
    ), untold AS (
        DELETE FROM feed_entries f USING pruned p, todos t
        WHERE t.id = todo AND f.human_id = t.human_id AND f.at = p.at AND f.todo_id = todo AND f.kind = 'note' AND f.ref = p.seq
            AND p.kind = 'note'
    )
    SELECT count(*) FROM pruned
$$;
-- +goose StatementEnd

-- What the product itself makes, or cuts before it stores it, is checked by the rules of the tests' databases: a domain
-- is looked up by every statement that sets it.
ALTER TABLE todos ALTER COLUMN owner TYPE text, ALTER COLUMN state TYPE text;
ALTER TABLE todo_attempts
    ALTER COLUMN claimer_kind TYPE text,
    ALTER COLUMN trace_id TYPE bytea,
    ALTER COLUMN caller_trace_id TYPE bytea,
    ALTER COLUMN lease_ttl_seconds TYPE integer,
    ALTER COLUMN outcome TYPE text,
    ALTER COLUMN disposition TYPE text,
    ALTER COLUMN claimant TYPE text,
    ALTER COLUMN request_id TYPE text,
    ALTER COLUMN summary TYPE text,
    ALTER COLUMN artifact TYPE text;
ALTER TABLE todo_activity
    ALTER COLUMN kind TYPE text,
    ALTER COLUMN actor_kind TYPE text,
    ALTER COLUMN actor_ref TYPE text,
    ALTER COLUMN message TYPE text,
    ALTER COLUMN detail TYPE jsonb;
ALTER TABLE feed_entries ALTER COLUMN kind TYPE text;
DROP DOMAIN todo_state, claimer_kind, lease_seconds, attempt_outcome, attempt_disposition, attempt_summary, attempt_artifact,
    activity_kind, activity_actor, activity_message, activity_detail, feed_kind, trace_id, sha256;
