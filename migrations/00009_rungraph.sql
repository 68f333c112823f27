-- +goose Up
-- Run-graph documents that a human brought, byte for byte: evidence to read, never written to todos or attempts.
CREATE TABLE rungraph_documents (
    id          uuid PRIMARY KEY,
    human_id    uuid NOT NULL REFERENCES humans ON DELETE CASCADE,
    sha256      bytea NOT NULL CHECK (octet_length(sha256) = 32),
    ocp         text NOT NULL CHECK (octet_length(ocp) <= 16),
    run_id      text NOT NULL CHECK (octet_length(run_id) <= 800),
    producer    text NOT NULL CHECK (octet_length(producer) <= 800),
    document    bytea NOT NULL CHECK (octet_length(document) <= 10485760),
    imported_at timestamptz NOT NULL,
    UNIQUE (human_id, sha256)
);
CREATE INDEX rungraph_documents_human ON rungraph_documents (human_id, id);
