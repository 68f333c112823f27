package spans

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
)

// performance.md T5: what a request costs must not depend on what its todo holds. Connections keep the plans that they
// made while the table was empty, so those plans must find spans by the primary key already. Kept plans are generic.
func TestUpsert_PlansMadeForAnEmptyTableProbeThePrimaryKey(t *testing.T) {
	t.Parallel()
	db, err := postgres.Open(t.Context(), postgres.Config{URL: postgrestest.New(t).URL})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for name, sql := range map[string]string{"is stored": isStoredSQL, "changed": changedSQL, "unsettled": unsettledSQL, "fresh": freshSQL, "write": writeSQL} {
		plan := genericPlan(t, db.Spans, sql)
		if !strings.Contains(plan, "Scan using todo_spans_pkey on todo_spans") || !strings.Contains(plan, "(span_id >= ") ||
			strings.Contains(plan, "todo_spans_order") || strings.Contains(plan, "Seq Scan on todo_spans") {
			t.Errorf("%s:\n%s", name, plan)
		}
	}
}

// genericPlan explains the plan that a connection keeps.
func genericPlan(t *testing.T, pool *pgxpool.Pool, sql string) (plan string) {
	t.Helper()
	arguments := 0
	for strings.Contains(sql, fmt.Sprintf("$%d", arguments+1)) {
		arguments++
	}
	nulls := strings.TrimSuffix(strings.Repeat("NULL, ", arguments), ", ")
	err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		for _, statement := range []string{"SET LOCAL plan_cache_mode = force_generic_plan", "PREPARE kept AS " + sql} {
			if _, err := tx.Exec(t.Context(), statement, pgx.QueryExecModeSimpleProtocol); err != nil {
				return err
			}
		}
		rows, err := tx.Query(t.Context(), "EXPLAIN EXECUTE kept ("+nulls+")", pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			return err
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		plan = strings.Join(lines, "\n")
		_, err = tx.Exec(t.Context(), "DEALLOCATE kept")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}
