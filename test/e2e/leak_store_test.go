package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

func (r *traffic) sql(statement string) {
	r.t.Helper()
	if _, err := r.conn.Exec(r.t.Context(), statement); err != nil {
		r.t.Fatal(err)
	}
}

// outcome is the status that a route answers with, or a verb would.
func outcome(res reply) int {
	switch {
	case strings.Contains(res.body, `"text":"internal:`):
		return http.StatusInternalServerError
	case strings.Contains(res.body, `"text":"unavailable:`):
		return http.StatusServiceUnavailable
	}
	return res.status
}

// broken wants an answer that tells of a failure and of nothing that was sent.
func (r *traffic) broken(what string, want int, res reply) {
	r.t.Helper()
	if outcome(res) != want {
		r.t.Errorf("%s is answered %d %s, where the store failed", what, res.status, excerpt(res.body))
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
	lease, traceparent := r.claim(held, claim)
	r.sql(`CREATE FUNCTION spill_row() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION 'refused: %', NEW::text USING DETAIL = NEW::text, HINT = NEW::text; END $$`)
	for _, table := range []string{"todos", "todo_attempts", "todo_activity", "todo_spans"} {
		r.sql(`CREATE TRIGGER spill BEFORE INSERT OR UPDATE ON ` + table + ` FOR EACH ROW EXECUTE FUNCTION spill_row()`)
	}
	report["id"], report["lease_token"] = held, lease
	for _, verb := range []string{"complete", "fail", "release"} {
		r.broken(verb, http.StatusInternalServerError, r.c.call(r.vended, verb, report))
	}
	claim["id"], claim["request_id"] = waiting, r.secrets.canary("request id")+"again"
	r.broken("claim", http.StatusInternalServerError, r.c.call(r.vended, "claim", claim))
	r.broken("heartbeat", http.StatusInternalServerError, r.c.call(r.vended, "heartbeat", map[string]any{"id": held, "lease_token": lease, "note": r.secrets.canary("note")}))
	push["idempotency_key"] = r.secrets.canary("idempotency key") + "new"
	r.broken("push", http.StatusInternalServerError, r.c.api(r.human, http.MethodPost, "/endpoints/"+r.vended.Slug+"/todos", push))
	r.broken("a human's claim", http.StatusInternalServerError, r.c.api(r.human, http.MethodPost, "/todos/"+waiting+"/claim", nil))
	spans := r.spans(traceOf(r.t, traceparent))
	spans.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).SetSpanID(pcommon.SpanID{1, 2, 3})
	r.broken("spans", http.StatusInternalServerError, export(r.t, r.vended, "protobuf", spans))
	for _, table := range []string{"todos", "todo_attempts", "todo_activity", "todo_spans"} {
		r.sql(`DROP TRIGGER spill ON ` + table)
	}
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
	r.broken("complete", http.StatusServiceUnavailable, r.c.call(r.vended, "complete", report))
	r.sql(`ROLLBACK`)
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
		page := func(path string) reply {
			return request(r.t, http.MethodGet, r.c.url+path, nil, "Cookie", r.human.cookie)
		}
		r.unreadable("a page over "+table, func() reply { return page("/todos/" + id) })
		r.unreadable("a route over "+table, func() reply { return r.c.api(r.human, http.MethodGet, "/todos/"+id, nil) })
		if table == "todo_attempts" {
			r.unreadable("get_todo", func() reply { return r.c.call(r.vended, "get_todo", map[string]any{"id": id}) })
			r.unreadable("a list over "+table, func() reply { return page("/todos") })
		}
		r.sql(fmt.Sprintf(`DROP VIEW %[1]s; ALTER TABLE kept RENAME TO %[1]s`, table))
		r.reconnect()
	}
}

// reconnect ends the server's sessions, which remember what their statements meant.
func (r *traffic) reconnect() {
	r.t.Helper()
	r.sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name NOT IN ('overhearing', '') AND datname = 'switchboard'`)
}

// unreadable asks until no session that was ended is met any more, and wants to hear of a failure.
func (r *traffic) unreadable(what string, ask func() reply) {
	r.t.Helper()
	var res reply
	await(r.t, "the server to connect anew", func() error {
		if res = ask(); outcome(res) == http.StatusServiceUnavailable {
			return errors.New(res.body)
		}
		return nil
	})
	r.broken(what, http.StatusInternalServerError, res)
}
