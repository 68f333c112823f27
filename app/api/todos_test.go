package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchboard-otel/switchboard/app/ledger"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/spans"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

func TestPush_CreatesOnceForALiveKey(t *testing.T) {
	f := setup(t)
	slug := f.vend(t, &f.alice, `{"name":"bot","queues":["fix","review"]}`).Slug
	const body = `{"title":"Fix <it> & go","queue":"review","kind":"bug","payload":{"n":9007199254740993,"s":"<"},"idempotency_key":"k","max_attempts":"2"}`
	first := f.push(t, &f.alice, slug, body, http.StatusCreated)
	again := f.push(t, &f.alice, slug, body, http.StatusOK)
	if !first.Created || again.Created || first.Todo.ID != again.Todo.ID {
		t.Errorf("first %+v, again %+v", first, again)
	}
	todo := first.Todo
	if todo.Queue != "review" || *todo.Kind != "bug" || todo.Source != "operator" || todo.State != "pending" || todo.MaxAttempts != 2 ||
		todo.URL != baseURL+"/todos/"+todo.ID || string(todo.Payload) != `{"n":9007199254740993,"s":"<"}` {
		t.Errorf("todo %+v, payload %s", todo, todo.Payload)
	}
}

func TestPush_AnyJSONIsAPayload(t *testing.T) {
	f := setup(t)
	slug := f.vend(t, &f.alice, `{"name":"bot"}`).Slug
	for sent, stored := range map[string]string{
		`null`: `null`, `""`: `""`, `"null"`: `"null"`, `0`: `0`, `false`: `false`, `[]`: `[]`, `{}`: `{}`, `1e308`: `1e308`,
		`"\\u0000"`: `"\\u0000"`, `"é😀"`: `"é😀"`, `"\ud83d\ude00"`: `"\ud83d\ude00"`,
		strings.Repeat("[", 500) + strings.Repeat("]", 500): strings.Repeat("[", 500) + strings.Repeat("]", 500),
	} {
		got := f.push(t, &f.alice, slug, `{"title":"t","payload":`+sent+`}`, http.StatusCreated)
		if string(got.Todo.Payload) != stored {
			t.Errorf("%s came back as %s", sent, got.Todo.Payload)
		}
	}
}

func TestPush_BadInputNamesTheArgument(t *testing.T) {
	f := setup(t)
	slug := f.vend(t, &f.alice, `{"name":"bot"}`).Slug
	const value = "Zyxwvu"
	for argument, bodies := range map[string][]string{
		"title":           {``, `{}`, `{"title":null}`, `{"title":""}`, `{"title":"  "}`, `{"title":{"Zyxwvu":1}}`, `{"title":"Zyxwvu\u0000"}`, `{"title":"` + strings.Repeat(value, 50) + `"}`},
		"queue":           {`{"title":"t","queue":7}`, `{"title":"t","queue":"Zyxwvu\u0000"}`},
		"kind":            {`{"title":"t","kind":"` + strings.Repeat(value, 20) + `"}`, `{"title":"t","kind":[]}`},
		"idempotency_key": {`{"title":"t","idempotency_key":"` + strings.Repeat(value, 50) + `"}`, `{"title":"t","idempotency_key":5}`},
		"max_attempts":    {`{"title":"t","max_attempts":0}`, `{"title":"t","max_attempts":1001}`, `{"title":"t","max_attempts":"Zyxwvu"}`, `{"title":"t","max_attempts":1.5}`},
		"payload":         {`{"title":"t","payload":"Zyxwvu\u0000"}`, `{"title":"t","payload":{"Zyxwvu\u0000":1}}`},
	} {
		for _, body := range bodies {
			got := f.do(t, &f.alice, "POST", "/endpoints/"+slug+"/todos", body)
			sentence := got.refused(t, http.StatusBadRequest, "invalid")
			if !strings.HasPrefix(sentence, argument+" ") || strings.Contains(sentence, value) {
				t.Errorf("%.80s: %q does not start with %q, or quotes the value", body, sentence, argument)
			}
		}
	}
	if n := f.count(t, "todos"); n != 0 {
		t.Errorf("%d todos stored", n)
	}
}

func TestPush_AQueueOutsideTheGrantIsForbidden(t *testing.T) {
	f := setup(t)
	slug := f.vend(t, &f.alice, `{"name":"bot","queues":["fix"]}`).Slug
	for _, queue := range []string{"review", "quarantine", "No Queue At All"} {
		f.do(t, &f.alice, "POST", "/endpoints/"+slug+"/todos", `{"title":"t","queue":"`+queue+`"}`).refused(t, http.StatusForbidden, "forbidden")
	}
}

