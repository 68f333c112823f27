package main

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/identity"
)

const (
	claimedBefore = 20_000
	longTxUnits   = 3000 // takes about a second, and once a second a claimer looks from the beginning again
)

// benchLongTransaction is T9: what a transaction that stays open does to the claims of a queue from which
// 20,000 todos were claimed since it began. Their dead index entries cannot be removed while it is open.
// It holds back one database, so that the baseline is a second one on the same server.
func benchLongTransaction(ctx context.Context, srv *server, out *report) error {
	side := func(name string) (*product, *identity.Endpoint, error) {
		p, err := srv.newProduct(ctx, name, workers)
		if err != nil {
			return nil, nil, err
		}
		ep, err := p.vend(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		if err := p.fill(ctx, ep, claimedBefore+pairs*longTxUnits+claimReady, issuePayload); err != nil {
			return nil, nil, err
		}
		return p, ep, srv.settle(ctx, p.name)
	}
	held, heldEndpoint, err := side("long")
	if err != nil {
		return err
	}
	defer held.Close()
	free, freeEndpoint, err := side("short")
	if err != nil {
		return err
	}
	defer free.Close()

	long, err := pgx.Connect(ctx, srv.db.URL(held.name)) // the pools end a transaction that idles
	if err != nil {
		return err
	}
	defer long.Close(context.WithoutCancel(ctx))
	if _, err := long.Exec(ctx, `BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM settings`); err != nil {
		return err
	}

	claims := func(p *product, ep *identity.Endpoint, n int) error {
		return work(ctx, n, func(ctx context.Context, _ int) error {
			_, err := p.claim(ctx, ep)
			return err
		})
	}
	for p, ep := range map[*product]*identity.Endpoint{held: heldEndpoint, free: freeEndpoint} {
		if err := claims(p, ep, claimedBefore); err != nil {
			return err
		}
	}
	measured := func(p *product, ep *identity.Endpoint) func() (cost, error) {
		return func() (cost, error) {
			return srv.spend(ctx, p.name, longTxUnits, func() error { return claims(p, ep, longTxUnits) })
		}
	}
	a, b, err := inTurn(measured(held, heldEndpoint), measured(free, freeEndpoint))
	if err != nil {
		return err
	}
	out.figure("T9", "claim rate under a long transaction / without", medianRatio(b, a, cost.cpuPerUnit), atLeast(0.8),
		detail(a, b))
	return nil
}
