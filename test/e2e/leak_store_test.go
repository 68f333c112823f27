package e2e

import (
	"fmt"
	"net/http"
	"strings"
)

func (r *traffic) sql(statement string) {
	r.t.Helper()
	if _, err := r.conn.Exec(r.t.Context(), statement); err != nil {
		r.t.Fatal(err)
	}
}

// broken wants an answer that tells of a failure and of nothing that was sent.
func (r *traffic) broken(what string, res reply) {
	r.t.Helper()
	if res.status < 500 && !strings.Contains(res.body, `"text":"internal:`) && !strings.Contains(res.body, `"text":"unavailable:`) {
		r.t.Errorf("%s is answered %d %s: the store did not fail", what, res.status, excerpt(res.body))
	}
	for _, leak := range r.secrets.in(res.body) {
		r.t.Errorf("the answer to %s carries %s", what, leak)
	}
	r.now()
}

// refusingStore makes the database refuse every write with a message that quotes the row, as constraints and broken
// triggers do.
func (r *traffic) refusingStore() {
	push, claim, report := r.written()
	push["idempotency_key"] = r.secrets.canary("idempotency key") + "refused"
	waiting := r.push(push)
	claim["request_id"] = r.secrets.canary("request id") + "refused"
	push["idempotency_key"] = r.secrets.canary("idempotency key") + "held"
	held := r.push(push)
	lease, _ := r.claim(held, claim)
	r.sql(`CREATE FUNCTION spill_row() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION 'refused: %', NEW::text USING DETAIL = NEW::text, HINT = NEW::text; END $$`)
	for _, table := range []string{"todos", "todo_attempts", "todo_activity", "todo_spans"} {
		r.sql(`CREATE TRIGGER spill BEFORE INSERT OR UPDATE ON ` + table + ` FOR EACH ROW EXECUTE FUNCTION spill_row()`)
	}
	report["id"], report["lease_token"] = held, lease
	for _, verb := range []string{"complete", "fail", "release"} {
		r.broken(verb, r.c.call(r.vended, verb, report))
	}
	claim["id"], claim["request_id"] = waiting, r.secrets.canary("request id")+"again"
	r.broken("claim", r.c.call(r.vended, "claim", claim))
	r.broken("heartbeat", r.c.call(r.vended, "heartbeat", map[string]any{"id": held, "lease_token": lease, "note": r.secrets.canary("note")}))
	push["idempotency_key"] = r.secrets.canary("idempotency key") + "new"
	r.broken("push", r.c.api(r.human, http.MethodPost, "/endpoints/"+r.vended.Slug+"/todos", push))
	r.broken("a human's claim", r.c.api(r.human, http.MethodPost, "/todos/"+waiting+"/claim", nil))
	for _, table := range []string{"todos", "todo_attempts", "todo_activity", "todo_spans"} {
		r.sql(`DROP TRIGGER spill ON ` + table)
	}
}

// unreadableStore makes the database fail every read of a text with a message that quotes it.
func (r *traffic) unreadableStore() {
	push, claim, report := r.written()
	push["idempotency_key"] = r.secrets.canary("idempotency key") + "unreadable"
	claim["request_id"] = r.secrets.canary("request id") + "unreadable"
	id := r.push(push)
	lease, traceparent := r.claim(id, claim)
	answered[any](r.t, r.c.call(r.vended, "heartbeat", map[string]any{"id": id, "lease_token": lease, "note": r.secrets.canary("note")}))
	export(r.t, r.vended, "protobuf", r.spans(traceOf(r.t, traceparent)))
	report["id"], report["lease_token"] = id, lease
	answered[any](r.t, r.c.call(r.vended, "fail", report))
	r.sql(`CREATE FUNCTION spill(value text) RETURNS text LANGUAGE plpgsql AS
		$$ BEGIN IF value IS NOT NULL THEN RAISE EXCEPTION 'cannot read %', value USING DETAIL = value; END IF; RETURN value; END $$`)
	for table, column := range map[string]string{"todo_attempts": "summary", "todo_activity": "message", "todo_spans": "attributes"} {
		var columns string
		if err := r.conn.QueryRow(r.t.Context(), `
			SELECT string_agg(CASE WHEN column_name = $2 THEN format('spill(%1$s::text)::%2$s AS %1$s', column_name, data_type) ELSE column_name END, ', ')
			FROM information_schema.columns WHERE table_name = $1`, table, column).Scan(&columns); err != nil {
			r.t.Fatal(err)
		}
		r.sql(fmt.Sprintf(`ALTER TABLE %[1]s RENAME TO kept; CREATE VIEW %[1]s AS SELECT %[2]s FROM kept`, table, columns))
		r.reconnect()
		r.broken("a page over "+table, request(r.t, http.MethodGet, r.c.url+"/todos/"+id, nil, "Cookie", r.human.cookie))
		r.broken("a route over "+table, r.c.api(r.human, http.MethodGet, "/todos/"+id, nil))
		if table == "todo_attempts" {
			r.broken("get_todo", r.c.call(r.vended, "get_todo", map[string]any{"id": id}))
			r.broken("a list over "+table, request(r.t, http.MethodGet, r.c.url+"/todos", nil, "Cookie", r.human.cookie))
		}
		r.sql(fmt.Sprintf(`DROP VIEW %[1]s; ALTER TABLE kept RENAME TO %[1]s`, table))
		r.reconnect()
	}
}

// reconnect ends the server's sessions, which remember what their statements meant, and waits for new ones.
func (r *traffic) reconnect() {
	r.t.Helper()
	r.sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name NOT IN ('overhearing', '') AND datname = 'switchboard'`)
	await(r.t, "the server to connect anew", func() error {
		for range 30 { // more than its pool holds
			if res := r.c.api(r.human, http.MethodGet, "/status", nil); res.status != http.StatusOK {
				return fmt.Errorf("status %d", res.status)
			}
		}
		return nil
	})
}

// waitingStore holds the row that a verb needs until its statement gives up.
func (r *traffic) waitingStore() {
	push, claim, report := r.written()
	push["idempotency_key"] = r.secrets.canary("idempotency key") + "waiting"
	claim["request_id"] = r.secrets.canary("request id") + "waiting"
	id := r.push(push)
	lease, _ := r.claim(id, claim)
	report["id"], report["lease_token"] = id, lease
	r.sql(`BEGIN; LOCK TABLE todo_attempts IN ACCESS EXCLUSIVE MODE`)
	r.broken("complete", r.c.call(r.vended, "complete", report))
	r.sql(`ROLLBACK`)
}
