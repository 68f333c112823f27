package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// acted is what the tests read of an action's answer.
type acted struct {
	ID, State, URL string
	Owner          *string
	Attempt        int
	DeadLetter     bool       `json:"dead_letter"`
	LeaseExpiresAt *time.Time `json:"lease_expires_at"`
	NextRetryAt    *time.Time `json:"next_retry_at"`
	Payload        json.RawMessage
}

func (f *fixture) act(t *testing.T, p *person, id, action, body string) (out acted) {
	t.Helper()
	f.do(t, p, "POST", "/todos/"+id+"/"+action, body).into(t, http.StatusOK, &out)
	return out
}

// story is a todo's trail as the tests of actions read it.
type story struct {
	State          string
	UpdatedAt      time.Time  `json:"updated_at"`
	LeaseExpiresAt *time.Time `json:"lease_expires_at"`
	Result         json.RawMessage
	Attempts       []struct {
		Seq, Attempt      int
		ClaimerKind       string `json:"claimer_kind"`
		Outcome           *string
		Disposition       *string
		Summary, Artifact *string
		SummaryTruncated  bool `json:"summary_truncated"`
	}
	Activity []struct {
		Kind       string
		ActorKind  string `json:"actor_kind"`
		AttemptSeq *int   `json:"attempt_seq"`
		Detail     struct {
			Action, Via string
			Prior       *struct {
				State       string
				Attempt     int
				MaxAttempts int        `json:"max_attempts"`
				DeadLetter  bool       `json:"dead_letter"`
				NextRetryAt *time.Time `json:"next_retry_at"`
				Result      *string    // as its text
				ResultSize  int        `json:"result_size"`
			}
		}
	}
}

func (f *fixture) story(t *testing.T, p *person, id string) (s story) {
	t.Helper()
	f.do(t, p, "GET", "/todos/"+id, "").into(t, http.StatusOK, &s)
	return s
}

// state brings a new todo of alice's into a state by name and answers its id.
func (f *fixture) state(t *testing.T, name string) string {
	t.Helper()
	v := f.vend(t, &f.alice, `{"name":"bot"}`)
	id := f.push(t, &f.alice, v.Slug, `{"title":"t","payload":{"n":1},"max_attempts":3}`, http.StatusCreated).Todo.ID
	raw, _ := typeid.Todo.Parse(id)
	agent := func() {
		if _, err := f.Queue.Claim(t.Context(), f.endpoint(t, v.Token), raw, queue.ClaimParams{}); err != nil {
			t.Fatal(err)
		}
	}
	agentFails := func(p queue.FailParams) {
		agent()
		if _, err := f.Queue.Fail(t.Context(), f.endpoint(t, v.Token), raw, queue.Report{}, p); err != nil {
			t.Fatal(err)
		}
	}
	never := false
	switch name {
	case "pending":
	case "mine":
		f.act(t, &f.alice, id, "claim", "")
	case "agent's":
		agent()
	case "agent's, fenced":
		fence := true
		if _, err := f.Queue.Claim(t.Context(), f.endpoint(t, v.Token), raw, queue.ClaimParams{RequireFence: &fence}); err != nil {
			t.Fatal(err)
		}
	case "agent's, lapsed":
		agent()
		f.db.Advance(t, time.Hour)
	case "retry scheduled":
		agentFails(queue.FailParams{Result: json.RawMessage(`{"tried":1}`)})
	case "dead letter":
		agentFails(queue.FailParams{Result: json.RawMessage(`{"tried":1}`), Retry: &never})
	case "done":
		f.act(t, &f.alice, id, "claim", "")
		f.act(t, &f.alice, id, "complete", "")
	case "quarantine":
		if _, err := f.db.Pool.Exec(t.Context(), `UPDATE todos SET queue = 'quarantine' WHERE id = $1`, raw); err != nil {
			t.Fatal(err)
		}
	case "revoked":
		f.do(t, &f.alice, "POST", "/endpoints/"+v.Slug+"/revoke", "")
	default:
		t.Fatalf("no state %q", name)
	}
	return id
}

