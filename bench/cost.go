package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

// spenders are the processes whose CPU is a side's.
type spenders struct {
	database string     // the server's processes for it; "": none of them
	process  *collector // nil: this process
}

// spend measures run: the CPU of this process and of the server's processes for one database. What the
// server does for all databases, such as checkpoints, vacuum and writing the log of another's commit, is in
// neither side's figure.
func (s *server) spend(ctx context.Context, database string, units int, run func() error) (cost, error) {
	return s.spendOf(ctx, spenders{database: database}, units, run)
}

// spendOf is spend for other processes than this one.
func (s *server) spendOf(ctx context.Context, who spenders, units int, run func() error) (cost, error) {
	runtime.GC() // or this side pays for the other's garbage
	before, err := s.spent(ctx, who)
	if err != nil {
		return cost{}, err
	}
	start := time.Now()
	if err := run(); err != nil {
		return cost{}, err
	}
	c := cost{units: units, wall: time.Since(start)}
	after, err := s.spent(ctx, who)
	if err != nil {
		return cost{}, err
	}
	for thread, spent := range after {
		c.cpu += spent - before[thread]
	}
	return c, nil
}

// thread is a thread that has used CPU. 0 is this process with all of its own.
type thread int

// spent is what each thread has used so far. Threads that ended since are not there any more; neither the server's
// processes nor a collector's threads end while they are measured.
func (s *server) spent(ctx context.Context, who spenders) (map[thread]time.Duration, error) {
	spent := map[thread]time.Duration{}
	var statistics []string
	if who.process == nil {
		own, err := ownCPU()
		if err != nil {
			return nil, err
		}
		spent[0] = own
	} else {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", who.process.process.Process.Pid))
		if err != nil {
			return nil, err
		}
		statistics = threads
	}
	if who.database != "" {
		pids, err := s.backends(ctx, who.database)
		if err != nil {
			return nil, err
		}
		for _, pid := range pids {
			statistics = append(statistics, fmt.Sprintf("/proc/%d/task/%d/schedstat", pid, pid))
		}
	}
	for _, path := range statistics {
		id, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			return nil, err
		}
		content, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // it has ended since
		}
		if err != nil {
			return nil, err
		}
		ns, err := strconv.ParseInt(strings.Fields(string(content))[0], 10, 64)
		if err != nil {
			return nil, err
		}
		spent[thread(id)] = time.Duration(ns)
	}
	return spent, nil
}

// ownCPU is what this process has used so far.
func ownCPU() (time.Duration, error) {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0, err
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()), nil
}
