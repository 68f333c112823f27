package switchboardreceiver

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/switchboard-otel/switchboard/app/ledger"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// settle is a pipeline that does this to the ledger and returns err.
func settle(err error, do ...func(*ledger.Ledger)) sink {
	return func(ctx context.Context, _ ptrace.Traces) error {
		for _, step := range do {
			step(ledger.FromContext(ctx))
		}
		return err
	}
}

func commit(stored int, rejected map[ledger.Reason]int) func(*ledger.Ledger) {
	return func(l *ledger.Ledger) { l.Commit(ledger.Outcome{Stored: stored, Rejected: rejected}) }
}

func reject(reason ledger.Reason, n int) func(*ledger.Ledger) {
	return func(l *ledger.Ledger) { l.Reject(reason, n) }
}

func twins(n int) func(*ledger.Ledger) { return func(l *ledger.Ledger) { l.Twin(n) } }

func filter(n int) func(*ledger.Ledger) { return func(l *ledger.Ledger) { l.Filter(n) } }

// Ten spans go in; what the pipeline says of them comes out, byte for byte, in both encodings (REQ-8; decisions.md 12
// and 13).
func TestAnswer_TellsTheLedger(t *testing.T) {
	const (
		partly   = `{"partialSuccess":{`
		filtered = partly + `"errorMessage":"some spans were filtered by this server's configuration"}}`
		away     = `{"code":14,"message":"the spans cannot be stored at this moment; send them again"}`
		broken   = `{"code":13,"message":"something went wrong on the server; its log has the request id"}`
	)
	failed := errors.New("connection refused")
	for name, tc := range map[string]struct {
		pipeline                                  sink
		status                                    int
		asJSON, asProtobuf                        string
		accepted, unbound, cap, invalid, filtered float64
	}{
		"all stored":                   {pipeline: settle(nil, commit(10, nil)), status: 200, asJSON: "{}", accepted: 10},
		"none bound":                   {pipeline: settle(nil, reject(ledger.Unbound, 10), commit(0, nil)), status: 200, asJSON: partly + `"rejectedSpans":"10","errorMessage":"rejected spans: unbound"}}`, asProtobuf: "\x0a\x1b\x12\x17rejected spans: unbound\x08\x0a", unbound: 10},
		"every reason, in its order":   {pipeline: settle(nil, reject(ledger.Invalid, 3), reject(ledger.Unbound, 1), commit(4, map[ledger.Reason]int{ledger.Cap: 2})), status: 200, asJSON: partly + `"rejectedSpans":"6","errorMessage":"rejected spans: unbound, cap, invalid"}}`, asProtobuf: "\x0a\x29\x12\x25rejected spans: unbound, cap, invalid\x08\x06", accepted: 4, unbound: 1, cap: 2, invalid: 3},
		"two reasons":                  {pipeline: settle(nil, reject(ledger.Invalid, 1), commit(8, map[ledger.Reason]int{ledger.Cap: 1})), status: 200, asJSON: partly + `"rejectedSpans":"2","errorMessage":"rejected spans: cap, invalid"}}`, accepted: 8, cap: 1, invalid: 1},
		"some filtered":                {pipeline: settle(nil, filter(4), commit(6, nil)), status: 200, asJSON: filtered, asProtobuf: "\x0a\x39\x12\x37some spans were filtered by this server's configuration", accepted: 6, filtered: 4},
		"some unaccounted for":         {pipeline: settle(nil, commit(6, nil)), status: 200, asJSON: filtered, accepted: 6, filtered: 4},
		"accounted for by twins":       {pipeline: settle(nil, twins(2), reject(ledger.Unbound, 1), commit(4, map[ledger.Reason]int{ledger.Cap: 1}), twins(2)), status: 200, asJSON: partly + `"rejectedSpans":"2","errorMessage":"rejected spans: unbound, cap"}}`, accepted: 4, unbound: 1, cap: 1},
		"all filtered, no commit":      {pipeline: settle(nil), status: 200, asJSON: filtered, filtered: 10},
		"filtered and rejected":        {pipeline: settle(nil, reject(ledger.Unbound, 1), commit(2, nil)), status: 200, asJSON: partly + `"rejectedSpans":"1","errorMessage":"rejected spans: unbound"}}`, accepted: 2, unbound: 1, filtered: 7},
		"rejected, rest dropped":       {pipeline: settle(nil, reject(ledger.Unbound, 10)), status: 200, asJSON: partly + `"rejectedSpans":"10","errorMessage":"rejected spans: unbound"}}`, unbound: 10},
		"committed, another one fails": {pipeline: settle(failed, commit(10, nil)), status: 200, asJSON: "{}", accepted: 10},
		"failed":                       {pipeline: settle(failed), status: 503, asJSON: away},
		"failed after a rejection":     {pipeline: settle(failed, reject(ledger.Unbound, 1)), status: 503, asJSON: away},
		"cancelled":                    {pipeline: settle(context.Canceled), status: 503, asJSON: away},
		"refused for good":             {pipeline: settle(consumererror.NewPermanent(failed)), status: 500, asJSON: broken},
		"away, another one refuses":    {pipeline: settle(errors.Join(failed, consumererror.NewPermanent(failed)), (*ledger.Ledger).Unavailable), status: 503, asJSON: away},
	} {
		t.Run(name, func(t *testing.T) {
			owner := newFakeOwner(t)
			response := start(t, owner, tc.pipeline).do(post(tracesPath, "application/json", jsonOf(10)))
			if got := bodyOf(t, response); response.StatusCode != tc.status || got != tc.asJSON {
				t.Errorf("%d %s\nwant %d %s", response.StatusCode, got, tc.status, tc.asJSON)
			}
			if got := response.Header.Get("Content-Type"); got != "application/json" {
				t.Errorf("content type %q", got)
			}
			for result, want := range map[string]float64{"accepted": tc.accepted, "rejected_unbound": tc.unbound, "rejected_cap": tc.cap, "rejected_invalid": tc.invalid} {
				if got := series(t, owner, `switchboard_otlp_spans_total{result="`+result+`"}`); got != want {
					t.Errorf("%s: %v, want %v", result, got, want)
				}
			}
			if got := series(t, owner, "switchboard_otlp_spans_filtered_total"); got != tc.filtered {
				t.Errorf("filtered: %v, want %v", got, tc.filtered)
			}

			response = start(t, newFakeOwner(t), tc.pipeline).do(post(tracesPath, "application/x-protobuf", protobufOf(10)))
			if got := response.Header.Get("Content-Type"); response.StatusCode != tc.status || got != "application/x-protobuf" {
				t.Errorf("%d %q in protobuf", response.StatusCode, got)
			}
			got := bodyOf(t, response)
			if tc.asProtobuf != "" && got != tc.asProtobuf || tc.asJSON == "{}" && got != "" {
				t.Errorf("protobuf %q, want %q", got, tc.asProtobuf)
			}
		})
	}
}

