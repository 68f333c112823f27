package main

import (
	"context"
	"fmt"
)

// benchIngest is T1, T4 and T5, from the benchmarks of app/spans.
func benchIngest(ctx context.Context, srv *server, out *report) error {
	runs, err := goBench(ctx, srv.dir, "app/spans", "^BenchmarkIngest$", "20x")
	if err != nil {
		return err
	}
	perSpan := func(name string, size int) func(map[string]map[string]float64) float64 {
		return func(run map[string]map[string]float64) float64 {
			return run[fmt.Sprintf("BenchmarkIngest/%s-%d", name, size)]["cpu-us/span"]
		}
	}
	figure := func(id, what, ours, theirs string, size int, invert bool, t target) {
		a, b := perSpan(ours, size), perSpan(theirs, size)
		ratio := medianOf(runs, func(run map[string]map[string]float64) float64 {
			if invert {
				return b(run) / a(run)
			}
			return a(run) / b(run)
		})
		out.figure(id, fmt.Sprintf("%s, %d spans", what, size), ratio, t,
			fmt.Sprintf("CPU %.1f us a span against %.1f us", medianOf(runs, a), medianOf(runs, b)))
	}
	for _, size := range []int{100, 500, 1000} {
		figure("T1", "upsert / COPY", "upsert", "copy", size, true, atLeast(0.70))
		figure("T4", "retry / first send", "retry", "upsert", size, false, atMost(0.50))
		figure("T5", "onto 9,000 spans / onto few", "upsert-onto-9000", "upsert", size, false, atMost(1.25))
	}
	return nil
}

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
