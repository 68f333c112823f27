package postgrestest

import (
	"testing"
	"time"
)

func TestNew_Fresh(t *testing.T) {
	for range 3 {
		t0 := time.Now()
		db := New(t)
		var n int
		if err := db.Pool.QueryRow(t.Context(), "SELECT count(*) FROM todos").Scan(&n); err != nil {
			t.Fatal(err)
		}
		t.Log(time.Since(t0), n)
	}
}