// decisions.md 3 and 10: what may be over in a moment says when to come back.
func TestUnavailable_SaysWhenToComeBack(t *testing.T) {
	response := start(t, newFakeOwner(t), settle(errors.New("x"))).do(post(tracesPath, "application/json", jsonOf(1)))
	if got := response.Header.Get("Retry-After"); got != "1" {
		t.Errorf("Retry-After %q, want 1", got)
	}
}

// decisions.md 2: an error is a google.rpc.Status in the request's encoding, in JSON where that cannot be known.
func TestErrors_AreAStatusInTheRequestsEncoding(t *testing.T) {
	for _, f := range faultsInOrder {
		t.Run(f.name, func(t *testing.T) {
			owner, request := newFakeOwner(t), post(tracesPath, "application/x-protobuf", protobufOf(1))
			f.apply(owner, request)
			knownEncoding := request.Header.Get("Content-Type") == "application/x-protobuf"
			response := start(t, owner, untouched(t)).do(request)
			body := bodyOf(t, response)
			if !knownEncoding {
				if want := `{"code":3,"message":"the content type must be application/x-protobuf or application/json"}`; body != want {
					t.Errorf("%s, want %s", body, want)
				}
				return
			}
			var got status.Status
			if err := proto.Unmarshal([]byte(body), &got); err != nil || got.GetCode() == 0 || got.GetMessage() == "" {
				t.Errorf("%q is no status: %v", body, err)
			}
			if got := response.Header.Get("Content-Type"); got != "application/x-protobuf" {
				t.Errorf("content type %q", got)
			}
		})
	}
}

