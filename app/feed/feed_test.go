package feed_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/feed"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/settings"
)

// bundle is one human with one endpoint on a fresh database.
type bundle struct {
	*postgrestest.DB
	t        *testing.T
	identity *identity.Store
	queue    *queue.Store
	feed     *feed.Store
	human    uuid.UUID
	endpoint *identity.Endpoint
}

func setup(t *testing.T) *bundle {
	t.Helper()
	t.Parallel()
	db := postgrestest.New(t)
	b := &bundle{DB: db, t: t, queue: queue.NewStore(db.Pool, settings.NewReader(db.Pool, zap.NewNop())), feed: feed.NewStore(db.Pool)}
	b.identity = identity.NewStore(db.Pool, b.queue)
	owner, err := b.identity.LocalOwner(t.Context())
	b.must(err)
	b.human = owner.ID
	b.endpoint = b.vend(b.human, "lane-s", "lane-m")
	return b
}

func (b *bundle) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bundle) vend(human uuid.UUID, queues ...string) *identity.Endpoint {
	b.t.Helper()
	v, err := b.identity.Vend(b.t.Context(), human, identity.VendParams{Name: "bot", Queues: queues})
	b.must(err)
	return &v.Endpoint
}

func (b *bundle) push(ep *identity.Endpoint, title, name string) uuid.UUID {
	b.t.Helper()
	two := 2
	todo, _, err := b.queue.Push(b.t.Context(), ep.HumanID, queue.PushParams{Endpoint: ep, Title: title, Queue: name, MaxAttempts: &two})
	b.must(err)
	return todo.ID.UUID()
}

func (b *bundle) claim(ep *identity.Endpoint, id uuid.UUID) {
	b.t.Helper()
	_, err := b.queue.Claim(b.t.Context(), ep, id, queue.ClaimParams{})
	b.must(err)
}

func (b *bundle) note(id uuid.UUID, text string) {
	b.t.Helper()
	_, err := b.queue.Heartbeat(b.t.Context(), b.endpoint, id, queue.HeartbeatParams{Note: &text})
	b.must(err)
}

func (b *bundle) fail(id uuid.UUID, summary string, again bool) {
	b.t.Helper()
	_, err := b.queue.Fail(b.t.Context(), b.endpoint, id, queue.Report{Summary: &summary}, queue.FailParams{Retry: &again})
	b.must(err)
}

func (b *bundle) complete(id uuid.UUID, summary string) {
	b.t.Helper()
	_, err := b.queue.Complete(b.t.Context(), b.endpoint, id, queue.Report{Summary: &summary}, json.RawMessage(`{}`))
	b.must(err)
}

func (b *bundle) act(id uuid.UUID, action queue.Action) {
	b.t.Helper()
	_, err := b.queue.Act(b.t.Context(), b.human, id, queue.Act{Action: action, Via: queue.ViaBoard})
	b.must(err)
}

func (b *bundle) page(human uuid.UUID, f feed.Filter) ([]feed.Entry, string) {
	b.t.Helper()
	entries, next, err := b.feed.Page(b.t.Context(), human, f)
	b.must(err)
	return entries, next
}

// told writes entries as one would tell them.
func told(entries []feed.Entry) (all []string) {
	for _, e := range entries {
		line := string(e.Kind)
		switch {
		case e.Attempt != nil:
			line += " " + *e.Attempt.Outcome
		case e.Activity != nil && e.Activity.Message != nil:
			line += " " + *e.Activity.Message
		case e.Activity != nil:
			var d struct{ Action string }
			_ = json.Unmarshal(e.Activity.Detail, &d)
			line += " " + d.Action
		}
		if e.DeadLetter {
			line += " dead"
		}
		all = append(all, line)
	}
	return all
}

func (b *bundle) wantTold(entries []feed.Entry, want ...string) {
	b.t.Helper()
	if got := told(entries); !slices.Equal(got, want) {
		b.t.Errorf("the feed tells\n%q, want\n%q", got, want)
	}
}

