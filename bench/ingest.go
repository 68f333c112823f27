package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/settings"
	"github.com/switchboard-otel/switchboard/app/spans"
)

const (
	ingestWriters = 4
	ingestBatch   = 100  // spans of a request
	beats         = 1000 // heartbeats of a measurement
)

// benchHeartbeatUnderIngest is T6: a heartbeat does not wait for the spans of its own todo.
func benchHeartbeatUnderIngest(ctx context.Context, srv *server, out *report) error {
	p, err := srv.newProduct(ctx, "ingest", 20)
	if err != nil {
		return err
	}
	defer p.Close()
	// At a cap an ingest would write next to nothing.
	for _, key := range []settings.Key{settings.SpansMaxPerAttempt, settings.SpansMaxPerTodo} {
		if _, err := p.Verbs.Exec(ctx, `INSERT INTO settings (key, value) VALUES ($1, '1000000')`, string(key)); err != nil {
			return err
		}
	}
	ep, err := p.vend(ctx, "ingest")
	if err != nil {
		return err
	}
	if err := p.fill(ctx, ep, 1, issuePayload); err != nil {
		return err
	}
	todo, err := p.claim(ctx, ep)
	if err != nil {
		return err
	}
	alone := func() (time.Duration, error) { return p.beatP95(ctx, ep, todo) }
	under := func() (time.Duration, error) {
		return p.whileIngesting(ctx, ep, todo, alone)
	}
	if _, err := alone(); err != nil { // plans are made
		return err
	}
	loaded, quiet, err := inTurn(under, alone)
	if err != nil {
		return err
	}
	out.figure("T6", "p95 of heartbeat under 4-writer ingest / alone", medianRatio(loaded, quiet, time.Duration.Seconds), atMost(2),
		fmt.Sprintf("%.2f ms against %.2f ms", 1000*medianOf(loaded, time.Duration.Seconds), 1000*medianOf(quiet, time.Duration.Seconds)))
	return nil
}

func (p *product) beatP95(ctx context.Context, ep *identity.Endpoint, todo uuid.UUID) (time.Duration, error) {
	latencies := make([]time.Duration, beats)
	for i := range latencies {
		start := time.Now()
		if err := p.heartbeat(ctx, ep, todo, nil); err != nil {
			return 0, err
		}
		latencies[i] = time.Since(start)
	}
	return p95(latencies), nil
}

// whileIngesting measures while the writers store one request after the other for the todo.
func (p *product) whileIngesting(ctx context.Context, ep *identity.Endpoint, todo uuid.UUID, measured func() (time.Duration, error)) (time.Duration, error) {
	done := make(chan struct{})
	group, ctx := errgroup.WithContext(ctx)
	started := make(chan struct{}, ingestWriters)
	for range ingestWriters {
		group.Go(func() error {
			for first := true; ; first = false {
				select {
				case <-done:
					return nil
				default:
				}
				if outcome, err := p.spans.Upsert(ctx, ep.ID, newSpans(todo)); err != nil || outcome.Stored != ingestBatch {
					return fmt.Errorf("stored %d of %d spans: %w", outcome.Stored, ingestBatch, err)
				}
				if first {
					started <- struct{}{}
				}
			}
		})
	}
	for range ingestWriters {
		select {
		case <-started:
		case <-ctx.Done():
			return 0, group.Wait()
		}
	}
	latency, err := measured()
	close(done)
	if failed := group.Wait(); failed != nil {
		err = failed
	}
	return latency, err
}

// newSpans is a request's worth of spans as a coding agent sends them.
func newSpans(todo uuid.UUID) []spans.Span {
	batch := make([]spans.Span, ingestBatch)
	var trace [16]byte
	_, _ = rand.Read(trace[:])
	for i := range batch {
		start := time.Now().UTC()
		batch[i] = spans.Span{TodoID: todo, AttemptSeq: 1, TraceID: trace, Name: "step " + strconv.Itoa(i), Kind: "client", StatusCode: "ok",
			StartAt: start, EndAt: start.Add(time.Millisecond), ServiceName: "agent", Category: "llm",
			Attributes: []byte(`{"gen_ai.operation.name":"chat","gen_ai.request.model":"claude-opus-4-1","gen_ai.usage.input_tokens":1234,"gen_ai.usage.output_tokens":567}`)}
		_, _ = rand.Read(batch[i].SpanID[:])
	}
	return batch
}
