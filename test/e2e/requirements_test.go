package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/switchboard-otel/switchboard/extension/switchboardextension"
)

// withCaps is a running collector whose owner is signed in, with a todo that is claimed.
type withCaps struct {
	*external
	*collector
	session *mcp.ClientSession
	cookie  string
	todo    string
	trace   pcommon.TraceID
	vended  vended
}

func startCaps(t *testing.T) *withCaps {
	t.Helper()
	w := &withCaps{external: newExternal(t)}
	w.collector = start(t, unhurried(t), measured, withEnv("SWITCHBOARD_DATABASE_URL="+w.external.url))
	link, err := w.identity.NewLoginLink(t.Context(), w.owner.ID)
	if err != nil {
		t.Fatal(err)
	}
	w.cookie = w.signIn(w.collector.url + "/login/" + link)
	w.vended = w.external.vend(w.collector, w.collector)
	w.todo = w.external.push(w.vended, "capped")
	w.session = agent(t, w.vended)
	w.trace = traceOf(t, must[claimed](t, w.session, "claim", map[string]any{"id": w.todo}).Traceparent)
	return w
}

// set changes a row of the settings while the service runs.
func (w *withCaps) set(t *testing.T, key string, value int) {
	t.Helper()
	if _, err := w.db.Pool.Exec(t.Context(), `INSERT INTO settings (key, value) VALUES ($1, $2)`, key, fmt.Sprint(value)); err != nil {
		t.Fatal(err)
	}
}

func (w *withCaps) note(t *testing.T) {
	t.Helper()
	must[any](t, w.session, "heartbeat", map[string]any{"id": w.todo, "note": "still here"})
}

// page waits until the todo's page shows what the expression finds.
func (w *withCaps) page(t *testing.T, shows string) {
	t.Helper()
	await(t, "the page to show "+shows, func() error {
		res := request(t, http.MethodGet, w.collector.url+"/todos/"+w.todo, nil, "Cookie", w.cookie)
		if res.status != http.StatusOK || !regexp.MustCompile(shows).MatchString(res.body) {
			return fmt.Errorf("%d", res.status)
		}
		return nil
	})
}

// REQ-19: each cap is a row of the settings that the running service reads. The four of the way in for spans are
// testdata/otlp/req-19-*.txt and decision-20-*.txt.
func TestREQ19_EachCapIsASetting(t *testing.T) {
	t.Parallel()
	t.Run("notes_max_per_attempt", func(t *testing.T) {
		w := startCaps(t)
		w.set(t, "notes_max_per_attempt", 1)
		await(t, "a note to be dropped", func() error {
			w.note(t)
			detail := must[struct {
				Attempts []struct {
					NotesDropped int `json:"notes_dropped"`
				} `json:"attempts"`
			}](t, w.session, "get_todo", map[string]any{"id": w.todo})
			if detail.Attempts[0].NotesDropped == 0 {
				return errors.New("none is")
			}
			return nil
		})
	})
	t.Run("activity_max_per_todo", func(t *testing.T) {
		w := startCaps(t)
		w.set(t, "activity_max_per_todo", 2)
		await(t, "activity to be pruned", func() error {
			w.note(t)
			if must[struct {
				ActivityPruned int `json:"activity_pruned"`
			}](t, w.session, "get_todo", map[string]any{"id": w.todo}).ActivityPruned == 0 {
				return errors.New("none is")
			}
			return nil
		})
	})
	t.Run("timeline_max_entries", func(t *testing.T) {
		w := startCaps(t)
		for range 4 {
			w.note(t)
		}
		w.set(t, "timeline_max_entries", 2)
		w.page(t, `\d older entries`)
	})
	t.Run("waterfall_max_spans", func(t *testing.T) {
		w := startCaps(t)
		if res := export(t, w.vended, "protobuf", batch(w.trace, 5, "")); res.status != http.StatusOK {
			t.Fatalf("%d %s", res.status, res.body)
		}
		w.set(t, "waterfall_max_spans", 2)
		w.page(t, `wf-foot`)
	})
}

// REQ-20: the three counters, by result, by code and by kind, and nothing that says whose they are.
func TestREQ20_MetricsCountByResultCodeAndKindAndNameNobody(t *testing.T) {
	t.Parallel()
	w := startCaps(t)
	traces := batch(w.trace, 3, "")
	batch(pcommon.TraceID{8}, 2, "").ResourceSpans().MoveAndAppendTo(traces.ResourceSpans())
	batch(pcommon.TraceID{}, 1, "").ResourceSpans().MoveAndAppendTo(traces.ResourceSpans())
	export(t, w.vended, "json+gzip", traces)
	w.set(t, "spans_max_per_attempt", 3)
	more := 3
	await(t, "the cap to be seen", func() error {
		more++ // what is stored already is not refused
		if res := export(t, w.vended, "protobuf", batch(w.trace, more, "")); !strings.Contains(res.body, "cap") {
			return errors.New("it is not")
		}
		return nil
	})
	refused := request(t, http.MethodPost, w.vended.OTLPURL+"/v1/traces", nil, "Content-Type", "application/json")
	if refused.status != http.StatusUnauthorized {
		t.Errorf("without a credential: %d", refused.status)
	}
	w.note(t)

	for name, least := range map[string]int{
		accepted: 3,
		`switchboard_otlp_spans_total{result="rejected_unbound"}`: 2,
		`switchboard_otlp_spans_total{result="rejected_invalid"}`: 1,
		`switchboard_otlp_spans_total{result="rejected_cap"}`:     1,
		`switchboard_otlp_requests_total{code="200"}`:             2,
		`switchboard_otlp_requests_total{code="401"}`:             1,
		`switchboard_todo_activity_total{kind="note"}`:            1,
	} {
		if got := w.metric(name); got < least {
			t.Errorf("%s is %d, want %d or more", name, got, least)
		}
	}
	scrape := request(t, http.MethodGet, w.collector.url+"/metrics", nil, "Authorization", "Bearer "+metricsToken).body
	for _, somebody := range []string{w.todo, w.vended.Slug, w.vended.ID, w.owner.ID.String(), w.vended.Token} {
		if strings.Contains(scrape, somebody) {
			t.Errorf("a scrape names %s", somebody)
		}
	}
	for line := range strings.Lines(scrape) {
		for _, label := range []string{"todo=", "todo_id=", "endpoint=", "human="} {
			if strings.HasPrefix(line, "switchboard_otlp_") && strings.Contains(line, label) {
				t.Errorf("%s has the label %s", line, label)
			}
		}
	}
}

// The spec's section on rate limits; testdata/otlp/req-24-429.txt and decision-01-*.txt show where they are looked at.
func TestRateLimit_OfTheReceiverIsTwentyASecondAndFortyAtOnce(t *testing.T) {
	t.Parallel()
	got := switchboardextension.NewFactory().CreateDefaultConfig().(*switchboardextension.Config).RateLimits.OTLP
	if want := (switchboardextension.RateLimit{PerSecond: 20, Burst: 40}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
