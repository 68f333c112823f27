package background_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/switchboard-otel/switchboard/app/background"
	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
)

func TestLeader_OneOfManyRunsTheJobs_AndAnotherTakesOver(t *testing.T) {
	db := postgrestest.New(t)
	ran := make(chan int, 100)
	var running, most atomic.Int32
	core, logs := observer.New(zapcore.InfoLevel)
	lead := func(name int) *background.Leader {
		return background.Lead(db.Pool, zap.New(core), []background.Job{{Name: "count", Every: time.Millisecond, Run: func(context.Context) error {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			select {
			case ran <- name:
			default:
			}
			return nil
		}}})
	}
	first := lead(1)
	if got := <-ran; got != 1 {
		t.Fatalf("%d leads", got)
	}
	second := lead(2)
	for range 50 {
		if got := <-ran; got != 1 {
			t.Fatalf("%d runs beside the leader", got)
		}
	}
	second.Stop()
	first.Stop()
	third := lead(3)
	defer third.Stop()
	for <-ran != 3 {
	}
	var said []string
	for _, line := range logs.All() {
		said = append(said, line.Message)
	}
	if got, want := strings.Join(said, "; "), "this process does the background work now, for all replicas; "+
		"this process no longer does the background work; this process does the background work now, for all replicas"; got != want {
		t.Errorf("the log says who leads: %s", got)
	}
	if most.Load() != 1 {
		t.Errorf("%d ran at once", most.Load())
	}
}
