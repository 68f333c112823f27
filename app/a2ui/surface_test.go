package a2ui_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/switchboard-otel/switchboard/app/a2ui"
	"github.com/switchboard-otel/switchboard/app/intake"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/spans"
)

// published is the schema of a list of messages, with the basic catalog, as the package ships it.
func published(t testing.TB) *jsonschema.Resolved {
	t.Helper()
	load := func(uri *url.URL) (*jsonschema.Schema, error) {
		text, err := os.ReadFile(filepath.Join("testdata", "schema", path.Base(uri.Path)))
		if err != nil {
			return nil, err
		}
		if text, err = underDefs(text, "components", "functions"); err != nil {
			return nil, err
		}
		var s jsonschema.Schema
		if err := json.Unmarshal(text, &s); err != nil {
			return nil, err
		}
		s.ID = uri.String() // the catalog is found where the messages look for one
		return &s, nil
	}
	base, err := url.Parse("https://a2ui.org/specification/v0_9/server_to_client_list.json")
	if err != nil {
		t.Fatal(err)
	}
	root, err := load(base)
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := root.Resolve(&jsonschema.ResolveOptions{BaseURI: base.String(), Loader: load})
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

// underDefs moves schemas that a catalog keeps under names of its own to where the validator looks for them.
func underDefs(text []byte, names ...string) ([]byte, error) {
	var doc map[string]any
	for _, name := range names {
		text = bytes.ReplaceAll(text, []byte(`"#/`+name+`/`), []byte(`"#/$defs/`+name+`.`))
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	for _, name := range names {
		own, _ := doc[name].(map[string]any)
		for key, schema := range own {
			doc["$defs"].(map[string]any)[name+"."+key] = schema
		}
		delete(doc, name)
	}
	return json.Marshal(doc)
}

type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

// wantValid checks a document against the schema, and what the schema cannot say: a root, and no id that leads nowhere.
func wantValid(t fataler, schema *jsonschema.Resolved, doc []byte) {
	t.Helper()
	var whole any
	if err := json.Unmarshal(doc, &whole); err != nil {
		t.Fatalf("%v", err)
	}
	if err := schema.Validate(whole); err != nil {
		t.Fatalf("%v\n%s", err, doc)
	}
	known := map[string]bool{}
	for _, c := range components(t, doc) {
		if known[c.ID] {
			t.Fatalf("two components are %s", c.ID)
		}
		known[c.ID] = true
	}
	if !known["root"] {
		t.Fatalf("there is no root")
	}
	for _, c := range components(t, doc) {
		for _, child := range append(c.Children, c.Child) {
			if child != "" && !known[child] {
				t.Fatalf("%s holds %s, which is nowhere", c.ID, child)
			}
		}
	}
}

type component struct {
	ID, Component, Text, Child string
	Children                   []string
}

func components(t fataler, doc []byte) []component {
	t.Helper()
	var messages []struct {
		UpdateComponents struct{ Components []component }
	}
	if err := json.Unmarshal(doc, &messages); err != nil || len(messages) != 2 {
		t.Fatalf("%v, %d messages", err, len(messages))
	}
	return messages[1].UpdateComponents.Components
}

func texts(t fataler, doc []byte) string {
	t.Helper()
	var all []string
	for _, c := range components(t, doc) {
		if c.Text != "" {
			all = append(all, c.Text)
		}
	}
	return strings.Join(all, "\n")
}

func TestSchema_RefusesWhatIsNoSurface(t *testing.T) {
	schema := published(t)
	for _, doc := range []string{`{}`, `[{"version":"v0.9"}]`, `[{"version":"v0.8","createSurface":{"surfaceId":"s","catalogId":"c"}}]`,
		`[{"version":"v0.9","updateComponents":{"surfaceId":"s","components":[{"id":"root","component":"Text"}]}}]`,
		`[{"version":"v0.9","updateComponents":{"surfaceId":"s","components":[{"id":"root","component":"Text","text":"x","script":"y"}]}}]`} {
		var whole any
		if err := json.Unmarshal([]byte(doc), &whole); err != nil {
			t.Fatal(err)
		}
		if schema.Validate(whole) == nil {
			t.Errorf("%s is valid: the schema is not the one", doc)
		}
	}
}

func ptr[T any](v T) *T { return &v }

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// worked is a todo that died once and was completed, with notes.
func worked(notes int) a2ui.Trail {
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	todo := &queue.HumanDetail{Detail: queue.Detail{
		Todo: queue.Todo{Row: queue.Row{ID: queue.ID(uuid.UUID{15: 1}), Queue: "lane-s", Title: "retry on 502", State: queue.StateDone,
			Attempt: 2, MaxAttempts: 3, CreatedAt: noon}, Payload: json.RawMessage(`{"hidden":"payload-of-the-todo"}`)},
		Result: json.RawMessage(`{"pr":7}`),
		Attempts: []queue.Attempt{
			{Seq: 2, Attempt: 2, ClaimerKind: "endpoint", Claimant: ptr("run-2"), ClaimedAt: at(10), EndedAt: ptr(at(2000)),
				Outcome: ptr("completed"), Disposition: ptr("done"), Summary: ptr("Fixed <b>it</b>."), Artifact: ptr("https://example.com/pr/7")},
			{Seq: 1, Attempt: 1, ClaimerKind: "endpoint", ClaimedAt: at(1), EndedAt: ptr(at(6)), Outcome: ptr("reaped"),
				Disposition: ptr("requeued"), Died: true},
		},
		AttemptsTotal: 2,
	}}
	for i := range notes {
		todo.Activity = append(todo.Activity, queue.ActivityEntry{Seq: i + 1, At: at(11 + i), AttemptSeq: ptr(2), Kind: queue.KindNote,
			ActorKind: "endpoint", Message: ptr(fmt.Sprintf("note %d.", i))})
	}
	return a2ui.Trail{Todo: todo, Counts: []spans.Count{{AttemptSeq: 0, Stored: 1}, {AttemptSeq: 1, Stored: 3}, {AttemptSeq: 2, Stored: 40}},
		Event: &intake.Event{EventRow: intake.EventRow{Source: "github", Trust: "signed", Verified: true, ReceivedAt: noon, RoutingTrace: json.RawMessage(`{}`)},
			Body: []byte(`payload-of-the-event`)}}
}

func TestTodo_ShowsTheOutcomeAndTheTimelineAndNoPayload(t *testing.T) {
	doc, err := a2ui.Todo(worked(2))
	if err != nil {
		t.Fatal(err)
	}
	wantValid(t, published(t), doc)
	shown := texts(t, doc)
	for _, want := range []string{"retry on 502", "done in lane-s, attempt 2 of 3", "Attempt 2: completed, done", "Fixed <b>it</b>.",
		"Artifact: https://example.com/pr/7", "Result: {\n  \"pr\": 7\n}", "received from github", "verified: signed", "created",
		"attempt 1 claimed by an agent, 3 spans", "attempt 1 ended: reaped, requeued (died: the lease lapsed without a report)",
		"attempt 2 claimed by an agent (run-2), 40 spans", "note: note 0.", "attempt 2 ended: completed, done", "1 span without an attempt."} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is missing of\n%s", want, shown)
		}
	}
	if strings.Contains(string(doc), "payload-of") {
		t.Error("a payload is shown (REQ-17)")
	}
}

