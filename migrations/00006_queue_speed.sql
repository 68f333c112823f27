-- +goose Up
-- Rules about one column are domains and not CHECK constraints: a domain is checked where a value is assigned,
-- while every UPDATE parses and evaluates every CHECK of its table anew. That was a quarter of what a claim cost.
-- The rules that relate columns to each other are in the databases of all tests instead (app/postgres/postgrestest).
CREATE DOMAIN todo_state AS text CHECK (value IN
    ('pending', 'claimed', 'done', 'failed', 'canceled', 'rejected', 'input-required', 'auth-required'));
CREATE DOMAIN queue_name AS text CHECK (value ~ '^[a-z0-9][a-z0-9._-]{0,63}$');
CREATE DOMAIN text_64 AS text CHECK (octet_length(value) BETWEEN 1 AND 64);
CREATE DOMAIN text_128 AS text CHECK (octet_length(value) BETWEEN 1 AND 128);
CREATE DOMAIN text_256 AS text CHECK (octet_length(value) BETWEEN 1 AND 256);
CREATE DOMAIN trace_id AS bytea CHECK (octet_length(value) = 16);
CREATE DOMAIN sha256 AS bytea CHECK (octet_length(value) = 32);
CREATE DOMAIN try_limit AS integer CHECK (value BETWEEN 1 AND 1000);
CREATE DOMAIN lease_seconds AS integer CHECK (value BETWEEN 1 AND 86400);
CREATE DOMAIN claimer_kind AS text CHECK (value IN ('endpoint', 'owner'));
CREATE DOMAIN attempt_outcome AS text CHECK (value IN
    ('completed', 'failed', 'released', 'lease_expired', 'reaped', 'canceled', 'revoked'));
CREATE DOMAIN attempt_disposition AS text CHECK (value IN
    ('done', 'retry_scheduled', 'requeued', 'dead_lettered', 'canceled'));
CREATE DOMAIN attempt_summary AS text CHECK (octet_length(value) <= 2048);
CREATE DOMAIN attempt_artifact AS text CHECK (octet_length(value) <= 512);

ALTER TABLE todos
    DROP CONSTRAINT todos_queue_check,
    DROP CONSTRAINT todos_source_check,
    DROP CONSTRAINT todos_kind_check,
    DROP CONSTRAINT todos_title_check,
    DROP CONSTRAINT todos_idempotency_key_check,
    DROP CONSTRAINT todos_state_check,
    DROP CONSTRAINT todos_attempt_check,
    DROP CONSTRAINT todos_max_attempts_check,
    DROP CONSTRAINT todos_owner_check;
ALTER TABLE todos
    ALTER COLUMN queue TYPE queue_name,
    ALTER COLUMN source TYPE text_64,
    ALTER COLUMN kind TYPE text_64,
    ALTER COLUMN title TYPE text_256,
    ALTER COLUMN idempotency_key TYPE text_256,
    ALTER COLUMN state TYPE todo_state,
    ALTER COLUMN max_attempts TYPE try_limit,
    ALTER COLUMN owner TYPE text_128;


-- When a todo came to its end, null while it may still be worked on. What retention scans: an index on updated_at
-- would cost every heartbeat its HOT update.
DROP INDEX todos_terminal;
ALTER TABLE todos ADD COLUMN ended_at timestamptz;
UPDATE todos SET ended_at = updated_at
    WHERE state IN ('done', 'canceled', 'rejected') OR (state = 'failed' AND next_retry_at IS NULL);
CREATE INDEX todos_ended ON todos (human_id, ended_at, id) WHERE ended_at IS NOT NULL;

ALTER TABLE todos
    DROP CONSTRAINT todos_check,
    DROP CONSTRAINT todos_check1,
    DROP CONSTRAINT todos_check2,
    DROP CONSTRAINT todos_check3;

ALTER TABLE todo_attempts
    DROP CONSTRAINT todo_attempts_seq_check,
    DROP CONSTRAINT todo_attempts_attempt_check,
    DROP CONSTRAINT todo_attempts_claimer_kind_check,
    DROP CONSTRAINT todo_attempts_claimant_check,
    DROP CONSTRAINT todo_attempts_trace_id_check,
    DROP CONSTRAINT todo_attempts_caller_trace_id_check,
    DROP CONSTRAINT todo_attempts_fence_hash_check,
    DROP CONSTRAINT todo_attempts_lease_ttl_seconds_check,
    DROP CONSTRAINT todo_attempts_outcome_check,
    DROP CONSTRAINT todo_attempts_disposition_check,
    DROP CONSTRAINT todo_attempts_summary_check,
    DROP CONSTRAINT todo_attempts_artifact_check,
    DROP CONSTRAINT todo_attempts_request_id_check,
    DROP CONSTRAINT todo_attempts_check,
    DROP CONSTRAINT todo_attempts_check1,
    DROP CONSTRAINT todo_attempts_check2;
