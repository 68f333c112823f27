package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/postgres/values"
	"github.com/switchboard-otel/switchboard/app/settings"
)

type rig2 struct { pool *pgxpool.Pool; st *Store; id *identity.Store; h *identity.Human; ep *identity.Endpoint }

func rigUp(t *testing.T, name string) *rig2 {
	url := freshURL(t, name)
	if err := postgres.Migrate(t.Context(), url); err != nil { t.Fatal(err) }
	cfg, _ := pgxpool.ParseConfig(url)
	values.Configure(cfg)
	cfg.MaxConns = 20
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil { t.Fatal(err) }
	t.Cleanup(pool.Close)
	if _, err := pool.Exec(t.Context(), `INSERT INTO settings (key, value) VALUES ('activity_max_per_todo','8'),('attempt_history_max_per_todo','5'),('notes_max_per_attempt','3'),('interrupt_timeout_seconds','60')`); err != nil { t.Fatal(err) }
	r := &rig2{pool: pool, st: NewStore(pool, settings.NewReader(pool, zap.NewNop()))}
	r.id = identity.NewStore(pool, r.st)
	if r.h, err = r.id.LocalOwner(t.Context()); err != nil { t.Fatal(err) }
	v, err := r.id.Vend(t.Context(), r.h.ID, identity.VendParams{Name: "bot", Queues: []string{"lane-s"}})
	if err != nil { t.Fatal(err) }
	r.ep = &v.Endpoint
	return r
}

var invariants = map[string]string{
	"open attempt iff owner": `SELECT t.id::text FROM todos t WHERE (t.owner IS NOT NULL) <> EXISTS (SELECT FROM todo_attempts a WHERE a.todo_id=t.id AND a.seq=t.attempts_total AND a.ended_at IS NULL)`,
	"other open": `SELECT a.todo_id::text||a.seq FROM todo_attempts a JOIN todos t ON t.id=a.todo_id WHERE a.ended_at IS NULL AND a.seq<>t.attempts_total`,
	"attempt count": `SELECT t.id::text FROM todos t WHERE attempts_total-attempts_pruned <> (SELECT count(*) FROM todo_attempts a WHERE a.todo_id=t.id) OR attempts_total-attempts_pruned > 5`,
	"activity count": `SELECT t.id::text||' '||activity_seq||' '||activity_pruned FROM todos t WHERE activity_seq-activity_pruned <> (SELECT count(*) FROM todo_activity a WHERE a.todo_id=t.id)`,
	"activity cap": `SELECT t.id::text FROM todos t WHERE activity_seq-activity_pruned > 8 AND EXISTS (SELECT FROM todo_activity v WHERE v.todo_id=t.id AND kind IN ('note','rung') AND v.seq <> t.activity_seq)`,
	"fence": `SELECT id::text FROM todos WHERE owner IS NULL AND (fence_hash IS NOT NULL OR lease_expires_at IS NOT NULL)`,
	"notes cap": `SELECT a.todo_id::text FROM todo_attempts a WHERE notes>3 UNION ALL SELECT id::text FROM todos WHERE notes>3`,
	"notes vs log": `SELECT a.todo_id::text||' '||a.seq FROM todo_attempts a JOIN todos t ON t.id=a.todo_id WHERE a.ended_at IS NOT NULL AND a.notes < (SELECT count(*) FROM todo_activity v WHERE v.todo_id=a.todo_id AND v.attempt_seq=a.seq AND v.kind='note')`,
	"latest closed same": `SELECT t.id::text FROM todos t JOIN todo_attempts a ON a.todo_id=t.id AND a.seq=t.attempts_total WHERE a.ended_at IS NOT NULL AND (a.notes,a.notes_dropped,a.lease_ttl_seconds) <> (t.notes,t.notes_dropped,t.lease_ttl_seconds) OR a.ended_at IS NOT NULL AND a.last_heartbeat_at IS DISTINCT FROM t.last_heartbeat_at`,
	"hb after claim/before end": `SELECT a.todo_id::text||' '||a.seq||' '||a.claimed_at||' '||a.last_heartbeat_at||' '||a.ended_at FROM todo_attempts a WHERE a.last_heartbeat_at < a.claimed_at OR a.last_heartbeat_at > a.ended_at`,
	"missing feed attempt": `SELECT a.todo_id::text||' '||a.seq FROM todo_attempts a JOIN todos t ON t.id=a.todo_id WHERE a.ended_at IS NOT NULL AND 1 <> (SELECT count(*) FROM feed_entries f WHERE f.todo_id=a.todo_id AND f.kind='attempt' AND f.ref=a.seq AND f.at=a.ended_at AND f.human_id=t.human_id)`,
	"missing feed log": `SELECT v.todo_id::text||' '||v.seq||v.kind FROM todo_activity v WHERE CASE WHEN v.kind IN ('rung','retried') THEN 0 ELSE 1 END <> (SELECT count(*) FROM feed_entries f WHERE f.todo_id=v.todo_id AND f.kind IN ('note','human_action','retried','a2a_state') AND f.ref=v.seq AND f.at=v.at)`,
	"orphan feed": `SELECT f.todo_id::text||f.kind||f.ref FROM feed_entries f WHERE f.kind<>'dead_letter' AND NOT EXISTS (SELECT FROM todo_attempts a WHERE f.kind='attempt' AND a.todo_id=f.todo_id AND a.seq=f.ref) AND NOT EXISTS (SELECT FROM todo_activity a WHERE f.kind<>'attempt' AND a.todo_id=f.todo_id AND a.seq=f.ref)`,
	"request ids": `SELECT todo_id::text FROM todo_attempts WHERE ended_at IS NOT NULL AND request_id IS NOT NULL`,
	"order": `SELECT a.todo_id::text||' '||a.seq FROM todo_attempts a JOIN todo_attempts b ON b.todo_id=a.todo_id AND b.seq=a.seq+1 WHERE b.claimed_at < a.ended_at`,
	"dl/ended": `SELECT id::text FROM todos WHERE (ended_at IS NULL) <> (state IN ('pending','claimed','input-required','auth-required') OR state='failed' AND next_retry_at IS NOT NULL)`,
	"activity order": `SELECT a.todo_id::text||' '||a.seq||' '||a.at||' '||b.at FROM todo_activity a JOIN todo_activity b ON b.todo_id=a.todo_id AND b.seq=a.seq+1 WHERE b.at < a.at`,
}

