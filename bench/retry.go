package main

import (
	"context"
	"fmt"
)

// benchRetry is T4: a request that is sent again, because its answer was lost, finds everything stored and writes
// nothing.
func benchRetry(ctx context.Context, srv *server, out *report) error {
	in, _, err := srv.newIngest(ctx, "retry")
	if err != nil {
		return err
	}
	defer in.Close()
	for _, size := range []int{100, 500, 1000} {
		var sent batches
		first := func() (cost, error) {
			var err error
			if sent, err = in.newBatches(ctx, 1, size, 0); err != nil {
				return cost{}, err
			}
			return in.write(ctx, sent, in.upsert)
		}
		var logged []float64
		var firsts, retries [pairs]cost
		for i := -1; i < pairs; i++ { // the pair before the first one is for plans to be made
			a, err := first()
			if err != nil {
				return err
			}
			before, err := srv.logPosition(ctx)
			if err != nil {
				return err
			}
			b, err := in.write(ctx, sent, in.upsert)
			if err != nil {
				return err
			}
			after, err := srv.logPosition(ctx)
			if err != nil {
				return err
			}
			if i >= 0 {
				firsts[i], retries[i] = a, b
				logged = append(logged, float64(after-before))
			}
		}
		out.figure("T4", fmt.Sprintf("retry / first send, batches of %d", size),
			medianRatio(retries, firsts, cost.cpuPerUnit), atMost(0.50), spanDetail(retries, firsts))
		out.figure("T4", fmt.Sprintf("write-ahead log of %d retried spans", spansOfARun), median(logged), target{"<=", 0, " bytes"},
			fmt.Sprintf("batches of %d", size))
	}
	return nil
}

// logPosition is how many bytes of write-ahead log the server has written.
func (s *server) logPosition(ctx context.Context) (position int64, err error) {
	err = s.admin.QueryRow(ctx, `SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint`).Scan(&position)
	return position, err
}
