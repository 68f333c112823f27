package e2e

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
)

// forwarder is somebody's own collector: a second process that knows nothing of Switchboard.
type forwarder struct {
	*collector
	otlp string // where it takes spans over HTTP
}

// forward starts a configuration of an agent's collector on free ports.
func forward(t *testing.T, options ...option) *forwarder {
	t.Helper()
	f := &forwarder{otlp: freeAddress(t)}
	f.collector = prepare(t, append(options, withArgs(
		"--set=receivers::otlp::protocols::http::endpoint="+f.otlp,
		"--set=receivers::otlp::protocols::grpc::endpoint="+freeAddress(t),
		"--set=service::telemetry::metrics::level=none"))...)
	f.launch()
	await(t, "the agent's collector to listen", func() error {
		select {
		case <-f.done:
			t.Fatalf("the agent's collector ended: %v\n%s", f.err, f.output)
		default:
		}
		conn, err := net.Dial("tcp", f.otlp)
		if err != nil {
			return err
		}
		return conn.Close()
	})
	return f
}

// to is the address that the shipped configuration leaves to whoever uses it.
func to(url string) option { return withArgs("--set=exporters::otlp_http::endpoint=" + url) }

// take hands the forwarder spans, which it acknowledges before it sends them on.
func (f *forwarder) take(traces ptrace.Traces) {
	f.t.Helper()
	if res := request(f.t, http.MethodPost, "http://"+f.otlp+"/v1/traces", protobuf(f.t, traces), "Content-Type", "application/x-protobuf"); res.status != http.StatusOK {
		f.t.Fatalf("the agent's collector answered %d %s", res.status, res.body)
	}
}

// awaitLog waits until the forwarder's log says something of an export.
func (f *forwarder) awaitLog(text string) {
	f.t.Helper()
	await(f.t, "the agent's collector to log "+text, func() error {
		if !strings.Contains(f.output.String(), text) {
			return errors.New(f.output.String())
		}
		return nil
	})
}

// witness stands between two processes and tells how each request was sent.
type witness struct {
	*httptest.Server
	seen chan exchange
}

type exchange struct {
	encoding string
	status   int
}

func watch(t *testing.T, target string) *witness {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{seen: make(chan exchange, 1000)}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ModifyResponse: func(res *http.Response) error {
			w.seen <- exchange{res.Request.Header.Get("Content-Encoding"), res.StatusCode}
			return nil
		},
	}
	w.Server = httptest.NewServer(proxy)
	t.Cleanup(w.Close)
	return w
}

