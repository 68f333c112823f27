package switchboardreceiver

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/switchboard-otel/switchboard/receiver/switchboardreceiver/internal/metadata"
)

// twoOwners is a host with two switchboard extensions.
type twoOwners struct{ *fakeOwner }

func (o twoOwners) GetExtensions() map[component.ID]component.Component {
	all := maps.Clone(o.fakeOwner.GetExtensions())
	all[component.MustNewIDWithName("switchboard", "2")] = o.fakeOwner
	return all
}

func TestStart_WithoutExactlyOneOwnerSaysHowToFixTheYAML(t *testing.T) {
	for want, host := range map[string]component.Host{
		"add switchboard to service::extensions": componenttest.NewNopHost(),
		"keep one of them":                       twoOwners{newFakeOwner(t)},
	} {
		r, err := NewFactory().CreateTraces(t.Context(), receivertest.NewNopSettings(metadata.Type), createDefaultConfig(), consumertest.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Start(t.Context(), host); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
		if err := r.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestStart_MountsBelowOTLPAndShutdownUnmounts(t *testing.T) {
	owner := newFakeOwner(t)
	b := start(t, owner, sink(storeAll))
	if owner.mountedAt != "/otlp/" {
		t.Errorf("mounted at %q", owner.mountedAt)
	}
	if err := b.receiver.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if owner.mounted.Load() != nil {
		t.Error("still mounted after Shutdown")
	}
}

// held is a pipeline that holds each request until it is let go.
type held struct{ arrived, letGo chan struct{} }

func newHeld() held { return held{make(chan struct{}), make(chan struct{})} }

func (h held) consume(ctx context.Context, td ptrace.Traces) error {
	h.arrived <- struct{}{}
	<-h.letGo
	return storeAll(ctx, td)
}

// A request that was let in is answered with the truth before the pipeline may stop; one that comes later is told to
// come back (decisions.md 50).
func TestShutdown_DrainsRequestsInFlightAndTurnsAwayNewOnes(t *testing.T) {
	pipeline := newHeld()
	b := start(t, newFakeOwner(t), sink(pipeline.consume))
	mounted := *b.owner.mounted.Load()

	answered := make(chan *http.Response, 1)
	go func() { answered <- b.do(post(tracesPath, "application/json", jsonOf(1))) }()
	<-pipeline.arrived

	stopped := make(chan error, 1)
	go func() { stopped <- b.receiver.Shutdown(context.Background()) }()
	<-b.owner.unmounted
	w := httptest.NewRecorder()
	mounted.ServeHTTP(w, post(tracesPath, "application/json", jsonOf(1))) // routed here before it was unmounted
	late := w.Result()
	if late.StatusCode != http.StatusServiceUnavailable || late.Header.Get("Retry-After") != "1" {
		t.Errorf("a late request: %d, Retry-After %q", late.StatusCode, late.Header.Get("Retry-After"))
	}
	select {
	case err := <-stopped:
		t.Fatalf("Shutdown returned %v while a request was in flight", err)
	default:
	}
	close(pipeline.letGo)
	if got := (<-answered).StatusCode; got != http.StatusOK {
		t.Errorf("the request in flight: %d, want 200", got)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestShutdown_GivesUpWithItsContext(t *testing.T) {
	pipeline := newHeld()
	b := start(t, newFakeOwner(t), sink(pipeline.consume))
	answered := make(chan *http.Response, 1)
	go func() { answered <- b.do(post(tracesPath, "application/json", jsonOf(1))) }()
	<-pipeline.arrived
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.receiver.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown returned %v, want its context's error", err)
	}
	close(pipeline.letGo)
	<-answered
}

// With http in the YAML the receiver needs nothing of the extension's listener. The order of answers holds there too:
// confighttp must neither unpack nor refuse a body before the receiver has authenticated the request.
func TestOwnListener_AnswersLikeTheSharedOne(t *testing.T) {
	owner := newFakeOwner(t)
	cfg := createDefaultConfig().(*Config)
	cfg.HTTP = configoptional.Some(*cfg.HTTP.GetOrInsertDefault())
	cfg.HTTP.Get().NetAddr.Endpoint = freeAddress(t)
	set := receivertest.NewNopSettings(metadata.Type)
	r, err := NewFactory().CreateTraces(t.Context(), set, cfg, sink(storeAll))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	if owner.mounted.Load() != nil {
		t.Error("mounted on the extension's listener as well")
	}
	base := "http://" + cfg.HTTP.Get().NetAddr.Endpoint
	for name, tc := range map[string]struct {
		path, token, contentEncoding string
		body                         []byte
		want                         int
	}{
		"stored":             {tracesPath, tokenOfMyBot, "gzip", gzipOf(jsonOf(3)), 200},
		"careless path":      {"//otlp/my-bot//v1/traces/", tokenOfMyBot, "", jsonOf(3), 200},
		"unknown credential": {tracesPath, "sbk_unknown", "zstd", bytes.Repeat([]byte("x"), 100<<10), 401},
		"unknown encoding":   {tracesPath, tokenOfMyBot, "zstd", []byte("x"), 415},
		"not gzip":           {tracesPath, tokenOfMyBot, "gzip", []byte("x"), 400},
		"another path":       {"/v1/traces", tokenOfMyBot, "", jsonOf(3), 404},
	} {
		t.Run(name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+tc.path, bytes.NewReader(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Authorization", "Bearer "+tc.token)
			request.Header.Set("Content-Type", "application/json")
			request.Header.Set("Content-Encoding", tc.contentEncoding)
			response, err := http.DefaultTransport.RoundTrip(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if response.StatusCode != tc.want || response.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%d %s, want %d", response.StatusCode, response.Header.Get("Content-Type"), tc.want)
			}
		})
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	if err := r.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", cfg.HTTP.Get().NetAddr.Endpoint); err == nil {
		t.Error("still listening after Shutdown")
	}
}

func TestOwnListener_AnAddressInUseFailsTheStart(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	cfg := createDefaultConfig().(*Config)
	cfg.HTTP.GetOrInsertDefault().NetAddr.Endpoint = taken.Addr().String()
	r, err := NewFactory().CreateTraces(t.Context(), receivertest.NewNopSettings(metadata.Type), cfg, sink(storeAll))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(t.Context(), newFakeOwner(t)); err == nil {
		t.Error("started on an address in use")
	}
	if err := r.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