func TestActions_WhatEachDoesInEachState(t *testing.T) {
	f := setup(t)
	actions := []string{"claim", "complete", "fail", "retry", "extend", "release", "cancel"}
	for state, want := range map[string][7]string{
		"pending":         {"claimed", "-", "-", "-", "-", "-", "canceled"},
		"mine":            {"-", "done", "failed", "-", "claimed", "pending", "canceled"},
		"agent's":         {"-", "-", "-", "-", "-", "-", "canceled"},
		"agent's, fenced": {"-", "-", "-", "-", "-", "-", "canceled"},
		"agent's, lapsed": {"claimed", "-", "-", "-", "-", "-", "canceled"},
		"retry scheduled": {"-", "-", "-", "pending", "-", "-", "canceled"},
		"dead letter":     {"-", "-", "-", "pending", "-", "-", "-"},
		"done":            {"-", "-", "-", "-", "-", "-", "-"},
		"revoked":         {"-", "-", "-", "-", "-", "-", "-"},
		"quarantine":      {"-", "-", "-", "-", "-", "-", "-"},
	} {
		for i, action := range actions {
			id := f.state(t, state)
			before := f.story(t, &f.alice, id)
			got := f.do(t, &f.alice, "POST", "/todos/"+id+"/"+action, "")
			if want[i] == "-" {
				got.refused(t, http.StatusConflict, "conflict")
				if diff := cmp.Diff(before, f.story(t, &f.alice, id)); diff != "" {
					t.Errorf("%s of %q was refused and left %s", action, state, diff)
				}
				continue
			}
			var todo acted
			got.into(t, http.StatusOK, &todo)
			if todo.State != want[i] || todo.ID != id || todo.URL != baseURL+"/todos/"+id || string(todo.Payload) != `{"n":1}` {
				t.Errorf("%s of %q answered %+v", action, state, todo)
			}
		}
	}
}

// "Today, though, the Board's Release, Extend, Complete and Fail act only on a lease the human took from the Board."
func TestAttemptHistory_ATodoThatAnAgentHoldsAnswersWithAConflictAndComesBackWhenItsLeaseLapses(t *testing.T) {
	f := setup(t)
	for _, held := range []string{"agent's", "agent's, fenced"} {
		id := f.state(t, held)
		for _, action := range []string{"complete", "fail", "extend", "release"} {
			sentence := f.do(t, &f.alice, "POST", "/todos/"+id+"/"+action, `{"summary":"mine now"}`).refused(t, http.StatusConflict, "conflict")
			if !strings.Contains(sentence, "an agent's lease ends by its own report, or when it lapses") {
				t.Errorf("%s of %s: %q", action, held, sentence)
			}
		}
		f.db.Advance(t, time.Hour)
		if todo := f.act(t, &f.alice, id, "claim", ""); todo.State != "claimed" || !strings.HasPrefix(*todo.Owner, "human:hu_") {
			t.Errorf("after the lease lapsed: %+v", todo)
		}
		attempts := f.story(t, &f.alice, id).Attempts
		if len(attempts) != 2 || attempts[0].ClaimerKind != "owner" || *attempts[1].Outcome != "lease_expired" {
			t.Errorf("attempts %+v", attempts)
		}
		f.act(t, &f.alice, id, "complete", "") // a fence that the agent's attempt had is not the human's
	}
}

func TestHumanLease_LastsFiveMinutesAndExtendBeginsThemAnew(t *testing.T) {
	f := setup(t)
	id := f.state(t, "mine")
	first := f.story(t, &f.alice, id)
	f.db.Advance(t, 4*time.Minute)
	f.act(t, &f.alice, id, "extend", "")
	extended := f.story(t, &f.alice, id)
	for _, s := range []story{first, extended} {
		if lease := s.LeaseExpiresAt.Sub(s.UpdatedAt); lease != 5*time.Minute {
			t.Errorf("the lease lasts %v", lease)
		}
	}
	if gained := extended.LeaseExpiresAt.Sub(*first.LeaseExpiresAt); gained < 4*time.Minute {
		t.Errorf("extended by %v", gained)
	}
}

