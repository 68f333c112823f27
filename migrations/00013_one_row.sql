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

-- The condition of a partial index is prepared by every statement that moves a row, so a short one is worth having.
DROP INDEX todos_retry, todos_idempotency;
CREATE INDEX todos_retry ON todos (next_retry_at) WHERE next_retry_at IS NOT NULL;
CREATE UNIQUE INDEX todos_idempotency ON todos (endpoint_id, idempotency_key) WHERE idempotency_key IS NOT NULL AND ended_at IS NULL;

-- Statements that end an attempt or write the log also tell the feed: a trigger was a statement more, for each.
DROP TRIGGER feed_attempt_ended ON todo_attempts;
DROP FUNCTION feed_attempt_ended();
DROP TRIGGER feed_activity_written ON todo_activity;
DROP FUNCTION feed_activity_written();
