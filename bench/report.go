package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
)

// report prints figures as they come.
type report struct{ w io.Writer }

// target is the bound that a figure is to keep.
type target struct {
	relation string // ">=", "<=", "<" or ">"
	bound    float64
	unit     string
}

func atLeast(bound float64) target { return target{relation: ">=", bound: bound} }
func atMost(bound float64) target  { return target{relation: "<=", bound: bound} }

func (t target) met(value float64) bool {
	if t.relation == ">=" {
		return value >= t.bound
	}
	return value <= t.bound
}

// figure prints one line: what was measured, its value beside the target, and what it was made of.
func (r *report) figure(id, what string, value float64, t target, detail string) {
	verdict := "ok"
	if !t.met(value) {
		verdict = "MISSED"
	}
	line := fmt.Sprintf("%-4s %s: %.2f%s (target %s %g%s) %s", id, what, value, t.unit, t.relation, t.bound, t.unit, verdict)
	fmt.Fprintf(r.w, "%-104s  %s\n", line, detail)
}

// fact prints a line that has no target.
func (r *report) fact(id, what string) { fmt.Fprintf(r.w, "%-4s %s\n", id, what) }

// failed says that figures could not be measured. The others are measured all the same.
func (r *report) failed(ids []string, err error) {
	fmt.Fprintf(r.w, "%-4s could not be measured: %v\n", strings.Join(ids, ", "), err)
}

// environment says on what the figures were measured, and how busy the machine is besides.
func (r *report) environment(s *server) {
	fmt.Fprintf(r.w, "# %d cores, PostgreSQL %s, %s, load %s\n", runtime.NumCPU(), s.version, runtime.Version(), load())
}

func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	fields := strings.Fields(string(text))
	return strings.Join(fields[:min(3, len(fields))], " ")
}
