package queue_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/settings"
)

// many is more than one statement of a background pass takes, twice over.
const many = 450

// plenty makes many todos out of one, with all of its attempts.
func (b *bundle) plenty(t *testing.T) {
	t.Helper()
	if n := b.count(t, `
		WITH copied AS (
			INSERT INTO todos SELECT (jsonb_populate_record(t, jsonb_build_object('id', gen_random_uuid()))).*
			FROM todos t, generate_series(2, $1) RETURNING id
		), attempts AS (
			INSERT INTO todo_attempts SELECT (jsonb_populate_record(a, jsonb_build_object('todo_id', c.id,
				'trace_id', '\x' || md5(c.id::text || a.seq)))).*
			FROM copied c, todo_attempts a
		)
		SELECT count(*) FROM copied`, many); n != many-1 {
		t.Fatalf("%d copies", n)
	}
}

// A pass of the background work goes on until nothing is left to do, in statements of a bounded size.
func TestBackground_DrainsMoreThanOneBatch(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(b *bundle, t *testing.T)
		pass    func(b *bundle, t *testing.T) (int, error)
		left    string // what must be gone after it
	}{
		"reaper": {
			func(b *bundle, t *testing.T) {
				b.claim(t, b.push(t), queue.ClaimParams{})
				b.plenty(t)
				b.lapse(t)
			},
			func(b *bundle, t *testing.T) (int, error) { return b.queue.Reap(t.Context()) },
			`SELECT count(*) FROM todos t JOIN todo_attempts a ON a.todo_id = t.id WHERE t.state <> 'pending' OR a.outcome IS DISTINCT FROM 'reaped'`,
		},
		"interrupts": {
			func(b *bundle, t *testing.T) {
				id := b.push(t)
				b.claim(t, id, queue.ClaimParams{})
				if _, err := b.queue.Interrupt(t.Context(), b.endpoint, id, nil, queue.StateAuthRequired, nil); err != nil {
					t.Fatal(err)
				}
				b.plenty(t)
				b.Advance(t, 25*time.Hour)
			},
			func(b *bundle, t *testing.T) (int, error) { return b.queue.Reap(t.Context()) },
			`SELECT count(*) FROM todos WHERE state <> 'pending'`,
		},
		"retries": {
			func(b *bundle, t *testing.T) {
				b.cycle(t, b.push(t), 1)
				b.plenty(t)
			},
			func(b *bundle, t *testing.T) (int, error) { return b.queue.RequeueDue(t.Context()) },
			`SELECT count(*) FROM todos WHERE state <> 'pending'`,
		},
		"retention by age": {
			func(b *bundle, t *testing.T) {
				id := b.push(t)
				b.claim(t, id, queue.ClaimParams{})
				b.act(t, id, queue.ActionCancel)
				b.plenty(t)
				b.Advance(t, 31*24*time.Hour)
			},
			func(b *bundle, t *testing.T) (int, error) { return b.queue.Prune(t.Context()) },
			`SELECT (SELECT count(*) FROM todos) + (SELECT count(*) FROM todo_attempts) + (SELECT count(*) FROM todo_activity)`,
		},
		"retention by rows": {
			func(b *bundle, t *testing.T) {
				b.set(t, settings.RetentionMaxRows, "1")
				b.act(t, b.push(t), queue.ActionCancel)
				b.plenty(t)
				b.act(t, b.push(t), queue.ActionCancel) // the newest, which stays
			},
			func(b *bundle, t *testing.T) (int, error) { return b.queue.Prune(t.Context()) },
			`SELECT count(*) FROM todos WHERE id <> (SELECT id FROM todos ORDER BY ended_at DESC LIMIT 1)`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t)
			c.prepare(b, t)
			if n, err := c.pass(b, t); n != many || err != nil {
				t.Errorf("%d of %d, %v", n, many, err)
			}
			if n := b.count(t, c.left); n != 0 {
				t.Errorf("%d are left", n)
			}
			if n, err := c.pass(b, t); n != 0 || err != nil {
				t.Errorf("a second pass: %d, %v", n, err)
			}
		})
	}
}

// What hangs on a todo goes with it: spans, their counts, bindings, activity, attempts and its entries in the feed. A
// live todo's stay, however old they are.
func TestRetention_TakesTheWholeTrailAndLeavesALiveOnes(t *testing.T) {
	b := setup(t)
	over, live := b.push(t), b.push(t)
	for _, id := range []uuid.UUID{over, live} {
		if _, err := b.Pool.Exec(t.Context(), `
			WITH span AS (
				INSERT INTO todo_spans (todo_id, attempt_seq, trace_id, span_id, name, kind, status_code, start_at, end_at, category, attributes, received_at)
				SELECT $1::uuid, 1, decode(md5($1::uuid::text), 'hex'), '\x0102030405060708', 'run', 'internal', 'ok', sb_now(), sb_now(), 'tool', '{}', sb_now()
			), counts AS (
				INSERT INTO todo_span_counts (todo_id, attempt_seq, stored) VALUES ($1, 1, 1)
			)
			INSERT INTO todo_trace_bindings (endpoint_id, trace_id, todo_id)
			SELECT endpoint_id, decode(md5($1::uuid::text), 'hex'), id FROM todos WHERE id = $1`, id); err != nil {
			t.Fatal(err)
		}
	}
	b.claim(t, over, queue.ClaimParams{})
	b.claim(t, live, queue.ClaimParams{})
	for _, id := range []uuid.UUID{over, live} {
		if _, err := b.queue.Heartbeat(t.Context(), b.endpoint, id, queue.HeartbeatParams{Note: ptr("n")}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.queue.Complete(t.Context(), b.endpoint, over, queue.Report{}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := b.queue.Release(t.Context(), b.endpoint, live, queue.Report{}); err != nil {
		t.Fatal(err)
	}
	const ofTodo = `SELECT (SELECT count(*) FROM todo_spans WHERE todo_id = $1) || ' ' || (SELECT count(*) FROM todo_span_counts WHERE todo_id = $1)
		|| ' ' || (SELECT count(*) FROM todo_trace_bindings WHERE todo_id = $1) || ' ' || (SELECT count(*) FROM todo_activity WHERE todo_id = $1)
		|| ' ' || (SELECT count(*) FROM todo_attempts WHERE todo_id = $1) || ' ' || (SELECT count(*) FROM feed_entries WHERE todo_id = $1)`
	holds := func(id uuid.UUID) (counts string) {
		t.Helper()
		if err := b.Pool.QueryRow(t.Context(), ofTodo, id).Scan(&counts); err != nil {
			t.Fatal(err)
		}
		return counts
	}
	whole := holds(over)
	if whole != holds(live) || whole != "1 1 1 1 1 2" {
		t.Fatalf("%s and %s", whole, holds(live))
	}
	b.Advance(t, 400*24*time.Hour)
	if n, err := b.queue.Prune(t.Context()); n != 1 || err != nil {
		t.Fatalf("%d went, %v", n, err)
	}
	if left := holds(over); left != "0 0 0 0 0 0" {
		t.Errorf("of the todo that went there is left %s", left)
	}
	if left := holds(live); left != whole {
		t.Errorf("of the live one there is left %s", left)
	}
}
