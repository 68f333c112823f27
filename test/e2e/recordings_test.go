package e2e

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/jackc/pgx/v5"

	summary "github.com/switchboard-otel/switchboard/app/trail"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

var update = flag.Bool("update", false, "write the golden files of the recordings again")

// told is what an agent itself would say of the work in its recording, and how much of it names no token count.
type told struct {
	spans, tools  int // tools: executions, not spans
	input, output int64
	uncounted     int  // model calls for which the agent sends no counts
	unbound       bool // ignores OTEL_RESOURCE_ATTRIBUTES, so that its guide sets the attribute in code
}

var agents = map[string]told{
	"claude-code":             {spans: 6, tools: 1, input: 384, output: 34},
	"claude-code-2.1.197":     {spans: 6, tools: 1, input: 240, output: 34}, // without what came from a cache
	"claude-code-fail":        {spans: 6, tools: 1, input: 384, output: 34},
	"claude-agent-sdk":        {spans: 10, tools: 2, input: 333, output: 60},
	"codex":                   {spans: 569, tools: 1, input: 240, output: 34},
	"codex-json":              {spans: 569, tools: 1, input: 240, output: 34},
	"gemini":                  {spans: 4, tools: 1, input: 240, output: 34},
	"gemini-mcp":              {spans: 7, tools: 2, input: 360, output: 51},
	"copilot":                 {spans: 4, tools: 1, input: 240, output: 34},
	"opencode":                {spans: 968, tools: 2, input: 360, output: 51}, // two spans of one execution, side by side
	"qwen":                    {spans: 9, tools: 1, input: 240, output: 34},
	"ai-sdk-v7":               {spans: 9, tools: 2, input: 303, output: 60},
	"ai-sdk-v7-legacy":        {spans: 6, tools: 2, input: 303, output: 60},
	"anthropic-sdk-native":    {spans: 11, tools: 2, input: 552, output: 100, uncounted: 1}, // one call reached nobody
	"openinference-openai":    {spans: 5, input: 403, output: 80, uncounted: 1},             // none for a stream
	"openinference-langchain": {spans: 15, tools: 2, input: 303, output: 60},
	"traceloop":               {spans: 8, tools: 1, input: 403, output: 80},
	"traceloop-langchain":     {spans: 15, tools: 2, input: 303, output: 60},
	"google-adk":              {spans: 5, tools: 1, input: 201, output: 40, unbound: true},
	"strands":                 {spans: 9, tools: 2, input: 303, output: 60},
	"mastra":                  {spans: 14, tools: 2, input: 303, output: 60, unbound: true},
	"langsmith":               {spans: 5, tools: 2, input: 100, output: 20, unbound: true},
	"genkit":                  {spans: 6, tools: 1, uncounted: 2}, // none at all
	"otel-js-json":            {spans: 4, tools: 2, input: 100, output: 20},
	"otel-js-proto":           {spans: 4, tools: 2, input: 100, output: 20},
	"otel-go":                 {spans: 4, tools: 2, input: 100, output: 20},
}

// What real agents and SDKs sent is stored under the todo that they worked on, and its rows say what their human wants
// to know: which tools ran, which model answered for how many tokens, what failed. No content is among it.
func TestRecordings_AreStoredAsTheirHumanReadsThem(t *testing.T) {
	t.Parallel()
	s := startStage(t)
	for _, name := range slices.Sorted(maps.Keys(agents)) {
		t.Run(name, func(t *testing.T) {
			file, is := recordingOf(t, name), agents[name]
			w := s.worker(t, name)
			if is.unbound {
				s.refused(t, w, file)
				file = file.withResource(w.todo)
			}
			for _, body := range file.claimedBy(w) {
				w.post(t, "application/json", body)
			}
			s.check(t, w, name, is)
		})
		if body, err := os.ReadFile(recordingPath(name + ".otlp.pb")); err == nil {
			t.Run(name+", protobuf", func(t *testing.T) {
				w := s.worker(t, name)
				w.post(t, "application/x-protobuf", protobufClaimedBy(t, w, body))
				s.check(t, w, name, agents[name])
			})
		}
	}
	s.noContent(t)
}

// An agent's own machinery can be left out; what is left is the work, and the sender is told.
func TestRecordings_WithoutPlumbing(t *testing.T) {
	t.Parallel()
	s := startStage(t, withQuickstart(t, "switchboard_dialect:\n", "switchboard_dialect: {drop_plumbing: true}\n"),
		withEnv("SWITCHBOARD_METRICS_TOKEN="+metricsToken))
	filtered := 0
	for name, left := range map[string]int{"opencode": 34, "codex": 50, "qwen": 7, "otel-go": 4} {
		is := agents[name]
		w := s.worker(t, name)
		answers := ""
		for _, body := range recordingOf(t, name).claimedBy(w) {
			answers += w.post(t, "application/json", body)
		}
		filtered += is.spans - left
		if told := strings.Contains(answers, "some spans were filtered by this server's configuration"); told != (left < is.spans) {
			t.Errorf("%s: answered %s", name, answers)
		}
		is.spans = left
		s.check(t, w, name+"-without-plumbing", is)
	}
	metrics := request(t, http.MethodGet, s.url+"/metrics", nil, "Authorization", "Bearer "+metricsToken)
	if want := fmt.Sprintf("switchboard_otlp_spans_filtered_total %d\n", filtered); !strings.Contains(metrics.body, want) {
		t.Errorf("no %s among the metrics", want)
	}
}