func TestReport_IsKeptAsTheAgentsIs(t *testing.T) {
	f := setup(t)
	long := strings.Repeat("é", 2000)
	id := f.state(t, "mine")
	f.act(t, &f.alice, id, "complete", `{"result":{"n":9007199254740993},"summary":"`+long+`","artifact":"mcp://cairn/run-7"}`)
	got := f.story(t, &f.alice, id)
	if at := got.Attempts[0]; *at.Outcome != "completed" || *at.Disposition != "done" || *at.Artifact != "mcp://cairn/run-7" ||
		*at.Summary != long[:2048] || !at.SummaryTruncated {
		t.Errorf("attempt %+v", at)
	}
	if string(got.Result) != `{"n":9007199254740993}` {
		t.Errorf("result %s", got.Result)
	}

	id = f.state(t, "mine")
	f.act(t, &f.alice, id, "release", `{"summary":"a\u0000b","result":{"ignored":true},"retry":"ignored"}`)
	got = f.story(t, &f.alice, id)
	if at := got.Attempts[0]; *at.Outcome != "released" || *at.Summary != "a\uFFFDb" || string(got.Result) != "null" {
		t.Errorf("attempt %+v, result %s", at, got.Result)
	}
}

func TestFail_RetriesWhenAndOnlyWhenItIsTold(t *testing.T) {
	f := setup(t)
	for body, want := range map[string]struct {
		dead, backoff bool
		after         time.Duration
	}{
		``:                             {backoff: true, after: 30 * time.Second},
		`{"retry":true}`:               {backoff: true, after: 30 * time.Second},
		`{"retry":"false"}`:            {dead: true},
		`{"retry_after_seconds":3600}`: {after: time.Hour},
		`{"retry_after_seconds":"60","retry":null,"result":null,"summary":"","artifact":"null","via":""}`: {after: time.Minute},
	} {
		id := f.state(t, "mine")
		todo := f.act(t, &f.alice, id, "fail", body)
		if todo.State != "failed" || todo.DeadLetter != want.dead || want.dead != (todo.NextRetryAt == nil) {
			t.Errorf("%s: %+v", body, todo)
		}
		if todo.NextRetryAt == nil {
			continue
		}
		wait, spread := todo.NextRetryAt.Sub(f.story(t, &f.alice, id).UpdatedAt), time.Duration(0)
		if want.backoff {
			spread = want.after / 5
		}
		if wait < want.after-spread || wait > want.after+spread {
			t.Errorf("%s: retried after %v", body, wait)
		}
	}
}

func TestDecision31_RetryNowStartsTheCounterAnewAndKeepsWhatStoodBefore(t *testing.T) {
	f := setup(t)
	for _, state := range []string{"dead letter", "retry scheduled"} {
		id := f.state(t, state)
		todo := f.act(t, &f.alice, id, "retry", "")
		if todo.State != "pending" || todo.Attempt != 0 || todo.NextRetryAt != nil {
			t.Errorf("%s: %+v", state, todo)
		}
		got := f.story(t, &f.alice, id)
		if string(got.Result) != "null" || len(got.Activity) != 2 {
			t.Fatalf("%s: result %s, activity %+v", state, got.Result, got.Activity)
		}
		action, retried := got.Activity[0], got.Activity[1]
		if action.Kind != "human_action" || action.Detail.Action != "retry" || action.ActorKind != "human" || retried.Kind != "retried" {
			t.Errorf("%s: %+v", state, got.Activity)
		}
		prior := retried.Detail.Prior
		if prior.State != "failed" || prior.Attempt != 1 || prior.MaxAttempts != 3 || prior.DeadLetter != (state == "dead letter") ||
			(prior.NextRetryAt == nil) != prior.DeadLetter || prior.Result == nil || *prior.Result != `{"tried":1}` {
			t.Errorf("%s: prior %+v", state, prior)
		}
		f.act(t, &f.alice, id, "claim", "")
		if at := f.story(t, &f.alice, id).Attempts[0]; at.Seq != 2 || at.Attempt != 1 {
			t.Errorf("%s: the next claim opened %+v", state, at)
		}
	}
}

func TestDecision31_AResultThatIsTooLongForTheLogLeavesItsSize(t *testing.T) {
	f := setup(t)
	id := f.state(t, "mine")
	result := `"` + strings.Repeat("x", 5000) + `"`
	f.act(t, &f.alice, id, "fail", `{"retry":false,"result":`+result+`}`)
	f.act(t, &f.alice, id, "retry", "")
	activity := f.story(t, &f.alice, id).Activity
	if prior := activity[len(activity)-1].Detail.Prior; prior.ResultSize != len(result) || prior.Result != nil {
		t.Errorf("prior %+v", prior)
	}
}

func TestDecision31_RetryOnARevokedEndpointIsAConflict(t *testing.T) {
	f := setup(t)
	id := f.state(t, "revoked")
	sentence := f.do(t, &f.alice, "POST", "/todos/"+id+"/retry", "").refused(t, http.StatusConflict, "conflict")
	if !strings.Contains(sentence, "revoked") {
		t.Errorf("%q", sentence)
	}
}

