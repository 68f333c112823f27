package main

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/feed"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

const (
	feedRows   = 1_000_000
	feedTodos  = 2000
	feedReads  = 1000 // of each kind
	quietRows  = 60
	mostOfPage = 10 // milliseconds
)

// under is a bound on milliseconds.
func under(bound float64) target { return target{relation: "<=", bound: bound, unit: " ms"} }

// benchFeed is the first half of T11: a page of the Activity feed among a million entries, the newest one and one from
// the middle, for a human who has nearly all of them and for one who has few and old ones.
func benchFeed(ctx context.Context, srv *server, out *report) error {
	p, err := srv.newProduct(ctx, "feed", workers)
	if err != nil {
		return err
	}
	defer p.Close()
	quiet := typeid.New()
	if _, err := p.Verbs.Exec(ctx, `INSERT INTO humans (id, issuer, subject, name) VALUES ($1, 'bench', 'quiet', 'quiet')`, quiet); err != nil {
		return err
	}
	if err := p.fillFeed(ctx, p.human, feedTodos, feedRows-quietRows, 0); err != nil {
		return err
	}
	if err := p.fillFeed(ctx, quiet, 10, quietRows, 24*time.Hour); err != nil {
		return err
	}
	if err := srv.settle(ctx, p.name); err != nil {
		return err
	}
	store := feed.NewStore(p.Verbs)
	for _, f := range []struct {
		id, what string
		human    uuid.UUID
		deep     int // entries to go back
		filter   feed.Filter
	}{
		{"T11a", "feed, first page, busy human", p.human, 0, feed.Filter{}},
		{"T11b", "feed, deep page, busy human", p.human, feedRows / 2, feed.Filter{}},
		{"T11c", "feed, first page, quiet human", quiet, 0, feed.Filter{}},
		{"T11d", "feed, last page, quiet human", quiet, quietRows - 20, feed.Filter{}},
	} {
		if f.deep > 0 {
			if f.filter.Before, err = p.cursorAt(ctx, f.human, f.deep); err != nil {
				return err
			}
		}
		latencies := make([]time.Duration, feedReads)
		for i := range latencies {
			began := time.Now()
			if _, _, err := store.Page(ctx, f.human, f.filter); err != nil {
				return err
			}
			latencies[i] = time.Since(began)
		}
		out.figure(f.id, f.what+", p95", milliseconds(p95(latencies)), under(mostOfPage), fmt.Sprintf("%d reads among %d entries", feedReads, feedRows))
	}
	return nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// fillFeed gives a human todos with attempts that have ended, and entries of those, a second apart, the newest as old
// as age.
func (p *product) fillFeed(ctx context.Context, human uuid.UUID, todos, entries int, age time.Duration) error {
	v, err := p.vendFor(ctx, human)
	if err != nil {
		return err
	}
	ids := make([]uuid.UUID, todos)
	for i := range ids {
		ids[i] = typeid.New()
	}
	const attempts = 10
	for _, fill := range []struct {
		sql  string
		args []any
	}{
		{`INSERT INTO todos (id, endpoint_id, human_id, queue, source, title, max_attempts, state, ended_at, attempt, attempts_total, created_at, updated_at)
			SELECT id, $2, $3, 'default', 'operator', 'retry on 502', 5, 'done', sb_now(), 1, $4, sb_now(), sb_now() FROM unnest($1::uuid[]) AS id`,
			[]any{ids, v, human, attempts}},
		{`INSERT INTO todo_attempts (todo_id, seq, attempt, claimer_kind, endpoint_id, trace_id, lease_ttl_seconds, claimed_at, ended_at, outcome, disposition, summary)
			SELECT id, seq, 1, 'endpoint', $2, decode(md5(id::text || seq), 'hex'), 300, sb_now() - interval '2 days', sb_now() - interval '1 day', 'completed', 'done',
				repeat('what was done, and why; ', 20)
			FROM unnest($1::uuid[]) AS id, generate_series(1, $3::integer) AS seq`, []any{ids, v, attempts}},
		{`INSERT INTO feed_entries (human_id, at, kind, todo_id, ref, queue, endpoint_id, outcome)
			SELECT $3, sb_now() - make_interval(secs => $5::double precision + n), 'attempt', ($1::uuid[])[1 + n % cardinality($1::uuid[])],
				1 + n % $6::integer, 'default', $2, 'completed'
			FROM generate_series(0, $4::integer - 1) AS n`,
			[]any{ids, v, human, entries, age.Seconds(), attempts}},
	} {
		if err := p.unbounded(ctx, fill.sql, fill.args...); err != nil {
			return fmt.Errorf("fill the feed: %w", err)
		}
	}
	return nil
}

// unbounded runs a statement that takes longer than a pool of the product lets one take.
func (p *product) unbounded(ctx context.Context, sql string, args ...any) error {
	return pgx.BeginFunc(ctx, p.Verbs, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SET LOCAL statement_timeout = 0`); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, sql, args...)
		return err
	})
}

func (p *product) vendFor(ctx context.Context, human uuid.UUID) (uuid.UUID, error) {
	v, err := p.identity.Vend(ctx, human, identity.VendParams{Name: "feed"})
	if err != nil {
		return uuid.Nil, err
	}
	return v.ID, nil
}

// cursorAt is the cursor of the page that begins n entries back.
func (p *product) cursorAt(ctx context.Context, human uuid.UUID, n int) (string, error) {
	var e feed.Entry
	err := p.Verbs.QueryRow(ctx, `SELECT at, id FROM feed_entries WHERE human_id = $1 ORDER BY at DESC, id DESC OFFSET $2 LIMIT 1`, human, n).Scan(&e.At, &e.ID)
	return e.Cursor(), err
}