// REQ-15: what belongs into the feed, newest first. A retry is one entry, and a dead letter that an attempt left is
// that attempt's (decisions.md 31, 41).
func TestFeed_TellsWhatHappened(t *testing.T) {
	b := setup(t)
	id := b.push(b.endpoint, "one", "lane-s")
	b.claim(b.endpoint, id)
	b.note(id, "half way")
	b.fail(id, "no database here", true)
	b.act(id, queue.ActionRetry)
	b.claim(b.endpoint, id)
	b.Advance(t, 25*time.Hour)
	_, err := b.queue.Reap(t.Context())
	b.must(err)
	b.claim(b.endpoint, id)
	b.fail(id, "gone", false)
	b.act(id, queue.ActionRetry)
	b.act(id, queue.ActionCancel)

	entries, next := b.page(b.human, feed.Filter{})
	b.wantTold(entries, "human_action cancel", "retried retry", "attempt failed dead", "attempt reaped", "retried retry", "attempt failed", "note half way")
	if next != "" {
		t.Error("seven entries have a second page")
	}
	reaped := entries[3]
	if !reaped.Attempt.Died || reaped.Attempt.Seq != 2 || reaped.Todo.Title != "one" || reaped.Todo.EndpointSlug != b.endpoint.Slug {
		t.Errorf("the reaped attempt is told as %+v", reaped)
	}
}

