package queue

// openColumns are what ending the open attempt of a todo t needs of it.
const openColumns = `t.id, t.human_id, t.endpoint_id, t.queue, t.attempts_total, t.last_heartbeat_at, t.lease_ttl_seconds,
	t.notes, t.notes_dropped`

// closing is how every attempt ends: with what moved while it was open, which stood with its todo, without its request
// id, which is free again, and in the feed of its human. It is two parts of a WITH, of which closed returns what ended.
// held is the part before it that has locked the todos, with their openColumns and the time as now; sets is the
// outcome, the disposition and the report.
func closing(held, sets string) string {
	return `closed AS (
		UPDATE todo_attempts a SET ended_at = greatest(t.now, a.claimed_at), ` + sets + `, request_id = NULL,
			last_heartbeat_at = t.last_heartbeat_at, lease_ttl_seconds = t.lease_ttl_seconds, notes = t.notes, notes_dropped = t.notes_dropped
		FROM ` + held + ` t WHERE a.todo_id = t.id AND a.seq = t.attempts_total AND a.ended_at IS NULL
		RETURNING a.todo_id, a.seq, a.ended_at, a.outcome, a.disposition = 'dead_lettered' AS dead_letter, t.human_id, t.queue, t.endpoint_id
	), told AS (
		INSERT INTO feed_entries (human_id, at, kind, todo_id, ref, queue, endpoint_id, outcome, dead_letter)
		SELECT human_id, ended_at, 'attempt', todo_id, seq, queue, endpoint_id, outcome, dead_letter FROM closed
	)`
}