// refused wants that nothing of a recording without the attribute is bound, and that the answer says so.
func (s *stage) refused(t *testing.T, w onStage, file recordedFile) {
	t.Helper()
	for _, body := range file {
		res := request(t, http.MethodPost, w.OTLPURL+"/v1/traces", body, "Authorization", "Bearer "+w.Token, "Content-Type", "application/json")
		if res.status != http.StatusOK || !strings.Contains(res.body, "rejected spans: unbound") {
			t.Errorf("without the attribute it is answered %d %s", res.status, res.body)
		}
	}
	if n := len(s.trail(w.todo).Spans); n != 0 {
		t.Errorf("%d spans without the attribute are stored", n)
	}
}

// storedRow is a span as the API shows it, as far as its human looks.
type storedRow struct {
	Name       string         `json:"name"`
	Category   string         `json:"category"`
	Tool       string         `json:"tool"`
	StatusCode string         `json:"status_code"`
	Service    string         `json:"service_name"`
	AttemptSeq int            `json:"attempt_seq"`
	Attributes map[string]any `json:"attributes"`
}

func (r storedRow) model() string {
	model, _ := r.Attributes["gen_ai.request.model"].(string)
	return model
}

func (r storedRow) tokens() string {
	in, counted := r.Attributes["gen_ai.usage.input_tokens"]
	if !counted {
		return ""
	}
	return fmt.Sprintf("%v+%v", in, r.Attributes["gen_ai.usage.output_tokens"])
}

// rows reads what is stored as an API's client does.
func (s *stage) rows(w onStage) []storedRow {
	var todo struct {
		Spans []storedRow `json:"spans"`
	}
	s.cliJSON(&todo, "todo", "show", w.todo, "--spans")
	return todo.Spans
}

// check compares what is stored of a recording with its golden file and with what the agent says of itself.
func (s *stage) check(t *testing.T, w onStage, golden string, is told) {
	t.Helper()
	rows := s.rows(w)
	if len(rows) != is.spans {
		t.Errorf("%d spans are stored, want %d", len(rows), is.spans)
	}
	uncounted := 0
	for _, row := range rows {
		switch {
		case row.AttemptSeq != 1:
			t.Errorf("%s is bound to attempt %d", row.Name, row.AttemptSeq)
		case row.Category == "tool" && row.Tool == "":
			t.Errorf("%s names no tool", row.Name)
		case row.Category == "reason" && row.model() == "":
			t.Errorf("%s names no model", row.Name)
		case row.Category == "reason" && row.tokens() == "":
			uncounted++
		}
	}
	if uncounted != is.uncounted {
		t.Errorf("%d model calls carry no tokens, want %d", uncounted, is.uncounted)
	}
	s.checkSummary(t, w, is)
	compareGolden(t, golden, rows)
}

// checkSummary wants the attempt's header to say what the agent says.
func (s *stage) checkSummary(t *testing.T, w onStage, is told) {
	t.Helper()
	id, _ := typeid.Todo.Parse(w.todo)
	rows, err := s.spans.ForTodo(t.Context(), s.owner, id, nil, 10000)
	if err != nil {
		t.Fatal(err)
	}
	sum := summary.Summarize(rows, summary.Interval{})
	tools := 0
	for _, tool := range sum.Tools {
		tools += tool.N
	}
	if sum.InputTokens != is.input || sum.OutputTokens != is.output || tools != is.tools {
		t.Errorf("%d tokens in, %d out, %d executions; the agent says %d, %d and %d",
			sum.InputTokens, sum.OutputTokens, tools, is.input, is.output, is.tools)
	}
}

func compareGolden(t *testing.T, name string, rows []storedRow) {
	t.Helper()
	path := filepath.Join("testdata", "recordings", name+".golden")
	got := table(rows)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run the test with -update and look at what changed. It is now:\n%s", path, got)
	}
}

// table prints rows without what differs from run to run: what is equal once, with its number, the calls first.
func table(rows []storedRow) string {
	counts := map[string]int{}
	for _, r := range rows {
		counts[strings.Join([]string{r.Category, cmp.Or(r.Tool, "-"), cmp.Or(r.model(), "-"), cmp.Or(r.tokens(), "-"),
			r.StatusCode, cmp.Or(r.Service, "-"), r.Name}, "\t")]++
	}
	rank := func(line string) int {
		return slices.Index([]string{"tool", "reason"}, strings.Split(line, "\t")[0])
	}
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "spans\tcategory\ttool\tmodel\ttokens\tstatus\tservice\tname")
	for _, line := range slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(b), rank(a)), cmp.Compare(a, b))
	}) {
		_, _ = fmt.Fprintf(w, "%d\t%s\n", counts[line], line)
	}
	_ = w.Flush()
	return out.String()
}

// noContent looks at every row of every table, and at the log, for what agents read, wrote and ran.
func (s *stage) noContent(t *testing.T) {
	t.Helper()
	samples := []string{"CANARY", "Be brief", "It is sunny", "Paris", "REDACTED"}
	tables, err := s.db.Pool.Query(t.Context(), `SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = 'public'`)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(tables, pgx.RowTo[string])
	if err != nil || len(names) < 5 {
		t.Fatal(names, err)
	}
	for _, sample := range samples {
		for _, name := range names {
			var row string
			err := s.db.Pool.QueryRow(t.Context(), `SELECT r::text FROM `+name+` r WHERE strpos(r::text, $1) > 0 LIMIT 1`, sample).Scan(&row)
			if !errors.Is(err, pgx.ErrNoRows) {
				t.Errorf("%s is stored in %s (%v): %.300s", sample, name, err, row)
			}
		}
		if strings.Contains(s.output.String(), sample) {
			t.Errorf("the log says %s", sample)
		}
	}
}
