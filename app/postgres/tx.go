package postgres

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A transaction that lost against others is tried again after a random part of a delay that doubles.
const (
	txTries      = 4
	txFirstDelay = 10 * time.Millisecond
)

// InTx runs fn in a transaction and commits it, or rolls back and returns fn's error. After a serialization failure or
// a deadlock it runs fn again, so fn must start from nothing each time. It never runs fn again after a commit whose
// outcome is unknown.
func InTx(ctx context.Context, pool *pgxpool.Pool, fn func(tx pgx.Tx) error) error {
	return retry(ctx, func() error { return pgx.BeginFunc(ctx, pool, fn) })
}

// InBatch sends the statements that queue adds at once, and the server runs them in one transaction, which it commits
// behind the last one: a transaction for one round trip instead of four. queue runs again when InTx would run fn again.
// No statement may be a transaction's beginning or end.
func InBatch(ctx context.Context, pool *pgxpool.Pool, queue func(*pgx.Batch)) error {
	return retry(ctx, func() error {
		var b pgx.Batch
		queue(&b)
		return pool.SendBatch(ctx, &b).Close()
	})
}

func retry(ctx context.Context, transaction func() error) error {
	delay := txFirstDelay
	for try := 1; ; try++ {
		err := transaction()
		if !Retryable(err) || try == txTries {
			return err
		}
		timer := time.NewTimer(rand.N(delay))
		select {
		case <-ctx.Done():
			timer.Stop()
			return err
		case <-timer.C:
		}
		delay *= 2
	}
}
