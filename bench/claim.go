package main

import (
	"context"
	"errors"
	"fmt"

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

// contest is both sides of T8 on one server.
type contest struct {
	srv    *server
	ours   *product
	theirs *riverQueue
}

func (c *contest) close() error {
	c.theirs.pool.Close()
	return c.ours.Close()
}

// benchAgainstRiver is T8: the verbs of one todo against what River runs for one job.
func benchAgainstRiver(ctx context.Context, srv *server, out *report) error {
	for _, p := range []struct{ name, payload string }{{"issue", issuePayload}, {"short", shortPayload}} {
		if err := againstRiver(ctx, srv, out, p.name, p.payload); err != nil {
			return err
		}
	}
	return nil
}

func againstRiver(ctx context.Context, srv *server, out *report, name, payload string) error {
	c, err := newContest(ctx, srv, name)
	if err != nil {
		return err
	}
	defer c.close()
	if err := c.history(ctx, payload); err != nil {
		return err
	}
	for _, f := range []struct {
		id, what string
		target   float64
		ours     func(context.Context, *identity.Endpoint) error
		theirs   func(context.Context, string) error
	}{
		{"T8a", "claim / River fetch", 1.3, c.claim, c.fetch},
		{"T8b", "claim, complete / River fetch, complete", 1.6, c.claimComplete, c.fetchComplete},
		{"T8c", "claim, note, complete / River fetch, complete", 1.3, c.claimNoteComplete, c.fetchComplete},
	} {
		a, b, err := c.compare(ctx, payload, f.ours, f.theirs)
		if err != nil {
			return err
		}
		out.figure(f.id, fmt.Sprintf("%s, payload of %d bytes", f.what, len(payload)), medianRatio(b, a, cost.cpuPerUnit), atLeast(f.target),
			detail(a, b))
	}
	return nil
}

func newContest(ctx context.Context, srv *server, name string) (*contest, error) {
	ours, err := srv.newProduct(ctx, "switchboard-"+name, workers)
	if err != nil {
		return nil, err
	}
	theirs, err := srv.newRiver(ctx, "river-"+name, workers)
	if err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	return &contest{srv, ours, theirs}, nil
}

// history works a number of units to their end on both sides.
func (c *contest) history(ctx context.Context, payload string) error {
	ep, queue, err := c.fill(ctx, claimHistory, payload)
	if err != nil {
		return err
	}
	return work(ctx, claimHistory, func(ctx context.Context, _ int) error {
		return errors.Join(c.claimComplete(ctx, ep), c.fetchComplete(ctx, queue))
	})
}

// fill makes n units ready on each side, in a queue of their own.
func (c *contest) fill(ctx context.Context, n int, payload string) (ep *identity.Endpoint, queue string, err error) {
	if ep, err = c.ours.vend(ctx, "worker"); err != nil {
		return nil, "", err
	}
	if err := c.ours.fill(ctx, ep, n, payload); err != nil {
		return nil, "", err
	}
	return ep, ep.Slug, c.theirs.fill(ctx, ep.Slug, n, payload)
}

// compare measures both sides in turn on queues that were just filled.
func (c *contest) compare(ctx context.Context, payload string, ours func(context.Context, *identity.Endpoint) error,
	theirs func(context.Context, string) error) (a, b [pairs]cost, err error) {
	ep, queue, err := c.fill(ctx, claimReady, payload)
	if err != nil {
		return a, b, err
	}
	for _, database := range []string{c.ours.name, c.theirs.name} {
		if err := c.srv.settle(ctx, database); err != nil {
			return a, b, err
		}
	}
	ourUnit := func(ctx context.Context, _ int) error { return ours(ctx, ep) }
	theirUnit := func(ctx context.Context, _ int) error { return theirs(ctx, queue) }
	if err := errors.Join(work(ctx, claimWarmUp, ourUnit), work(ctx, claimWarmUp, theirUnit)); err != nil {
		return a, b, err
	}
	return inTurn(
		func() (cost, error) {
			return c.srv.spend(ctx, c.ours.name, claimUnits, func() error { return work(ctx, claimUnits, ourUnit) })
		},
		func() (cost, error) {
			return c.srv.spend(ctx, c.theirs.name, claimUnits, func() error { return work(ctx, claimUnits, theirUnit) })
		})
}

func (c *contest) claim(ctx context.Context, ep *identity.Endpoint) error {
	_, err := c.ours.claim(ctx, ep)
	return err
}

func (c *contest) claimComplete(ctx context.Context, ep *identity.Endpoint) error {
	id, err := c.ours.claim(ctx, ep)
	if err != nil {
		return err
	}
	return c.ours.complete(ctx, ep, id)
}

func (c *contest) claimNoteComplete(ctx context.Context, ep *identity.Endpoint) error {
	id, err := c.ours.claim(ctx, ep)
	if err != nil {
		return err
	}
	if err := c.ours.heartbeat(ctx, ep, id, note()); err != nil {
		return err
	}
	return c.ours.complete(ctx, ep, id)
}

func (c *contest) fetch(ctx context.Context, queue string) error {
	_, err := c.theirs.fetch(ctx, queue)
	return err
}

func (c *contest) fetchComplete(ctx context.Context, queue string) error {
	job, err := c.theirs.fetch(ctx, queue)
	if err != nil {
		return err
	}
	return c.theirs.complete(ctx, job)
}
