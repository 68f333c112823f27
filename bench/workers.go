package main

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// workers is how many claim at once, each on a connection of its own.
const workers = 4

// work runs unit n times, spread over the workers.
func work(ctx context.Context, n int, unit func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range workers {
		group.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return nil
				}
				if err := unit(ctx, i); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}
