// Package background runs the jobs that one process does for all replicas: whoever holds an advisory lock
// of the database leads, and another takes over when that session ends.
package background

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/postgres"
)

// lockKey names the leadership among the database's advisory locks: "switchbd" in ASCII.
const lockKey int64 = 0x7377697463686264

// standby is how often a process that does not lead asks again, and how often a leader makes sure it still is.
const standby = 10 * time.Second

// Job is something done again and again, by the leader only. A run must be harmless when a former leader
// still does the same: every statement re-checks what it changes.
type Job struct {
	Name  string
	Every time.Duration
	Run   func(ctx context.Context) error
}

// Leader runs jobs while it leads.
type Leader struct {
	pool *pgxpool.Pool
	log  *zap.Logger
	jobs []Job

	cancel context.CancelFunc
	done   chan struct{}
}

// Lead starts to stand for leadership, in the background, until Stop.
func Lead(pool *pgxpool.Pool, log *zap.Logger, jobs []Job) *Leader {
	ctx, cancel := context.WithCancel(context.Background())
	l := &Leader{pool: pool, log: log, jobs: jobs, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(l.done)
		for ctx.Err() == nil {
			if err := l.term(ctx); err != nil && ctx.Err() == nil {
				l.log.Warn("background work is interrupted and will be taken up again", postgres.Field(err))
			}
			wait(ctx, standby)
		}
	}()
	return l
}

// Stop ends the jobs, and returns when none runs any more.
func (l *Leader) Stop() {
	l.cancel()
	<-l.done
}

// term leads once, if nobody else does: until ctx ends or the session that holds the lock is lost.
func (l *Leader) term(ctx context.Context) error {
	conn, err := l.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	var leads bool
	if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, lockKey).Scan(&leads); err != nil || !leads {
		conn.Release()
		return err
	}
	// The lock belongs to the session, so the session ends with the term, whatever happened to it.
	session := conn.Hijack()
	defer func() { _ = session.Close(context.WithoutCancel(ctx)) }()
	l.log.Info("this process does the background work now, for all replicas")
	defer l.log.Info("this process no longer does the background work")
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	for _, job := range l.jobs {
		running.Go(func() { l.repeat(ctx, job) })
	}
	for wait(ctx, standby) {
		if err := session.Ping(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (l *Leader) repeat(ctx context.Context, job Job) {
	for {
		if err := job.Run(ctx); err != nil && ctx.Err() == nil {
			l.log.Warn("a background job failed and will run again", zap.String("job", job.Name), postgres.Field(err))
		}
		if !wait(ctx, job.Every) {
			return
		}
	}
}

// wait reports whether d passed before ctx ended.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
