-- +goose Up
-- What webhooks may be made for an endpoint; fixed when it is vended. A null list allows whatever there is.
ALTER TABLE endpoints
    ADD COLUMN webhooks_max integer NOT NULL DEFAULT 10 CHECK (webhooks_max BETWEEN 0 AND 100),
    ADD COLUMN webhook_sources text[],
    ADD COLUMN webhook_queues text[];

-- The address of a webhook is a secret: only its token's SHA-256 is kept. Signing secrets are sealed with
-- AES-256-GCM. previous_* still count until their time, so that a producer can be changed without a gap.
CREATE TABLE webhooks (
    id                     uuid PRIMARY KEY,
    endpoint_id            uuid NOT NULL REFERENCES endpoints ON DELETE CASCADE,
    human_id               uuid NOT NULL REFERENCES humans ON DELETE CASCADE,
    source                 text NOT NULL CHECK (source IN ('github', 'gitea', 'stripe', 'slack', 'standard', 'generic')),
    target_queue           text NOT NULL CHECK (target_queue ~ '^[a-z0-9][a-z0-9._-]{0,63}$' AND target_queue <> 'quarantine'),
    token_hash             bytea NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
    previous_token_hash    bytea UNIQUE CHECK (octet_length(previous_token_hash) = 32),
    previous_token_until   timestamptz,
    secret                 bytea CHECK (octet_length(secret) <= 512),
    previous_secret        bytea CHECK (octet_length(previous_secret) <= 512),
    previous_secret_until  timestamptz,
    rules_version          integer NOT NULL DEFAULT 0,
    created_at             timestamptz NOT NULL,
    CHECK ((source = 'generic') = (secret IS NULL)),
    CHECK ((previous_token_hash IS NULL) = (previous_token_until IS NULL)),
    CHECK ((previous_secret IS NULL) = (previous_secret_until IS NULL))
);
CREATE INDEX webhooks_endpoint ON webhooks (endpoint_id, id);
CREATE INDEX webhooks_human ON webhooks (human_id, id);

-- The rules as they were last saved; a webhook without a row has none. version names them to caches.
CREATE TABLE webhook_rules (
    webhook_id uuid PRIMARY KEY REFERENCES webhooks ON DELETE CASCADE,
    rules      json NOT NULL,
    fallback   json,
    params     json CHECK (octet_length(params::text) <= 16384),
    saved_at   timestamptz NOT NULL
);

-- One delivery. webhook_id is no reference: a trail outlives the webhook it came through.
CREATE TABLE events (
    id            uuid PRIMARY KEY,
    endpoint_id   uuid NOT NULL REFERENCES endpoints ON DELETE CASCADE,
    human_id      uuid NOT NULL REFERENCES humans ON DELETE CASCADE,
    webhook_id    uuid NOT NULL,
    source        text NOT NULL CHECK (octet_length(source) BETWEEN 1 AND 64),
    family        text NOT NULL CHECK (family IN ('webhook')),
    event_type    text CHECK (octet_length(event_type) BETWEEN 1 AND 64),
    title         text NOT NULL CHECK (octet_length(title) BETWEEN 1 AND 256),
    external_id   text NOT NULL CHECK (octet_length(external_id) BETWEEN 1 AND 256),
    trust_mode    text NOT NULL CHECK (trust_mode IN ('signed', 'token', 'operator')),
    verified      boolean NOT NULL,
    verify_detail text NOT NULL CHECK (octet_length(verify_detail) <= 256),
    content_type  text NOT NULL CHECK (octet_length(content_type) <= 256),
    headers       jsonb NOT NULL CHECK (octet_length(headers::text) <= 65536),
    payload       bytea NOT NULL,
    payload_size  integer NOT NULL,
    source_ip     text NOT NULL CHECK (octet_length(source_ip) <= 64),
    received_at   timestamptz NOT NULL,
    disposition   text NOT NULL CHECK (disposition IN ('routed', 'dropped', 'faulted')),
    routing_trace json NOT NULL,
    UNIQUE (webhook_id, external_id)
);
CREATE INDEX events_endpoint ON events (endpoint_id, id);
CREATE INDEX events_human ON events (human_id, id);
CREATE INDEX events_webhook ON events (webhook_id, id);

-- An event that a todo came from cannot be deleted under it.
ALTER TABLE todos ADD COLUMN event_id uuid REFERENCES events;
CREATE INDEX todos_event ON todos (event_id, id) WHERE event_id IS NOT NULL;
CREATE INDEX todos_quarantine ON todos (human_id, id) WHERE queue = 'quarantine' AND state = 'pending';