func TestErrors_GoldenBytes(t *testing.T) {
	b := start(t, newFakeOwner(t), untouched(t))
	if got, want := bodyOf(t, b.do(post(tracesPath, "application/x-protobuf", []byte{0xff}))), "\x08\x03\x12\x12otlp-decode-failed"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	want := `{"code":3,"message":"a request may hold 1000 spans; set OTEL_BSP_MAX_EXPORT_BATCH_SIZE, or a collector's send_batch_max_size, to that or less"}`
	if got := bodyOf(t, b.do(post(tracesPath, "application/json", jsonOf(1001)))); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestZeroSpans_AreAnsweredBeforeThePipeline(t *testing.T) {
	b := start(t, newFakeOwner(t), untouched(t))
	response := b.do(post(tracesPath, "application/x-protobuf", nil))
	if got := bodyOf(t, response); response.StatusCode != http.StatusOK || got != "" || response.Header.Get("Content-Type") != "application/x-protobuf" {
		t.Errorf("%d %q", response.StatusCode, got)
	}
}

// decisions.md 4 and 50: the other signals are counted, told that they are not stored, and never refused for being what
// they are.
func TestLogsAndMetrics_AreRejectedInAPartialSuccess(t *testing.T) {
	records := plog.NewLogs()
	record := records.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	record.AppendEmpty().Body().SetStr("hello")
	record.AppendEmpty()
	points := pmetric.NewMetrics()
	points.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty().SetEmptySum().DataPoints().AppendEmpty().SetIntValue(7)
	logRequest, metricRequest := plogotlp.NewExportRequestFromLogs(records), pmetricotlp.NewExportRequestFromMetrics(points)

	b := start(t, newFakeOwner(t), untouched(t))
	for _, tc := range []struct {
		path, contentType string
		body              []byte
		status            int
		want              string
	}{
		{"logs", "application/json", must(logRequest.MarshalJSON()), 200, `{"partialSuccess":{"rejectedLogRecords":"2","errorMessage":"only traces are stored here"}}`},
		{"logs", "application/x-protobuf", must(logRequest.MarshalProto()), 200, "\x0a\x1f\x12\x1bonly traces are stored here\x08\x02"},
		{"logs", "application/json", []byte("{}"), 200, "{}"},
		{"logs", "application/x-protobuf", nil, 200, ""},
		{"logs", "application/json", []byte(`{"resourceLogs":7}`), 400, `{"code":3,"message":"otlp-decode-failed"}`},
		{"metrics", "application/json", must(metricRequest.MarshalJSON()), 200, `{"partialSuccess":{"rejectedDataPoints":"1","errorMessage":"only traces are stored here"}}`},
		{"metrics", "application/x-protobuf", must(metricRequest.MarshalProto()), 200, "\x0a\x1f\x12\x1bonly traces are stored here\x08\x01"},
		{"metrics", "application/json", []byte("{}"), 200, "{}"},
		{"metrics", "application/x-protobuf", []byte{0xff}, 400, "\x08\x03\x12\x12otlp-decode-failed"},
		{"metrics", "application/json", make([]byte, defaultCap+1), 413, `{"code":3,"message":"the request is too large; set a smaller batch size in the exporter"}`},
	} {
		response := b.do(post("/otlp/my-bot/v1/"+tc.path, tc.contentType, tc.body))
		if got := bodyOf(t, response); response.StatusCode != tc.status || got != tc.want {
			t.Errorf("%s in %s: %d %q, want %d %q", tc.path, tc.contentType, response.StatusCode, got, tc.status, tc.want)
		}
	}
}

// decisions.md 15: the stages find the endpoint where the stock receivers put it, and the client's address beside it.
func TestPipeline_GetsTheEndpointsIdentity(t *testing.T) {
	owner := newFakeOwner(t)
	var info client.Info
	b := start(t, owner, sink(func(ctx context.Context, td ptrace.Traces) error {
		info = client.FromContext(ctx)
		return storeAll(ctx, td)
	}))
	b.do(post(tracesPath, "application/json", jsonOf(1)))
	if got, want := info.Auth.GetAttribute("switchboard.endpoint.id"), typeid.Endpoint.Format(owner.endpoints[tokenOfMyBot].ID); got != want {
		t.Errorf("endpoint %v, want %v", got, want)
	}
	if got := info.Addr.String(); got != "192.0.2.7" {
		t.Errorf("address %s", got)
	}
}

// REQ-1: the path may name the endpoint by its id as well.
func TestEndpoint_MayBeNamedByItsID(t *testing.T) {
	owner := newFakeOwner(t)
	path := "/otlp/" + typeid.Endpoint.Format(owner.endpoints[tokenOfMyBot].ID) + "/v1/traces"
	if got := start(t, owner, sink(storeAll)).do(post(path, "application/json", jsonOf(1))).StatusCode; got != http.StatusOK {
		t.Errorf("status %d, want 200", got)
	}
}