// A dead letter without an attempt, of a revoked endpoint's waiting todo, is an entry of its own.
func TestFeed_TellsOfADeadLetterThatNoAttemptExplains(t *testing.T) {
	b := setup(t)
	b.push(b.endpoint, "waits", "lane-s")
	held := b.push(b.endpoint, "held", "lane-s")
	b.claim(b.endpoint, held)
	_, err := b.identity.Revoke(t.Context(), b.human, b.endpoint.Slug)
	b.must(err)
	entries, _ := b.page(b.human, feed.Filter{Outcome: feed.OutcomeDeadLetter})
	got := told(entries)
	slices.Sort(got)
	if want := []string{"attempt revoked dead", "dead_letter dead"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFeed_FiltersAndPagesByKeyset(t *testing.T) {
	b := setup(t)
	other := b.vend(b.human, "docs")
	for i := range 30 {
		id := b.push(b.endpoint, "s", "lane-s")
		b.claim(b.endpoint, id)
		if i%3 == 0 {
			b.fail(id, "no", false)
		} else {
			b.complete(id, "yes")
		}
		docs := b.push(other, "d", "docs")
		b.claim(other, docs)
		b.Advance(t, time.Second)
	}
	b.Advance(t, 25*time.Hour)
	_, err := b.queue.Reap(t.Context())
	b.must(err)
	for name, c := range map[string]struct {
		f    feed.Filter
		want int
	}{
		"queue": {feed.Filter{Queue: "lane-s"}, 30}, "endpoint": {feed.Filter{Endpoint: other.ID}, 30}, "completed": {feed.Filter{Outcome: "completed"}, 20},
		"died": {feed.Filter{Outcome: feed.OutcomeDied}, 30}, "dead": {feed.Filter{Outcome: feed.OutcomeDeadLetter}, 10},
		"both": {feed.Filter{Queue: "docs", Outcome: "completed"}, 0}, "nothing": {feed.Filter{Queue: "no\x00such"}, 0},
	} {
		if entries, _ := b.page(b.human, c.f); len(entries) != c.want {
			t.Errorf("%s: %d entries, want %d", name, len(entries), c.want)
		}
	}
	seen := map[int64]bool{}
	var last feed.Entry
	f, pages := feed.Filter{}, 0
	for more := true; more; pages++ {
		entries, next := b.page(b.human, f)
		for _, e := range entries {
			if seen[e.ID] || pages+len(seen) > 0 && e.At.After(last.At) {
				t.Fatal("an entry comes twice, or too late")
			}
			seen[e.ID], last = true, e
		}
		f.Before, more = next, next != ""
	}
	if len(seen) != 60 || pages != 2 {
		t.Errorf("%d entries on %d pages", len(seen), pages)
	}
	for _, bad := range []feed.Filter{{Before: "x"}, {Before: "zz-zz"}, {Outcome: "fine"}} {
		if _, _, err := b.feed.Page(t.Context(), b.human, bad); fault.From(err, func(error) *fault.Error { return nil }).Code != fault.Invalid {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// REQ-15, catching up: three attempts ended overnight.
func TestFeed_CountsWhatIsNew(t *testing.T) {
	b := setup(t)
	news := func(want int) {
		t.Helper()
		if n, err := b.feed.News(t.Context(), b.human); err != nil || n != want {
			t.Errorf("%d new, want %d, %v", n, want, err)
		}
	}
	finish := func() {
		id := b.push(b.endpoint, "x", "lane-s")
		b.claim(b.endpoint, id)
		b.complete(id, "done")
		b.Advance(t, time.Second)
	}
	news(0)
	finish()
	news(1)
	entries, _ := b.page(b.human, feed.Filter{})
	b.must(b.feed.Look(t.Context(), b.human, entries[0].At))
	news(0)
	for range 3 {
		finish()
	}
	news(3)
	b.must(b.feed.Look(t.Context(), b.human, entries[0].At.Add(-time.Hour))) // a tab that was open long
	news(3)
	for range 120 {
		finish()
	}
	news(100)
}

func TestFeed_HoldsOnlyOnesOwn(t *testing.T) {
	b := setup(t)
	second := uuid.Must(uuid.NewV7())
	_, err := b.Pool.Exec(t.Context(), `INSERT INTO humans (id, issuer, subject, name) VALUES ($1, 'test', 'second', 'Second')`, second)
	b.must(err)
	id := b.push(b.endpoint, "mine", "lane-s")
	b.claim(b.endpoint, id)
	b.note(id, "mine")
	b.complete(id, "mine")
	for _, f := range []feed.Filter{{}, {Endpoint: b.endpoint.ID}, {Queue: "lane-s"}} {
		if entries, _ := b.page(second, f); len(entries) != 0 {
			t.Errorf("%+v shows %q", f, told(entries))
		}
	}
	if n, err := b.feed.News(t.Context(), second); err != nil || n != 0 {
		t.Errorf("%d new, %v", n, err)
	}
	if head, err := b.feed.Head(t.Context(), second); err != nil || head != "" {
		t.Errorf("a head %q, %v", head, err)
	}
}

// An entry goes with what it tells of: a note that made room, an attempt that was pruned, a todo that was deleted.
func TestFeed_ForgetsWhatIsGone(t *testing.T) {
	b := setup(t)
	_, err := b.Pool.Exec(t.Context(), `INSERT INTO settings (key, value) VALUES ('activity_max_per_todo', '1'), ('attempt_history_max_per_todo', '5')`)
	b.must(err)
	id := b.push(b.endpoint, "one", "lane-s")
	other := b.push(b.endpoint, "other", "lane-s")
	b.claim(b.endpoint, id)
	b.note(id, "first")
	b.note(id, "second")
	entries, _ := b.page(b.human, feed.Filter{})
	b.wantTold(entries, "note second")
	for range 5 {
		_, err = b.queue.Release(t.Context(), b.endpoint, id, queue.Report{})
		b.must(err)
		b.claim(b.endpoint, id)
	}
	entries, _ = b.page(b.human, feed.Filter{})
	b.wantTold(entries, "attempt released", "attempt released", "attempt released", "attempt released", "note second")
	b.complete(id, "done")
	b.claim(b.endpoint, other)
	b.complete(other, "done")
	_, err = b.Pool.Exec(t.Context(), `DELETE FROM todos WHERE id = $1`, id)
	b.must(err)
	var left, ofOther int
	b.must(b.Pool.QueryRow(t.Context(), `SELECT count(*), count(*) FILTER (WHERE todo_id = $1) FROM feed_entries`, other).Scan(&left, &ofOther))
	if left != 1 || ofOther != 1 {
		t.Errorf("%d entries are left, %d of them of the todo that is", left, ofOther)
	}
}

// The entry is written in the transaction of what it tells of: neither is there without the other (REQ-23).
func TestFeed_RollsBackWithItsTransition(t *testing.T) {
	b := setup(t)
	id := b.push(b.endpoint, "one", "lane-s")
	b.claim(b.endpoint, id)
	_, err := b.Pool.Exec(t.Context(), `ALTER TABLE feed_entries ADD CONSTRAINT broken CHECK (false)`)
	b.must(err)
	note := "heard"
	if _, err := b.queue.Heartbeat(t.Context(), b.endpoint, id, queue.HeartbeatParams{Note: &note}); err == nil {
		t.Error("a note was taken that the feed cannot tell of")
	}
	if _, err := b.queue.Complete(t.Context(), b.endpoint, id, queue.Report{}, nil); err == nil {
		t.Error("a todo was completed that the feed cannot tell of")
	}
	if _, err := b.queue.Act(t.Context(), b.human, id, queue.Act{Action: queue.ActionCancel, Via: queue.ViaBoard}); err == nil {
		t.Error("a human's action was taken that the feed cannot tell of")
	}
	d, err := b.queue.Get(t.Context(), b.endpoint, id, nil)
	b.must(err)
	if d.State != queue.StateClaimed || d.Attempts[0].Outcome != nil || d.Attempts[0].LastHeartbeatAt != nil {
		t.Errorf("the todo is %s, its attempt %+v", d.State, d.Attempts[0])
	}
}
