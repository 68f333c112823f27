package settings_test

import (
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
	"github.com/switchboard-otel/switchboard/app/settings"
)

// queue.md section 5: a value that is no whole number in its range means the default, and the log says so
// once, without the value.
func TestSettings_AnUnusableValueMeansTheDefault(t *testing.T) {
	for value, want := range map[string]int{"300": 300, "0": 0, "100000": 100_000, "-1": 200, "100001": 200, "many": 200, "": 200, "1.5": 200, " 7": 200} {
		db := postgrestest.New(t)
		if _, err := db.Pool.Exec(t.Context(), `INSERT INTO settings VALUES ($1, $2), ('unheard_of', 'x')`, settings.NotesMaxPerAttempt, value); err != nil {
			t.Fatal(err)
		}
		core, said := observer.New(zapcore.WarnLevel)
		r := settings.NewReader(db.Pool, zap.New(core))
		for range 3 {
			if got := r.Values(t.Context())[settings.NotesMaxPerAttempt]; got != want {
				t.Errorf("%q means %d, want %d", value, got, want)
			}
		}
		if warned := said.Len() > 0; warned != (want == 200) || said.Len() > 1 {
			t.Errorf("%q: %d warnings", value, said.Len())
		}
	}
}

// attempt-history, "Per-todo cap": a value below 5 is raised to 5.
func TestSettings_TheAttemptCapIsAtLeastFive(t *testing.T) {
	db := postgrestest.New(t)
	if _, err := db.Pool.Exec(t.Context(), `INSERT INTO settings VALUES ('attempt_history_max_per_todo', '3')`); err != nil {
		t.Fatal(err)
	}
	if got := settings.NewReader(db.Pool, zap.NewNop()).Values(t.Context())[settings.AttemptHistoryMax]; got != 5 {
		t.Errorf("%d", got)
	}
}

func TestSettings_AChangeIsSeenWithoutARestart(t *testing.T) {
	db := postgrestest.New(t)
	r := settings.NewReader(db.Pool, zap.NewNop())
	if got := r.Values(t.Context())[settings.SpansMaxPerTodo]; got != 10_000 {
		t.Fatalf("%d", got)
	}
	if _, err := db.Pool.Exec(t.Context(), `
		INSERT INTO settings (key, value) VALUES ('spans_max_per_todo', '100')
		ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value`); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); r.Values(t.Context())[settings.SpansMaxPerTodo] != 100; <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("the change was never seen")
		}
	}
}

func TestSettings_KeepTheirValuesWhileTheStoreIsAway(t *testing.T) {
	db := postgrestest.New(t)
	r := settings.NewReader(db.Pool, zap.NewNop())
	db.Pool.Close()
	if got := r.Values(t.Context())[settings.OTLPMaxSpansPerRequest]; got != 1000 {
		t.Errorf("%d", got)
	}
}
