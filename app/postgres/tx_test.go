package postgres_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
)

func TestInTx_CommitsOrRollsBack(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	if _, err := db.Pool.Exec(t.Context(), "CREATE TABLE things (id int)"); err != nil {
		t.Fatal(err)
	}
	insert := func(fail error) func(pgx.Tx) error {
		return func(tx pgx.Tx) error {
			_, err := tx.Exec(t.Context(), "INSERT INTO things VALUES (1)")
			return errors.Join(err, fail)
		}
	}
	if err := postgres.InTx(t.Context(), db.Pool, insert(nil)); err != nil {
		t.Error(err)
	}
	fail := errors.New("changed my mind")
	if err := postgres.InTx(t.Context(), db.Pool, insert(fail)); !errors.Is(err, fail) {
		t.Errorf("got %v, want the function's error", err)
	}
	var rows int
	if err := db.Pool.QueryRow(t.Context(), "SELECT count(*) FROM things").Scan(&rows); err != nil || rows != 1 {
		t.Errorf("%d rows (%v), want the committed one", rows, err)
	}
}

func TestInTx_TriesAgainAfterADeadlock(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	for _, statement := range []string{"CREATE TABLE things (id int PRIMARY KEY, n int)", "INSERT INTO things VALUES (1, 0), (2, 0)"} {
		if _, err := db.Pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	// Both hold one row before either wants the other's: the server ends one of them.
	var holding, done sync.WaitGroup
	holding.Add(2)
	tries := make([]int, 2)
	for i, order := range [][]int{{1, 2}, {2, 1}} {
		done.Go(func() {
			err := postgres.InTx(t.Context(), db.Pool, func(tx pgx.Tx) error {
				tries[i]++
				for step, id := range order {
					if step == 1 && tries[i] == 1 {
						holding.Done()
						holding.Wait()
					}
					if _, err := tx.Exec(t.Context(), "UPDATE things SET n = n + 1 WHERE id = $1", id); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	// One, at least: the loser's next try can meet the other before it has gone on.
	if tries[0]+tries[1] < 3 {
		t.Errorf("the transactions took %v tries, want one of them to try again", tries)
	}
	var sum int
	if err := db.Pool.QueryRow(t.Context(), "SELECT sum(n) FROM things").Scan(&sum); err != nil || sum != 4 {
		t.Errorf("the updates sum to %d (%v), want 4", sum, err)
	}
}

func TestInTx_TriesAgainAfterASerializationFailure(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	for _, statement := range []string{"CREATE TABLE things (n int)", "INSERT INTO things VALUES (0)"} {
		if _, err := db.Pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	tries := 0
	err := postgres.InTx(t.Context(), db.Pool, func(tx pgx.Tx) error {
		tries++
		if _, err := tx.Exec(t.Context(), "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"); err != nil {
			return err
		}
		var n int
		if err := tx.QueryRow(t.Context(), "SELECT n FROM things").Scan(&n); err != nil {
			return err
		}
		if tries == 1 { // somebody else is faster
			if _, err := db.Pool.Exec(t.Context(), "UPDATE things SET n = 10"); err != nil {
				return err
			}
		}
		_, err := tx.Exec(t.Context(), "UPDATE things SET n = $1", n+1)
		return err
	})
	var n int
	if scanErr := db.Pool.QueryRow(t.Context(), "SELECT n FROM things").Scan(&n); scanErr != nil || err != nil || n != 11 || tries != 2 {
		t.Errorf("n = %d after %d tries (%v, %v), want 11 after 2", n, tries, err, scanErr)
	}
}

func TestInTx_GivesUp(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	tries := 0
	err := postgres.InTx(t.Context(), db.Pool, func(pgx.Tx) error {
		tries++
		return &pgconn.PgError{Code: "40001"}
	})
	if tries != 4 || !postgres.Unavailable(err) {
		t.Errorf("%d tries, then %v; want 4, then an Unavailable error", tries, err)
	}
}

func TestInBatch_IsOneTransaction(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	if _, err := db.Pool.Exec(t.Context(), "CREATE TABLE things (id int PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	insert := func(ids ...int) error {
		return postgres.InBatch(t.Context(), db.Pool, func(b *pgx.Batch) {
			for _, id := range ids {
				b.Queue("INSERT INTO things VALUES ($1)", id)
			}
		})
	}
	if err := insert(1, 2); err != nil {
		t.Error(err)
	}
	if err := insert(3, 1); !postgres.Refused(err) {
		t.Errorf("got %v, want the refusal of a key that is there", err)
	}
	var rows int
	if err := db.Pool.QueryRow(t.Context(), "SELECT count(*) FROM things").Scan(&rows); err != nil || rows != 2 {
		t.Errorf("%d rows (%v), want those of the first batch", rows, err)
	}
}
