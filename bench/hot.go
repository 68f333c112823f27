package main

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/identity"
)

const (
	hotTodos = 500
	hotBeats = 10 // of each todo: fewer than the notes that an attempt may hold
)

// updates are how many rows of a table were updated, and how many of them without a new index entry.
type updates struct{ all, hot int64 }

// benchHeartbeatHOT is T12: a heartbeat touches no index.
func benchHeartbeatHOT(ctx context.Context, srv *server, out *report) error {
	p, err := srv.newProduct(ctx, "heartbeats", workers)
	if err != nil {
		return err
	}
	defer p.Close()
	ep, err := p.vend(ctx, "heartbeats")
	if err != nil {
		return err
	}
	if err := p.fill(ctx, ep, hotTodos, issuePayload); err != nil {
		return err
	}
	ids := make([]uuid.UUID, hotTodos)
	err = work(ctx, hotTodos, func(ctx context.Context, i int) (err error) {
		ids[i], err = p.claim(ctx, ep)
		return err
	})
	if err != nil {
		return err
	}
	for _, f := range []struct {
		id, what string
		note     *string
	}{
		{"T12a", "heartbeat, HOT share of updates", nil},
		{"T12b", "heartbeat with note, HOT share of updates", note()},
	} {
		before, err := p.updates(ctx, srv)
		if err != nil {
			return err
		}
		if err := p.beats(ctx, ep, ids, f.note); err != nil {
			return err
		}
		after, err := p.updates(ctx, srv)
		if err != nil {
			return err
		}
		least, detail := 100.0, ""
		for _, table := range []string{"todos", "todo_attempts"} {
			all, hot := after[table].all-before[table].all, after[table].hot-before[table].hot
			if all == 0 {
				continue
			}
			share := 100 * float64(hot) / float64(all)
			least = min(least, share)
			detail += fmt.Sprintf("%s %d of %d; ", table, hot, all)
		}
		out.figure(f.id, f.what, least, target{relation: ">=", bound: 90, unit: " %"}, detail[:len(detail)-2])
	}
	return nil
}

func (p *product) beats(ctx context.Context, ep *identity.Endpoint, ids []uuid.UUID, note *string) error {
	return work(ctx, hotBeats*len(ids), func(ctx context.Context, i int) error {
		return p.heartbeat(ctx, ep, ids[i%len(ids)], note)
	})
}

// updates reads the server's counters. A backend reports what it did when it ends, so the pool is emptied first.
func (p *product) updates(ctx context.Context, srv *server) (map[string]updates, error) {
	p.Verbs.Reset()
	err := until(ctx, func() (bool, error) {
		pids, err := srv.backends(ctx, p.name)
		return len(pids) == 0, err
	})
	if err != nil {
		return nil, err
	}
	rows, err := p.Verbs.Query(ctx, `SELECT relname::text, n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables`)
	if err != nil {
		return nil, err
	}
	counters := map[string]updates{}
	var table string
	var u updates
	_, err = pgx.ForEachRow(rows, []any{&table, &u.all, &u.hot}, func() error {
		counters[table] = u
		return nil
	})
	return counters, err
}
