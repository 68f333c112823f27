package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

const productModule = "github.com/switchboard-otel/switchboard"

// goBench runs a package's own benchmarks of the product, once for every pair, and returns the metrics of each
// run: by benchmark, without the suffix for the number of cores, and by unit.
func goBench(ctx context.Context, dir, pkg, pattern, time string) (runs [pairs]map[string]map[string]float64, err error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", productModule).Output()
	if err != nil {
		return runs, fmt.Errorf("find the module: %w", err)
	}
	binary := filepath.Join(dir, filepath.Base(pkg)+".test")
	compile := exec.CommandContext(ctx, "go", "test", "-c", "-o", binary, "./"+pkg)
	compile.Dir = strings.TrimSpace(string(root))
	compile.Stderr = os.Stderr
	if err := compile.Run(); err != nil {
		return runs, fmt.Errorf("compile the benchmarks of %s: %w", pkg, err)
	}
	for i := range runs {
		cmd := exec.CommandContext(ctx, binary, "-test.run", "^$", "-test.bench", pattern, "-test.benchtime", time, "-test.benchmem")
		cmd.Dir = filepath.Join(compile.Dir, pkg)
		var printed bytes.Buffer
		cmd.Stdout, cmd.Stderr = &printed, os.Stderr
		if err := cmd.Run(); err != nil {
			return runs, fmt.Errorf("benchmarks of %s: %w\n%s", pkg, err, &printed)
		}
		runs[i] = parseBench(printed.Bytes())
	}
	return runs, nil
}

// parseBench reads Go's benchmark format: a name, a count, then values each followed by its unit.
func parseBench(printed []byte) map[string]map[string]float64 {
	results := map[string]map[string]float64{}
	for lines := bufio.NewScanner(bytes.NewReader(printed)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		metrics := map[string]float64{}
		for i := 2; i+1 < len(fields); i += 2 {
			if value, err := strconv.ParseFloat(fields[i], 64); err == nil {
				metrics[fields[i+1]] = value
			}
		}
		results[withoutCores(fields[0])] = metrics
	}
	return results
}

// withoutCores cuts the "-2" that Go appends for the number of cores, when there is more than one.
func withoutCores(name string) string {
	at := strings.LastIndexByte(name, '-')
	if at < 0 {
		return name
	}
	if _, err := strconv.Atoi(name[at+1:]); err != nil {
		return name
	}
	return name[:at]
}
