package switchboardreceiver

import (
	"net/http"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
	"github.com/switchboard-otel/switchboard/app/settings"
)

func set(t *testing.T, pool *pgxpool.Pool, key settings.Key, value string) {
	t.Helper()
	_, err := pool.Exec(t.Context(), `INSERT INTO settings (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = $2`, string(key), value)
	if err != nil {
		t.Fatal(err)
	}
}

// REQ-2 and REQ-19: both caps are settings of the running service, each with its own status.
func TestCaps_AreReadFromTheSettingsTable(t *testing.T) {
	db := postgrestest.New(t)
	status := func(body []byte) int {
		owner := newFakeOwner(t)
		owner.reader = settings.NewReader(db.Pool, zap.NewNop())
		return start(t, owner, sink(storeAll)).do(post(tracesPath, "application/x-protobuf", body)).StatusCode
	}

	set(t, db.Pool, settings.OTLPMaxSpansPerRequest, "3")
	if got := status(protobufOf(3)); got != http.StatusOK {
		t.Errorf("3 spans of 3: %d, want 200", got)
	}
	if got := status(protobufOf(4)); got != http.StatusBadRequest {
		t.Errorf("4 spans of 3: %d, want 400", got)
	}

	set(t, db.Pool, settings.OTLPMaxSpansPerRequest, "1000")
	set(t, db.Pool, settings.OTLPMaxRequestBytes, "1024")
	if got := status(protobufOf(3)); got != http.StatusOK {
		t.Errorf("a small body: %d, want 200", got)
	}
	if got := status(protobufOf(100)); got != http.StatusRequestEntityTooLarge {
		t.Errorf("a body over 1024 bytes: %d, want 413", got)
	}
}