func TestList_PagesNewestFirstWithoutGapsOrRepeats(t *testing.T) {
	f := setup(t)
	slug := f.vend(t, &f.alice, `{"name":"bot"}`).Slug
	var want []string
	for i := range 5 {
		want = append(want, f.push(t, &f.alice, slug, fmt.Sprintf(`{"title":"todo %d"}`, i), http.StatusCreated).Todo.ID)
	}
	slices.Reverse(want)
	var got []string
	query := "?limit=2"
	for {
		var page listed
		f.do(t, &f.alice, "GET", "/todos"+query, "").into(t, http.StatusOK, &page)
		for _, todo := range page.Todos {
			got = append(got, todo.ID)
		}
		if page.NextCursor == nil {
			break
		}
		query = "?limit=2&cursor=" + *page.NextCursor
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

type listed struct {
	Todos []struct {
		ID, Title, Endpoint, Agent, URL string
		LastOutcome                     *string `json:"last_outcome"`
		LastSummary                     *string `json:"last_summary"`
		Claimant                        *string
	}
	NextCursor *string `json:"next_cursor"`
}

func TestList_FiltersAndIgnoresWhatIsEmpty(t *testing.T) {
	f := setup(t)
	a := f.vend(t, &f.alice, `{"name":"a","queues":["fix","review"]}`)
	b := f.vend(t, &f.alice, `{"name":"b"}`)
	f.push(t, &f.alice, a.Slug, `{"title":"one","queue":"fix"}`, http.StatusCreated)
	two := f.push(t, &f.alice, a.Slug, `{"title":"Two","queue":"review"}`, http.StatusCreated).Todo
	f.push(t, &f.alice, b.Slug, `{"title":"three"}`, http.StatusCreated)
	f.fail(t, a.Token, two.ID)
	for query, want := range map[string]string{
		"":                         "three Two one",
		"?queue=fix":               "one",
		"?endpoint=" + b.Slug:      "three",
		"?endpoint=" + a.ID:        "Two one",
		"?state=failed":            "Two",
		"?dead_letter=true":        "Two",
		"?dead_letter=FALSE":       "",
		"?dead_letter=false":       "three one",
		"?q=tw":                    "Two",
		"?q=" + two.ID:             "Two",
		"?q=%25":                   "",
		"?limit=500":               "three Two one",
		"?limit=1":                 "three",
		"?limit=99999999999999999": "three Two one",
		"?state=&queue=null&dead_letter=&limit=&cursor=": "three Two one",
		"?unknown=1&limit=1&limit=2":                     "three",
	} {
		if query == "?dead_letter=FALSE" {
			f.do(t, &f.alice, "GET", "/todos"+query, "").refused(t, http.StatusBadRequest, "invalid")
			continue
		}
		var page listed
		f.do(t, &f.alice, "GET", "/todos"+query, "").into(t, http.StatusOK, &page)
		var titles []string
		for _, todo := range page.Todos {
			titles = append(titles, todo.Title)
		}
		if got := strings.Join(titles, " "); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	var page listed
	f.do(t, &f.alice, "GET", "/todos?q=two", "").into(t, http.StatusOK, &page)
	if row := page.Todos[0]; *row.LastOutcome != "failed" || *row.LastSummary != "no luck" || *row.Claimant != "w1" || row.Endpoint != a.Slug || row.Agent != "a" {
		t.Errorf("row %+v", row)
	}
}

// fail claims a todo and fails it for good.
func (f *fixture) fail(t *testing.T, token, todo string) {
	t.Helper()
	e := f.endpoint(t, token)
	id, _ := typeid.Todo.Parse(todo)
	claimant, summary, retry := "w1", "no luck", false
	if _, err := f.Queue.Claim(t.Context(), e, id, queue.ClaimParams{Claimant: &claimant}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Queue.Fail(t.Context(), e, id, queue.Report{Summary: &summary}, queue.FailParams{Retry: &retry}); err != nil {
		t.Fatal(err)
	}
}

func TestList_BadInputNamesTheArgument(t *testing.T) {
	f := setup(t)
	for argument, queries := range map[string][]string{
		"limit":       {"limit=0", "limit=-1", "limit=Zyxwvu", "limit=1.5"},
		"cursor":      {"cursor=Zyxwvu"},
		"state":       {"state=Zyxwvu", "state=a%00"},
		"dead_letter": {"dead_letter=Zyxwvu", "dead_letter=1"},
		"queue":       {"queue=%00"},
		"q":           {"q=Zyxwvu%00"},
		"endpoint":    {"endpoint=%00"},
		"the query":   {"q=%zz"},
	} {
		for _, query := range queries {
			got := f.do(t, &f.alice, "GET", "/todos?"+query, "")
			sentence := got.refused(t, http.StatusBadRequest, "invalid")
			if !strings.HasPrefix(sentence, argument+" ") || strings.Contains(sentence, "Zyxwvu") {
				t.Errorf("%s: %q", query, sentence)
			}
		}
	}
	f.do(t, &f.alice, "GET", "/todos?endpoint=Zyxwvu", "").refused(t, http.StatusNotFound, "not_found")
	var page listed
	f.do(t, &f.alice, "GET", "/todos?q=%ff&queue=%ff", "").into(t, http.StatusOK, &page)
}

func TestShow_TellsTheWholeTrail(t *testing.T) {
	f := setup(t)
	v := f.vend(t, &f.alice, `{"name":"bot"}`)
	todo := f.push(t, &f.alice, v.Slug, `{"title":"t","payload":[1]}`, http.StatusCreated).Todo
	f.work(t, v.Token, todo.ID)

	var got trail
	f.do(t, &f.alice, "GET", "/todos/"+todo.ID, "").into(t, http.StatusOK, &got)
	if got.ID != todo.ID || got.Endpoint != v.Slug || got.EndpointID != v.ID || got.Agent != "bot" || got.URL != todo.URL || string(got.Result) != `{"ok":true}` {
		t.Errorf("trail %+v", got)
	}
	if len(*got.Attempts) != 1 || (*got.Attempts)[0].Outcome != "completed" || (*got.Attempts)[0].Summary != "done" {
		t.Errorf("attempts %+v", got.Attempts)
	}
	if len(*got.Activity) != 1 || (*got.Activity)[0].Message != "on it" || (*got.Activity)[0].Kind != "note" {
		t.Errorf("activity %+v", got.Activity)
	}
	if len(*got.Spans) != 1 || *got.SpansTotal != 1 {
		t.Fatalf("spans %+v", got.Spans)
	}
	span := (*got.Spans)[0]
	if span.TraceID != strings.Repeat("ab", 16) || span.SpanID != "0000000000000001" || *span.AttemptSeq != 1 || span.ParentSpanID != nil ||
		string(span.Attributes) != `{"a": "<"}` && string(span.Attributes) != `{"a":"<"}` {
		t.Errorf("span %+v %s", span, span.Attributes)
	}
}

type trail struct {
	ID, Endpoint, Agent, URL string
	EndpointID               string `json:"endpoint_id"`
	Result                   json.RawMessage
	Attempts                 *[]struct {
		Seq              int
		Outcome, Summary string
	}
	Activity   *[]struct{ Kind, Message string }
	Spans      *[]spanBody
	SpansTotal *int `json:"spans_total"`
}

// work claims a todo, notes, exports one span and completes it.
func (f *fixture) work(t *testing.T, token, todo string) {
	t.Helper()
	e := f.endpoint(t, token)
	id, _ := typeid.Todo.Parse(todo)
	claimed, err := f.Queue.Claim(t.Context(), e, id, queue.ClaimParams{})
	if err != nil {
		t.Fatal(err)
	}
	note, summary := "on it", "done"
	if _, err := f.Queue.Heartbeat(t.Context(), e, id, queue.HeartbeatParams{Note: &note}); err != nil {
		t.Fatal(err)
	}
	span := spans.Span{TodoID: id, AttemptSeq: claimed.AttemptSeq, SpanID: [8]byte{7: 1}, Name: "chat", Kind: "client", StatusCode: "ok",
		StartAt: time.Now(), EndAt: time.Now().Add(time.Second), Category: "reason", Attributes: []byte(`{"a":"<"}`)}
	copy(span.TraceID[:], strings.Repeat("\xab", 16))
	var outcome ledger.Outcome
	if outcome, err = f.Spans.Upsert(t.Context(), e.ID, []spans.Span{span}); err != nil {
		t.Fatalf("%v %v", outcome, err)
	}
	if _, err := f.Queue.Complete(t.Context(), e, id, queue.Report{Summary: &summary}, json.RawMessage(`{"ok":true}`)); err != nil {
		t.Fatal(err)
	}
}

func TestShow_IncludeNamesTheParts(t *testing.T) {
	f := setup(t)
	slug := f.vend(t, &f.alice, `{"name":"bot"}`).Slug
	id := f.push(t, &f.alice, slug, `{"title":"t"}`, http.StatusCreated).Todo.ID
	for include, want := range map[string][3]bool{
		"": {true, true, true}, "attempts": {true, false, false}, "activity,spans": {false, true, true}, "null": {true, true, true},
	} {
		var got trail
		f.do(t, &f.alice, "GET", "/todos/"+id+"?include="+include, "").into(t, http.StatusOK, &got)
		if parts := [3]bool{got.Attempts != nil, got.Activity != nil, got.Spans != nil}; parts != want {
			t.Errorf("include=%s: %v, want %v", include, parts, want)
		}
	}
	for _, bad := range []string{"Zyxwvu", "attempts,,spans", "attempts, spans"} {
		sentence := f.do(t, &f.alice, "GET", "/todos/"+id+"?include="+url.QueryEscape(bad), "").refused(t, http.StatusBadRequest, "invalid")
		if !strings.HasPrefix(sentence, "include ") {
			t.Errorf("%q", sentence)
		}
	}
}
