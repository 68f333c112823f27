package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

const (
	protobufType = "application/x-protobuf"
	jsonType     = "application/json"
)

// benchThrough is T2: from a request over HTTP to committed rows, beside raw COPY of the same rows. The client's CPU is
// on neither side's bill; decoding, binding and masking is on ours.
func benchThrough(ctx context.Context, srv *server, out *report) (err error) {
	in, vended, err := srv.newIngest(ctx, "through")
	if err != nil {
		return err
	}
	defer in.Close()
	c, err := srv.startSwitchboard(ctx, in.name, productConfig, vended)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	for _, f := range []struct {
		size   int
		target float64
	}{{100, 0.45}, {500, 0.60}} {
		ours := func() (cost, error) { return in.sendNew(ctx, c, f.size) }
		baseline := func() (cost, error) { return in.run(ctx, connections, f.size, in.copyIn) }
		a, b, err := warmInTurn(ours, baseline)
		if err != nil {
			return err
		}
		out.figure("T2", fmt.Sprintf("OTLP request to rows / COPY, requests of %d", f.size),
			medianRatio(b, a, cost.cpuPerUnit), atLeast(f.target), spanDetail(a, b))
	}
	return nil
}

// sendNew measures requests of new spans, for each connection those of one newly claimed todo.
func (in *ingest) sendNew(ctx context.Context, c *collector, size int) (cost, error) {
	perConnection := make([][]request, connections)
	todos := make([]uuid.UUID, connections)
	n := 0
	for i := range perConnection {
		todo, trace, err := in.newTodo(ctx)
		if err != nil {
			return cost{}, err
		}
		todos[i] = todo
		for range spansOfARun / connections / size {
			body, err := ptraceotlp.NewExportRequestFromTraces(newTraces(size, trace)).MarshalProto()
			if err != nil {
				return cost{}, err
			}
			perConnection[i] = append(perConnection[i], body)
			n += size
		}
	}
	spent, err := in.srv.spendOf(ctx, spenders{c.pid(), in.name}, n, func() error {
		return c.send(ctx, protobufType, perConnection)
	})
	if err != nil {
		return cost{}, err
	}
	var stored int
	err = in.Verbs.QueryRow(ctx, `SELECT count(*) FROM todo_spans WHERE todo_id = ANY ($1)`, todos).Scan(&stored)
	if err == nil && stored != n {
		err = fmt.Errorf("%d of %d spans are in the database", stored, n)
	}
	return spent, err
}

// requestsOfARun is how many requests one side of a pair of T3 answers.
const requestsOfARun = 400

// benchReceiver is T3: the receiver with all of its processors and nothing behind them, beside the stock receiver with
// nothing behind it. The database is asked once for each trace, and not who calls.
func benchReceiver(ctx context.Context, srv *server, out *report) (err error) {
	in, vended, err := srv.newIngest(ctx, "receiver")
	if err != nil {
		return err
	}
	defer in.Close()
	ours, err := srv.startSwitchboard(ctx, in.name, stubbedConfig, vended)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ours.close()) }()
	stock, err := srv.startStock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stock.close()) }()
	for _, f := range []struct {
		contentType string
		marshal     func(ptraceotlp.ExportRequest) ([]byte, error)
		target      float64
	}{
		{protobufType, ptraceotlp.ExportRequest.MarshalProto, 0.65},
		{jsonType, ptraceotlp.ExportRequest.MarshalJSON, 0.70},
	} {
		requests, err := in.sameRequests(ctx, f.marshal)
		if err != nil {
			return err
		}
		side := func(c *collector) func() (cost, error) {
			return func() (cost, error) {
				return srv.spendOf(ctx, spenders{process: c.pid()}, requestsOfARun*ingestBatch, func() error {
					return c.send(ctx, f.contentType, requests)
				})
			}
		}
		a, b, err := warmInTurn(side(ours), side(stock))
		if err != nil {
			return err
		}
		out.figure("T3", fmt.Sprintf("receiver / stock otlp receiver, %s, requests of %d", f.contentType, ingestBatch),
			medianRatio(b, a, cost.cpuPerUnit), atLeast(f.target), spanDetail(a, b))
	}
	return nil
}

// sameRequests are the requests of a run, a few again and again: nobody keeps them.
func (in *ingest) sameRequests(ctx context.Context, marshal func(ptraceotlp.ExportRequest) ([]byte, error)) ([][]request, error) {
	perConnection := make([][]request, connections)
	for i := range perConnection {
		_, trace, err := in.newTodo(ctx)
		if err != nil {
			return nil, err
		}
		body, err := marshal(ptraceotlp.NewExportRequestFromTraces(newTraces(ingestBatch, trace)))
		if err != nil {
			return nil, err
		}
		for range requestsOfARun / connections {
			perConnection[i] = append(perConnection[i], body)
		}
	}
	return perConnection, nil
}