func TestDecision32_EveryHumanActionSaysWhichWayItCame(t *testing.T) {
	f := setup(t)
	for action, from := range map[string]string{
		"claim": "pending", "complete": "mine", "fail": "mine", "retry": "dead letter", "extend": "mine", "release": "mine", "cancel": "pending",
	} {
		for body, via := range map[string]string{``: "api", `{"via":null}`: "api", `{"via":"api"}`: "api", `{"via":"cli"}`: "cli"} {
			id := f.state(t, from)
			before := len(f.story(t, &f.alice, id).Activity)
			f.act(t, &f.alice, id, action, body)
			wrote := f.story(t, &f.alice, id).Activity[before:]
			if e := wrote[0]; e.Kind != "human_action" || e.ActorKind != "human" || e.Detail.Action != action || e.Detail.Via != via {
				t.Errorf("%s %s wrote %+v", action, body, wrote)
			}
			if seq := wrote[0].AttemptSeq; (seq == nil) != (action == "retry" || action == "cancel") {
				t.Errorf("%s names attempt %v", action, seq)
			}
		}
	}
}

func TestRetry_OfOneDeadLetterByManyHappensOnce(t *testing.T) {
	f := setup(t)
	id := f.state(t, "dead letter")
	statuses := make(chan int, 8)
	for range cap(statuses) {
		go func() {
			request, _ := http.NewRequestWithContext(t.Context(), "POST", f.url+Prefix+"/todos/"+id+"/retry", nil)
			request.Header.Set("Authorization", "Bearer "+f.alice.token)
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				statuses <- 0
				return
			}
			_ = response.Body.Close()
			statuses <- response.StatusCode
		}()
	}
	seen := map[int]int{}
	for range cap(statuses) {
		seen[<-statuses]++
	}
	if diff := cmp.Diff(map[int]int{http.StatusOK: 1, http.StatusConflict: 7}, seen); diff != "" {
		t.Error(diff)
	}
	if n := len(f.story(t, &f.alice, id).Activity); n != 2 {
		t.Errorf("%d entries in the log, want the action and what stood before", n)
	}
}

// bulk is what the tests read of a bulk retry.
type bulk struct {
	Retried    []string
	Refused    int
	NextCursor *string `json:"next_cursor"`
}

func (f *fixture) retryAll(t *testing.T, p *person, body string) (out bulk) {
	t.Helper()
	f.do(t, p, "POST", "/todos/retry", body).into(t, http.StatusOK, &out)
	return out
}

func TestBulkRetry_TakesTheDeadLettersOfAQueueOrOfAll(t *testing.T) {
	f := setup(t)
	v := f.vend(t, &f.alice, `{"name":"bot","queues":["fix","review"]}`)
	push := func(queue string) string {
		return f.push(t, &f.alice, v.Slug, `{"title":"t","queue":"`+queue+`"}`, http.StatusCreated).Todo.ID
	}
	one, two, waiting := push("fix"), push("review"), push("fix")
	f.fail(t, v.Token, one)
	f.fail(t, v.Token, two)
	scheduled, revoked := f.state(t, "retry scheduled"), f.state(t, "revoked")

	if got := f.retryAll(t, &f.bob, `{"dead_letter":true}`); len(got.Retried) != 0 || got.Refused != 0 {
		t.Errorf("bob retried %+v", got)
	}
	if got := f.retryAll(t, &f.alice, `{"dead_letter":"true","queue":"fix","via":"cli"}`); len(got.Retried) != 1 || got.Retried[0] != one || got.NextCursor != nil {
		t.Errorf("of one queue: %+v", got)
	}
	if got := f.retryAll(t, &f.alice, `{"dead_letter":true,"queue":"","cursor":null}`); len(got.Retried) != 1 || got.Retried[0] != two || got.Refused != 1 {
		t.Errorf("of all: %+v", got)
	}
	for id, want := range map[string]string{one: "pending", two: "pending", waiting: "pending", scheduled: "failed", revoked: "failed"} {
		if got := f.story(t, &f.alice, id); got.State != want {
			t.Errorf("%s is %s, want %s", id, got.State, want)
		}
	}
	if log := f.story(t, &f.alice, one).Activity; len(log) != 2 || log[0].Detail.Via != "cli" {
		t.Errorf("the log says %+v", log)
	}
}

