package docs

import (
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/telemetry"
)

// series are the label values that a scrape shows of one metric, by label.
type series map[string][]string

// Every metric is on its page with its type, its labels and the values of those that are closed, and no other is.
func TestMetrics_ThePageSaysWhatAScrapeShows(t *testing.T) {
	const queueName = "some-queue"
	m := telemetry.New()
	m.Queue.Created(queueName, queue.SourceOperator)
	m.Queue.CollectDepth(func(context.Context) ([]queue.QueueDepth, error) {
		return []queue.QueueDepth{{Queue: queueName}}, nil
	})
	kinds, labels := scrape(t, m)
	page := read(t, "docs/reference/metrics.md")
	documented := map[string][]string{}
	for _, row := range table(t, page, "Metric") {
		documented[strings.Trim(row[0], "`")] = row
	}
	values := map[string][]string{}
	for _, row := range table(t, page, "Label") {
		for _, name := range names(row[0]) {
			values[name+" of "+row[1]] = names(row[2])
		}
	}
	for metric, kind := range kinds {
		row, found := documented[metric]
		delete(documented, metric)
		if !found || len(row) != 4 {
			t.Errorf("%s is not described", metric)
			continue
		}
		if row[1] != kind {
			t.Errorf("%s: the page says %s, a scrape %s", metric, row[1], kind)
		}
		if got := names(row[2]); !slices.Equal(got, sortedKeys(labels[metric])) {
			t.Errorf("%s: the page has the labels %q, a scrape %q", metric, got, sortedKeys(labels[metric]))
		}
		for label, shown := range labels[metric] {
			if label == "queue" {
				continue
			}
			if said := values[label+" of `"+metric+"`"]; !slices.Equal(said, shown) {
				t.Errorf("%s: the page has the values %q of %s, a scrape %q", metric, said, label, shown)
			}
			delete(values, label+" of `"+metric+"`")
		}
	}
	for metric := range documented {
		t.Errorf("%s is described and is no metric", metric)
	}
	for label := range values {
		t.Errorf("values of %s are described and no scrape shows them", label)
	}
}

func sortedKeys(s series) (keys []string) {
	for key := range s {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// scrape reads the registry as a scraper does.
func scrape(t *testing.T, m *telemetry.Metrics) (kinds map[string]string, labels map[string]series) {
	t.Helper()
	token := strings.Repeat("x", 32)
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	m.Handler(token).ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("a scrape is answered %d", w.Code)
	}
	kinds, labels = map[string]string{}, map[string]series{}
	for _, line := range regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)$`).FindAllStringSubmatch(w.Body.String(), -1) {
		kinds[line[1]], labels[line[1]] = line[2], series{}
	}
	label := regexp.MustCompile(`(\w+)="([^"]*)"`)
	for _, line := range regexp.MustCompile(`(?m)^(\w+)\{(.*)\} `).FindAllStringSubmatch(w.Body.String(), -1) {
		for _, l := range label.FindAllStringSubmatch(line[2], -1) {
			if s := labels[line[1]]; !slices.Contains(s[l[1]], l[2]) {
				s[l[1]] = append(s[l[1]], l[2])
			}
		}
	}
	for _, s := range labels {
		for name := range s {
			slices.Sort(s[name])
		}
	}
	return kinds, labels
}
