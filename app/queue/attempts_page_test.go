package queue_test

import (
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/secret"
	"github.com/switchboard-otel/switchboard/app/settings"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// The attempt-history page, heading by heading, as far as no test of its own proves it.

// "get_todo": attempts newest first, the open one included, 20 unless asked and 50 at most; the totals count the rest.
func TestAttemptHistory_GetTodoShowsTwentyAttemptsAndFiftyAtMost(t *testing.T) {
	b := setup(t)
	b.set(t, settings.AttemptHistoryMax, "53")
	id := b.push(t, maxAttempts(1000))
	const attempts = 56
	b.cycle(t, id, attempts-1)
	b.claim(t, id, queue.ClaimParams{})
	for _, c := range []struct {
		asked *int
		shown int
	}{{nil, 20}, {ptr(1), 1}, {ptr(7), 7}, {ptr(50), 50}, {ptr(51), 50}, {ptr(1 << 30), 50}} {
		d, err := b.queue.Get(t.Context(), b.endpoint, id, c.asked)
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Attempts) != c.shown || d.AttemptsTotal != attempts || d.AttemptsPruned != attempts-53 || d.Attempts[0].EndedAt != nil {
			t.Errorf("%d shown, want %d; total %d, pruned %d", len(d.Attempts), c.shown, d.AttemptsTotal, d.AttemptsPruned)
		}
		for i, a := range d.Attempts {
			if a.Seq != attempts-i {
				t.Fatalf("attempt %d from above has seq %d", i, a.Seq)
			}
		}
	}
	for _, n := range []int{0, -1} {
		_, err := b.queue.Get(t.Context(), b.endpoint, id, &n)
		wantCode(t, err, fault.Invalid)
	}
}

