package switchboardreceiver

import (
	"net/http"
	"testing"
)

func TestParseRoute(t *testing.T) {
	nothing := route{}
	myBot := route{"my-bot", traces}
	for path, want := range map[string]route{
		"/otlp/my-bot/v1/traces":            myBot,
		"/otlp/my-bot/v1/traces/":           myBot,
		"/otlp/my-bot//v1/traces":           myBot,
		"//otlp//my-bot//v1//traces//":      myBot,
		"/otlp/./my-bot/./v1/traces":        myBot,
		"/otlp/%2e/my-bot/v1/traces":        myBot,
		"/otlp/my%2Dbot/v1/traces":          myBot,
		"/otlp/my-bot/v1/traces/v1/traces":  myBot,
		"/otlp/my-bot/v1/traces//v1/traces": myBot,
		"/otlp/my-bot/v1/traces/v1/logs":    {"my-bot", logs},
		"/otlp/my-bot/v1/logs":              {"my-bot", logs},
		"/otlp/my-bot/v1/metrics":           {"my-bot", metrics},
		"/otlp/v1/v1/traces":                {"v1", traces},
		"/otlp/traces/v1/traces":            {"traces", traces},

		"/otlp/my-bot":                        {"my-bot", unknownSignal},
		"/otlp/my-bot/v1":                     {"my-bot", unknownSignal},
		"/otlp/my-bot/traces":                 {"my-bot", unknownSignal},
		"/otlp/my-bot/v1/profiles":            {"my-bot", unknownSignal},
		"/otlp/my-bot/v2/traces":              {"my-bot", unknownSignal},
		"/otlp/my-bot/V1/Traces":              {"my-bot", unknownSignal},
		"/otlp/my-bot/v1/traces/more":         {"my-bot", unknownSignal},
		"/otlp/my-bot/more/v1/traces":         {"my-bot", unknownSignal},
		"/otlp/my-bot/v1/x/v1/traces":         {"my-bot", unknownSignal},
		"/otlp/my-bot/../other/v1/traces":     {"my-bot", unknownSignal},
		"/otlp/my-bot%2Fv1/traces":            {"my-bot/v1", unknownSignal},
		"/otlp/other%2F..%2Fmy-bot/v1/traces": {"other/../my-bot", traces},
		"/otlp/%zz/v1/traces":                 {"%zz", traces},

		"":                        nothing,
		"/":                       nothing,
		"/otlp":                   nothing,
		"/otlp/":                  nothing,
		"/otlp/v1/traces":         nothing,
		"/otlp//v1/traces":        nothing,
		"/v1/traces":              nothing,
		"/OTLP/my-bot/v1/traces":  nothing,
		"/other/my-bot/v1/traces": nothing,
	} {
		if got := parseRoute(path); got != want {
			t.Errorf("%q: %+v, want %+v", path, got, want)
		}
	}
}

func FuzzParseRoute(f *testing.F) {
	for _, path := range []string{"/otlp/my-bot/v1/traces", "/otlp//./%2e%2e/v1/traces/", "/otlp/%zz", "otlp/v1/v1/v1/v1"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		got := parseRoute(path)
		if got.endpoint == "" && got.signal != unknownSignal {
			t.Errorf("%q names a signal of no endpoint", path)
		}
		if slashed := parseRoute("/./" + path + "/"); slashed != got {
			t.Errorf("%q: %+v, but %+v with slashes around", path, got, slashed)
		}
	})
}

// Real exporters build these; none may be refused or redirected (decisions.md 4).
func TestCarelessPaths_AreServedAsTheyWereMeant(t *testing.T) {
	b := start(t, newFakeOwner(t), sink(storeAll))
	for _, path := range []string{
		"/otlp/my-bot/v1/traces", "/otlp/my-bot//v1/traces", "/otlp/my-bot/./v1/traces", "/otlp/my-bot/v1/traces/",
		"/otlp/my-bot/v1/traces/v1/traces", "//otlp/my-bot/v1/traces",
	} {
		if got := b.do(post(path, "application/json", jsonOf(1))).StatusCode; got != http.StatusOK {
			t.Errorf("%s: %d, want 200", path, got)
		}
	}
}

func TestOtherPaths_AreA404ThatNamesTheRightPath(t *testing.T) {
	b := start(t, newFakeOwner(t), untouched(t))
	for _, path := range []string{"/otlp/", "/otlp/v1/traces", "/otlp/my-bot", "/otlp/my-bot/v1/profiles", "/otlp/my-bot/../my-bot/v1/traces"} {
		response := b.do(post(path, "application/json", jsonOf(1)))
		want := `{"code":5,"message":"nothing is served at this path; send traces to /otlp/{endpoint}/v1/traces"}`
		if got := bodyOf(t, response); response.StatusCode != http.StatusNotFound || got != want {
			t.Errorf("%s: %d %s", path, response.StatusCode, got)
		}
	}
}

// Who may not know whether an endpoint exists may not learn it from a wrong path either.
func TestOtherPaths_AreAnsweredAfterAuthentication(t *testing.T) {
	b := start(t, newFakeOwner(t), untouched(t))
	for path, want := range map[string]int{"/otlp/other-bot/x": http.StatusForbidden, "/otlp/no-such-bot/x": http.StatusForbidden} {
		if got := b.do(post(path, "application/json", nil)).StatusCode; got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
	r := post("/otlp/x/y", "application/json", nil)
	r.Header.Del("Authorization")
	if got := b.do(r).StatusCode; got != http.StatusUnauthorized {
		t.Errorf("without a credential: %d, want 401", got)
	}
}
