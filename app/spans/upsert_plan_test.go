package spans

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
)

// performance.md T5: what a request costs must not depend on what its todo holds. Connections keep the plans that they
// made while the table was empty, so those plans must find spans by the primary key already.
func TestUpsert_PlansMadeForAnEmptyTableProbeThePrimaryKey(t *testing.T) {
	t.Parallel()
	pool := postgrestest.New(t).Pool
	b := &todoBatch{todo: uuid.New(), spans: []*Span{{}, {}}}
	columns := b.columns(uuid.New())
	for name, statement := range map[string]struct {
		sql  string
		args []any
	}{
		"unsettled": {unsettledSQL, columns},
		"write":     {writeSQL, append(columns[:len(columns):len(columns)], 1, 1)},
	} {
		err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), planByIndex); err != nil {
				return err
			}
			rows, err := tx.Query(t.Context(), "EXPLAIN "+statement.sql, statement.args...)
			if err != nil {
				return err
			}
			lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
			plan := strings.Join(lines, "\n")
			if !strings.Contains(plan, "Scan using todo_spans_pkey on todo_spans") ||
				!strings.Contains(plan, "(span_id >= i.span_id)") ||
				strings.Contains(plan, "todo_spans_order") || strings.Contains(plan, "Seq Scan on todo_spans") {
				t.Errorf("%s:\n%s", name, plan)
			}
			return err
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
