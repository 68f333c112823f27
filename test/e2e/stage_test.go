package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/settings"
	"github.com/switchboard-otel/switchboard/app/spans"
)

// stage is a collector on which recordings are played, with its database.
type stage struct {
	*collector
	db    *postgrestest.DB
	spans *spans.Store
	owner uuid.UUID
}

func startStage(t *testing.T, options ...option) *stage {
	t.Helper()
	db := postgrestest.New(t)
	live := settings.NewReader(db.Pool, zap.NewNop())
	s := &stage{db: db, spans: spans.NewStore(db.Pool, live)}
	s.collector = start(t, append(options, withEnv("SWITCHBOARD_DATABASE_URL="+db.URL))...)
	local, err := identity.NewStore(db.Pool, queue.NewStore(db.Pool, live)).LocalOwner(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.owner = local.ID
	return s
}

// withQuickstart is configs/quickstart.yaml with another text in one place.
func withQuickstart(t *testing.T, old, replacement string) option {
	t.Helper()
	quick, err := os.ReadFile(filepath.Join(root, "configs", "quickstart.yaml"))
	if err != nil || strings.Count(string(quick), old) != 1 {
		t.Fatalf("%q is not once in the quick start (%v)", old, err)
	}
	config := filepath.Join(dataDir(t), "changed.yaml")
	if err := os.WriteFile(config, []byte(strings.Replace(string(quick), old, replacement, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	return withConfig(config)
}

// onStage is an agent with an endpoint of its own that has claimed a todo. One endpoint for each keeps the limiter and
// what an earlier recording taught out of the way.
type onStage struct {
	vended
	todo, trace string
}

func (s *stage) worker(t *testing.T, name string) onStage {
	t.Helper()
	w := onStage{vended: s.vend(strings.ReplaceAll(name, ".", "-"))}
	w.todo = s.push(w.vended, "one small task")
	claim := must[claimed](t, agent(t, w.vended), "claim", map[string]any{"id": w.todo})
	trace := traceOf(t, claim.Traceparent)
	w.trace = hex.EncodeToString(trace[:])
	return w
}

// post wants an answer of 200 that refuses nothing, and returns it.
func (w onStage) post(t *testing.T, contentType string, body []byte) string {
	t.Helper()
	res := request(t, http.MethodPost, w.OTLPURL+"/v1/traces", body, "Authorization", "Bearer "+w.Token, "Content-Type", contentType)
	if res.status != http.StatusOK || strings.Contains(res.body, "rejected") {
		t.Fatalf("%d %s", res.status, res.body)
	}
	return res.body
}

// recordedFile is the text of each request of a recording.
type recordedFile [][]byte

func recordingPath(file string) string {
	return filepath.Join(root, "app", "dialect", "testdata", "recordings", file)
}

func recordingOf(t *testing.T, name string) recordedFile {
	t.Helper()
	body, err := os.ReadFile(recordingPath(name + ".otlp.json"))
	if err != nil {
		body = gunzipped(t, recordingPath(name+".otlp.json.gz"))
	}
	if body[0] != '[' {
		return recordedFile{body}
	}
	var list []json.RawMessage
	if err := json.Unmarshal(body, &list); err != nil {
		t.Fatal(err)
	}
	var file recordedFile
	for _, one := range list {
		file = append(file, one)
	}
	return file
}

func gunzipped(t *testing.T, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

var (
	todoValue  = regexp.MustCompile(`("key":\s*"switchboard\.todo\.id",\s*"value":\s*\{\s*"stringValue":\s*)"[^"]*"`)
	mintedText = []byte("11111111222222223333333344444444")
	mintedSDKs = []byte("0af7651916cd43dd8448eb211c80319c")
	resources  = regexp.MustCompile(`("resource":\s*\{\s*"attributes":\s*\[)(\s*\]?)`)
)

// claimedBy puts a claim's ids in the place of the recorded ones and leaves everything else as it was sent.
func (f recordedFile) claimedBy(w onStage) (bodies [][]byte) {
	for _, body := range f {
		body = todoValue.ReplaceAll(body, []byte(`${1}"`+w.todo+`"`))
		body = bytes.ReplaceAll(body, mintedText, []byte(w.trace))
		bodies = append(bodies, bytes.ReplaceAll(body, mintedSDKs, []byte(w.trace)))
	}
	return bodies
}

// withResource adds the attribute to each resource, as the guide has these SDKs do it in code.
func (f recordedFile) withResource(todo string) (changed recordedFile) {
	attribute := `{"key":"switchboard.todo.id","value":{"stringValue":"` + todo + `"}}`
	for _, body := range f {
		changed = append(changed, resources.ReplaceAllFunc(body, func(at []byte) []byte {
			opening, rest := resources.FindSubmatch(at)[1], resources.FindSubmatch(at)[2]
			separator := ","
			if bytes.HasSuffix(rest, []byte("]")) {
				separator = ""
			}
			return slices.Concat(opening, []byte(attribute+separator), rest)
		}))
	}
	return changed
}

func protobufClaimedBy(t *testing.T, w onStage, body []byte) []byte {
	t.Helper()
	r := ptraceotlp.NewExportRequest()
	if err := r.UnmarshalProto(body); err != nil {
		t.Fatal(err)
	}
	for _, resource := range r.Traces().ResourceSpans().All() {
		resource.Resource().Attributes().PutStr("switchboard.todo.id", w.todo)
		for _, scope := range resource.ScopeSpans().All() {
			for _, span := range scope.Spans().All() {
				if id := span.TraceID(); id.String() == string(mintedSDKs) {
					trace, _ := hex.DecodeString(w.trace)
					span.SetTraceID([16]byte(trace))
				}
				if _, own := span.Attributes().Get("switchboard.todo.id"); own {
					span.Attributes().PutStr("switchboard.todo.id", w.todo)
				}
			}
		}
	}
	return protobuf(t, r.Traces())
}
