package intake_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/switchboard-otel/switchboard/app/webhook"
)

func (w *world) prune() int {
	w.t.Helper()
	if _, err := w.queue.Prune(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	n, err := w.intake.Prune(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// An event goes with its last todo; of those that never had one the old go. The event of a live todo never does.
func TestPrune_AnEventGoesWithItsLastTodo(t *testing.T) {
	w := setup(t)
	to := w.create(webhook.Generic)
	live := w.send(to.URL, `{"live":1}`).receipt(t)
	done := w.send(to.URL, `{"done":1}`).receipt(t)
	w.rules(to, `[{"id":"drop","expr":"true","action":{"drop":true}}]`)
	w.send(to.URL, `{"dropped":1}`).receipt(t)
	if _, err := w.db.Pool.Exec(t.Context(), `UPDATE todos SET state = 'done', ended_at = updated_at WHERE id = $1`, w.todo(done.Todos[0].ID).ID.UUID()); err != nil {
		t.Fatal(err)
	}
	if n := w.prune(); n != 0 {
		t.Errorf("%d events went too early", n)
	}
	again, err := w.queue.Again(t.Context(), w.human.ID, w.todo(done.Todos[0].ID).ID.UUID(), "", "api")
	if err != nil {
		t.Fatal(err)
	}
	w.db.Advance(t, 31*24*time.Hour)
	if n := w.prune(); n != 1 {
		t.Errorf("%d events went, the dropped one should", n)
	}
	if got := w.stored(); got != [2]int{2, 2} {
		t.Errorf("stored %v: an event that was run again has a todo yet", got)
	}
	for _, id := range []string{again.ID.String(), live.Todos[0].ID} {
		if _, err := w.db.Pool.Exec(t.Context(), `UPDATE todos SET state = 'canceled', ended_at = sb_now() WHERE id = $1`, w.todo(id).ID.UUID()); err != nil {
			t.Fatal(err)
		}
	}
	w.db.Advance(t, 31*24*time.Hour)
	if w.prune(); w.stored() != [2]int{} {
		t.Errorf("stored %v", w.stored())
	}
}

func TestPrune_RowsWithoutATodoAreCountedPerHuman(t *testing.T) {
	w := setup(t)
	to := w.create(webhook.Generic)
	w.rules(to, `[{"id":"drop","expr":".payload.n < 8","action":{"drop":true}}]`)
	for n := range 10 {
		w.send(to.URL, fmt.Sprintf(`{"n":%d}`, n)).receipt(t)
	}
	if _, err := w.db.Pool.Exec(t.Context(), `INSERT INTO settings VALUES ('event_max_rows', '3')`); err != nil {
		t.Fatal(err)
	}
	w.await("the setting to hold", func() error {
		w.prune()
		if n := w.count(`SELECT count(*) FROM events WHERE disposition = 'dropped'`); n != 3 {
			return fmt.Errorf("%d events without a todo are kept", n)
		}
		return nil
	})
	if n := w.count(`SELECT count(*) FROM events WHERE convert_from(payload, 'UTF8') IN ('{"n":5}', '{"n":6}', '{"n":7}', '{"n":8}', '{"n":9}')`); n != 5 {
		t.Errorf("%d of the newest and of those with a todo are kept", n)
	}
}
