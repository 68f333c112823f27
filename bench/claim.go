package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/switchboard-otel/switchboard/app/identity"
)

// How many units a measurement takes, how many come before the first one so that plans are made and pages
// are warm, how many rows are ready on each side, and how many were worked to their end before: a queue is
// seldom new.
const (
	claimUnits   = 1000
	claimWarmUp  = 500
	claimReady   = 20_000
	claimHistory = 5000
)

// benchAgainstRiver is T8: the verbs of one todo against what River runs for one job.
func benchAgainstRiver(ctx context.Context, srv *server, out *report) error {
	ours, err := srv.newProduct(ctx, "claims", workers)
	if err != nil {
		return err
	}
	defer ours.Close()
	theirs, err := srv.newRiver(ctx, "river", workers)
	if err != nil {
		return err
	}
	defer theirs.pool.Close()

	claim := func(ctx context.Context, ep *identity.Endpoint) error {
		_, err := ours.claim(ctx, ep)
		return err
	}
	claimComplete := func(ctx context.Context, ep *identity.Endpoint) error {
		id, err := ours.claim(ctx, ep)
		if err != nil {
			return err
		}
		return ours.complete(ctx, ep, id)
	}
	claimNoteComplete := func(ctx context.Context, ep *identity.Endpoint) error {
		id, err := ours.claim(ctx, ep)
		if err != nil {
			return err
		}
		if err := ours.heartbeat(ctx, ep, id, note()); err != nil {
			return err
		}
		return ours.complete(ctx, ep, id)
	}
	fetch := func(ctx context.Context, queue string) error {
		_, err := theirs.fetch(ctx, queue)
		return err
	}
	fetchComplete := func(ctx context.Context, queue string) error {
		job, err := theirs.fetch(ctx, queue)
		if err != nil {
			return err
		}
		return theirs.complete(ctx, job)
	}

	ep, err := ours.vend(ctx, "history")
	if err != nil {
		return err
	}
	if err := ours.fill(ctx, ep, claimHistory); err != nil {
		return err
	}
	if err := theirs.fill(ctx, "history", claimHistory); err != nil {
		return err
	}
	err = work(ctx, claimHistory, func(ctx context.Context, _ int) error {
		return errors.Join(claimComplete(ctx, ep), fetchComplete(ctx, "history"))
	})
	if err != nil {
		return err
	}

	for _, f := range []struct {
		id, what string
		target   float64
		ours     func(context.Context, *identity.Endpoint) error
		theirs   func(context.Context, string) error
	}{
		{"T8a", "claim / River fetch", 1.3, claim, fetch},
		{"T8b", "claim, complete / River fetch, complete", 1.6, claimComplete, fetchComplete},
		{"T8c", "claim, note, complete / River fetch, complete", 1.3, claimNoteComplete, fetchComplete},
	} {
		jobs := strings.ToLower(f.id)
		ep, err := ours.vend(ctx, jobs)
		if err != nil {
			return err
		}
		if err := ours.fill(ctx, ep, claimReady); err != nil {
			return err
		}
		if err := theirs.fill(ctx, jobs, claimReady); err != nil {
			return err
		}
		for _, name := range []string{ours.name, theirs.name} {
			if err := srv.settle(ctx, name); err != nil {
				return err
			}
		}
		unit := func(ctx context.Context, _ int) error { return f.ours(ctx, ep) }
		theirUnit := func(ctx context.Context, _ int) error { return f.theirs(ctx, jobs) }
		if err := work(ctx, claimWarmUp, unit); err != nil {
			return err
		}
		if err := work(ctx, claimWarmUp, theirUnit); err != nil {
			return err
		}
		a, b, err := inTurn(
			func() (cost, error) {
				return srv.spend(ctx, ours.name, claimUnits, func() error { return work(ctx, claimUnits, unit) })
			},
			func() (cost, error) {
				return srv.spend(ctx, theirs.name, claimUnits, func() error { return work(ctx, claimUnits, theirUnit) })
			})
		if err != nil {
			return err
		}
		out.figure(f.id, f.what, medianRatio(b, a, cost.cpuPerUnit), atLeast(f.target),
			fmt.Sprintf("CPU %.0f us against %.0f us; rate %.0f/s against %.0f/s, ratio %.2f",
				medianOf(a, cost.cpuPerUnit), medianOf(b, cost.cpuPerUnit),
				medianOf(a, cost.rate), medianOf(b, cost.rate), medianRatio(a, b, cost.rate)))
	}
	return nil
}
