// Bench measures Switchboard beside a baseline in the same run and prints each figure as a ratio with its
// target. What is compared with what is told in docs/performance.md.
//
// Missing a target is no failure: machines differ, and this is a benchmark, not a test.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/switchboard-otel/switchboard/app/garbage"
)

// bench is a group of figures that share their preparation.
type bench struct {
	ids []string
	run func(context.Context, *server, *report) error
}

var benches = []bench{
	{[]string{"T1"}, benchUpsert},
	{[]string{"T2"}, benchThrough},
	{[]string{"T3"}, benchReceiver},
	{[]string{"T4"}, benchRetry},
	{[]string{"T5"}, benchCaps},
	{[]string{"T6"}, benchHeartbeatUnderIngest},
	{[]string{"T7"}, benchMask},
	{[]string{"T8"}, benchAgainstRiver},
	{[]string{"T9"}, benchLongTransaction},
	{[]string{"T10"}, benchLive},
	{[]string{"T11"}, benchFeed},
	{[]string{"T11", "page"}, benchPage},
	{[]string{"T12"}, benchHeartbeatHOT},
	{[]string{"wait"}, benchWait},
	{[]string{"deliveries"}, benchDeliveries},
}

func main() {
	only := flag.String("only", "", "the figures to measure, separated by commas, such as T8,T9; empty: all")
	config := flag.String("serve", "", "what a bench starts itself: a collector with this configuration")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	garbage.Tune() // as the shipped program does, for both sides
	run := func() error { return measure(ctx, *only) }
	if *config != "" {
		run = func() error { return serve(context.WithoutCancel(ctx), *config) } // it looks after signals itself
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func measure(ctx context.Context, only string) (err error) {
	chosen, err := choose(only)
	if err != nil {
		return err
	}
	srv, err := startServer(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.close()) }()
	out := &report{w: os.Stdout}
	out.environment(srv)
	for _, b := range chosen {
		if err := b.run(ctx, srv, out); err != nil {
			out.failed(b.ids, err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	out.environment(srv)
	return nil
}

// choose returns the benches that measure one of the figures asked for.
func choose(only string) ([]bench, error) {
	if only == "" {
		return benches, nil
	}
	var chosen []bench
	asked := strings.Split(only, ",")
	for _, id := range asked {
		if !slices.ContainsFunc(benches, func(b bench) bool { return slices.Contains(b.ids, id) }) {
			return nil, fmt.Errorf("there is no figure %q", id)
		}
	}
	for _, b := range benches {
		if slices.ContainsFunc(asked, func(id string) bool { return slices.Contains(b.ids, id) }) {
			chosen = append(chosen, b)
		}
	}
	return chosen, nil
}
