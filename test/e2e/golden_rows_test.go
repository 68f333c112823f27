package e2e

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// storedSpan is a row of todo_spans.
type storedSpan struct {
	Attempt              *int
	Trace, Span          string
	Parent               *string
	Name, Kind, Status   string
	Message              *string
	Start, End           time.Time
	Service, Tool        *string
	Category, Attributes string
}

// rows are what the case's todos hold: what is counted, which traces are bound, every span with all that is stored of it.
// counted leaves the spans out.
func (s *scene) rows(counted bool) string {
	s.t.Helper()
	var b strings.Builder
	for _, name := range s.todos {
		fmt.Fprintln(&b, name)
		s.each(&b, `SELECT format('  attempt %s: %s stored, %s dropped', attempt_seq, stored, dropped) FROM todo_span_counts
			WHERE todo_id = $1 AND stored + dropped > 0 ORDER BY attempt_seq`, name)
		s.each(&b, `SELECT format('  trace %s is bound', encode(trace_id, 'hex')) || coalesce(' to attempt ' || attempt_seq, '')
			FROM todo_trace_bindings WHERE todo_id = $1 ORDER BY attempt_seq, trace_id`, name)
		if counted {
			continue
		}
		rows, err := s.db.Pool.Query(s.t.Context(), `SELECT attempt_seq, encode(trace_id, 'hex'), encode(span_id, 'hex'), encode(parent_span_id, 'hex'),
			name, kind, status_code, status_message, start_at, end_at, service_name, tool, category, attributes::text
			FROM todo_spans WHERE todo_id = $1 ORDER BY span_id, start_at`, s.id(name))
		if err != nil {
			s.t.Fatal(err)
		}
		list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[storedSpan])
		if err != nil {
			s.t.Fatal(err)
		}
		for _, span := range list {
			b.WriteString(s.line(span))
		}
	}
	return s.unfill(b.String())
}

func (s *scene) each(b *strings.Builder, sql, name string) {
	s.t.Helper()
	rows, err := s.db.Pool.Query(s.t.Context(), sql, s.id(name))
	if err != nil {
		s.t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		s.t.Fatal(err)
	}
	for _, line := range lines {
		fmt.Fprintln(b, line)
	}
}

// line is a span with everything that is stored of it. What is null is left out, and so is what is long.
func (s *scene) line(r storedSpan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  span %s of %s", r.Span, r.Trace)
	if r.Parent != nil {
		fmt.Fprintf(&b, " below %s", *r.Parent)
	}
	if r.Attempt != nil {
		fmt.Fprintf(&b, ", attempt %d", *r.Attempt)
	}
	fmt.Fprintf(&b, "\n    %s, %s, %s to %s\n", r.Kind, shortened(r.Category), s.instantName(r.Start), s.instantName(r.End))
	for _, field := range []struct {
		name  string
		value *string
	}{{"name", &r.Name}, {"status", &r.Status}, {"message", r.Message}, {"service", r.Service}, {"tool", r.Tool}} {
		if field.value == nil || field.name == "status" && r.Status == "unset" {
			continue
		}
		fmt.Fprintf(&b, "    %s %s\n", field.name, shortened(strconv.Quote(*field.value)))
	}
	if r.Attributes != "{}" {
		fmt.Fprintf(&b, "    %s\n", shortened(r.Attributes))
	}
	return b.String()
}

var longRun = regexp.MustCompile(`x{40,}`)

// shortened counts what was only sent to be long.
func shortened(text string) string {
	return longRun.ReplaceAllStringFunc(text, func(run string) string { return fmt.Sprintf("{x %d}", len(run)) })
}
