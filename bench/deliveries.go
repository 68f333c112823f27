package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/switchboard-otel/switchboard/app/intake"
	"github.com/switchboard-otel/switchboard/app/ratelimit"
	"github.com/switchboard-otel/switchboard/app/settings"
	"github.com/switchboard-otel/switchboard/app/webhook"
)

const (
	deliverers = 16
	deliveries = 9000 // each third one is another's again
)

// benchDeliveries says how fast deliveries become todos: over HTTP, from 16 connections, each stored with its event
// and its todo before it is accepted. There is nothing to compare it with, so it has no target.
func benchDeliveries(ctx context.Context, srv *server, out *report) error {
	p, err := srv.newProduct(ctx, "deliveries", deliverers)
	if err != nil {
		return err
	}
	defer p.Close()
	ep, err := p.vend(ctx, "deliveries")
	if err != nil {
		return err
	}
	live := settings.NewReader(p.DB.Spans, zap.NewNop())
	store := intake.NewStore(intake.Config{Pool: p.DB.Spans, Queue: p.queue, Settings: live})
	made, err := store.Create(ctx, ep, intake.CreateParams{Source: webhook.Generic})
	if err != nil {
		return err
	}
	all := ratelimit.New(1e6, 1e6)
	way := httptest.NewServer(&intake.Handler{Intake: store, Settings: live, PreAuth: all, PerWebhook: all,
		ClientAddress: func(r *http.Request) string { return r.RemoteAddr }, Log: zap.NewNop()})
	defer way.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: deliverers}}
	defer client.CloseIdleConnections()

	latencies := make([]time.Duration, deliveries)
	began := time.Now()
	group, groupCtx := errgroup.WithContext(ctx)
	for d := range deliverers {
		group.Go(func() error {
			for n := d; n < deliveries; n += deliverers {
				sent := time.Now()
				if err := deliver(groupCtx, client, way.URL+made.URL, n*2/3); err != nil {
					return err
				}
				latencies[n] = time.Since(sent)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	took := time.Since(began)
	var todos int
	if err := p.Verbs.QueryRow(ctx, `SELECT count(*) FROM todos`).Scan(&todos); err != nil {
		return err
	}
	out.fact("D", fmt.Sprintf("%d deliveries from %d connections became %d todos: %.0f/s, p95 %.1f ms from request to 202",
		deliveries, deliverers, todos, deliveries/took.Seconds(), 1000*p95(latencies).Seconds()))
	return nil
}

func deliver(ctx context.Context, client *http.Client, address string, name int) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(issuePayload))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Delivery-Id", "delivery-"+strconv.Itoa(name))
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusAccepted {
		err = fmt.Errorf("a delivery was answered %s", res.Status)
	}
	return errors.Join(err, res.Body.Close())
}
