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
	delay := txFirstDelay
	for try := 1; ; try++ {
		err := pgx.BeginFunc(ctx, pool, fn)
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