func TestTodo_ShowsFiftyEntriesAtMost(t *testing.T) {
	doc, err := a2ui.Todo(worked(200))
	if err != nil {
		t.Fatal(err)
	}
	shown := texts(t, doc)
	if n := strings.Count(shown, "2026-12-0"); n != 50 {
		t.Errorf("%d entries are shown", n)
	}
	if !strings.Contains(shown, "older entries are not shown.") || !strings.Contains(shown, "note 199.") || strings.Contains(shown, "note 100.") {
		t.Error("not the newest are shown, or nobody is told")
	}
}

func TestTodo_WithoutAnAttemptSaysSo(t *testing.T) {
	fresh := worked(0)
	fresh.Todo.Attempts, fresh.Todo.Result, fresh.Counts, fresh.Event = nil, nil, nil, nil
	doc, err := a2ui.Todo(fresh)
	if err != nil {
		t.Fatal(err)
	}
	wantValid(t, published(t), doc)
	if !strings.Contains(texts(t, doc), "No attempt has finished yet.") {
		t.Error(texts(t, doc))
	}
}

// Nothing on a surface acts: whatever people and agents wrote, it is text, in components that only show.
func TestSurfaces_OnlyShow(t *testing.T) {
	schema := published(t)
	rapid.Check(t, func(t *rapid.T) {
		drawn := worked(rapid.IntRange(0, 60).Draw(t, "notes"))
		words := rapid.String()
		drawn.Todo.Title = words.Draw(t, "title")
		drawn.Todo.Attempts[0].Summary, drawn.Todo.Attempts[0].Claimant = ptr(words.Draw(t, "summary")), ptr(words.Draw(t, "claimant"))
		for i := range drawn.Todo.Activity {
			drawn.Todo.Activity[i].Message = ptr(words.Draw(t, "note"))
		}
		todo, err := a2ui.Todo(drawn)
		if err != nil {
			t.Fatal(err)
		}
		rows := make([]queue.Row, rapid.IntRange(0, a2ui.MaxRows).Draw(t, "rows"))
		for i := range rows {
			rows[i] = drawn.Todo.Row
		}
		list, err := a2ui.Queue("lane-s", rows, rapid.Bool().Draw(t, "more"))
		if err != nil {
			t.Fatal(err)
		}
		for _, doc := range [][]byte{todo, list} {
			wantValid(t, schema, doc)
			for _, c := range components(t, doc) {
				if c.Component != "Text" && c.Component != "Column" && c.Component != "Card" {
					t.Fatalf("a %s acts", c.Component)
				}
			}
		}
	})
}
