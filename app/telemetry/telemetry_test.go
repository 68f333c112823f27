package telemetry_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/switchboard-otel/switchboard/app/ledger"
	"github.com/switchboard-otel/switchboard/app/telemetry"
)

const token = "0123456789abcdef0123456789abcdef"

// scrape returns the registry's series as an authorised scraper sees them, sorted.
func scrape(t *testing.T, m *telemetry.Metrics) []string {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	m.Handler(token).ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("scrape: %d", w.Code)
	}
	series := regexp.MustCompile(`(?m)^[^#\n].*$`).FindAllString(w.Body.String(), -1)
	slices.Sort(series)
	return series
}

func TestMetrics_EverySeriesExistsAtZeroFromTheFirstScrape(t *testing.T) {
	want := []string{
		`switchboard_metrics_collection_errors_total{collector="queue"} 0`,
		`switchboard_otlp_requests_total{code="200"} 0`,
		`switchboard_otlp_requests_total{code="400"} 0`,
		`switchboard_otlp_requests_total{code="401"} 0`,
		`switchboard_otlp_requests_total{code="403"} 0`,
		`switchboard_otlp_requests_total{code="404"} 0`,
		`switchboard_otlp_requests_total{code="405"} 0`,
		`switchboard_otlp_requests_total{code="413"} 0`,
		`switchboard_otlp_requests_total{code="415"} 0`,
		`switchboard_otlp_requests_total{code="429"} 0`,
		`switchboard_otlp_requests_total{code="500"} 0`,
		`switchboard_otlp_requests_total{code="503"} 0`,
		`switchboard_otlp_spans_filtered_total 0`,
		`switchboard_otlp_spans_total{result="accepted"} 0`,
		`switchboard_otlp_spans_total{result="rejected_cap"} 0`,
		`switchboard_otlp_spans_total{result="rejected_invalid"} 0`,
		`switchboard_otlp_spans_total{result="rejected_unbound"} 0`,
		`switchboard_routing_decisions_total{action="default"} 0`,
		`switchboard_routing_decisions_total{action="drop"} 0`,
		`switchboard_routing_decisions_total{action="fault"} 0`,
		`switchboard_routing_decisions_total{action="queue"} 0`,
		`switchboard_todo_activity_total{kind="a2a_state"} 0`,
		`switchboard_todo_activity_total{kind="human_action"} 0`,
		`switchboard_todo_activity_total{kind="note"} 0`,
		`switchboard_todo_activity_total{kind="retried"} 0`,
		`switchboard_todo_activity_total{kind="rung"} 0`,
	}
	for _, provider := range []string{"generic", "gitea", "github", "slack", "standard", "stripe"} {
		trust := "signed"
		if provider == "generic" {
			trust = "token"
		}
		for _, verdict := range []string{"bad_signature", "duplicate", "malformed", "missing_signature", "rate_limited", "stale", "too_large", "verified"} {
			want = append(want, fmt.Sprintf(`switchboard_webhook_deliveries_total{provider=%q,trust_mode=%q,verdict=%q} 0`, provider, trust, verdict))
		}
	}
	if diff := cmp.Diff(want, scrape(t, telemetry.New())); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

func TestMetrics_CountWhatTheReceiverReports(t *testing.T) {
	m := telemetry.New()
	m.OTLP.Request(http.StatusOK)
	m.OTLP.Request(http.StatusOK)
	m.OTLP.Request(http.StatusServiceUnavailable)
	m.OTLP.Accepted(7)
	m.OTLP.Rejected(map[ledger.Reason]int{ledger.Unbound: 1, ledger.Cap: 2, ledger.Invalid: 3})
	m.OTLP.Filtered(4)
	got := strings.Join(scrape(t, m), "\n")
	for _, line := range []string{
		`switchboard_otlp_requests_total{code="200"} 2`,
		`switchboard_otlp_requests_total{code="503"} 1`,
		`switchboard_otlp_spans_filtered_total 4`,
		`switchboard_otlp_spans_total{result="accepted"} 7`,
		`switchboard_otlp_spans_total{result="rejected_cap"} 2`,
		`switchboard_otlp_spans_total{result="rejected_invalid"} 3`,
		`switchboard_otlp_spans_total{result="rejected_unbound"} 1`,
	} {
		if !strings.Contains(got, line) {
			t.Errorf("missing %s in\n%s", line, got)
		}
	}
}

func TestHandler_AnswersOnlyTheExactBearer(t *testing.T) {
	for name, tc := range map[string]struct {
		configured, header string
		want               int
	}{
		"exact":             {token, "Bearer " + token, http.StatusOK},
		"missing":           {token, "", http.StatusUnauthorized},
		"other":             {token, "Bearer " + strings.Repeat("x", 32), http.StatusUnauthorized},
		"prefix":            {token, "Bearer " + token[:31], http.StatusUnauthorized},
		"longer":            {token, "Bearer " + token + "0", http.StatusUnauthorized},
		"no scheme":         {token, token, http.StatusUnauthorized},
		"other scheme":      {token, "Basic " + token, http.StatusUnauthorized},
		"unset, empty sent": {"", "Bearer ", http.StatusUnauthorized},
		"unset, none sent":  {"", "", http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
			if tc.header != "" {
				r.Header.Set("Authorization", tc.header)
			}
			w := httptest.NewRecorder()
			telemetry.New().Handler(tc.configured).ServeHTTP(w, r)
			if w.Code != tc.want {
				t.Fatalf("status %d, want %d", w.Code, tc.want)
			}
			if w.Code == http.StatusUnauthorized && strings.Contains(w.Body.String(), "switchboard_") {
				t.Error("a refusal shows metrics")
			}
			if w.Header().Get("Cache-Control") != "no-store" {
				t.Error("an answer may be cached")
			}
		})
	}
}
