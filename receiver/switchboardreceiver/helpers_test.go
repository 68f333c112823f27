package switchboardreceiver

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/ledger"
	"github.com/switchboard-otel/switchboard/app/ratelimit"
	"github.com/switchboard-otel/switchboard/app/settings"
	"github.com/switchboard-otel/switchboard/app/telemetry"
	"github.com/switchboard-otel/switchboard/app/typeid"
	"github.com/switchboard-otel/switchboard/receiver/switchboardreceiver/internal/metadata"
)

const (
	tokenOfMyBot  = "sbk_the-token-of-my-bot"
	tokenOfMute   = "sbk_the-token-of-mute-bot"
	tokenOfOthers = "sbk_the-token-of-other-bot"
	tracesPath    = "/otlp/my-bot/v1/traces"
)

// fakeOwner stands for the extension, whose own parts are tested with it.
type fakeOwner struct {
	component.Component
	disabled       atomic.Bool
	authentication error // the store's failure, nil when it works
	endpoints      map[string]*identity.Endpoint
	reader         *settings.Reader
	preAuth        *ratelimit.Limiter
	perEndpoint    *ratelimit.Limiter
	registry       *telemetry.Metrics
	mounted        atomic.Pointer[http.Handler]
	unmounted      chan struct{} // closed by the first unmount
	mountedAt      string
}

func newFakeOwner(t testing.TB) *fakeOwner {
	t.Helper()
	// A pool that is closed lets the reader answer with the defaults.
	pool, err := pgxpool.New(context.Background(), "postgres://127.0.0.1:1/none")
	if err != nil {
		t.Fatal(err)
	}
	pool.Close()
	endpoint := func(slug string, verbs ...string) *identity.Endpoint {
		return &identity.Endpoint{ID: typeid.New(), Slug: slug, Verbs: verbs}
	}
	return &fakeOwner{
		endpoints: map[string]*identity.Endpoint{
			tokenOfMyBot:  endpoint("my-bot", identity.DrainVerbs...),
			tokenOfMute:   endpoint("mute-bot", identity.VerbClaim),
			tokenOfOthers: endpoint("other-bot", identity.DrainVerbs...),
		},
		reader:      settings.NewReader(pool, zap.NewNop()),
		preAuth:     ratelimit.New(1e6, 1e6),
		perEndpoint: ratelimit.New(1e6, 1e6),
		registry:    telemetry.New(),
		unmounted:   make(chan struct{}),
	}
}

func (o *fakeOwner) ResolveCredential(_ context.Context, token string) (*identity.Endpoint, error) {
	if o.authentication != nil {
		return nil, o.authentication
	}
	if endpoint, ok := o.endpoints[token]; ok {
		return endpoint, nil
	}
	return nil, identity.ErrUnauthenticated
}

func (o *fakeOwner) OTLPEnabled() bool             { return !o.disabled.Load() }
func (o *fakeOwner) Settings() *settings.Reader    { return o.reader }
func (o *fakeOwner) Telemetry() *telemetry.Metrics { return o.registry }

func (o *fakeOwner) OTLPLimiters() (preAuth, perEndpoint *ratelimit.Limiter) {
	return o.preAuth, o.perEndpoint
}

func (o *fakeOwner) ClientAddress(*http.Request) string { return "192.0.2.7" }

func (o *fakeOwner) Mount(prefix string, h http.Handler) (unmount func()) {
	o.mountedAt = prefix
	o.mounted.Store(&h)
	return func() {
		o.mounted.Store(nil)
		close(o.unmounted)
	}
}

func (o *fakeOwner) GetExtensions() map[component.ID]component.Component {
	return map[component.ID]component.Component{
		component.MustNewID("switchboard"): o,
		component.MustNewID("zpages"):      componentOnly{},
	}
}

type componentOnly struct{ component.Component }

// sink is the pipeline: a function that acts on the ledger as our stages do.
type sink func(context.Context, ptrace.Traces) error

func (sink) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (s sink) ConsumeTraces(ctx context.Context, td ptrace.Traces) error { return s(ctx, td) }

// storeAll is a pipeline that stores every span.
func storeAll(ctx context.Context, td ptrace.Traces) error {
	ledger.FromContext(ctx).Commit(ledger.Outcome{Stored: td.SpanCount()})
	return nil
}

// copyTo is a pipeline that stores every span and keeps a copy of what it got.
func copyTo(got ptrace.Traces) sink {
	return func(ctx context.Context, td ptrace.Traces) error {
		td.CopyTo(got)
		return storeAll(ctx, td)
	}
}

// untouched is a pipeline that must not be reached.
func untouched(t testing.TB) sink {
	return func(context.Context, ptrace.Traces) error {
		t.Error("the pipeline got spans")
		return nil
	}
}

// bench is a started receiver with what surrounds it.
type bench struct {
	owner    *fakeOwner
	receiver *tracesReceiver
	log      *observer.ObservedLogs
}

// start starts a receiver on the owner's listener.
func start(t testing.TB, owner *fakeOwner, next consumer.Traces) *bench {
	t.Helper()
	b := &bench{owner: owner}
	core, log := observer.New(zap.DebugLevel)
	b.log = log
	set := receivertest.NewNopSettings(metadata.Type)
	set.Logger = zap.New(core)
	var err error
	b.receiver, err = newReceiver(createDefaultConfig().(*Config), set, next)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.receiver.Start(context.Background(), owner); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.receiver.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return b
}

func (b *bench) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	(*b.owner.mounted.Load()).ServeHTTP(w, r)
}

func (b *bench) do(r *http.Request) *http.Response {
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	return w.Result()
}

// post makes a request as my-bot's exporter would send it.
func post(path, contentType string, body []byte) *http.Request {
	r := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Authorization", "Bearer "+tokenOfMyBot)
	return r
}

func bodyOf(t testing.TB, response *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// exportOf is a request of n valid spans.
func exportOf(n int) ptraceotlp.ExportRequest {
	td := ptrace.NewTraces()
	spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	for i := range n {
		span := spans.AppendEmpty()
		span.SetTraceID(pcommon.TraceID{1, byte(i >> 8), byte(i)})
		span.SetSpanID(pcommon.SpanID{2, byte(i >> 8), byte(i)})
		span.SetName("chat")
		span.SetStartTimestamp(pcommon.NewTimestampFromTime(time.Unix(1_790_000_000, 0)))
		span.SetEndTimestamp(pcommon.NewTimestampFromTime(time.Unix(1_790_000_001, 0)))
	}
	return ptraceotlp.NewExportRequestFromTraces(td)
}

func protobufOf(n int) []byte { return must(exportOf(n).MarshalProto()) }
func jsonOf(n int) []byte     { return must(exportOf(n).MarshalJSON()) }

func gzipOf(b []byte) []byte {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(b)
	_ = w.Close()
	return packed.Bytes()
}

var _ component.Host = (*fakeOwner)(nil)
