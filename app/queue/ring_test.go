package queue_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/queue"
)

func (b *bundle) ring(t *testing.T) []queue.Rung {
	t.Helper()
	rung, err := b.queue.Ring(t.Context(), []uuid.UUID{b.endpoint.ID}, "mcp")
	if err != nil {
		t.Fatal(err)
	}
	return rung
}

func TestRing_OfATodoThatWaits(t *testing.T) {
	b := setup(t)
	id := b.push(t)
	for i, wait := range []time.Duration{0, 5 * time.Minute, 20 * time.Minute, time.Hour, 6 * time.Hour} {
		if wait > 0 {
			b.Advance(t, wait-time.Minute)
			if early := b.ring(t); len(early) != 0 {
				t.Fatalf("ring %d came a minute early: %v", i+1, early)
			}
			b.Advance(t, time.Minute)
		}
		rung := b.ring(t)
		if len(rung) != 1 || rung[0].ID.UUID() != id || rung[0].Rings != i+1 || rung[0].Endpoint != b.endpoint.ID || rung[0].Source != queue.SourceOperator {
			t.Fatalf("ring %d: %+v", i+1, rung)
		}
	}
	b.Advance(t, 1000*time.Hour)
	if more := b.ring(t); len(more) != 0 {
		t.Errorf("a sixth ring: %v", more)
	}
	if n := b.count(t, `SELECT count(*) FROM todo_activity WHERE kind = 'rung' AND actor_kind = 'system' AND detail ->> 'transport' = 'mcp'`); n != 5 {
		t.Errorf("%d rings in the log", n)
	}
}

func TestRing_StartsAnewWhenATodoBecomesReadyAgain(t *testing.T) {
	b := setup(t)
	b.push(t)
	b.ring(t)
	c, err := b.queue.ClaimNext(t.Context(), b.endpoint, "", queue.ClaimParams{})
	if err != nil {
		t.Fatal(err)
	}
	if held := b.ring(t); len(held) != 0 {
		t.Errorf("rung for a todo that is held: %v", held)
	}
	if _, err := b.queue.Release(t.Context(), b.endpoint, c.ID.UUID(), queue.Report{}); err != nil {
		t.Fatal(err)
	}
	if again := b.ring(t); len(again) != 1 || again[0].Rings != 1 {
		t.Errorf("after its release: %+v", again)
	}
}

func TestRing_OnceThoughSeveralReplicasRing(t *testing.T) {
	b := setup(t)
	for range 20 {
		b.push(t)
	}
	var mu sync.Mutex
	times := map[queue.ID]int{}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			rung, err := b.queue.Ring(t.Context(), []uuid.UUID{b.endpoint.ID}, "mcp")
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, r := range rung {
				times[r.ID]++
			}
		})
	}
	group.Wait()
	for _, r := range b.ring(t) { // whatever was locked by another pass
		times[r.ID]++
	}
	if len(times) != 20 {
		t.Errorf("rung for %d of 20", len(times))
	}
	for id, n := range times {
		if n != 1 {
			t.Errorf("%s was rung %d times", id, n)
		}
	}
}
