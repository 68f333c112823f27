package postgrestest

import (
	"testing"

	"github.com/jackc/pgx/v5"
)

// rules relate columns to each other, and say what form those have that the product makes or cuts itself. Every
// statement of every test keeps to them. They are not in the product's schema, because each UPDATE parses and evaluates
// each CHECK of its table anew: these would cost a claim a fifth.
const rules = `
	ALTER TABLE todos ADD CONSTRAINT rule_state CHECK (CASE
		WHEN state = 'pending' THEN num_nonnulls(owner, lease_expires_at, interrupted_at, next_retry_at, ended_at) = 0
		WHEN state = 'claimed' THEN num_nulls(owner, lease_expires_at) = 0
			AND num_nonnulls(interrupted_at, next_retry_at, ended_at) = 0
		WHEN state IN ('input-required', 'auth-required') THEN num_nulls(owner, lease_expires_at, interrupted_at) = 0
			AND num_nonnulls(next_retry_at, ended_at) = 0
		WHEN state = 'failed' THEN num_nonnulls(owner, lease_expires_at, interrupted_at) = 0
			AND num_nonnulls(next_retry_at, ended_at) = 1
		ELSE num_nonnulls(owner, lease_expires_at, interrupted_at, next_retry_at) = 0 AND ended_at IS NOT NULL END);
	ALTER TABLE todos ADD CONSTRAINT rule_counters CHECK (attempt BETWEEN 0 AND attempts_total
		AND attempts_pruned BETWEEN 0 AND attempts_total AND activity_pruned BETWEEN 0 AND activity_seq);
	ALTER TABLE todos ADD CONSTRAINT rule_open CHECK (fence_hash IS NULL OR owner IS NOT NULL AND octet_length(fence_hash) = 32);
	ALTER TABLE todos ADD CONSTRAINT rule_lease CHECK (owner IS NULL OR lease_ttl_seconds BETWEEN 1 AND 86400);
	ALTER TABLE todos ADD CONSTRAINT rule_form CHECK (octet_length(owner) BETWEEN 1 AND 128 AND state IN
		('pending', 'claimed', 'done', 'failed', 'canceled', 'rejected', 'input-required', 'auth-required'));
	ALTER TABLE todo_attempts ADD CONSTRAINT rule_form CHECK (claimer_kind IN ('endpoint', 'owner')
		AND octet_length(trace_id) = 16 AND octet_length(caller_trace_id) = 16 AND lease_ttl_seconds BETWEEN 1 AND 86400
		AND outcome IN ('completed', 'failed', 'released', 'lease_expired', 'reaped', 'canceled', 'revoked')
		AND disposition IN ('done', 'retry_scheduled', 'requeued', 'dead_lettered', 'canceled')
		AND octet_length(claimant) BETWEEN 1 AND 128 AND octet_length(request_id) BETWEEN 1 AND 64
		AND octet_length(summary) <= 2048 AND octet_length(artifact) <= 512);
	ALTER TABLE todo_activity ADD CONSTRAINT rule_form CHECK (kind IN ('note', 'human_action', 'retried', 'a2a_state', 'rung')
		AND actor_kind IN ('endpoint', 'human', 'system') AND octet_length(actor_ref) BETWEEN 1 AND 128
		AND octet_length(message) <= 512 AND octet_length(detail::text) <= 4096);
	ALTER TABLE feed_entries ADD CONSTRAINT rule_form CHECK (kind IN
		('attempt', 'note', 'human_action', 'retried', 'a2a_state', 'dead_letter'));
	ALTER TABLE todo_attempts ADD CONSTRAINT rule_end CHECK (CASE
		WHEN ended_at IS NULL THEN num_nonnulls(outcome, disposition, summary, artifact) = 0
		ELSE num_nulls(outcome, disposition) = 0 AND ended_at >= claimed_at AND request_id IS NULL
			AND (outcome NOT IN ('lease_expired', 'reaped') OR num_nonnulls(summary, artifact) = 0) END);
	ALTER TABLE todo_attempts ADD CONSTRAINT rule_todo FOREIGN KEY (todo_id) REFERENCES todos;
	ALTER TABLE todo_activity ADD CONSTRAINT rule_todo FOREIGN KEY (todo_id) REFERENCES todos;
	-- One open attempt per todo. Checked at commit, because a takeover closes one and opens the next.
	ALTER TABLE todo_attempts ADD CONSTRAINT rule_one_open EXCLUDE USING btree (todo_id WITH =) WHERE (ended_at IS NULL)
		DEFERRABLE INITIALLY DEFERRED`

// installRules lets the test's database refuse a row that the product must never write. Benchmarks measure the
// schema of the product.
func (db *DB) installRules(t testing.TB) {
	t.Helper()
	if _, err := db.Pool.Exec(t.Context(), rules, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatalf("cannot add the rules for rows: %v", err)
	}
}
