package postgres

import (
	"testing"
)

func TestOpen_StartsTheEmbeddedServerAndMigrates(t *testing.T) {
	db, err := Open(t.Context(), Config{DataDir: t.TempDir(), FastTests: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(db.Describe())
	if err := db.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}
