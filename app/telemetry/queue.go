package telemetry

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/webhook"
)

// maxQueues bounds the queue label: the first so many queues have their own series, all others share one.
const (
	maxQueues   = 50
	otherQueues = "__other__"
)

// gaugeTimeout bounds how long a scrape waits for the database.
const gaugeTimeout = 5 * time.Second

// Queue counts what the queue's transitions have committed (queue.md section 6).
type Queue struct {
	created, claimed, ended, expired, closed *prometheus.CounterVec
	activity                                 *prometheus.CounterVec
	depth                                    *depthCollector

	mu    sync.Mutex
	names map[string]bool
}

var _ queue.Metrics = (*Queue)(nil)

func newQueue(registry prometheus.Registerer) *Queue {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		registry.MustRegister(c)
		return c
	}
	q := &Queue{
		created:  counter("switchboard_todos_created_total", "Todos created, by where they came from.", "queue", "source"),
		claimed:  counter("switchboard_todos_claimed_total", "Claims that opened an attempt.", "queue"),
		ended:    counter("switchboard_todos_completed_total", "Todos that ended, by how.", "queue", "outcome"),
		expired:  counter("switchboard_todo_leases_expired_total", "Leases that lapsed without a report.", "queue"),
		closed:   counter("switchboard_todo_attempts_closed_total", "Attempts that ended, by outcome.", "queue", "outcome"),
		activity: counter("switchboard_todo_activity_total", "Activity entries written, by kind.", "kind"),
		names:    map[string]bool{},
	}
	for _, kind := range queue.ActivityKinds {
		q.activity.WithLabelValues(kind)
	}
	q.depth = newDepthCollector(q, registry)
	return q
}

// label is the queue's own name for the first queues that are seen, with all their series at zero.
func (q *Queue) label(name string) string {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.names[name] {
		return name
	}
	if len(q.names) >= maxQueues {
		name = otherQueues
		if q.names[name] {
			return name
		}
	}
	q.names[name] = true
	q.claimed.WithLabelValues(name)
	q.expired.WithLabelValues(name)
	q.created.WithLabelValues(name, queue.SourceOperator)
	for _, source := range webhook.Sources {
		q.created.WithLabelValues(name, string(source))
	}
	for _, outcome := range queue.Outcomes {
		q.closed.WithLabelValues(name, string(outcome))
	}
	for _, end := range queue.Ends {
		q.ended.WithLabelValues(name, end)
	}
	return name
}

// Created counts a new todo.
func (q *Queue) Created(name, source string) {
	q.created.WithLabelValues(q.label(name), source).Inc()
}

// Claimed counts a claim.
func (q *Queue) Claimed(name string) { q.claimed.WithLabelValues(q.label(name)).Inc() }

// AttemptClosed counts an attempt's end, and an expired lease when its holder had gone quiet.
func (q *Queue) AttemptClosed(name string, outcome queue.Outcome) {
	name = q.label(name)
	q.closed.WithLabelValues(name, string(outcome)).Inc()
	if outcome.Died() {
		q.expired.WithLabelValues(name).Inc()
	}
}

// TodoEnded counts a todo's end.
func (q *Queue) TodoEnded(name, outcome string) {
	q.ended.WithLabelValues(q.label(name), outcome).Inc()
}

// Activity counts an entry of the activity log.
func (q *Queue) Activity(kind string) { q.activity.WithLabelValues(kind).Inc() }

// CollectDepth sets where the gauges come from; until then they have no series.
func (q *Queue) CollectDepth(read func(ctx context.Context) ([]queue.QueueDepth, error)) {
	q.depth.set(read)
}

// depthCollector reads the gauges when they are scraped.
type depthCollector struct {
	queue         *Queue
	todos, oldest *prometheus.Desc
	failures      *prometheus.CounterVec

	mu   sync.Mutex
	read func(ctx context.Context) ([]queue.QueueDepth, error)
}

func newDepthCollector(q *Queue, registry prometheus.Registerer) *depthCollector {
	c := &depthCollector{
		queue:  q,
		todos:  prometheus.NewDesc("switchboard_queue_todos", "Todos, by state.", []string{"queue", "state"}, nil),
		oldest: prometheus.NewDesc("switchboard_queue_oldest_pending_seconds", "How long the oldest pending todo has waited.", []string{"queue"}, nil),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "switchboard_metrics_collection_errors_total", Help: "Scrapes at which a collector could not read its figures.",
		}, []string{"collector"}),
	}
	c.failures.WithLabelValues("queue")
	registry.MustRegister(c, c.failures)
	return c
}

func (c *depthCollector) set(read func(ctx context.Context) ([]queue.QueueDepth, error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = read
}

// Describe implements prometheus.Collector.
func (c *depthCollector) Describe(out chan<- *prometheus.Desc) {
	out <- c.todos
	out <- c.oldest
}

// Collect implements prometheus.Collector. What cannot be read is left out and counted.
func (c *depthCollector) Collect(out chan<- prometheus.Metric) {
	c.mu.Lock()
	read := c.read
	c.mu.Unlock()
	if read == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), gaugeTimeout)
	defer cancel()
	depths, err := read(ctx)
	if err != nil {
		c.failures.WithLabelValues("queue").Inc()
		return
	}
	states, oldest := map[string]map[queue.State]int{}, map[string]time.Duration{}
	for _, d := range depths {
		name := c.queue.label(d.Queue)
		if states[name] == nil {
			states[name] = map[queue.State]int{}
		}
		for state, n := range d.States {
			states[name][state] += n
		}
		oldest[name] = max(oldest[name], d.OldestPending)
	}
	for name, counts := range states {
		for _, state := range queue.States {
			out <- prometheus.MustNewConstMetric(c.todos, prometheus.GaugeValue, float64(counts[state]), name, string(state))
		}
		out <- prometheus.MustNewConstMetric(c.oldest, prometheus.GaugeValue, oldest[name].Seconds(), name)
	}
}
