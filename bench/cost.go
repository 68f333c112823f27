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
	process  int    // a process of ours
	database string // and the server's processes for it; "": none of them
}

// spend measures run: the CPU of this process and of the server's processes for one database. What the
// server does for all databases, such as checkpoints, vacuum and writing the log of another's commit, is in
// neither side's figure.
func (s *server) spend(ctx context.Context, database string, units int, run func() error) (cost, error) {
	return s.spendOf(ctx, spenders{os.Getpid(), database}, units, run)
}

// spendOf is spend for the processes that it is told.
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

// thread is the number of a thread of whatever process.
type thread int

// spent is what each thread has used so far. What a thread used that ended since is lost: neither the server's
// processes nor the threads of a Go program end while they are measured.
func (s *server) spent(ctx context.Context, who spenders) (map[thread]time.Duration, error) {
	pids := []int{who.process}
	if who.database != "" {
		backends, err := s.backends(ctx, who.database)
		if err != nil {
			return nil, err
		}
		pids = append(pids, backends...)
	}
	spent := map[thread]time.Duration{}
	for _, pid := range pids {
		if err := readThreads(pid, spent); err != nil {
			return nil, err
		}
	}
	return spent, nil
}

// readThreads reads what the threads of a process have used. One that ends meanwhile is left out.
func readThreads(pid int, spent map[thread]time.Duration) error {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return err
	}
	for _, file := range files {
		id, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			return err
		}
		content, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue
		}
		if err != nil {
			return err
		}
		ns, err := strconv.ParseInt(strings.Fields(string(content))[0], 10, 64)
		if err != nil {
			return err
		}
		spent[thread(id)] = time.Duration(ns)
	}
	return nil
}
