-- +goose Up
-- No foreign key to todo_attempts: spans outlive a pruned attempt.
CREATE TABLE todo_spans (
    todo_id        uuid NOT NULL REFERENCES todos ON DELETE CASCADE,
    attempt_seq    integer,
    trace_id       bytea NOT NULL CHECK (octet_length(trace_id) = 16),
    span_id        bytea NOT NULL CHECK (octet_length(span_id) = 8),
    parent_span_id bytea CHECK (octet_length(parent_span_id) = 8),
    name           text NOT NULL CHECK (octet_length(name) <= 256),
    kind           text NOT NULL CHECK (kind IN
        ('unspecified', 'internal', 'server', 'client', 'producer', 'consumer')),
    status_code    text NOT NULL CHECK (status_code IN ('unset', 'ok', 'error')),
    status_message text CHECK (octet_length(status_message) BETWEEN 1 AND 512),
    start_at       timestamptz NOT NULL,
    end_at         timestamptz NOT NULL,
    service_name   text CHECK (octet_length(service_name) BETWEEN 1 AND 128),
    tool           text CHECK (octet_length(tool) BETWEEN 1 AND 128),
    category       text NOT NULL CHECK (octet_length(category) BETWEEN 1 AND 64),
    attributes     jsonb NOT NULL CHECK (octet_length(attributes::text) <= 16384),
    received_at    timestamptz NOT NULL,
    PRIMARY KEY (todo_id, trace_id, span_id),
    CHECK (end_at >= start_at)
);
CREATE INDEX todo_spans_order ON todo_spans (todo_id, attempt_seq, start_at, span_id);

-- How many spans an attempt holds and how many its caps refused; attempt 0 means spans without an attempt.
-- A table of its own, so that a heartbeat never waits for an ingest. Row 0 of a todo is its ingest lock.
CREATE TABLE todo_span_counts (
    todo_id     uuid NOT NULL REFERENCES todos ON DELETE CASCADE,
    attempt_seq integer NOT NULL CHECK (attempt_seq >= 0),
    stored      integer NOT NULL DEFAULT 0 CHECK (stored >= 0),
    dropped     integer NOT NULL DEFAULT 0 CHECK (dropped >= 0),
    PRIMARY KEY (todo_id, attempt_seq)
) WITH (fillfactor = 70);

-- Which todo an earlier span of a trace was bound to by its attribute. The first binding wins and never
-- moves. attempt_seq is set only for a trace that was minted for an attempt since pruned.
CREATE TABLE todo_trace_bindings (
    endpoint_id uuid NOT NULL,
    trace_id    bytea NOT NULL CHECK (octet_length(trace_id) = 16),
    todo_id     uuid NOT NULL REFERENCES todos ON DELETE CASCADE,
    attempt_seq integer,
    PRIMARY KEY (endpoint_id, trace_id)
);
CREATE INDEX todo_trace_bindings_todo ON todo_trace_bindings (todo_id);
