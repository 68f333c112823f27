package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// benchRetry is T4: a request that is sent again, because its answer was lost, finds everything stored and writes
// nothing.
func benchRetry(ctx context.Context, srv *server, out *report) (err error) {
	in, _, err := srv.newIngest(ctx, "retry")
	if err != nil {
		return err
	}
	defer in.Close()
	if err := srv.withoutVacuum(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.withVacuum(context.WithoutCancel(ctx))) }()
	for _, size := range []int{100, 500, 1000} {
		if _, err := in.resend(ctx, size); err != nil { // plans are made
			return err
		}
		var sends [pairs]resend
		for i := range sends {
			if sends[i], err = in.resend(ctx, size); err != nil {
				return err
			}
		}
		ratio := medianOf(sends, func(r resend) float64 { return r.again.cpuPerUnit() / r.first.cpuPerUnit() })
		again := medianOf(sends, func(r resend) float64 { return r.again.cpuPerUnit() })
		first := medianOf(sends, func(r resend) float64 { return r.first.cpuPerUnit() })
		out.figure("T4", fmt.Sprintf("retry / first send, batches of %d", size), ratio, atMost(0.50),
			fmt.Sprintf("CPU %.1f us a span against %.1f us", again, first))
		// The least of them: what the server does of its own accord, such as a checkpoint, is written to the same log.
		least := slices.MinFunc(sends[:], func(a, b resend) int { return cmp.Compare(a.logged, b.logged) })
		out.figure("T4", fmt.Sprintf("write-ahead log of a retry, batches of %d", size), least.logged, target{"<=", 0, " bytes"},
			fmt.Sprintf("of %d spans", spansOfARun))
	}
	return nil
}

// resend is what it costs to send requests, and to send them again.
type resend struct {
	first, again cost
	logged       float64 // bytes of write-ahead log of the second time
}

func (in *ingest) resend(ctx context.Context, size int) (r resend, err error) {
	all, err := in.newBatches(ctx, 1, size, 0)
	if err != nil {
		return r, err
	}
	if r.first, err = in.write(ctx, all, in.upsert); err != nil {
		return r, err
	}
	before, err := in.srv.logPosition(ctx)
	if err != nil {
		return r, err
	}
	if r.again, err = in.write(ctx, all, in.upsert); err != nil {
		return r, err
	}
	after, err := in.srv.logPosition(ctx)
	r.logged = float64(after - before)
	return r, err
}

// withoutVacuum keeps the server from tidying up after earlier figures, which goes on for minutes and is written to
// the same log.
func (s *server) withoutVacuum(ctx context.Context) error {
	for _, sql := range []string{`ALTER SYSTEM SET autovacuum = off`, `SELECT pg_reload_conf()`} {
		if _, err := s.admin.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return until(ctx, func() (quiet bool, err error) {
		err = s.admin.QueryRow(ctx, `SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'autovacuum worker'`).Scan(&quiet)
		return quiet, err
	})
}

// withVacuum lets it tidy up again.
func (s *server) withVacuum(ctx context.Context) error {
	_, err := s.admin.Exec(ctx, `ALTER SYSTEM RESET autovacuum`)
	if err == nil {
		_, err = s.admin.Exec(ctx, `SELECT pg_reload_conf()`)
	}
	return err
}

// logPosition is how many bytes of write-ahead log the server has written.
func (s *server) logPosition(ctx context.Context) (position int64, err error) {
	err = s.admin.QueryRow(ctx, `SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint`).Scan(&position)
	return position, err
}