ALTER TABLE todo_attempts
    ALTER COLUMN claimer_kind TYPE claimer_kind,
    ALTER COLUMN claimant TYPE text_128,
    ALTER COLUMN trace_id TYPE trace_id,
    ALTER COLUMN caller_trace_id TYPE trace_id,
    ALTER COLUMN fence_hash TYPE sha256,
    ALTER COLUMN lease_ttl_seconds TYPE lease_seconds,
    ALTER COLUMN outcome TYPE attempt_outcome,
    ALTER COLUMN disposition TYPE attempt_disposition,
    ALTER COLUMN summary TYPE attempt_summary,
    ALTER COLUMN artifact TYPE attempt_artifact,
    ALTER COLUMN request_id TYPE text_64;

CREATE DOMAIN activity_kind AS text CHECK (value IN ('note', 'human_action', 'retried', 'a2a_state', 'rung'));
CREATE DOMAIN activity_actor AS text CHECK (value IN ('endpoint', 'human', 'system'));
CREATE DOMAIN activity_message AS text CHECK (octet_length(value) <= 512);
CREATE DOMAIN activity_detail AS jsonb CHECK (octet_length(value::text) <= 4096);
ALTER TABLE todo_activity
    DROP CONSTRAINT todo_activity_kind_check,
    DROP CONSTRAINT todo_activity_actor_kind_check,
    DROP CONSTRAINT todo_activity_actor_ref_check,
    DROP CONSTRAINT todo_activity_message_check,
    DROP CONSTRAINT todo_activity_detail_check;
ALTER TABLE todo_activity
    ALTER COLUMN kind TYPE activity_kind,
    ALTER COLUMN actor_kind TYPE activity_actor,
    ALTER COLUMN actor_ref TYPE text_128,
    ALTER COLUMN message TYPE activity_message,
    ALTER COLUMN detail TYPE activity_detail;

-- Deletes the n oldest closed attempts of a todo that its caller has locked, and returns how many those were.
-- Each leaves its trace id and its number to the bindings, so that its late spans still find both. A function
-- because a claim seldom needs it, and because its snapshot is younger than the caller's lock.
-- +goose StatementBegin
CREATE FUNCTION sb_prune_attempts(todo uuid, n integer) RETURNS bigint LANGUAGE sql VOLATILE AS $$
    WITH pruned AS (
        DELETE FROM todo_attempts a USING (
            SELECT v.seq FROM todo_attempts v WHERE v.todo_id = todo AND v.ended_at IS NOT NULL ORDER BY v.seq LIMIT n
        ) victims
        WHERE a.todo_id = todo AND a.seq = victims.seq
        RETURNING a.seq, a.trace_id
    ), kept AS (
        INSERT INTO todo_trace_bindings (endpoint_id, trace_id, todo_id, attempt_seq)
        SELECT t.endpoint_id, p.trace_id, t.id, p.seq FROM pruned p JOIN todos t ON t.id = todo
        ON CONFLICT (endpoint_id, trace_id) DO NOTHING
    )
    SELECT count(*) FROM pruned
$$;
-- +goose StatementEnd

-- Deletes n entries of the activity log of a todo that its caller has locked, and returns how many those were:
-- the oldest notes, then the oldest rings. Transitions stay.
-- +goose StatementBegin
CREATE FUNCTION sb_prune_activity(todo uuid, n integer) RETURNS bigint LANGUAGE sql VOLATILE AS $$
    WITH pruned AS (
        DELETE FROM todo_activity e USING (
            SELECT v.seq FROM todo_activity v WHERE v.todo_id = todo AND v.kind IN ('note', 'rung')
            ORDER BY v.kind = 'note' DESC, v.seq LIMIT n
        ) victims
        WHERE e.todo_id = todo AND e.seq = victims.seq
        RETURNING e.seq
    )
    SELECT count(*) FROM pruned
$$;
-- +goose StatementEnd
