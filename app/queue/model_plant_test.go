package queue_test

import (
	"context"
	"maps"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/queue"
)

// strike closes what a slow reaper has seen to have lapsed, as far as it checks that again.
func (r *rig) strike(ctx context.Context, seen []uuid.UUID) answer {
	rows, err := r.Pool.Query(ctx, `
		WITH clock AS MATERIALIZED (SELECT sb_now() AS now),
		lapsed AS MATERIALIZED (
			SELECT c.id, c.attempt >= c.max_attempts AS last FROM todos c, clock
			WHERE c.id = ANY($1) AND `+r.slow+` FOR NO KEY UPDATE OF c
		), closed AS (
			UPDATE todo_attempts a SET ended_at = clock.now, outcome = 'reaped', request_id = NULL,
				disposition = CASE WHEN lapsed.last THEN 'dead_lettered' ELSE 'requeued' END,
				last_heartbeat_at = t.last_heartbeat_at, lease_ttl_seconds = t.lease_ttl_seconds, notes = t.notes, notes_dropped = t.notes_dropped
			FROM lapsed JOIN todos t USING (id), clock WHERE a.todo_id = lapsed.id AND a.ended_at IS NULL
		)
		UPDATE todos t SET state = CASE WHEN lapsed.last THEN 'failed' ELSE 'pending' END,
			owner = NULL, lease_expires_at = NULL, fence_hash = NULL, interrupted_at = NULL, next_retry_at = NULL, updated_at = clock.now,
			ended_at = CASE WHEN lapsed.last THEN clock.now END
		FROM lapsed, clock WHERE t.id = lapsed.id
		RETURNING t.queue, t.state`, seen)
	if err != nil {
		return refused(err.Error())
	}
	n := 0
	var name string
	var state queue.State
	_, err = pgx.ForEachRow(rows, []any{&name, &state}, func() error {
		n++
		r.metrics.Queue.AttemptClosed(name, queue.OutcomeReaped)
		if state == queue.StateFailed {
			r.metrics.Queue.TodoEnded(name, "dead_lettered")
		}
		return nil
	})
	return answer{Code: codeOf(err), N: n}
}

// A test of the test: in place of the store's reaper, one that looks, lets others act, and then closes what
// it had seen. One that checks again what it closes goes unnoticed; one that does not is found, and the
// script that shows it is a handful of lines.
func TestModel_FindsAReaperThatDoesNotCheckAgain(t *testing.T) {
	slowly := maps.Clone(usually)
	delete(slowly, doReap)
	slowly[doLook], slowly[doStrike] = 10, 14
	for name, reaper := range map[string]struct {
		checks string
		wrong  bool
		ends   string // what its script must end with
	}{
		"checks all":               {"c.state = 'claimed' AND c.lease_expires_at < clock.now", false, ""},
		"does not check the lease": {"c.state = 'claimed'", true, "reaper strikes"},
		"does not check the state": {"(c.lease_expires_at < clock.now OR c.lease_expires_at IS NULL)", true, "reaper strikes"},
		"checks nothing":           {"true", true, "reaper strikes"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.slow = reaper.checks
			if !reaper.wrong {
				r.check(slowly, 60, 40, 1)
				return
			}
			found := r.search(slowly, 1, 200, 40, 1)
			if found == nil {
				t.Fatal("200 scripts did not show it")
			}
			steps := found[:len(found)-1]
			if len(steps) > 8 || !strings.Contains(steps[len(steps)-1], reaper.ends) {
				t.Errorf("shrunk to %d steps:\n%s", len(steps), strings.Join(found, "\n"))
			}
			t.Log("\n" + strings.Join(found, "\n"))
		})
	}
}
