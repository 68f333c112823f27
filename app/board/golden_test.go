package board

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/spans"
	"github.com/switchboard-otel/switchboard/app/trail"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares a part of a page with its file, one element per line; addresses of assets are without
// their digests.
func golden(t *testing.T, name string, c templ.Component) {
	t.Helper()
	var out bytes.Buffer
	if err := c.Render(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	got := regexp.MustCompile(`\?v=[0-9a-f]+`).ReplaceAllString(out.String(), "")
	got = strings.ReplaceAll(got, "><", ">\n<") + "\n"
	file := filepath.Join("testdata", "golden", name+".html")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), write it anew with -update if this is meant:\n%s", file, diff)
	}
}

// sample is a todo that a first worker dropped and a second one holds.
func sample() *todoView {
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	id := uuid.MustParse("0193793b-7a00-7000-8000-000000000001")
	d := &queue.HumanDetail{EndpointSlug: "bugfix-k3x9", AgentName: "fixer", UpdatedAt: at(500)}
	d.ID, d.Title, d.Queue, d.Source, d.State = queue.ID(id), "Retry <502> deliveries", "lane-s", "operator", queue.StateClaimed
	d.Attempt, d.MaxAttempts, d.AttemptsTotal, d.CreatedAt = 2, 5, 2, noon
	d.Owner, d.LeaseExpiresAt = ptr("agent:ag_0000000000000000000000002a"), ptr(at(700))
	d.Payload, d.PayloadSize = json.RawMessage(`{"issue":1184}`), 14
	d.Attempts = []queue.Attempt{
		{Seq: 2, Attempt: 2, ClaimerKind: "endpoint", ClaimedAt: at(400), LastHeartbeatAt: ptr(at(450)), TraceID: "02000000000000000000000000000000"},
		{Seq: 1, Attempt: 1, ClaimerKind: "endpoint", Claimant: ptr("harness/run-7"), ClaimedAt: at(10), LastHeartbeatAt: ptr(at(40)),
			EndedAt: ptr(at(340)), Outcome: ptr("reaped"), Disposition: ptr("requeued"), Died: true, SpansDropped: 12,
			TraceID: "01000000000000000000000000000000"},
	}
	d.Activity = []queue.ActivityEntry{
		{Seq: 1, At: at(5), Kind: "rung", ActorKind: "system", Message: ptr("over SSE, 1 ring")},
		{Seq: 2, At: at(40), AttemptSeq: ptr(1), Kind: "note", ActorKind: "endpoint", Message: ptr("reading <client.go>"), Detail: json.RawMessage(`{"truncated":true}`)},
		{Seq: 3, At: at(350), Kind: "human_action", ActorKind: "human", Detail: json.RawMessage(`{"action":"retry","via":"cli"}`)},
		{Seq: 4, At: at(350), Kind: "retried", ActorKind: "human", Detail: json.RawMessage(`{"state":"failed"}`)},
		{Seq: 5, At: at(420), AttemptSeq: ptr(2), Kind: "human_action", ActorKind: "human", Detail: json.RawMessage(`{"action":"extend","via":"board"}`)},
		{Seq: 6, At: at(430), AttemptSeq: ptr(2), Kind: "a2a_state", ActorKind: "system", Message: ptr("input required")},
	}
	v := &todoView{Now: at(500), Todo: d, Last: &d.Attempts[1], Open: &d.Attempts[0], Viewer: "Local owner", Me: "human:hu_0000000000000000000000001a", Form: "the-form-token", BaseURL: "http://127.0.0.1:8321",
		Spans: map[int]spans.Count{1: {AttemptSeq: 1, Stored: 3, Dropped: 12}}}
	v.Timeline = trail.Merge(nil, &d.Detail, d.Activity, 500, 0)

	span := func(n, parent byte, category, name string, from, to int) spans.Span {
		s := spans.Span{TraceID: [16]byte{1}, SpanID: [8]byte{7: n}, Name: name, Kind: "internal", StatusCode: "unset", Category: category,
			Attributes: []byte(`{}`), StartAt: at(10).Add(time.Duration(from) * time.Millisecond), EndAt: at(10).Add(time.Duration(to) * time.Millisecond)}
		s.ParentSpanID[7] = parent
		return s
	}
	call := span(2, 1, "reason", "chat claude-fable-5", 1000, 13000)
	call.Attributes = []byte(`{"gen_ai.request.model":"claude-fable-5","gen_ai.usage.input_tokens":8412,"gen_ai.usage.output_tokens":604}`)
	run := span(3, 9, "tool", "run it", 13000, 41000)
	run.Tool, run.StatusCode, run.StatusMessage = "bash", "error", "exit status 1"
	t := trace{Seq: 1, Attempt: &d.Attempts[1], Count: v.Spans[1]}
	t.arrange([]spans.Span{span(1, 0, "internal", "invoke_agent", 0, 41000), call, run}, v.Now, 500, false)
	t.thin(mostDetails)
	v.Traces = []trace{t}
	return v
}

func TestTodoParts_AreAsTheyWere(t *testing.T) {
	t.Parallel()
	v := sample()
	for name, part := range map[string]templ.Component{
		"head": todoHead(v), "outcome": outcomeCard(v), "timeline": timelineCard(v), "traces": tracesSection(v), "source": sourceCard(v),
	} {
		golden(t, name, part)
	}
}
