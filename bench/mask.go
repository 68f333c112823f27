package main

import (
	"context"
	"fmt"
)

// benchMask is T7, from the benchmark of app/mask, which makes its own pairs.
func benchMask(ctx context.Context, srv *server, out *report) error {
	runs, err := goBench(ctx, srv.dir, "app/mask", "AgainstSequentialRE2", "100ms")
	if err != nil {
		return err
	}
	for _, f := range []struct {
		text   string
		target float64
	}{{"clean", 100}, {"dirty", 50}} {
		metric := func(unit string) float64 {
			return medianOf(runs, func(run map[string]map[string]float64) float64 {
				return run["BenchmarkString_AgainstSequentialRE2/"+f.text][unit]
			})
		}
		out.figure("T7", "masker / sequential RE2, "+f.text+" text", metric("x-sequential-RE2"), atLeast(f.target),
			fmt.Sprintf("%.0f allocations a call", metric("allocs/op")))
	}
	return nil
}
