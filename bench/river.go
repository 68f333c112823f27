package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"
)

// riverQueue is River on a database of its own, used through its driver: the statements that its producer
// and its completer run, without what its client adds to them.
type riverQueue struct {
	pool   *pgxpool.Pool
	name   string
	client *river.Client[pgx.Tx]
	exec   riverdriver.Executor
}

// job carries a todo's payload as its arguments.
type job struct{ payload string }

func (job) Kind() string                   { return "work" }
func (j job) MarshalJSON() ([]byte, error) { return []byte(j.payload), nil }

func (s *server) newRiver(ctx context.Context, name string, conns int32) (*riverQueue, error) {
	url, err := s.database(ctx, name)
	if err != nil {
		return nil, err
	}
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = conns
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	driver := riverpgxv5.New(pool)
	migrator, err := rivermigrate.New(driver, nil)
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, fmt.Errorf("migrate River: %w", err)
	}
	client, err := river.NewClient(driver, &river.Config{})
	if err != nil {
		return nil, err
	}
	return &riverQueue{pool: pool, name: name, client: client, exec: driver.GetExecutor()}, nil
}

// fill puts n available jobs on a queue.
func (r *riverQueue) fill(ctx context.Context, queue string, n int, payload string) error {
	params := make([]river.InsertManyParams, n)
	for i := range params {
		params[i] = river.InsertManyParams{Args: job{payload}, InsertOpts: &river.InsertOpts{Queue: queue}}
	}
	_, err := r.client.InsertManyFast(ctx, params)
	return err
}

// fetch takes one job, with the parameters that River's producer passes.
func (r *riverQueue) fetch(ctx context.Context, queue string) (*rivertype.JobRow, error) {
	got, err := r.exec.JobGetAvailable(ctx, &riverdriver.JobGetAvailableParams{
		ClientID: r.client.ID(), MaxAttemptedBy: 100, MaxToLock: 1, Queue: queue,
	})
	if err != nil {
		return nil, err
	}
	if len(got.Jobs) == 0 {
		return nil, errors.New("River's queue ran empty")
	}
	return got.Jobs[0], nil
}

// complete ends one job, as River's inline completer and its JobCompleteTx do.
func (r *riverQueue) complete(ctx context.Context, j *rivertype.JobRow) error {
	now := time.Now().UTC()
	rows, err := r.exec.JobSetStateIfRunningMany(ctx, &riverdriver.JobSetStateIfRunningManyParams{
		ID: []int64{j.ID}, Attempt: []*int{nil}, ErrData: [][]byte{nil}, FinalizedAt: []*time.Time{&now},
		MetadataDoMerge: []bool{false}, MetadataUpdates: [][]byte{nil}, ScheduledAt: []*time.Time{nil},
		State: []rivertype.JobState{rivertype.JobStateCompleted},
	})
	if err == nil && (len(rows) != 1 || rows[0].State != rivertype.JobStateCompleted) {
		err = errors.New("River did not complete its job")
	}
	return err
}
