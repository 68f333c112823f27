package queue_test

import (
	"bufio"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/switchboard-otel/switchboard/app/telemetry"
)

// long is set for the long forms of tests (make test-long).
var long = os.Getenv("SWITCHBOARD_LONG") != ""

// The store and the model agree on every answer, every row and every counter, whatever many workers,
// humans, background passes and the clock do, one after the other.
func TestModel_AnyInterleaving(t *testing.T) {
	scripts := 150
	if long {
		scripts = 2000
	}
	newRig(t).check(usually, scripts, 40, 1)
}

// Of two calls at the same instant, on two connections, one comes first: what both answer and what is left
// behind is what some order of them leads to. A call that skips what another has locked may miss that todo.
func TestModel_TwoCallsAtOnceHappenInSomeOrder(t *testing.T) {
	scripts := 150
	if long {
		scripts = 2000
	}
	newRig(t).check(usually, scripts, 30, 2)
}

// check plays random scripts. One that fails is shrunk and printed.
func (r *rig) check(d draw, scripts, steps, width int) {
	r.t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("SWITCHBOARD_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			r.t.Fatal(err)
		}
	}
	if found := r.search(d, seed, scripts, steps, width); found != nil {
		r.t.Errorf("SWITCHBOARD_SEED=%d finds a script that does not go as the model says:\n%s", seed, strings.Join(found, "\n"))
	}
}

// search returns the log of the shortest failing script it can make, nil when none fails.
func (r *rig) search(d draw, seed uint64, scripts, steps, width int) []string {
	random := rand.New(rand.NewPCG(seed, 0))
	for range scripts {
		s := d.script(random, steps, width)
		if !r.play(s) {
			continue
		}
		// What a race has shown once it need not show again: then the first log must do.
		log := r.log
		repeats := 1
		if width > 1 {
			repeats = 10
		}
		shrink(s, func(s script) bool {
			for range repeats {
				if r.play(s) {
					log = r.log
					return true
				}
			}
			return false
		}, 400/repeats)
		return log
	}
	return nil
}

var series = regexp.MustCompile(`^switchboard_todos?_(\w+?)_total\{(.*)\} (\d+)$`)
var label = regexp.MustCompile(`(\w+)="([^"]*)"`)

// counterNames are how the model calls what the registry counts.
var counterNames = map[string]string{"created": "created", "claimed": "claimed", "completed": "ended", "leases_expired": "expired",
	"attempts_closed": "closed", "activity": "activity"}

// scraped reads the queue's counters off /metrics, those at zero left out. A name is followed by the values
// of its labels, the queue first.
func scraped(t testing.TB, m *telemetry.Metrics) map[string]int {
	t.Helper()
	const token = "0123456789abcdef0123456789abcdef"
	request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	request.Header.Set("Authorization", "Bearer "+token)
	response := httptest.NewRecorder()
	m.Handler(token).ServeHTTP(response, request)
	counts := map[string]int{}
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		found := series.FindStringSubmatch(lines.Text())
		if found == nil || found[3] == "0" {
			continue
		}
		labels := map[string]string{}
		for _, l := range label.FindAllStringSubmatch(found[2], -1) {
			labels[l[1]] = l[2]
		}
		name := counterNames[found[1]]
		for _, l := range []string{"queue", "source", "outcome", "kind"} {
			if value, has := labels[l]; has {
				name += " " + value
			}
		}
		n, err := strconv.Atoi(found[3])
		if err != nil {
			t.Fatal(err)
		}
		counts[name] = n
	}
	return counts
}
