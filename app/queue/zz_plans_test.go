package queue

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"io/fs"
	"database/sql"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"
	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
	"github.com/switchboard-otel/switchboard/migrations"
)

func freshURL(t *testing.T, name string) string {
	db := postgrestest.New(t)
	_, err := db.Pool.Exec(t.Context(), "CREATE DATABASE "+name+" TEMPLATE template0 ENCODING 'UTF8'")
	if err != nil { t.Fatal(err) }
	i := strings.Index(db.URL, "/sb_test_")
	j := strings.Index(db.URL[i+1:], "?")
	url := db.URL[:i+1] + name
	if j >= 0 { url += db.URL[i+1+j:] }
	t.Cleanup(func() { db.Pool.Exec(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)") })
	return url
}

type upTo struct{ fs.FS; n string }
func (u upTo) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := fs.ReadDir(u.FS, name)
	var kept []fs.DirEntry
	for _, e := range all { if e.Name() < u.n { kept = append(kept, e) } }
	return kept, err
}

func mustx(t *testing.T, c *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := c.Exec(t.Context(), sql, args...); err != nil { t.Fatalf("%v\n%s", err, sql) }
}

func TestZMigrate(t *testing.T) {
	url := freshURL(t, "zz_migrate")
	d, err := sql.Open("pgx", url)
	if err != nil { t.Fatal(err) }
	p, err := goose.NewProvider(goose.DialectPostgres, d, migrations.FS, goose.WithDisableGlobalRegistry(true))
	if err != nil { t.Fatal(err) }
	if _, err := p.UpTo(t.Context(), 12); err != nil { t.Fatal(err) }
	c, err := pgx.Connect(t.Context(), url)
	if err != nil { t.Fatal(err) }
	defer c.Close(context.Background())
	seed, _ := os.ReadFile("/tmp/review/seed12.sql")
	if _, err := c.PgConn().Exec(t.Context(), string(seed)).ReadAll(); err != nil { t.Fatal(err) }
	d.Close()
	if err := postgres.Migrate(t.Context(), url); err != nil { t.Fatalf("MIGRATE: %v", err) }
	check, _ := os.ReadFile("/tmp/review/check13.sql")
	for _, q := range strings.Split(string(check), ";\n") {
		if strings.TrimSpace(q) == "" { continue }
		show(t, c, q)
	}
}

func show(t *testing.T, c *pgx.Conn, q string) {
	res, err := c.PgConn().Exec(t.Context(), q).ReadAll()
	if err != nil { t.Errorf("%s\n%v", q, err); return }
	var b strings.Builder
	for _, r := range res { for _, row := range r.Rows { for _, v := range row { b.Write(v); b.WriteString(" | ") }; b.WriteString("\n") } }
	t.Logf("%s\n%s", q, b.String())
}

func TestZPlans(t *testing.T) {
	url := freshURL(t, "zz_plans")
	if err := postgres.Migrate(t.Context(), url); err != nil { t.Fatal(err) }
	cfg, _ := pgx.ParseConfig(url)
	cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { t.Logf("NOTICE %s", n.Message) }
	c, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil { t.Fatal(err) }
	defer c.Close(context.Background())
	seed, _ := os.ReadFile("/tmp/review/seed200k.sql")
	if _, err := c.PgConn().Exec(t.Context(), string(seed)).ReadAll(); err != nil { t.Fatal(err) }
	for _, tab := range []string{"todos", "todo_attempts", "todo_activity", "feed_entries", "endpoints"} { mustx(t, c, "VACUUM ANALYZE "+tab) }
	mustx(t, c, "SET plan_cache_mode = force_generic_plan")
	h, e := "'00000000-0000-0000-0000-0000000000a1'", "'00000000-0000-0000-0000-0000000000e1'"
	qs := "'{lane-s,lane-m}'"
	one := "(SELECT '0')"; _ = one
	id := "'00000001-0000-7000-8000-000000130001'"  // pending of e1, see seed
	claimArgs := func(more string) string { return e + "," + qs + ",'agent:x',300,NULL,'\\x00112233445566778899aabbccddeeff',NULL,NULL,NULL,50" + more }
	wait := `SELECT (SELECT count(*) FROM (SELECT FROM todos t WHERE t.endpoint_id = e.id AND t.queue = ANY(e.queues) AND w.queue IN ('', t.queue) AND ` + pending + ` LIMIT 100) pending)
			+ (SELECT count(*) FROM (SELECT FROM todos t WHERE t.endpoint_id = e.id AND t.queue = ANY(e.queues) AND w.queue IN ('', t.queue)
				AND ` + claimed + ` AND t.lease_expires_at < clock.now AND t.attempt < t.max_attempts LIMIT 100) lapsed)
			+ (SELECT count(*) FROM (SELECT FROM todos t WHERE t.endpoint_id = e.id AND t.queue = ANY(e.queues) AND w.queue IN ('', t.queue)
				AND t.state = 'failed' AND t.next_retry_at <= clock.now LIMIT 100) due)
		FROM (SELECT sb_now() AS now) clock, unnest($1::uuid[], $2::text[]) AS w (endpoint, queue) JOIN endpoints e ON e.id = w.endpoint`
	type q struct{ name, sql, args string }
	for _, x := range []q{
		{"claimnext", claimNextSQL, claimArgs("")},
		{"claimafter", claimAfterSQL, claimArgs(",'2026-01-02'," + id)},
		{"claimid", claimSQL, claimArgs("," + id)},
		{"lapse", lapseSQL, e + "," + qs + ",NULL"},
		{"reap", reapLeasesSQL, "200"},
		{"reapint", reapInterruptsSQL, "200,86400"},
		{"requeue", requeueDueSQL, "NULL,200"},
		{"requeue_ep", requeueDueSQL, e + ",200"},
		{"lane_pending", pendingRowsSQL, h + ",'',NULL,30"},
		{"lane_retry", retryRowsSQL, h + ",'',NULL,30"},
		{"lane_claimed", claimedRowsSQL, h + ",'',NULL,30"},
		{"lane_question", questionRowsSQL, h + ",'',NULL,30"},
		{"lane_finished", finishedRowsSQL, h + ",'',NULL,'2026-06-01',8"},
		{"count_dead", laneCountSQL(deadLane), h + ",'',NULL,1000"},
		{"count_quar", laneCountSQL(quarantineLane), h + ",'',NULL,1000"},
		{"count_pending", laneCountSQL(pendingLane), h + ",'',NULL,1000"},
		{"count_claimed", laneCountSQL(claimedLane), h + ",'',NULL,1000"},
		{"ring", ringSQL, "'{" + strings.Trim(e, "'") + "}',50,2000,'mcp'"},
		{"wait", wait, "'{" + strings.Trim(e, "'") + "}','{\"\"}'"},
		{"dl_lock", `SELECT FROM todos t WHERE t.endpoint_id = $1 AND ` + live + ` ORDER BY t.id FOR NO KEY UPDATE`, e},
		{"deadletter", deadLetterSQL, e},
		{"live_count", `SELECT count(*) FROM (SELECT FROM todos t WHERE t.endpoint_id = $1 AND ` + live + ` LIMIT $2) c`, e + ",1000"},
		{"complete", completeSQL, "'00000001-0000-7000-8000-000000140001'," + e + "," + qs + ",'agent:x',NULL,NULL,false,NULL,NULL"},
		{"hb", heartbeatSQL, "'00000001-0000-7000-8000-000000140001'," + e + "," + qs + ",'agent:x',NULL,NULL"},
		{"note", noteSQL, "'00000001-0000-7000-8000-000000140001'," + e + "," + qs + ",'agent:x',NULL,NULL,'r','m',NULL,100,2000"},
		{"prunepage", pruneByAgeSQL, "30,200"},
	} {
		if _, err := c.PgConn().Prepare(t.Context(), x.name, x.sql, nil); err != nil { t.Errorf("%s: %v", x.name, err); continue }
		mustx2(t, c, "BEGIN")
		res, err := c.PgConn().Exec(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY ON) EXECUTE "+x.name+"("+x.args+")").ReadAll()
		mustx2(t, c, "ROLLBACK")
		if err != nil { t.Errorf("%s: %v", x.name, err); continue }
		var b strings.Builder
		for _, row := range res[0].Rows { fmt.Fprintf(&b, "%s\n", row[0]) }
		t.Logf("=== %s\n%s", x.name, b.String())
	}
	// the delete
	mustx2(t, c, "LOAD 'auto_explain'; SET auto_explain.log_min_duration=0; SET auto_explain.log_analyze=on; SET auto_explain.log_nested_statements=on; SET client_min_messages=log; SET auto_explain.log_timing=off")
	for _, mode := range []string{"auto", "force_generic_plan"} {
		mustx2(t, c, "SET plan_cache_mode = "+mode)
		mustx2(t, c, "BEGIN; DELETE FROM todos WHERE id = '00000001-0000-7000-8000-000000000005'; ROLLBACK")
	}
	mustx2(t, c, "BEGIN; SELECT sb_prune_attempts('00000001-0000-7000-8000-000000000005', 1), sb_prune_activity('00000001-0000-7000-8000-000000000005', 1); ROLLBACK")
}
func mustx2(t *testing.T, c *pgx.Conn, s string) {
	t.Helper()
	if _, err := c.PgConn().Exec(t.Context(), s).ReadAll(); err != nil { t.Fatal(err) }
}
