package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/settings"
	"github.com/switchboard-otel/switchboard/app/spans"
)

// spansOfARun is how many spans one side of a pair writes, whatever the size of its batches.
const spansOfARun = 24_000

// ingest is a product whose todos take any number of spans.
type ingest struct {
	*product
	srv      *server
	endpoint *identity.Endpoint
}

func (s *server) newIngest(ctx context.Context, name string) (*ingest, *identity.Vended, error) {
	p, err := s.newProduct(ctx, name, workers)
	if err != nil {
		return nil, nil, err
	}
	if err := p.liftCaps(ctx); err != nil {
		return nil, nil, errors.Join(err, p.Close())
	}
	v, err := p.identity.Vend(ctx, p.human, identity.VendParams{Name: name})
	if err != nil {
		return nil, nil, errors.Join(err, p.Close())
	}
	return &ingest{p, s, &v.Endpoint}, v, nil
}

// liftCaps lets a todo take so many spans that no run reaches its caps, where next to nothing would be written.
func (p *product) liftCaps(ctx context.Context) error {
	for _, key := range []settings.Key{settings.SpansMaxPerAttempt, settings.SpansMaxPerTodo} {
		if _, err := p.Verbs.Exec(ctx, `INSERT INTO settings (key, value) VALUES ($1, '1000000')`, string(key)); err != nil {
			return err
		}
	}
	return nil
}

// newTodo is claimed. The trace is the one that was minted for its attempt.
func (in *ingest) newTodo(ctx context.Context) (todo uuid.UUID, trace [16]byte, err error) {
	if err := in.fill(ctx, in.endpoint, 1, shortPayload); err != nil {
		return todo, trace, err
	}
	if todo, err = in.claim(ctx, in.endpoint); err != nil {
		return todo, trace, err
	}
	var id []byte
	err = in.Verbs.QueryRow(ctx, `SELECT trace_id FROM todo_attempts WHERE todo_id = $1`, todo).Scan(&id)
	copy(trace[:], id)
	return todo, trace, err
}

// batches are of new spans, for each of the writers those of one todo.
type batches [][][]spans.Span

// newBatches makes the batches of a run, for todos that hold so many spans already.
func (in *ingest) newBatches(ctx context.Context, writers, size, held int) (batches, error) {
	all := make(batches, writers)
	for w := range all {
		todo, trace, err := in.newTodo(ctx)
		if err != nil {
			return nil, err
		}
		for n := 0; n < held; n += 1000 {
			if err := in.upsert(ctx, rowsOf(newTraces(1000, newTraceID()), todo)); err != nil {
				return nil, err
			}
		}
		for range spansOfARun / size / writers {
			all[w] = append(all[w], rowsOf(newTraces(size, trace), todo))
		}
	}
	return all, nil
}

type storeFunc func(context.Context, []spans.Span) error

// run measures store for new batches, the writers at the same time. A unit is a span.
func (in *ingest) run(ctx context.Context, writers, size int, store storeFunc) (cost, error) {
	all, err := in.newBatches(ctx, writers, size, 0)
	if err != nil {
		return cost{}, err
	}
	return in.write(ctx, all, store)
}

func (in *ingest) write(ctx context.Context, all batches, store storeFunc) (cost, error) {
	n := 0
	for _, batches := range all {
		for _, b := range batches {
			n += len(b)
		}
	}
	return in.srv.spend(ctx, in.name, n, func() error { return all.each(ctx, store) })
}

func (all batches) each(ctx context.Context, store storeFunc) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, batches := range all {
		group.Go(func() error {
			for _, b := range batches {
				if err := store(ctx, b); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// upsert is the product.
func (in *ingest) upsert(ctx context.Context, batch []spans.Span) error {
	outcome, err := in.spans.Upsert(ctx, in.endpoint.ID, batch)
	if err == nil && outcome.Stored != len(batch) {
		err = fmt.Errorf("stored %d of %d spans", outcome.Stored, len(batch))
	}
	return err
}

var spanColumns = []string{"todo_id", "attempt_seq", "trace_id", "span_id", "parent_span_id", "name", "kind", "status_code",
	"status_message", "start_at", "end_at", "service_name", "tool", "category", "attributes", "content_hash", "received_at"}

// copyIn is the baseline: the same rows into the same table, without caps, counts or a look at what is stored. It need
// not hash their contents: other numbers, as long, stand for the hashes.
func (in *ingest) copyIn(ctx context.Context, batch []spans.Span) error {
	_, err := in.DB.Spans.CopyFrom(ctx, pgx.Identifier{"todo_spans"}, spanColumns,
		pgx.CopyFromSlice(len(batch), func(i int) ([]any, error) {
			s := &batch[i]
			var parent []byte
			if s.ParentSpanID != [8]byte{} {
				parent = s.ParentSpanID[:]
			}
			return []any{s.TodoID, s.AttemptSeq, s.TraceID[:], s.SpanID[:], parent, s.Name, s.Kind, s.StatusCode,
				orNull(s.StatusMessage), s.StartAt, s.EndAt, orNull(s.ServiceName), orNull(s.Tool), s.Category, s.Attributes,
				s.StartAt.UnixNano(), s.EndAt}, nil
		}))
	return err
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// benchUpsert is T1: what exact caps and idempotency cost beside raw COPY.
func benchUpsert(ctx context.Context, srv *server, out *report) error {
	in, _, err := srv.newIngest(ctx, "upsert")
	if err != nil {
		return err
	}
	defer in.Close()
	for _, writers := range []int{1, 4} {
		for _, size := range []int{100, 500, 1000} {
			upsert := func() (cost, error) { return in.run(ctx, writers, size, in.upsert) }
			baseline := func() (cost, error) { return in.run(ctx, writers, size, in.copyIn) }
			a, b, err := warmInTurn(upsert, baseline)
			if err != nil {
				return err
			}
			out.figure("T1", fmt.Sprintf("upsert / COPY, batches of %d, writers: %d", size, writers),
				medianRatio(b, a, cost.cpuPerUnit), atLeast(0.70), spanDetail(a, b))
		}
	}
	return nil
}

// warmInTurn runs both sides once before it measures: plans are made, connections opened, pages read.
func warmInTurn(ours, baseline func() (cost, error)) (a, b [pairs]cost, err error) {
	for _, side := range []func() (cost, error){ours, baseline} {
		if _, err := side(); err != nil {
			return a, b, err
		}
	}
	return inTurn(ours, baseline)
}

// spanDetail is detail for units of some microseconds.
func spanDetail(a, b [pairs]cost) string {
	return fmt.Sprintf("CPU %.1f us a span against %.1f us; rate %.0f/s against %.0f/s",
		medianOf(a, cost.cpuPerUnit), medianOf(b, cost.cpuPerUnit), medianOf(a, cost.rate), medianOf(b, cost.rate))
}
