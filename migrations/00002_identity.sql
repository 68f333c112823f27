-- +goose Up
CREATE TABLE humans (
    id         uuid PRIMARY KEY,
    issuer     text NOT NULL CHECK (octet_length(issuer) BETWEEN 1 AND 512),
    subject    text NOT NULL CHECK (octet_length(subject) BETWEEN 1 AND 512),
    name       text NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 256),
    created_at timestamptz NOT NULL DEFAULT sb_now(),
    UNIQUE (issuer, subject)
);

CREATE TABLE agents (
    id         uuid PRIMARY KEY,
    human_id   uuid NOT NULL REFERENCES humans ON DELETE CASCADE,
    name       text NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 128),
    kind       text CHECK (octet_length(kind) BETWEEN 1 AND 64),
    created_at timestamptz NOT NULL DEFAULT sb_now()
);
CREATE INDEX agents_human ON agents (human_id, id);

-- A capability: what one agent may do, fixed when it is vended. human_id repeats the agent's owner so that
-- the owner scope is in the row that is read; neither ever changes.
CREATE TABLE endpoints (
    id                        uuid PRIMARY KEY,
    human_id                  uuid NOT NULL REFERENCES humans ON DELETE CASCADE,
    agent_id                  uuid NOT NULL REFERENCES agents ON DELETE CASCADE,
    slug                      text NOT NULL UNIQUE CHECK (slug ~ '^[a-z0-9][a-z0-9-]{1,47}$'),
    queues                    text[] NOT NULL CHECK (cardinality(queues) BETWEEN 1 AND 64),
    verbs                     text[] NOT NULL,
    default_lease_ttl_seconds integer CHECK (default_lease_ttl_seconds BETWEEN 60 AND 86400),
    default_max_attempts      integer CHECK (default_max_attempts BETWEEN 1 AND 1000),
    require_fence             boolean NOT NULL DEFAULT false,
    created_at                timestamptz NOT NULL DEFAULT sb_now(),
    expires_at                timestamptz,
    revoked_at                timestamptz
);
CREATE INDEX endpoints_human ON endpoints (human_id, id);

-- Only the SHA-256 of a token is ever stored; the token itself is shown once.
CREATE TABLE credentials (
    token_hash  bytea PRIMARY KEY CHECK (octet_length(token_hash) = 32),
    endpoint_id uuid NOT NULL REFERENCES endpoints ON DELETE CASCADE,
    created_at  timestamptz NOT NULL DEFAULT sb_now(),
    expires_at  timestamptz
);
CREATE INDEX credentials_endpoint ON credentials (endpoint_id);

CREATE TABLE access_tokens (
    token_hash bytea PRIMARY KEY CHECK (octet_length(token_hash) = 32),
    human_id   uuid NOT NULL REFERENCES humans ON DELETE CASCADE,
    name       text NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 128),
    created_at timestamptz NOT NULL DEFAULT sb_now(),
    expires_at timestamptz
);
CREATE INDEX access_tokens_human ON access_tokens (human_id, created_at);

CREATE TABLE login_links (
    token_hash bytea PRIMARY KEY CHECK (octet_length(token_hash) = 32),
    human_id   uuid NOT NULL REFERENCES humans ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT sb_now(),
    expires_at timestamptz NOT NULL
);
CREATE INDEX login_links_human ON login_links (human_id);

CREATE TABLE sessions (
    token_hash text PRIMARY KEY,
    data       bytea NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX sessions_expiry ON sessions (expires_at);
