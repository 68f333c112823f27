package switchboardreceiver

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/switchboard-otel/switchboard/app/ratelimit"
)

// fault is one thing that is wrong with a request or a server.
type fault struct {
	name    string
	owner   func(*fakeOwner)
	request func(*http.Request)
	status  int
}

func (f fault) apply(o *fakeOwner, r *http.Request) {
	if f.owner != nil {
		f.owner(o)
	}
	if f.request != nil {
		f.request(r)
	}
}

func exhausted() *ratelimit.Limiter { return ratelimit.New(1, 0) }

// faultsInOrder are the faults of decisions.md 1, the first to be answered first.
var faultsInOrder = []fault{
	{
		name:   "otlp is off",
		owner:  func(o *fakeOwner) { o.disabled.Store(true) },
		status: http.StatusNotFound,
	}, {
		name:   "the address is over its limit",
		owner:  func(o *fakeOwner) { o.preAuth = exhausted() },
		status: http.StatusTooManyRequests,
	}, {
		name:    "no credential",
		request: func(r *http.Request) { r.Header.Del("Authorization") },
		status:  http.StatusUnauthorized,
	}, {
		name:    "another endpoint's path",
		request: func(r *http.Request) { r.URL.Path = "/otlp/other-bot/v1/traces" },
		status:  http.StatusForbidden,
	}, {
		name:   "heartbeat is not granted",
		owner:  func(o *fakeOwner) { o.endpoints[tokenOfMyBot].Verbs = []string{"claim"} },
		status: http.StatusForbidden,
	}, {
		name:    "the method is not POST",
		request: func(r *http.Request) { r.Method = http.MethodGet },
		status:  http.StatusMethodNotAllowed,
	}, {
		name:   "the endpoint is over its limit",
		owner:  func(o *fakeOwner) { o.perEndpoint = exhausted() },
		status: http.StatusTooManyRequests,
	}, {
		name:    "the content type is not OTLP",
		request: func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") },
		status:  http.StatusUnsupportedMediaType,
	}, {
		name:    "the content encoding is not gzip",
		request: func(r *http.Request) { r.Header.Set("Content-Encoding", "zstd") },
		status:  http.StatusUnsupportedMediaType,
	}, {
		name:    "the body is over the cap",
		request: func(r *http.Request) { setBody(r, bytes.Repeat([]byte{0xff}, 4<<20+1)) },
		status:  http.StatusRequestEntityTooLarge,
	}, {
		name:    "the body is no OTLP",
		request: func(r *http.Request) { setBody(r, []byte("\xffno otlp")) },
		status:  http.StatusBadRequest,
	},
}

func setBody(r *http.Request, body []byte) {
	fresh := post(r.URL.Path, r.Header.Get("Content-Type"), body)
	r.Body, r.ContentLength = fresh.Body, fresh.ContentLength
}

// Everything that is wrong from one fault on is wrong at once, and the first fault alone decides the answer.
func TestOrderOfAnswers_TheFirstFaultDecides(t *testing.T) {
	for i, first := range faultsInOrder {
		t.Run(first.name, func(t *testing.T) {
			owner := newFakeOwner(t)
			request := post(tracesPath, "application/x-protobuf", nil)
			// The latest fault is applied first, so that an earlier one is what stays where two touch the same thing.
			for _, f := range slices.Backward(faultsInOrder[i:]) {
				f.apply(owner, request)
			}
			if got := start(t, owner, untouched(t)).do(request).StatusCode; got != first.status {
				t.Errorf("status %d, want %d", got, first.status)
			}
		})
	}
}

// REQ-24's table, with the answers of decisions.md 3 for the store.
func TestStatuses_EachCauseAloneHasItsStatus(t *testing.T) {
	fails := func(err error) sink {
		return func(context.Context, ptrace.Traces) error { return err }
	}
	type row struct {
		fault
		pipeline sink
	}
	rows := []row{
		{fault{name: "stored", status: 200}, storeAll},
		{fault{name: "the pipeline failed", status: 503}, fails(errors.New("connection refused"))},
		{fault{name: "the store refused a statement", status: 500}, fails(consumererror.NewPermanent(errors.New("constraint")))},
		{fault{
			name:   "the store is away in authentication",
			owner:  func(o *fakeOwner) { o.authentication = &pgconn.ConnectError{} },
			status: 503,
		}, untouched(t)},
		{fault{
			name:   "the store refused a statement in authentication",
			owner:  func(o *fakeOwner) { o.authentication = &pgconn.PgError{Code: "42P01"} },
			status: 500,
		}, untouched(t)},
		{fault{
			name:    "too many spans",
			request: func(r *http.Request) { setBody(r, protobufOf(1001)) },
			status:  400,
		}, untouched(t)},
	}
	for _, f := range faultsInOrder {
		rows = append(rows, row{f, untouched(t)})
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			owner, request := newFakeOwner(t), post(tracesPath, "application/x-protobuf", protobufOf(3))
			row.apply(owner, request)
			if got := start(t, owner, row.pipeline).do(request).StatusCode; got != row.status {
				t.Errorf("status %d, want %d", got, row.status)
			}
			if got := scrapeCode(t, owner, row.status); got != 1 {
				t.Errorf("switchboard_otlp_requests_total counts %v requests of %d, want 1", got, row.status)
			}
		})
	}
}