// "dead_letter and next_retry_at": every row that a drain verb returns carries both, list_todos and heartbeat included.
func TestAttemptHistory_EveryRowTellsARetryFromADeadLetter(t *testing.T) {
	b := setup(t)
	held, waits, dead := b.push(t), b.push(t), b.push(t)
	b.claim(t, held, queue.ClaimParams{})
	for id, retry := range map[uuid.UUID]bool{waits: true, dead: false} {
		b.claim(t, id, queue.ClaimParams{})
		row, err := b.queue.Fail(t.Context(), b.endpoint, id, queue.Report{}, queue.FailParams{Retry: &retry})
		if err != nil || row.DeadLetter == retry || (row.NextRetryAt != nil) != retry {
			t.Errorf("fail with retry %v answered %+v, %v", retry, row, err)
		}
	}
	rows, _, err := b.queue.List(t.Context(), b.endpoint, queue.ListParams{})
	if err != nil || len(rows) != 3 {
		t.Fatal(rows, err)
	}
	for _, row := range rows {
		if diff := cmp.Diff(b.get(t, row.ID.UUID()).Row, row); diff != "" {
			t.Errorf("list_todos differs from get_todo: %s", diff)
		}
		if row.DeadLetter != (row.ID.UUID() == dead) || (row.NextRetryAt != nil) != (row.ID.UUID() == waits) {
			t.Errorf("%+v", row)
		}
	}
	row, err := b.queue.Heartbeat(t.Context(), b.endpoint, held, queue.HeartbeatParams{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(row)
	if err != nil || !strings.Contains(string(text), `"next_retry_at":null,"dead_letter":false`) {
		t.Errorf("heartbeat answers %s, %v", text, err)
	}
}

// "What an attempt records": no read returns the claiming endpoint's id, or anything about a lease token.
func TestAttemptHistory_NoReadReturnsWhichEndpointClaimedNorAnythingOfAToken(t *testing.T) {
	b := setup(t)
	id := b.push(t)
	first := b.claim(t, id, queue.ClaimParams{RequireFence: ptr(true), RequestID: ptr("r-canary")})
	if _, err := b.queue.Heartbeat(t.Context(), b.endpoint, id, queue.HeartbeatParams{LeaseToken: &first.LeaseToken, Note: ptr("a note")}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.queue.Release(t.Context(), b.endpoint, id, queue.Report{LeaseToken: &first.LeaseToken}); err != nil {
		t.Fatal(err)
	}
	again := b.claim(t, id, queue.ClaimParams{RequireFence: ptr(true)})
	answers := map[string]any{"get_todo": b.get(t, id)}
	rows, _, err := b.queue.List(t.Context(), b.endpoint, queue.ListParams{})
	if err != nil {
		t.Fatal(err)
	}
	answers["list_todos"] = rows
	token := again.LeaseToken
	if answers["heartbeat"], err = b.queue.Heartbeat(t.Context(), b.endpoint, id, queue.HeartbeatParams{LeaseToken: &token}); err != nil {
		t.Fatal(err)
	}
	again.LeaseToken = "" // shown this once
	answers["claim"] = again
	human, err := b.queue.HumanTodo(t.Context(), b.human.ID, id)
	if err != nil {
		t.Fatal(err)
	}
	answers["the human's attempts"], answers["the human's activity"] = human.Attempts, human.Activity
	for what, answer := range answers {
		text, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		for _, secretly := range []string{b.endpoint.ID.String(), typeid.Endpoint.Format(b.endpoint.ID), "r-canary", "fence", "lease_token",
			first.LeaseToken[4:], token[4:], hex.EncodeToString(secret.Hash(first.LeaseToken)), hex.EncodeToString(secret.Hash(token))} {
			if strings.Contains(string(text), secretly) {
				t.Errorf("%s returns %q: %s", what, secretly, text)
			}
		}
	}
}

// "The fence": a worker that has lost its token can neither heartbeat nor report. Its lease lapses, the todo is
// re-queued, or a dead letter on its last attempt, and the attempt died.
func TestAttemptHistory_AWorkerThatLostItsTokenDies(t *testing.T) {
	b := setup(t)
	id := b.push(t, maxAttempts(2))
	for _, want := range []shape{
		{State: queue.StatePending, Attempt: 1, Outcome: "reaped", Disposition: "requeued", Died: true},
		{State: queue.StateFailed, Attempt: 2, DeadLetter: true, Outcome: "reaped", Disposition: "dead_lettered", Died: true},
	} {
		b.claim(t, id, queue.ClaimParams{RequireFence: ptr(true)})
		for verb, err := range b.reports(t, id, nil) {
			if err == nil || err.Error() != fault.ErrNotHeld.Error() {
				t.Errorf("%s without the token answered %v", verb, err)
			}
		}
		b.lapse(t)
		if n, err := b.queue.Reap(t.Context()); n != 1 || err != nil {
			t.Fatalf("reaped %d, %v", n, err)
		}
		b.wantShape(t, id, want)
	}
}

// "Died is not failed": last_heartbeat_at bounds when the holder went quiet, whoever found that out.
func TestAttemptHistory_ADeathSaysWhenItsHolderWasLastHeardOf(t *testing.T) {
	for outcome, ends := range map[string]bool{"reaped": true, "lease_expired": false} {
		t.Run(outcome, func(t *testing.T) {
			b := setup(t)
			clock := b.freeze(t)
			id := b.push(t)
			b.claim(t, id, queue.ClaimParams{LeaseTTLSeconds: ptr(60)})
			clock.pass(t, 30*time.Second)
			if _, err := b.queue.Heartbeat(t.Context(), b.endpoint, id, queue.HeartbeatParams{}); err != nil {
				t.Fatal(err)
			}
			heard := clock.now
			clock.pass(t, 61*time.Second)
			if ends {
				if n, err := b.queue.Reap(t.Context()); n != 1 || err != nil {
					t.Fatalf("reaped %d, %v", n, err)
				}
			}
			a := b.claim(t, id, queue.ClaimParams{}).PriorAttempts[0]
			if !a.Died || *a.Outcome != outcome || a.LastHeartbeatAt == nil || !a.LastHeartbeatAt.Equal(heard) || !a.EndedAt.Equal(clock.now) {
				t.Errorf("%+v", a)
			}
		})
	}
}

// "release" is its own grant, and no other verb implies it; list_todos implies get_todo, and nothing else.
func TestAttemptHistory_NoVerbImpliesRelease(t *testing.T) {
	b := setup(t)
	for _, granted := range identity.Verbs {
		e := b.vend(t, b.human.ID, identity.VendParams{Name: "one", Verbs: []string{granted}})
		for _, verb := range identity.Verbs {
			want := verb == granted || granted == identity.VerbListTodos && verb == identity.VerbGetTodo
			if e.Grants(verb) != want {
				t.Errorf("an endpoint with %s alone: %s is granted: %v", granted, verb, !want)
			}
		}
	}
}

// decisions.md 36: the Board is never given a fence, not even where the endpoint wants one of its agent.
func TestDecision36_AHumansClaimHasNoFence(t *testing.T) {
	b := setup(t)
	b.endpoint = b.vend(t, b.human.ID, identity.VendParams{Name: "fenced", RequireFence: true})
	id := b.push(t)
	b.act(t, id, queue.ActionClaim)
	if n := b.count(t, `SELECT count(*) FROM todos WHERE fence_hash IS NOT NULL`); n != 0 {
		t.Error("a human's attempt is fenced")
	}
	b.act(t, id, queue.ActionComplete)
}

// decisions.md 37: in what people read, NUL and invalid UTF-8 become U+FFFD, and only then is it cut.
func TestDecision37_WhatCannotBeStoredIsReplaced(t *testing.T) {
	b := setup(t)
	id := b.push(t)
	b.claim(t, id, queue.ClaimParams{Claimant: ptr("a\x00b\xff\tc")})
	text := "a\x00b\xffc"
	if _, err := b.queue.Heartbeat(t.Context(), b.endpoint, id, queue.HeartbeatParams{Note: &text}); err != nil {
		t.Fatal(err)
	}
	grows := strings.Repeat("\xffa", 1000) // below the cap until each is replaced
	if _, err := b.queue.Release(t.Context(), b.endpoint, id, queue.Report{Summary: &grows}); err != nil {
		t.Fatal(err)
	}
	d, err := b.queue.HumanTodo(t.Context(), b.human.ID, id)
	if err != nil {
		t.Fatal(err)
	}
	a := d.Attempts[0]
	if *a.Claimant != "ab\uFFFDc" || *d.Activity[0].Message != "a\uFFFDb\uFFFDc" {
		t.Errorf("%q, %q", *a.Claimant, *d.Activity[0].Message)
	}
	if *a.Summary != strings.Repeat("\uFFFDa", 512) || !a.SummaryTruncated {
		t.Errorf("%d bytes, truncated %v", len(*a.Summary), a.SummaryTruncated)
	}
}

// decisions.md 39: without a note left, the oldest ring makes room, and a transition is above the cap where there is none.
func TestDecision39_RingsMakeRoomAfterNotes(t *testing.T) {
	b := setup(t)
	b.set(t, settings.ActivityMaxPerTodo, "3")
	id := b.push(t)
	_, err := b.Pool.Exec(t.Context(), `
		WITH rung AS (
			INSERT INTO todo_activity (todo_id, seq, at, kind, actor_kind, actor_ref)
			SELECT $1, n, sb_now(), 'rung', 'system', 'doorbell' FROM generate_series(1, 2) n
		)
		UPDATE todos SET activity_seq = 2 WHERE id = $1`, id)
	if err != nil {
		t.Fatal(err)
	}
	b.claim(t, id, queue.ClaimParams{})
	if _, err := b.queue.Heartbeat(t.Context(), b.endpoint, id, queue.HeartbeatParams{Note: ptr("n")}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.queue.Release(t.Context(), b.endpoint, id, queue.Report{}); err != nil {
		t.Fatal(err)
	}
	kept := []string{"rung 1, rung 2, human_action 4", "rung 2, human_action 4, human_action 5", "human_action 4, human_action 5, human_action 6",
		"human_action 4, human_action 5, human_action 6, human_action 7"}
	for i, action := range []queue.Action{queue.ActionClaim, queue.ActionExtend, queue.ActionExtend, queue.ActionExtend} {
		b.act(t, id, action)
		tr := b.trails(t)[0]
		var words []string
		for _, e := range tr.Activity {
			words = append(words, e.Kind+" "+string(rune('0'+e.Seq)))
		}
		if got := strings.Join(words, ", "); got != kept[i] || tr.Todo.ActivityPruned != min(i+1, 3) {
			t.Errorf("after %d human actions: %s, and %d pruned", i+1, got, tr.Todo.ActivityPruned)
		}
	}
}