// dead makes n dead letters out of one.
func (f *fixture) dead(t *testing.T, n int) {
	t.Helper()
	id, _ := typeid.Todo.Parse(f.state(t, "dead letter"))
	_, err := f.db.Pool.Exec(t.Context(), `
		INSERT INTO todos SELECT (jsonb_populate_record(t, jsonb_build_object('id', gen_random_uuid(), 'activity_seq', 0))).*
		FROM todos t, generate_series(2, $2::integer) WHERE t.id = $1`, id, n)
	if err != nil {
		t.Fatal(err)
	}
}

func TestBulkRetry_WorksWithinABoundAndItsCursorGoesOn(t *testing.T) {
	f := setup(t)
	const n = retryPages*retryPageSize + 10
	f.dead(t, n)
	first := f.retryAll(t, &f.alice, `{"dead_letter":true}`)
	if len(first.Retried) != retryPages*retryPageSize || first.NextCursor == nil {
		t.Fatalf("the first call retried %d, cursor %v", len(first.Retried), first.NextCursor)
	}
	rest := f.retryAll(t, &f.alice, `{"dead_letter":true,"cursor":"`+*first.NextCursor+`"}`)
	if len(rest.Retried) != 10 || rest.NextCursor != nil {
		t.Errorf("the second call retried %d, cursor %v", len(rest.Retried), rest.NextCursor)
	}
	if pending := f.count(t, `todos WHERE state = 'pending'`); pending != n {
		t.Errorf("%d of %d are pending", pending, n)
	}
}

// poison makes every change of one todo fail in the database.
func (f *fixture) poison(t *testing.T, id uuid.UUID, sqlstate string) {
	t.Helper()
	_, err := f.db.Pool.Exec(t.Context(), `
		CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS
			'BEGIN IF NEW.id = ''`+id.String()+`'' THEN RAISE EXCEPTION USING errcode = ''`+sqlstate+`'', message = ''CANARY''; END IF; RETURN NEW; END';
		CREATE TRIGGER poison BEFORE UPDATE ON todos FOR EACH ROW EXECUTE FUNCTION poison()`)
	if err != nil {
		t.Fatal(err)
	}
}

func TestBulkRetry_OneTodoThatCannotBeRetriedHoldsUpNone(t *testing.T) {
	f := setup(t)
	v := f.vend(t, &f.alice, `{"name":"bot"}`)
	ids := make([]string, 3)
	for i := range ids {
		ids[i] = f.push(t, &f.alice, v.Slug, `{"title":"t"}`, http.StatusCreated).Todo.ID
		f.fail(t, v.Token, ids[i])
	}
	bad, _ := typeid.Todo.Parse(ids[1])
	f.poison(t, bad, "P0001")
	if got := f.retryAll(t, &f.alice, `{"dead_letter":true}`); len(got.Retried) != 2 || got.Refused != 1 || got.NextCursor != nil {
		t.Errorf("%+v", got)
	}
	if got := f.do(t, &f.alice, "POST", "/todos/"+ids[1]+"/retry", ""); got.status != http.StatusInternalServerError || strings.Contains(got.body, "CANARY") {
		t.Errorf("alone: %d %s", got.status, got.body)
	}
}

// An answer that says "nothing was changed" after something was would be a lie.
func TestBulkRetry_TellsWhatItDidBeforeTheStoreWentAway(t *testing.T) {
	f := setup(t)
	v := f.vend(t, &f.alice, `{"name":"bot"}`)
	ids := make([]string, 3)
	for i := range ids {
		ids[i] = f.push(t, &f.alice, v.Slug, `{"title":"t"}`, http.StatusCreated).Todo.ID
		f.fail(t, v.Token, ids[i])
	}
	bad, _ := typeid.Todo.Parse(ids[1])
	f.poison(t, bad, "57P01")
	first := f.retryAll(t, &f.alice, `{"dead_letter":true}`)
	if diff := cmp.Diff(ids[2:], first.Retried); diff != "" || first.NextCursor == nil {
		t.Fatalf("%s, cursor %v", diff, first.NextCursor)
	}
	f.do(t, &f.alice, "POST", "/todos/retry", `{"dead_letter":true,"cursor":"`+*first.NextCursor+`"}`).
		refused(t, http.StatusServiceUnavailable, "unavailable")
}
