// Package settings reads what an operator may tune while the service runs: rows of the settings table,
// each a whole number with a default and a range (REQ-19, queue.md section 5).
package settings

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/zap"
)

// Key is a setting's name in the table.
type Key string

// The settings, with their units.
const (
	OTLPMaxRequestBytes     Key = "otlp_max_request_bytes"       // bytes of one OTLP request, before and after decompression
	OTLPMaxSpansPerRequest  Key = "otlp_max_spans_per_request"   // spans of one OTLP request
	SpansMaxPerAttempt      Key = "spans_max_per_attempt"        // stored spans of one attempt
	SpansMaxPerTodo         Key = "spans_max_per_todo"           // stored spans of one todo
	NotesMaxPerAttempt      Key = "notes_max_per_attempt"        // notes written in one attempt
	ActivityMaxPerTodo      Key = "activity_max_per_todo"        // activity rows of one todo
	TimelineMaxEntries      Key = "timeline_max_entries"         // entries a todo page shows
	WaterfallMaxSpans       Key = "waterfall_max_spans"          // spans a waterfall shows
	AttemptHistoryMax       Key = "attempt_history_max_per_todo" // attempts kept per todo
	RetentionMaxAgeDays     Key = "retention_max_age_days"       // days a terminal todo is kept
	RetentionMaxRows        Key = "retention_max_rows"           // terminal todos kept per human
	InterruptTimeoutSeconds Key = "interrupt_timeout_seconds"    // seconds an interrupt may wait for its answer
	WebhookMaxBodyBytes     Key = "webhook_max_body_bytes"       // bytes of one delivery to a webhook
	EventMaxAgeDays         Key = "event_max_age_days"           // days an event without a todo is kept
	EventMaxRows            Key = "event_max_rows"               // events without a todo kept per human
)

type definition struct {
	def, min, max int
	floor         int // a value in range but below it means floor
}

var definitions = map[Key]definition{
	OTLPMaxRequestBytes:     {def: 4 << 20, min: 1024, max: 64 << 20},
	OTLPMaxSpansPerRequest:  {def: 1000, min: 1, max: 100_000},
	SpansMaxPerAttempt:      {def: 2000, min: 0, max: 1_000_000},
	SpansMaxPerTodo:         {def: 10_000, min: 0, max: 1_000_000},
	NotesMaxPerAttempt:      {def: 200, min: 0, max: 100_000},
	ActivityMaxPerTodo:      {def: 1000, min: 0, max: 100_000},
	TimelineMaxEntries:      {def: 500, min: 1, max: 5000},
	WaterfallMaxSpans:       {def: 500, min: 1, max: 5000},
	AttemptHistoryMax:       {def: 50, min: 0, max: 999_999, floor: 5},
	RetentionMaxAgeDays:     {def: 30, min: 1, max: 36_500},
	RetentionMaxRows:        {def: 500_000, min: 1, max: 1<<31 - 1},
	InterruptTimeoutSeconds: {def: 24 * 60 * 60, min: 1, max: 366 * 24 * 60 * 60},
	WebhookMaxBodyBytes:     {def: 5 << 20, min: 1024, max: 32 << 20},
	EventMaxAgeDays:         {def: 30, min: 1, max: 36_500},
	EventMaxRows:            {def: 50_000, min: 1, max: 1<<31 - 1},
}

// freshness bounds how long a changed row may go unseen. Reading it for every span request would cost more
// than the request's own statements.
const freshness = time.Second

// Values is a consistent set of every setting.
type Values map[Key]int

// Defaults returns what an empty table means.
func Defaults() Values {
	v := Values{}
	for k, d := range definitions {
		v[k] = d.def
	}
	return v
}

// Reader reads the settings, at most once a second.
type Reader struct {
	pool *pgxpool.Pool
	log  *zap.Logger

	mu     sync.Mutex
	read   time.Time
	values Values
	warned map[string]bool
}

// NewReader returns a reader over pool. It logs a value it cannot use once per value.
func NewReader(pool *pgxpool.Pool, log *zap.Logger) *Reader {
	return &Reader{pool: pool, log: log, values: Defaults(), warned: map[string]bool{}}
}

// Values returns the settings as they stood at most a second ago, or as they were last read when the store
// cannot be read now: the statement that follows will say so better. Callers must not change the map.
func (r *Reader) Values(ctx context.Context) Values {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.read) < freshness {
		return r.values
	}
	ctx, cancel := context.WithTimeout(ctx, freshness)
	defer cancel()
	if fresh, err := r.load(ctx); err == nil {
		r.values = fresh
	}
	r.read = time.Now()
	return r.values
}

func (r *Reader) load(ctx context.Context) (Values, error) {
	rows, err := r.pool.Query(ctx, `SELECT key, value FROM settings`)
	if err != nil {
		return nil, err
	}
	fresh := Defaults()
	var key, value string
	_, err = pgx.ForEachRow(rows, []any{&key, &value}, func() error {
		if d, known := definitions[Key(key)]; known {
			n, ok := d.parse(value)
			fresh[Key(key)] = n
			if !ok {
				r.warn(key, value, d)
			}
		}
		return nil
	})
	return fresh, err
}

// warn says once that a row is not used. The value is an operator's number, but it is not ours to repeat.
func (r *Reader) warn(key, value string, d definition) {
	if r.warned[key+"="+value] {
		return
	}
	r.warned[key+"="+value] = true
	r.log.Warn("this row of the settings table is not a whole number in its range; its default is used instead",
		zap.String("key", key), zap.Int("default", d.def), zap.Int("min", d.min), zap.Int("max", d.max))
}

func (d definition) parse(value string) (n int, ok bool) {
	n, err := strconv.Atoi(value)
	if err != nil || n < d.min || n > d.max {
		return d.def, false
	}
	return max(n, d.floor), true
}