func (r *rig2) check(t *testing.T) {
	for name, q := range invariants {
		rows, err := r.pool.Query(context.Background(), q)
		if err != nil { t.Errorf("%s: %v", name, err); continue }
		bad, err := pgx.CollectRows(rows, pgx.RowTo[*string])
		if err != nil { t.Errorf("%s: %v", name, err) }
		if len(bad) > 0 { t.Errorf("INVARIANT %s: %d, %s", name, len(bad), *bad[0]) }
	}
}

func TestZStorm(t *testing.T) {
	r := rigUp(t, "zz_storm")
	ctx, cancel := context.WithTimeout(context.Background(), 12*time.Second)
	defer cancel()
	var ids []uuid.UUID
	push := func() { n := 1000; td, _, err := r.st.Push(ctx, r.h.ID, PushParams{Endpoint: r.ep, Title: "x", MaxAttempts: &n}); if err == nil { ids = append(ids, td.ID.UUID()) } }
	for range 6 { push() }
	counts := map[string]int{}
	var mu sync.Mutex
	count := func(k string, err error) { mu.Lock(); defer mu.Unlock()
		var f *fault.Error
		switch { case err == nil: counts[k+" ok"]++
		case errors.As(err, &f): counts[k+" "+string(f.Code)]++
		case ctx.Err() != nil:
		default: counts[k+" ERR "+err.Error()]++ } }
	var wg sync.WaitGroup
	for w := range 14 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			rnd := rand.New(rand.NewPCG(uint64(w), 7))
			for n := 0; ctx.Err() == nil; n++ {
				id := ids[rnd.IntN(len(ids))]
				ttl := 1 + rnd.IntN(3)
				fence := rnd.IntN(2) == 0
				req := fmt.Sprintf("r%d", rnd.IntN(20))
				note := "a note"
				switch rnd.IntN(20) {
				case 0, 1, 2:
					c, err := r.st.Claim(ctx, r.ep, id, ClaimParams{LeaseTTLSeconds: &ttl, RequireFence: &fence, RequestID: &req})
					count("claim", err)
					if err == nil && c.LeaseToken != "" && rnd.IntN(2) == 0 {
						tok := c.LeaseToken
						_, err := r.st.Heartbeat(ctx, r.ep, id, HeartbeatParams{LeaseToken: &tok, Note: &note}); count("fenced hb", err)
						_, err = r.st.Fail(ctx, r.ep, id, Report{LeaseToken: &tok}, FailParams{RetryAfterSeconds: new(int)}); count("fenced fail", err)
					}
				case 3: _, err := r.st.ClaimNext(ctx, r.ep, "", ClaimParams{LeaseTTLSeconds: &ttl, RequireFence: &fence, RequestID: &req}); count("next", err)
				case 4, 5, 6: _, err := r.st.Heartbeat(ctx, r.ep, id, HeartbeatParams{Note: &note}); count("note", err)
				case 7: _, err := r.st.Heartbeat(ctx, r.ep, id, HeartbeatParams{LeaseTTLSeconds: &ttl}); count("hb", err)
				case 8: _, err := r.st.Release(ctx, r.ep, id, Report{}); count("release", err)
				case 9: _, err := r.st.Fail(ctx, r.ep, id, Report{}, FailParams{RetryAfterSeconds: new(int)}); count("fail", err)
				case 10: _, err := r.st.Interrupt(ctx, r.ep, id, nil, StateInputRequired, &note); count("interrupt", err)
				case 11, 12: _, err := r.st.Resume(ctx, r.ep, id, nil, &note); count("resume", err)
				case 13: _, err := r.st.Reap(ctx); count("reap", err)
				case 14: _, err := r.st.RequeueDue(ctx); count("requeue", err)
				case 15, 16: a := []Action{ActionClaim, ActionExtend, ActionRelease, ActionFail, ActionRetry}[rnd.IntN(5)]
					_, err := r.st.Act(ctx, r.h.ID, id, Act{Action: a, Via: ViaBoard, RetryAfterSeconds: new(int)}); count("act "+string(a), err)
				case 17: _, err := r.st.Ring(ctx, []uuid.UUID{r.ep.ID}, "mcp"); count("ring", err)
				case 18: if rnd.IntN(2) == 0 { _, err := r.st.Complete(ctx, r.ep, id, Report{}, json.RawMessage(`1`)); count("complete", err) } else { _, err := r.st.Act(ctx, r.h.ID, id, Act{Action: ActionRetry, Via: ViaBoard}); count("act retry", err) }
				case 19: d, err := r.st.Get(ctx, r.ep, id, nil); count("get", err)
					if err == nil && len(d.Attempts) > 0 && (d.Attempts[0].Outcome == nil) != (d.Owner != nil) { t.Errorf("get: %v %v", d.State, d.Attempts[0]) }
				}
			}
		}()
		if w == 0 { wg.Add(1); go func() { defer wg.Done(); for ctx.Err() == nil { time.Sleep(300 * time.Millisecond)
			_, _ = r.pool.Exec(ctx, `UPDATE todos SET state='pending', ended_at=NULL, result=NULL WHERE state='done'`) } }() }
	}
	wg.Wait()
	for k, n := range counts { t.Logf("%s %d", k, n) }
	r.check(t)
	var a, dropped int
	r.pool.QueryRow(context.Background(), `SELECT sum(attempts_total), (SELECT sum(notes_dropped) FROM todo_attempts) FROM todos`).Scan(&a, &dropped)
	t.Logf("attempts %d dropped %d", a, dropped)
	if _, err := r.id.Revoke(context.Background(), r.h.ID, r.ep.ID.String()); err != nil { t.Log(err) }
	r.check(t)
	if _, err := r.pool.Exec(context.Background(), `DELETE FROM humans`); err != nil { t.Log(err) }
	if _, err := r.pool.Exec(context.Background(), `DELETE FROM endpoints`); err != nil { t.Error(err) }
	var n string
	r.pool.QueryRow(context.Background(), `SELECT concat_ws(' ', (SELECT count(*) FROM todos), (SELECT count(*) FROM todo_attempts), (SELECT count(*) FROM todo_activity), (SELECT count(*) FROM feed_entries))`).Scan(&n)
	t.Logf("left: %s", n)
}
