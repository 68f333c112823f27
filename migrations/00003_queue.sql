-- +goose Up
-- human_id repeats the endpoint's owner: agents read by endpoint_id, humans by human_id, each through an
-- index that leads with it. attempts_total is the highest attempt seq ever given; it never goes back.
CREATE TABLE todos (
    id               uuid PRIMARY KEY,
    endpoint_id      uuid NOT NULL REFERENCES endpoints ON DELETE CASCADE,
    human_id         uuid NOT NULL REFERENCES humans ON DELETE CASCADE,
    queue            text NOT NULL CHECK (queue ~ '^[a-z0-9][a-z0-9._-]{0,63}$'),
    source           text NOT NULL CHECK (octet_length(source) BETWEEN 1 AND 64),
    kind             text CHECK (octet_length(kind) BETWEEN 1 AND 64),
    title            text NOT NULL CHECK (octet_length(title) BETWEEN 1 AND 256),
    payload          json,
    payload_size     integer NOT NULL DEFAULT 0,
    routing          json,
    work_order       json,
    idempotency_key  text CHECK (octet_length(idempotency_key) BETWEEN 1 AND 256),
    state            text NOT NULL DEFAULT 'pending' CHECK (state IN
        ('pending', 'claimed', 'done', 'failed', 'canceled', 'rejected', 'input-required', 'auth-required')),
    attempt          integer NOT NULL DEFAULT 0 CHECK (attempt >= 0),
    max_attempts     integer NOT NULL CHECK (max_attempts BETWEEN 1 AND 1000),
    owner            text CHECK (octet_length(owner) BETWEEN 1 AND 128),
    lease_expires_at timestamptz,
    next_retry_at    timestamptz CHECK (next_retry_at IS NULL OR state = 'failed'),
    result           json,
    attempts_total   integer NOT NULL DEFAULT 0,
    attempts_pruned  integer NOT NULL DEFAULT 0,
    activity_seq     integer NOT NULL DEFAULT 0,
    activity_pruned  integer NOT NULL DEFAULT 0,
    created_at       timestamptz NOT NULL,
    updated_at       timestamptz NOT NULL,
    CHECK ((state IN ('claimed', 'input-required', 'auth-required')) = (owner IS NOT NULL)),
    CHECK ((owner IS NULL) = (lease_expires_at IS NULL))
) WITH (fillfactor = 80);

-- What a claim scans: the oldest pending row of an endpoint's queue.
CREATE INDEX todos_ready ON todos (endpoint_id, created_at, id) INCLUDE (queue) WHERE state = 'pending';
-- What a takeover and the reaper scan. No index holds lease_expires_at: it would stop HOT updates of a heartbeat.
CREATE INDEX todos_held ON todos (endpoint_id, created_at, id) WHERE state = 'claimed';
CREATE INDEX todos_retry ON todos (next_retry_at) WHERE state = 'failed' AND next_retry_at IS NOT NULL;
CREATE INDEX todos_endpoint ON todos (endpoint_id, id);
CREATE INDEX todos_human ON todos (human_id, id);
CREATE UNIQUE INDEX todos_idempotency ON todos (endpoint_id, idempotency_key)
    WHERE idempotency_key IS NOT NULL
      AND (state IN ('pending', 'claimed', 'input-required', 'auth-required')
           OR (state = 'failed' AND next_retry_at IS NOT NULL));

-- One try. endpoint_id is who claimed, null when a human did; fence_hash is the SHA-256 of the lease token.
CREATE TABLE todo_attempts (
    todo_id           uuid NOT NULL REFERENCES todos ON DELETE CASCADE,
    seq               integer NOT NULL CHECK (seq >= 1),
    attempt           integer NOT NULL CHECK (attempt >= 1),
    claimer_kind      text NOT NULL CHECK (claimer_kind IN ('endpoint', 'owner')),
    endpoint_id       uuid,
    claimant          text CHECK (octet_length(claimant) BETWEEN 1 AND 128),
    trace_id          bytea NOT NULL UNIQUE CHECK (octet_length(trace_id) = 16),
    caller_trace_id   bytea CHECK (octet_length(caller_trace_id) = 16),
    fence_hash        bytea CHECK (octet_length(fence_hash) = 32),
    lease_ttl_seconds integer NOT NULL CHECK (lease_ttl_seconds BETWEEN 1 AND 86400),
    claimed_at        timestamptz NOT NULL,
    last_heartbeat_at timestamptz,
    ended_at          timestamptz CHECK (ended_at >= claimed_at),
    outcome           text CHECK (outcome IN
        ('completed', 'failed', 'released', 'lease_expired', 'reaped', 'canceled', 'revoked')),
    disposition       text CHECK (disposition IN
        ('done', 'retry_scheduled', 'requeued', 'dead_lettered', 'canceled')),
    summary           text CHECK (octet_length(summary) <= 2048),
    summary_truncated boolean NOT NULL DEFAULT false,
    artifact          text CHECK (octet_length(artifact) <= 512),
    notes             integer NOT NULL DEFAULT 0,
    notes_dropped     integer NOT NULL DEFAULT 0,
    PRIMARY KEY (todo_id, seq),
    CHECK ((ended_at IS NULL) = (outcome IS NULL) AND (outcome IS NULL) = (disposition IS NULL)),
    CHECK (outcome NOT IN ('lease_expired', 'reaped') OR (summary IS NULL AND artifact IS NULL)),
    -- One open attempt per todo. Checked at commit, because a takeover closes one and opens the next.
    CONSTRAINT todo_attempts_one_open EXCLUDE USING btree (todo_id WITH =) WHERE (ended_at IS NULL)
        DEFERRABLE INITIALLY DEFERRED
) WITH (fillfactor = 80);
CREATE INDEX todo_attempts_caller_trace ON todo_attempts (caller_trace_id) WHERE caller_trace_id IS NOT NULL;

-- What attempts and events do not record already. Append-only; seq grows per todo.
CREATE TABLE todo_activity (
    todo_id     uuid NOT NULL REFERENCES todos ON DELETE CASCADE,
    seq         integer NOT NULL,
    attempt_seq integer,
    at          timestamptz NOT NULL,
    kind        text NOT NULL CHECK (kind IN ('note', 'human_action', 'retried', 'a2a_state', 'rung')),
    actor_kind  text NOT NULL CHECK (actor_kind IN ('endpoint', 'human', 'system')),
    actor_ref   text NOT NULL CHECK (octet_length(actor_ref) BETWEEN 1 AND 128),
    message     text CHECK (octet_length(message) <= 512),
    detail      jsonb CHECK (octet_length(detail::text) <= 4096),
    PRIMARY KEY (todo_id, seq)
);
