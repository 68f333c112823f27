-- +goose Up
-- People on their way to an identity provider and back: what must come back with them, for ten minutes, once. The
-- browser's half is in a cookie, so that nobody else's browser can finish what this one began.
CREATE TABLE sign_ins (
    state_hash   bytea PRIMARY KEY CHECK (octet_length(state_hash) = 32),
    browser_hash bytea NOT NULL CHECK (octet_length(browser_hash) = 32),
    provider     text NOT NULL,
    nonce        text NOT NULL,
    verifier     text NOT NULL,
    expires_at   timestamptz NOT NULL
);
CREATE INDEX sign_ins_expiry ON sign_ins (expires_at);

-- OAuth clients that registered themselves (RFC 7591). They prove nothing: a name is what a client calls itself, and
-- only where a code may be sent matters. approved_at is when a human last allowed one something.
CREATE TABLE oauth_clients (
    id            uuid PRIMARY KEY,
    name          text NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 128),
    redirect_uris text[] NOT NULL CHECK (cardinality(redirect_uris) BETWEEN 1 AND 10),
    created_at    timestamptz NOT NULL,
    approved_at   timestamptz
);
CREATE INDEX oauth_clients_unapproved ON oauth_clients (created_at) WHERE approved_at IS NULL;

-- What a human allowed a client, once: the code that was sent to it, and everything issued from that. Deleting the row
-- ends all of it. human_id repeats the endpoint's owner, so that the owner scope is in the row that is read.
CREATE TABLE oauth_grants (
    id              uuid PRIMARY KEY,
    client_id       uuid NOT NULL REFERENCES oauth_clients ON DELETE CASCADE,
    human_id        uuid NOT NULL REFERENCES humans ON DELETE CASCADE,
    endpoint_id     uuid NOT NULL REFERENCES endpoints ON DELETE CASCADE,
    code_hash       bytea NOT NULL UNIQUE CHECK (octet_length(code_hash) = 32),
    redirect_uri    text NOT NULL,
    challenge       text NOT NULL,
    code_expires_at timestamptz NOT NULL,
    redeemed_at     timestamptz,
    created_at      timestamptz NOT NULL,
    used_at         timestamptz
);
CREATE INDEX oauth_grants_human ON oauth_grants (human_id, created_at);
CREATE INDEX oauth_grants_client ON oauth_grants (client_id);
CREATE INDEX oauth_grants_endpoint ON oauth_grants (endpoint_id);

CREATE TABLE oauth_access_tokens (
    token_hash bytea PRIMARY KEY CHECK (octet_length(token_hash) = 32),
    grant_id   uuid NOT NULL REFERENCES oauth_grants ON DELETE CASCADE,
    expires_at timestamptz NOT NULL
);
CREATE INDEX oauth_access_tokens_grant ON oauth_access_tokens (grant_id);
CREATE INDEX oauth_access_tokens_expiry ON oauth_access_tokens (expires_at);

-- A refresh token that was used stays until it expires, so that its second use is seen for what it is.
CREATE TABLE oauth_refresh_tokens (
    token_hash bytea PRIMARY KEY CHECK (octet_length(token_hash) = 32),
    grant_id   uuid NOT NULL REFERENCES oauth_grants ON DELETE CASCADE,
    expires_at timestamptz NOT NULL,
    used_at    timestamptz
);
CREATE INDEX oauth_refresh_tokens_grant ON oauth_refresh_tokens (grant_id);
CREATE INDEX oauth_refresh_tokens_expiry ON oauth_refresh_tokens (expires_at);
