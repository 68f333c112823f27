package switchboardreceiver

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

// series returns the value of one series as a scraper reads it.
func series(t testing.TB, o *fakeOwner, name string) float64 {
	t.Helper()
	const token = "0123456789abcdef0123456789abcdef"
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	o.registry.Handler(token).ServeHTTP(w, r)
	for line := range strings.Lines(w.Body.String()) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
	}
	t.Fatalf("no series %s", name)
	return 0
}

func scrapeCode(t testing.TB, o *fakeOwner, code int) float64 {
	t.Helper()
	return series(t, o, fmt.Sprintf("switchboard_otlp_requests_total{code=%q}", strconv.Itoa(code)))
}
