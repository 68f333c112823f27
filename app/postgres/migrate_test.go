package postgres_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
)

func TestMigrations_OfReplicasThatStartAtOnce(t *testing.T) {
	t.Parallel()
	server := postgrestest.NewServer(t)
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			db, err := postgres.Open(t.Context(), postgres.Config{URL: server.URL})
			if err != nil {
				t.Error(err)
				return
			}
			defer db.Close()
			if _, err := db.Verbs.Exec(t.Context(), "SELECT FROM todos"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	db := open(t, postgres.Config{URL: server.URL})
	var twice int
	err := db.Verbs.QueryRow(t.Context(), "SELECT count(*) - count(DISTINCT version_id) FROM goose_db_version").Scan(&twice)
	if err != nil || twice != 0 {
		t.Errorf("%d migrations ran twice (%v)", twice, err)
	}
}

func TestMigrations_OfANewerVersionAreRefused(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	if _, err := db.Pool.Exec(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, true)"); err != nil {
		t.Fatal(err)
	}
	_, err := postgres.Open(t.Context(), postgres.Config{URL: db.URL})
	if err == nil || !strings.HasPrefix(err.Error(), "the database has schema 99999 and this version of Switchboard knows only up to ") {
		t.Errorf("got %v", err)
	}
}
