-- +goose Up
-- A claim whose answer was lost is asked for again under its request id, as long as its attempt is open.
ALTER TABLE todo_attempts ADD COLUMN request_id text CHECK (octet_length(request_id) BETWEEN 1 AND 64);
CREATE UNIQUE INDEX todo_attempts_request ON todo_attempts (endpoint_id, request_id)
    WHERE request_id IS NOT NULL AND ended_at IS NULL;

-- Since when an interrupted todo waits for an answer. Its lease is not looked at meanwhile.
ALTER TABLE todos ADD COLUMN interrupted_at timestamptz
    CHECK ((interrupted_at IS NOT NULL) = (state IN ('input-required', 'auth-required')));
CREATE INDEX todos_interrupted ON todos (interrupted_at) WHERE interrupted_at IS NOT NULL;

-- What retention scans: terminal todos by age, within one owner. A terminal todo's updated_at is its end.
CREATE INDEX todos_terminal ON todos (human_id, updated_at, id)
    WHERE state IN ('done', 'canceled', 'rejected') OR (state = 'failed' AND next_retry_at IS NULL);

CREATE INDEX endpoints_expiry ON endpoints (expires_at) WHERE expires_at IS NOT NULL AND revoked_at IS NULL;
