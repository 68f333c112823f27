package main

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
)

const (
	ingestWriters = 4
	ingestBatch   = 100  // spans of a request
	beats         = 1000 // heartbeats of a measurement
)

// benchHeartbeatUnderIngest is T6: a heartbeat does not wait for the spans of its own todo. Two baselines tell two
// things apart: the same heartbeats while nothing is stored, which pay for the cores that ingest uses too, and while
// raw COPY writes the same spans, which pay for those alike.
func benchHeartbeatUnderIngest(ctx context.Context, srv *server, out *report) error {
	in, _, err := srv.newIngest(ctx, "heartbeats-under-ingest")
	if err != nil {
		return err
	}
	defer in.Close()
	todo, trace, err := in.newTodo(ctx)
	if err != nil {
		return err
	}
	alone := func() (time.Duration, error) { return in.beatP95(ctx, todo) }
	while := func(store storeFunc) func() (time.Duration, error) {
		return func() (time.Duration, error) { return in.whileStoring(ctx, todo, trace, store, alone) }
	}
	if _, err := alone(); err != nil { // plans are made
		return err
	}
	for _, f := range []struct {
		what     string
		baseline func() (time.Duration, error)
	}{
		{"p95 of a heartbeat under 4 writers / while 4 writers COPY", while(in.copyIn)},
		{"p95 of a heartbeat under 4 writers / alone", alone},
	} {
		loaded, baseline, err := inTurn(while(in.upsert), f.baseline)
		if err != nil {
			return err
		}
		out.figure("T6", f.what, medianRatio(loaded, baseline, time.Duration.Seconds), atMost(2), fmt.Sprintf("%.2f ms against %.2f ms",
			1000*medianOf(loaded, time.Duration.Seconds), 1000*medianOf(baseline, time.Duration.Seconds)))
	}
	return nil
}

func (in *ingest) beatP95(ctx context.Context, todo uuid.UUID) (time.Duration, error) {
	latencies := make([]time.Duration, beats)
	for i := range latencies {
		start := time.Now()
		if err := in.heartbeat(ctx, in.endpoint, todo, nil); err != nil {
			return 0, err
		}
		latencies[i] = time.Since(start)
	}
	return p95(latencies), nil
}

// whileStoring measures while the writers store one request after the other for the todo.
func (in *ingest) whileStoring(ctx context.Context, todo uuid.UUID, trace [16]byte, store storeFunc,
	measured func() (time.Duration, error)) (time.Duration, error) {
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
				if err := store(ctx, rowsOf(newTraces(ingestBatch, trace), todo)); err != nil {
					return err
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