// metric reads one figure of /metrics, by its name with its labels.
func (c *collector) metric(name string) int {
	c.t.Helper()
	res := request(c.t, http.MethodGet, c.url+"/metrics", nil, "Authorization", "Bearer "+metricsToken)
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\d+)$`).FindStringSubmatch(res.body)
	if found == nil {
		c.t.Fatalf("no %s in %d\n%s", name, res.status, res.body)
	}
	n, _ := strconv.Atoi(found[1])
	return n
}

const accepted = `switchboard_otlp_spans_total{result="accepted"}`

var measured = withEnv("SWITCHBOARD_METRICS_TOKEN=" + metricsToken)

// The shipped configuration splits what is larger than a request may be, and packs it.
func TestAgentCollector_ForwardsInPackedBatchesThatAreTaken(t *testing.T) {
	t.Parallel()
	c := start(t, measured)
	between := watch(t, c.url)
	v := c.vend("my bot")
	id := c.push(v, "bind me")
	claim := must[claimed](t, agent(t, v), "claim", map[string]any{"id": id})
	traces := manySpans(1500)
	for _, span := range traces.ResourceSpans().At(0).ScopeSpans().At(0).Spans().All() {
		span.SetTraceID(traceOf(t, claim.Traceparent))
	}

	f := forward(t, shipped("agent-collector.yaml"), to(between.URL+"/otlp/"+v.Slug), withEnv("SWITCHBOARD_CREDENTIAL="+v.Token))
	f.take(traces)
	for range 2 {
		if got := <-between.seen; got != (exchange{"gzip", http.StatusOK}) {
			t.Fatalf("a request was sent as %q and answered %d\n%s", got.encoding, got.status, f.output)
		}
	}
	if n := c.metric(accepted); n != 1500 {
		t.Errorf("%d spans were taken in two requests", n)
	}
	if n := len(c.trail(id).Spans); n != 1500 {
		t.Errorf("%d spans are stored", n)
	}
}

// What an outage of the database refuses comes again, whole and once, over both protocols.
func TestCollectors_SendAgainWhatAnOutageRefused(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"otlp_http", "otlp_grpc"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			db := outage{postgrestest.NewServer(t)}
			stock := freeAddress(t)
			c := start(t, measured, withConfig(here(t, "stock.yaml")), withEnv("STOCK_ADDR="+stock, "SWITCHBOARD_DATABASE_URL="+db.URL))
			v := c.vend("my bot")
			id := c.push(v, "bind me")
			way := []option{withConfig(here(t, "agent-grpc.yaml")), withEnv("STOCK_ADDR=" + stock)}
			if protocol == "otlp_http" {
				way = []option{shipped("agent-collector.yaml"), to(v.OTLPURL)}
			}
			f := forward(t, append(way, withEnv("SWITCHBOARD_CREDENTIAL="+v.Token))...)

			db.Stop(t)
			f.take(batch(pcommon.TraceID{7}, 200, id))
			f.awaitLog("Will retry the request after interval")
			db.Start(t)
			await(t, "every span to be taken", func() error {
				if n := c.metric(accepted); n != 200 {
					return fmt.Errorf("%d spans were taken\n%s", n, f.output)
				}
				return nil
			})
			if n := db.count(t, `SELECT count(*) FROM todo_spans`); n != 200 {
				t.Errorf("%d spans are stored", n)
			}
			if strings.Contains(f.output.String(), "Dropping data") {
				t.Errorf("the agent's collector dropped spans:\n%s", f.output)
			}
		})
	}
}

// outage is a database that a test stops under its collector.
type outage struct{ *postgrestest.Server }

func (o outage) count(t *testing.T, query string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), o.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if err := conn.QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func here(t *testing.T, file string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// decisions.md 15: a stock receiver feeds the same processors, for an endpoint that was granted heartbeat.
func TestStockReceiver_TakesSpansOverGRPCFromThoseWhoMay(t *testing.T) {
	t.Parallel()
	e := newExternal(t)
	stock := freeAddress(t)
	c := start(t, measured, withConfig(here(t, "stock.yaml")), withEnv("STOCK_ADDR="+stock, "SWITCHBOARD_DATABASE_URL="+e.url))
	granted, mute := e.vend(c, c), e.vend(c, c, identity.VerbClaim)
	for what, who := range map[string]struct {
		vended
		token, refused string
	}{
		"a granted endpoint":            {granted, granted.Token, ""},
		"an endpoint without heartbeat": {mute, mute.Token, "this endpoint was not granted heartbeat"},
		"nobody":                        {granted, "sbk_nobody", "a valid credential is needed"},
	} {
		id := e.push(who.vended, what)
		f := forward(t, withConfig(here(t, "agent-grpc.yaml")), withEnv("STOCK_ADDR="+stock, "SWITCHBOARD_CREDENTIAL="+who.token))
		traces := batch(pcommon.TraceID{7}, 3, id)
		batch(pcommon.TraceID{8}, 2, "").ResourceSpans().MoveAndAppendTo(traces.ResourceSpans())
		f.take(traces)
		if who.refused != "" {
			f.awaitLog(who.refused)
			f.awaitLog("Dropping data")
			if n := e.spans(id); n != 0 {
				t.Errorf("%s: %d spans are stored", what, n)
			}
			continue
		}
		await(t, "the spans to be stored", func() error {
			if n := e.spans(id); n != 3 {
				return fmt.Errorf("%d spans\n%s", n, f.output)
			}
			return nil
		})
		if n := c.metric(`switchboard_otlp_spans_total{result="rejected_unbound"}`); n != 2 {
			t.Errorf("%d spans are counted as unbound", n)
		}
	}
}
