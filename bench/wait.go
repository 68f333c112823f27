package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/queue"
)

const (
	waiting       = 200 // calls that wait at once
	waitEndpoints = 20
	waitRounds    = 5
	waitConns     = 20
)

// benchWait measures how long after the commit of a push a claim_next that waits for it answers: pushed by the
// process in which the call waits, and by another replica, which shares nothing with it but the database.
func benchWait(ctx context.Context, srv *server, out *report) error {
	p, err := srv.newProduct(ctx, "wait", waitConns)
	if err != nil {
		return err
	}
	defer p.Close()
	endpoints := make([]*identity.Endpoint, waitEndpoints)
	for i := range endpoints {
		if endpoints[i], err = p.vend(ctx, fmt.Sprintf("waits %d", i)); err != nil {
			return err
		}
	}
	for _, f := range []struct {
		id, what string
		pusher   *queue.Store
	}{
		{"W1", "200 waiting claim_next, p95 from push to answer", p.queue},
		{"W2", "the same, pushed by another replica", newQueue(p.DB)},
	} {
		var latencies []time.Duration
		busiest := int32(0)
		for range waitRounds {
			round, conns, err := p.wakeAll(ctx, endpoints, f.pusher)
			if err != nil {
				return err
			}
			latencies = append(latencies, round...)
			busiest = max(busiest, conns)
		}
		out.figure(f.id, f.what, p95(latencies).Seconds(), target{relation: "<=", bound: 1, unit: " s"},
			fmt.Sprintf("%d calls, connections in use while all wait: %d of %d", len(latencies), busiest, waitConns))
	}
	return nil
}

// wakeAll lets every call wait, pushes a todo for each, and returns how long each took to answer from the
// commit of what it got, and how many connections were in use while all of them waited.
func (p *product) wakeAll(ctx context.Context, endpoints []*identity.Endpoint, pusher *queue.Store) ([]time.Duration, int32, error) {
	var mu sync.Mutex
	answered, committed := map[uuid.UUID]time.Time{}, map[uuid.UUID]time.Time{}
	group, ctx := errgroup.WithContext(ctx)
	looked := p.Verbs.Stat().AcquireCount() + waiting
	for i := range waiting {
		group.Go(func() error {
			seconds := 30
			c, err := p.queue.WaitNext(ctx, endpoints[i%len(endpoints)], "", queue.ClaimParams{}, &seconds)
			now := time.Now()
			if err != nil {
				return err
			}
			if c == nil {
				return errors.New("a call that waits was never woken")
			}
			mu.Lock()
			defer mu.Unlock()
			answered[c.ID.UUID()] = now
			return nil
		})
	}
	var inUse int32
	err := until(ctx, func() (bool, error) {
		stat := p.Verbs.Stat()
		inUse = stat.AcquiredConns()
		return stat.AcquireCount() >= looked && inUse == 0, nil
	})
	if err != nil {
		return nil, 0, errors.Join(err, group.Wait())
	}
	err = work(ctx, waiting, func(ctx context.Context, i int) error {
		todo, _, err := pusher.Push(ctx, p.human, queue.PushParams{Endpoint: endpoints[i%len(endpoints)], Title: "retry on 502"})
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		committed[todo.ID.UUID()] = time.Now()
		return nil
	})
	if err := errors.Join(err, group.Wait()); err != nil {
		return nil, 0, err
	}
	var latencies []time.Duration
	for id, at := range committed {
		latencies = append(latencies, max(0, answered[id].Sub(at)))
	}
	return latencies, inUse, nil
}
