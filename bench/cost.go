package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cost is what a number of units took. CPU is the one to trust: the wall clock scatters by a third on a machine
// that does anything else.
type cost struct {
	units     int
	cpu, wall time.Duration
}

func (c cost) cpuPerUnit() float64 { return float64(c.cpu.Nanoseconds()) / 1000 / float64(c.units) }
func (c cost) rate() float64       { return float64(c.units) / c.wall.Seconds() }

// detail says what a comparison's ratio was made of, and what the wall clock said.
func detail(a, b [pairs]cost) string {
	return fmt.Sprintf("CPU %.0f us against %.0f us; rate %.0f/s against %.0f/s, ratio %.2f",
		medianOf(a, cost.cpuPerUnit), medianOf(b, cost.cpuPerUnit),
		medianOf(a, cost.rate), medianOf(b, cost.rate), medianRatio(a, b, cost.rate))
}

// spend measures run: the CPU of this process and of the server's processes for one database. What the
// server does for all databases, such as checkpoints, vacuum and writing the log of another's commit, is in
// neither side's figure.
func (s *server) spend(ctx context.Context, database string, units int, run func() error) (cost, error) {
	runtime.GC() // or this side pays for the other's garbage
	before, err := s.spent(ctx, database)
	if err != nil {
		return cost{}, err
	}
	own, err := ownCPU()
	if err != nil {
		return cost{}, err
	}
	start := time.Now()
	if err := run(); err != nil {
		return cost{}, err
	}
	c := cost{units: units, wall: time.Since(start)}
	ownNow, err := ownCPU()
	if err != nil {
		return cost{}, err
	}
	after, err := s.spent(ctx, database)
	if err != nil {
		return cost{}, err
	}
	c.cpu = ownNow - own
	for pid, spent := range after {
		c.cpu += spent - before[pid]
	}
	return c, nil
}

// ownCPU is what this process has used so far.
func ownCPU() (time.Duration, error) {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0, err
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()), nil
}

// spent is what each of the server's processes for the database has used so far.
func (s *server) spent(ctx context.Context, database string) (map[int]time.Duration, error) {
	pids, err := s.backends(ctx, database)
	if err != nil {
		return nil, err
	}
	spent := map[int]time.Duration{}
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has ended since
		}
		if err != nil {
			return nil, err
		}
		ns, err := strconv.ParseInt(strings.Fields(string(stat))[0], 10, 64)
		if err != nil {
			return nil, err
		}
		spent[pid] = time.Duration(ns)
	}
	return spent, nil
}
