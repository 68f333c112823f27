package intake_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"go.uber.org/zap/zaptest"

	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
	"github.com/switchboard-otel/switchboard/app/webhook"
)

// A third of the deliveries are sent twice, by whoever comes to them.
const (
	stormDistinct = 600 // of every 900
	connections   = 16
)

func stormSize() int {
	if os.Getenv("SWITCHBOARD_LONG") != "" {
		return 10_000
	}
	return 1500
}

// killDatabase ends the server as a crash does. It is started again by the process that runs it.
func killDatabase(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil || syscall.Kill(pid, syscall.SIGKILL) != nil {
		t.Fatalf("cannot kill process %q: %v", first, err)
	}
}

// The storm: deliveries from 16 connections, a third of them duplicates, with PostgreSQL killed and started
// again in the middle. Every 202 has its todo, no todo is there twice, and nothing that was accepted is lost. Who is
// refused for the outage sends again, as producers do.
func TestStorm_EveryAcceptedDeliveryHasItsTodoAndNoneTwice(t *testing.T) {
	t.Parallel()
	dir := postgrestest.DataDir(t)
	db, err := postgres.Open(t.Context(), postgres.Config{DataDir: dir, Logger: zaptest.NewLogger(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	w := newWorld(t, db.Spans)
	to := w.create(webhook.GitHub)
	w.rules(to, `[{"id":"odd","expr":".payload.n % 2 == 1","action":{"queue":"lane-m"}}]`)

	size := stormSize()
	distinct := size * stormDistinct / 900
	names := make(chan int, size)
	for _, n := range rand.Perm(size) {
		names <- n % distinct
	}
	close(names)
	var answered, refused atomic.Int64
	accepted := make([]sync.Map, distinct) // of each delivery: the ids it was answered
	deliver := func(n int) {
		body := fmt.Sprintf(`{"n":%d}`, n)
		w.await(fmt.Sprintf("delivery %d to be accepted", n), func() error {
			got, err := w.try(to.URL, body, "X-GitHub-Delivery", fmt.Sprint("d-", n), "X-Hub-Signature-256", signed(to.Secret, body))
			switch {
			case err != nil:
				return err
			case got.status == http.StatusServiceUnavailable && got.header.Get("Retry-After") != "":
				refused.Add(1)
				return fmt.Errorf("%s", got.body)
			}
			receipt := got.receipt(t)
			accepted[n].Store(receipt.Todos[0].ID, receipt.Todos[0].Queue)
			return nil
		})
		if answered.Add(1) == int64(size/2) {
			killDatabase(t, dir)
		}
	}
	var senders sync.WaitGroup
	for range connections {
		senders.Go(func() {
			for n := range names {
				deliver(n)
			}
		})
	}
	senders.Wait()

	var events, todos int
	w.await("the rows to be read", func() error {
		return db.Spans.QueryRow(t.Context(), `SELECT (SELECT count(DISTINCT external_id) FROM events), (SELECT count(DISTINCT event_id) FROM todos)`).Scan(&events, &todos)
	})
	var rows int
	if err := db.Spans.QueryRow(t.Context(), `SELECT count(*) FROM todos`).Scan(&rows); err != nil {
		t.Fatal(err)
	}
	if events != distinct || todos != distinct || rows != distinct {
		t.Errorf("%d deliveries are %d events and %d todos of %d events", distinct, events, rows, todos)
	}
	for n := range accepted {
		ids := 0
		accepted[n].Range(func(id, lane any) bool {
			ids++
			var stored string
			err := db.Spans.QueryRow(t.Context(), `SELECT t.queue FROM todos t JOIN events v ON v.id = t.event_id WHERE v.external_id = $1 AND t.id = $2`,
				fmt.Sprint("d-", n), w.todo(id.(string)).ID.UUID()).Scan(&stored)
			if want := []string{"lane-s", "lane-m"}[n%2]; err != nil || stored != want || lane != want {
				t.Errorf("delivery %d was answered %v in %v and is in %q, %v", n, id, lane, stored, err)
			}
			return true
		})
		if ids != 1 {
			t.Errorf("delivery %d was answered %d todos", n, ids)
		}
	}
	t.Logf("%d deliveries of %d names were accepted over %d connections, %d were told to come again", size, distinct, connections, refused.Load())
}
