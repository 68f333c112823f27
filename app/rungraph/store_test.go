package rungraph_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/rungraph"
	"github.com/switchboard-otel/switchboard/app/settings"
	"github.com/switchboard-otel/switchboard/app/spans"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

var update = flag.Bool("update", false, "write the golden files")

// bundle is a human with an endpoint on a database of its own.
type bundle struct {
	*postgrestest.DB
	queue    *queue.Store
	spans    *spans.Store
	graphs   *rungraph.Store
	human    uuid.UUID
	endpoint *identity.Endpoint
}

func setup(t *testing.T) *bundle {
	t.Helper()
	t.Parallel()
	db := postgrestest.New(t)
	live := settings.NewReader(db.Pool, zap.NewNop())
	b := &bundle{DB: db, queue: queue.NewStore(db.Pool, live), spans: spans.NewStore(db.Pool, live)}
	b.graphs = rungraph.NewStore(db.Pool, b.queue, b.spans, "1.2.3")
	people := identity.NewStore(db.Pool, b.queue)
	owner, err := people.LocalOwner(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	vended, err := people.Vend(t.Context(), owner.ID, identity.VendParams{Name: "worker", Queues: []string{"lane"}})
	if err != nil {
		t.Fatal(err)
	}
	b.human, b.endpoint = owner.ID, &vended.Endpoint
	return b
}

func (b *bundle) push(t *testing.T) uuid.UUID {
	t.Helper()
	todo, _, err := b.queue.Push(t.Context(), b.human, queue.PushParams{Endpoint: b.endpoint, Title: "the title", Queue: "lane",
		Payload: json.RawMessage(`{"text":"the payload"}`)})
	if err != nil {
		t.Fatal(err)
	}
	return todo.ID.UUID()
}

// claim opens the next attempt and returns its seq and the trace it was minted.
func (b *bundle) claim(t *testing.T, id uuid.UUID) (seq int, trace [16]byte) {
	t.Helper()
	claimant := "harness/box/run-7"
	c, err := b.queue.Claim(t.Context(), b.endpoint, id, queue.ClaimParams{Claimant: &claimant})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hex.Decode(trace[:], []byte(strings.Split(c.Traceparent, "-")[1])); err != nil {
		t.Fatal(err)
	}
	return c.AttemptSeq, trace
}

// infer stores a request to a model, bound to an attempt.
func (b *bundle) infer(t *testing.T, todo uuid.UUID, seq int, trace [16]byte, id byte, attributes string) {
	t.Helper()
	at := time.Now()
	_, err := b.spans.Upsert(t.Context(), b.endpoint.ID, []spans.Span{{TodoID: todo, AttemptSeq: seq, TraceID: trace,
		SpanID: [8]byte{id}, Name: "chat", Kind: "client", StatusCode: "unset", Category: "reason", StartAt: at, EndAt: at,
		Attributes: []byte(attributes)}})
	if err != nil {
		t.Fatal(err)
	}
}

func done[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// story is a todo that was lost, failed, released and at last completed.
func (b *bundle) story(t *testing.T) uuid.UUID {
	t.Helper()
	ctx := t.Context()
	id := b.push(t)
	said, place, now := "the summary", "https://example.com/pr/7", 0

	seq, trace := b.claim(t, id)
	b.infer(t, id, seq, trace, 1, `{"gen_ai.operation.name":"chat","gen_ai.request.model":"small-1","gen_ai.system":"house","gen_ai.usage.input_tokens":40,"gen_ai.usage.output_tokens":4}`)
	b.Advance(t, time.Hour)
	done[int](t)(b.queue.Reap(ctx))

	b.claim(t, id)
	done[*queue.Row](t)(b.queue.Heartbeat(ctx, b.endpoint, id, queue.HeartbeatParams{Note: &said}))
	done[*queue.Row](t)(b.queue.Fail(ctx, b.endpoint, id, queue.Report{Summary: &said}, queue.FailParams{RetryAfterSeconds: &now}))
	done[int](t)(b.queue.RequeueDue(ctx))

	b.claim(t, id)
	done[*queue.Row](t)(b.queue.Release(ctx, b.endpoint, id, queue.Report{}))

	seq, trace = b.claim(t, id)
	b.infer(t, id, seq, [16]byte{1}, 2, `{"gen_ai.operation.name":"invoke_agent","gen_ai.usage.input_tokens":2500,"gen_ai.usage.output_tokens":230}`)
	b.infer(t, id, seq, trace, 3, `{"gen_ai.operation.name":"chat","gen_ai.response.model":"large-2","gen_ai.provider.name":"house","gen_ai.usage.input_tokens":1500,"gen_ai.usage.output_tokens":200,"gen_ai.usage.cache_read.input_tokens":1000,"gen_ai.usage.cache_write.input_tokens":100,"gen_ai.usage.reasoning.output_tokens":150}`)
	b.infer(t, id, seq, trace, 4, `{"gen_ai.operation.name":"chat","gen_ai.response.model":"small-1","gen_ai.provider.name":"house","gen_ai.usage.input_tokens":1000,"gen_ai.usage.output_tokens":30,"gen_ai.usage.cache_read.input_tokens":600,"gen_ai.usage.cache_write.input_tokens":0,"gen_ai.usage.reasoning.output_tokens":0}`)
	done[*queue.Row](t)(b.queue.Complete(ctx, b.endpoint, id, queue.Report{Summary: &said, Artifact: &place}, json.RawMessage(`"the result"`)))
	return id
}

var (
	anyTime  = regexp.MustCompile(`20\d\d-\d\d-\d\dT[0-9:.]+Z`)
	anyTrace = regexp.MustCompile(`"session": "[0-9a-f]{32}"`)
)

// stable names ids, traces and times by their order, so that a document reads alike each time.
func stable(doc []byte, id uuid.UUID) string {
	text := strings.ReplaceAll(string(doc), typeid.Todo.Format(id), "TODO")
	times := anyTime.FindAllString(text, -1)
	at := func(s string) time.Time { t, _ := time.Parse(time.RFC3339Nano, s); return t }
	slices.SortFunc(times, func(a, b string) int { return at(a).Compare(at(b)) })
	times = slices.Compact(times)
	text = anyTime.ReplaceAllStringFunc(text, func(s string) string { return fmt.Sprintf("TIME-%02d", slices.Index(times, s)) })
	traces := 0
	return anyTrace.ReplaceAllStringFunc(text, func(string) string {
		traces++
		return fmt.Sprintf(`"session": "TRACE-%d"`, traces)
	})
}

// A todo with a lost, a failed, a released and a completed attempt goes out with every field as the golden file has it,
// validates without a finding, and comes back in.
func TestRoundTrip_OfATodoThatWasLostFailedReleasedAndCompleted(t *testing.T) {
	b := setup(t)
	id := b.story(t)
	doc := done[[]byte](t)(b.graphs.ExportTodo(t.Context(), b.human, id, false))
	got := stable(doc, id)
	if *update {
		if err := os.WriteFile("testdata/story.golden.json", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/story.golden.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the document (-want +got):\n%s", diff)
	}
	report := done[*rungraph.Report](t)(rungraph.Validate(t.Context(), doc, nil))
	if len(report.Findings) > 0 {
		t.Errorf("%+v", report.Findings)
	}
	if bytes.Contains(doc, []byte("the ")) {
		t.Error("the document holds text that a worker or a producer wrote")
	}

	kept, created, err := b.graphs.Import(t.Context(), b.human, doc)
	if err != nil || !created || kept.RunID != typeid.Todo.Format(id) || kept.Producer != "switchboard" || kept.Bytes != len(doc) {
		t.Fatalf("%+v %v %v", kept, created, err)
	}
	again, created, err := b.graphs.Import(t.Context(), b.human, doc)
	if err != nil || created || again.ID != kept.ID {
		t.Errorf("the same document again: %+v %v %v", again, created, err)
	}
	_, back, err := b.graphs.Imported(t.Context(), b.human, kept.ID)
	if err != nil || !bytes.Equal(back, doc) {
		t.Errorf("it came back otherwise: %v", err)
	}
	view := rungraph.Read(back)
	var evidence []string
	for _, a := range view.Attempts {
		evidence = append(evidence, a.Status+" "+a.Evidence)
	}
	if diff := cmp.Diff([]string{"lost heuristic", "failed reported", "canceled reported", "done reported"}, evidence); diff != "" {
		t.Error(diff)
	}
}

func TestExportTodo_FullCarriesSummariesInAnExtension(t *testing.T) {
	b := setup(t)
	doc := done[[]byte](t)(b.graphs.ExportTodo(t.Context(), b.human, b.story(t), true))
	if n := bytes.Count(doc, []byte(`"dev.switchboard.summary": "the summary"`)); n != 2 {
		t.Errorf("%d summaries", n)
	}
	if !bytes.Contains(doc, []byte(`"profile": "full"`)) || bytes.Contains(doc, []byte("the title")) || bytes.Contains(doc, []byte("the result")) {
		t.Error("full is more than summaries, or does not say so")
	}
	if r := done[*rungraph.Report](t)(rungraph.Validate(t.Context(), doc, nil)); len(r.Findings) > 0 {
		t.Errorf("%+v", r.Findings)
	}
}

func TestExportQueue_TellsTheTodosOfAWindowOldestFirst(t *testing.T) {
	b := setup(t)
	before := b.push(t)
	b.Advance(t, time.Hour)
	from := b.now(t)
	first, second := b.push(t), b.push(t)
	b.claim(t, second)
	doc := done[[]byte](t)(b.graphs.ExportQueue(t.Context(), b.human, rungraph.Window{Queue: "lane", From: from}, false))
	var got struct {
		Run   struct{ ID string }
		Nodes []struct{ ID, State string }
	}
	if err := json.Unmarshal(doc, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Nodes) != 2 || got.Nodes[0].ID != typeid.Todo.Format(first) || got.Nodes[1].State != "working" {
		t.Errorf("nodes %+v; %s was before", got.Nodes, typeid.Todo.Format(before))
	}
	if !strings.HasPrefix(got.Run.ID, "lane@"+from.UTC().Format(time.RFC3339Nano)+"..") {
		t.Errorf("run %s", got.Run.ID)
	}
	for _, w := range []rungraph.Window{{Queue: "lane", From: from}, {Queue: "empty", From: from}} {
		doc := done[[]byte](t)(b.graphs.ExportQueue(t.Context(), b.human, w, false))
		if r := done[*rungraph.Report](t)(rungraph.Validate(t.Context(), doc, nil)); len(r.Findings) > 0 {
			t.Errorf("%s: %+v", w.Queue, r.Findings)
		}
	}
	if _, err := b.graphs.ExportQueue(t.Context(), b.human, rungraph.Window{Queue: "lane", From: from, To: from}, false); err == nil {
		t.Error("a window of no length was exported")
	}
}

func (b *bundle) now(t *testing.T) (now time.Time) {
	t.Helper()
	if err := b.Pool.QueryRow(t.Context(), `SELECT sb_now()`).Scan(&now); err != nil {
		t.Fatal(err)
	}
	return now
}

// REQ-18: what belongs to another human is as unknown as what never was.
func TestScope_AnotherHumanKnowsNothing(t *testing.T) {
	b := setup(t)
	id := b.story(t)
	doc := done[[]byte](t)(b.graphs.ExportTodo(t.Context(), b.human, id, false))
	kept, _, err := b.graphs.Import(t.Context(), b.human, doc)
	if err != nil {
		t.Fatal(err)
	}
	stranger := typeid.New()
	if _, err := b.Pool.Exec(t.Context(), `INSERT INTO humans (id, issuer, subject, name) VALUES ($1, 'test', 'x', 'X')`, stranger); err != nil {
		t.Fatal(err)
	}
	if _, err := b.graphs.ExportTodo(t.Context(), stranger, id, false); err != fault.ErrTodoNotFound {
		t.Errorf("export: %v", err)
	}
	if _, _, err := b.graphs.Imported(t.Context(), stranger, kept.ID); err != rungraph.ErrDocumentNotFound {
		t.Errorf("read: %v", err)
	}
	if err := b.graphs.Delete(t.Context(), stranger, kept.ID); err != rungraph.ErrDocumentNotFound {
		t.Errorf("delete: %v", err)
	}
	if list := done[[]rungraph.Imported](t)(b.graphs.Imports(t.Context(), stranger)); len(list) > 0 {
		t.Errorf("list: %+v", list)
	}
	if theirs, created, err := b.graphs.Import(t.Context(), stranger, doc); err != nil || !created || theirs.ID == kept.ID {
		t.Errorf("the same document of another human: %+v %v %v", theirs, created, err)
	}
	if err := b.graphs.Delete(t.Context(), b.human, kept.ID); err != nil {
		t.Error(err)
	}
	if _, _, err := b.graphs.Imported(t.Context(), b.human, kept.ID); err != rungraph.ErrDocumentNotFound {
		t.Errorf("after its end: %v", err)
	}
}

func TestImport_RefusesWhatDoesNotConform(t *testing.T) {
	b := setup(t)
	for name, doc := range map[string]string{
		"no JSON":   `{"ocp":`,
		"a ghost":   `{"ocp":"0.3","producer":{"name":"x"},"privacy":{"profile":"full"},"run":{"id":"r"},"nodes":[],"attempts":[{"id":"a","node":"private words","status":"done"}]}`,
		"too large": `{"ocp":"` + strings.Repeat("x", rungraph.MaxImport) + `"}`,
	} {
		_, _, err := b.graphs.Import(context.Background(), b.human, []byte(doc))
		f := fault.From(err, func(error) *fault.Error { return nil })
		if f.Code != fault.Invalid || strings.Contains(f.Message, "private") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if list := done[[]rungraph.Imported](t)(b.graphs.Imports(t.Context(), b.human)); len(list) > 0 {
		t.Errorf("kept %+v", list)
	}
	odd := []byte(`{"ocp":"0.3","producer":{"name":"x\u0000\ud800"},"privacy":{"profile":"full"},"run":{"id":"r\u0000"},"nodes":[]}`)
	if kept, _, err := b.graphs.Import(t.Context(), b.human, odd); err != nil || kept.RunID != "r\uFFFD" {
		t.Errorf("names that the store cannot hold: %+v %v", kept, err)
	}
}

func TestImport_KeepsALimitedNumber(t *testing.T) {
	b := setup(t)
	var err error
	for i := 0; err == nil; i++ {
		if i > 200 {
			t.Fatal("there is no limit")
		}
		_, _, err = b.graphs.Import(t.Context(), b.human, fmt.Appendf(nil,
			`{"ocp":"0.3","producer":{"name":"x"},"privacy":{"profile":"full"},"run":{"id":"r%d"},"nodes":[]}`, i))
	}
	if f := fault.From(err, func(error) *fault.Error { return nil }); f.Code != fault.Conflict {
		t.Error(err)
	}
}
