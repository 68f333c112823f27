package spans

import (
	"regexp"
	"strings"
	"testing"

	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
)

// A connection keeps the plan that it made while the tables were empty. It must begin with what the request names, and never
// with all the todos of the endpoint.
func TestResolve_APlanMadeForEmptyTablesProbesWhatTheRequestNames(t *testing.T) {
	t.Parallel()
	plan := genericPlan(t, postgrestest.New(t).Pool, resolveSQL)
	for _, probe := range []string{
		"todo_attempts_trace_id_key on todo_attempts", "todo_attempts_caller_trace on todo_attempts", "todo_attempts_pkey on todo_attempts",
		"todo_trace_bindings_pkey on todo_trace_bindings", "todo_spans_pkey on todo_spans",
	} {
		if !strings.Contains(plan, probe) {
			t.Errorf("it does not use %s", probe)
		}
	}
	if found := regexp.MustCompile(`Seq Scan on todo\w+|Index Cond: \(endpoint_id = \$1\)`).FindString(plan); found != "" {
		t.Errorf("it has %q", found)
	}
	if t.Failed() {
		t.Log(plan)
	}
}