func TestEveryAnswer_IsNotSniffedNotCachedNotRedirectedAndHasARequestID(t *testing.T) {
	for _, f := range append([]fault{{name: "stored", status: 200}}, faultsInOrder...) {
		t.Run(f.name, func(t *testing.T) {
			owner := newFakeOwner(t)
			request := post(tracesPath, "application/json", jsonOf(1))
			request.Header.Set("Origin", "https://example.com")
			f.apply(owner, request)
			h := start(t, owner, sink(storeAll)).do(request).Header
			if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-store" {
				t.Errorf("security headers are missing: %v", h)
			}
			if len(h.Get("X-Request-Id")) < 16 {
				t.Errorf("request id %q", h.Get("X-Request-Id"))
			}
			for name := range maps.Keys(h) {
				if strings.HasPrefix(name, "Access-Control-") || name == "Location" || name == "Set-Cookie" || name == "Content-Encoding" {
					t.Errorf("unwanted header %s", name)
				}
			}
		})
	}
}

func TestRefusals_SayWhatTheirStatusNeeds(t *testing.T) {
	for name, want := range map[string][2]string{
		"the method is not POST":           {"Allow", "POST"},
		"no credential":                    {"WWW-Authenticate", "Bearer"},
		"the address is over its limit":    {"Retry-After", "5"},
		"the endpoint is over its limit":   {"Retry-After", "5"},
		"the content encoding is not gzip": {"Accept-Encoding", "gzip"},
	} {
		t.Run(name, func(t *testing.T) {
			f := faultsInOrder[slices.IndexFunc(faultsInOrder, func(f fault) bool { return f.name == name })]
			owner := newFakeOwner(t)
			request := post(tracesPath, "application/x-protobuf", protobufOf(1))
			f.apply(owner, request)
			if got := start(t, owner, untouched(t)).do(request).Header.Get(want[0]); got != want[1] {
				t.Errorf("%s: %q, want %q", want[0], got, want[1])
			}
		})
	}
}

// With OTLP off, nothing tells this server from one that has no such route, whoever asks and however.
func TestDisabled_IsTheSame404ForEveryMethodAndCaller(t *testing.T) {
	owner := newFakeOwner(t)
	owner.disabled.Store(true)
	b := start(t, owner, untouched(t))
	want := bodyOf(t, b.do(post(tracesPath, "application/json", jsonOf(1))))
	for _, method := range []string{"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"} {
		r := post(tracesPath, "application/json", nil)
		r.Method = method
		r.Header.Del("Authorization")
		response := b.do(r)
		if response.StatusCode != http.StatusNotFound || bodyOf(t, response) != want {
			t.Errorf("%s: %d", method, response.StatusCode)
		}
	}
}

func TestCookies_DoNotAuthenticate(t *testing.T) {
	r := post(tracesPath, "application/json", jsonOf(1))
	r.Header.Del("Authorization")
	r.AddCookie(&http.Cookie{Name: "session", Value: tokenOfMyBot})
	if got := start(t, newFakeOwner(t), untouched(t)).do(r).StatusCode; got != http.StatusUnauthorized {
		t.Errorf("status %d, want 401", got)
	}
}

// REQ-1: who has no valid credential learns nothing, not even which way it is invalid.
func TestUnauthenticated_AnswersAreByteIdentical(t *testing.T) {
	b := start(t, newFakeOwner(t), untouched(t))
	for _, contentType := range []string{"application/json", "application/x-protobuf"} {
		var want string
		for i, r := range []func(*http.Request){
			func(r *http.Request) { r.Header.Del("Authorization") },
			func(r *http.Request) { r.Header.Set("Authorization", "") },
			func(r *http.Request) { r.Header.Set("Authorization", "Bearer") },
			func(r *http.Request) { r.Header.Set("Authorization", "Bearer ") },
			func(r *http.Request) { r.Header.Set("Authorization", "Bearer sbk_unknown") },
			func(r *http.Request) { r.Header.Set("Authorization", "Basic "+tokenOfMyBot) },
			func(r *http.Request) { r.Header.Add("Authorization", "Bearer "+tokenOfMyBot) },
			func(r *http.Request) {
				r.Header.Del("Authorization")
				r.URL.Path = "/otlp/no-such-bot/v1/traces"
			},
			func(r *http.Request) { r.Header.Del("Authorization"); r.URL.Path = "/otlp/" },
		} {
			request := post(tracesPath, contentType, nil)
			r(request)
			response := b.do(request)
			response.Header.Del("X-Request-Id")
			got := response.Status + headerText(response.Header) + bodyOf(t, response)
			if i == 0 {
				want = got
			}
			if got != want || response.StatusCode != http.StatusUnauthorized {
				t.Errorf("answer %d is %q, want %q", i, got, want)
			}
		}
	}
}

// A foreign endpoint and one that does not exist are the same to a credential.
func TestForeignAndUnknownEndpoints_AnswersAreByteIdentical(t *testing.T) {
	owner := newFakeOwner(t)
	b := start(t, owner, untouched(t))
	foreign := owner.endpoints[tokenOfOthers]
	want := ""
	for _, name := range []string{"other-bot", "no-such-bot", "ep_00000000000000000000000000", foreign.ID.String()} {
		response := b.do(post("/otlp/"+name+"/v1/traces", "application/json", jsonOf(1)))
		got := bodyOf(t, response)
		if want == "" {
			want = got
		}
		if response.StatusCode != http.StatusForbidden || got != want {
			t.Errorf("%s: %d %q", name, response.StatusCode, got)
		}
	}
}

func headerText(h http.Header) string {
	var text bytes.Buffer
	_ = h.Write(&text)
	return text.String()
}
